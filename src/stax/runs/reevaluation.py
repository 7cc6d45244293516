"""The archives of a run, evaluated again on seeds that the search has not seen: what of them survives.

Nothing of the run changes. See docs/stochastic-tasks.md.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.evaluation.evaluator import Evaluator, TaskSource, make_evaluator
from stax.evaluation.source import make_source
from stax.runs.cores import sharing_cores
from stax.runs.files import write_text
from stax.runs.reader import RunReader
from stax.runs.resume_checks import check_given, check_same_task
from stax.search.grid import MOST_DIMENSIONS, Grid
from stax.search.policy_set import PolicySet
from stax.tasks.first_look import seeds_to_try
from stax.tasks.task import Rollouts, Task
from stax.tasks.variants import SEEDS

MOST_EPISODES = 10_000
SURVIVING_SHARE = 0.5
"""Share of the episodes in which a policy must do as recorded to survive."""


@dataclass(frozen=True)
class ReevaluatedPolicy:
    """A policy of the archives, and its rewards in the episodes with fresh seeds."""

    id: int
    archives: str
    """The archives that hold it: novelty, reward, or both."""
    area: int
    """Reward area in the search, -1 for none."""
    recorded: float
    """Reward in the search."""
    mean: float
    spread: float
    """Standard deviation of its rewards over the episodes."""
    lowest: float
    highest: float
    rewarded: float
    """Share of the episodes that were rewarded in its area; of those without reward, if it has no area."""
    same_cell: float | None
    """Share of the episodes that ended in the cell of the grid in which it ended in the search; None without ground truth."""

    @property
    def survives(self) -> bool:
        """Whether at least half of the episodes were rewarded in its area, or not rewarded if it has none."""
        return self.rewarded >= SURVIVING_SHARE


@dataclass(frozen=True)
class Reevaluation:
    """The archives of a run on fresh seeds."""

    task: str
    area_names: tuple[str, ...]
    episodes: int
    first_seed: int
    policies: tuple[ReevaluatedPolicy, ...]
    """All policies of the archives, by id."""
    cells: int | None
    """Cells of the grid in which policies of the archives ended in the search; None without ground truth."""
    surviving_cells: int | None
    """Those of them in which at least half of the episodes of one of their policies ended."""

    def of_area(self, area: int) -> list[ReevaluatedPolicy]:
        """Return the policies that were rewarded in an area, the best one of the search first."""
        return sorted(
            (policy for policy in self.policies if policy.area == area), key=lambda policy: (-policy.recorded, policy.id)
        )


def reevaluate(
    path: str | Path,
    *,
    episodes: int = 20,
    seed: int | None = None,
    task: Task | None = None,
    trust: bool = False,
    workers: int | None = None,
) -> Reevaluation:
    """Evaluate the archives of a run again, each policy in so many episodes with a fresh seed each.

    Args:
        path: the run's folder, of a finished or interrupted run.
        episodes: number of episodes of each policy.
        seed: seed of the first episode; None for one that lies far from the seeds of the search.
        task: the run's task, if it was given as an object; it must have been made by `stax.make_task`.
        trust: whether a task that is code of the run's maker (`module:Class`) may be imported.
        workers: cores to use; those of the run if None.
    """
    episodes = check_whole("episodes", episodes, 2, MOST_EPISODES)
    run = RunReader(path)
    config = run.config
    run.require_results()
    check_given(config, {"task": task, "autoencoder": run, "emitter_kinds": run, "scheduler": run}, path, trust=trust)
    if task is not None:
        check_same_task(config, run.config_table["task_description"], task, path)
    limit, options = config.settings.time_limit, config.task_options
    source = make_source(config.task, options, time_limit=limit) if task is None else TaskSource(task, None, options)
    fresh = seeds_to_try(source.task, 1)
    if not fresh:
        raise InvalidInputError(
            f"Task {config.task!r} has no options {' and '.join(SEEDS)}, so its policies cannot be evaluated with other seeds."
        )
    first = fresh[0] if seed is None else check_whole("seed", seed, 0)
    workers = check_whole("workers", config.workers if workers is None else workers, 1)
    archives = {name: run.archive(name, source.task) for name in ("novelty", "reward")}
    policies = PolicySet.union(list(archives.values()))
    evaluator = make_evaluator(source, backend="local", workers=workers, address=None, settings=config.settings)
    with sharing_cores(source.task, workers=workers, learns=False), evaluator:
        rollouts = [_evaluated(evaluator, policies, first + number) for number in range(episodes)] if len(policies) else []
    return _summed_up(source.task, config.parameters.grid_cells, archives, policies, rollouts, episodes, first)


def _evaluated(evaluator: Evaluator, policies: PolicySet, seed: int) -> Rollouts:
    rollouts = evaluator.attempt(policies.genome, **dict(zip(SEEDS, (seed, 1), strict=True)))
    if rollouts is None:
        raise RuntimeError(f"The policies could not all be evaluated with seed {seed}.")
    return rollouts


def _summed_up(
    task: Task,
    grid_cells: int,
    archives: dict[str, PolicySet],
    policies: PolicySet,
    rollouts: list[Rollouts],
    episodes: int,
    first_seed: int,
) -> Reevaluation:
    count = len(policies)
    rewards = np.array([outcome.reward for outcome in rollouts], np.float64).reshape(-1, count)
    areas = np.array([outcome.reward_area for outcome in rollouts], np.int64).reshape(-1, count)
    same, cells, surviving = _cells(task, grid_cells, policies, rollouts)
    rows = []
    for row in range(count):
        held = [name for name, archive in archives.items() if policies.id[row] in archive.id]
        rows.append(
            ReevaluatedPolicy(
                id=int(policies.id[row]),
                archives=" and ".join(held),
                area=int(policies.reward_area[row]),
                recorded=float(policies.reward[row]),
                mean=float(rewards[:, row].mean()),
                spread=float(rewards[:, row].std(ddof=1)),
                lowest=float(rewards[:, row].min()),
                highest=float(rewards[:, row].max()),
                rewarded=float((np.where(rewards[:, row] > 0, areas[:, row], -1) == policies.reward_area[row]).mean()),
                same_cell=None if same is None else float(same[row]),
            )
        )
    names = tuple(area.name for area in task.reward_areas)
    return Reevaluation(task.name, names, episodes, first_seed, tuple(rows), cells, surviving)


def _cells(
    task: Task, grid_cells: int, policies: PolicySet, rollouts: list[Rollouts]
) -> tuple[NDArray[np.float64] | None, int | None, int | None]:
    """Return each policy's share of episodes that end in its cell, the cells of all policies, and those that survive."""
    if task.ground_truth_bounds is None or len(task.ground_truth_bounds) > MOST_DIMENSIONS or not rollouts:
        return None, None, None
    grid = Grid(task.ground_truth_bounds, grid_cells)
    own = grid.cell(policies.ground_truth)
    ends = np.stack([grid.cell(np.asarray(outcome.ground_truth)) for outcome in rollouts])
    same = (ends == own).mean(axis=0)
    return same, len(np.unique(own)), len(np.unique(own[same >= SURVIVING_SHARE]))


# As text


def reevaluation_lines(found: Reevaluation) -> Iterator[str]:
    """Yield the lines of a table: what of each reward area survives, then coverage."""
    half = f"{SURVIVING_SHARE:.0%}"
    yield f"{len(found.policies):,} policies of the archives, {found.episodes} episodes each, seeds from {found.first_seed}"
    yield f"{'reward area':<24}{'policies':>9}{'survive':>9}{'best, recorded':>16}{'its mean':>10}{'spread':>8}{'best mean':>11}"
    for area, name in enumerate(found.area_names):
        policies = found.of_area(area)
        if not policies:
            yield f"{name[:23]:<24}{0:>9}"
            continue
        best, surviving = policies[0], sum(policy.survives for policy in policies)
        top = max(policy.mean for policy in policies)
        yield (
            f"{name[:23]:<24}{len(policies):>9,}{surviving:>9,}{best.recorded:>16.3f}{best.mean:>10.3f}{best.spread:>8.3f}{top:>11.3f}"
        )
    if found.cells is not None:
        yield f"cells of the grid: {found.cells:,} in the search, {found.surviving_cells:,} survive"
    yield f"A policy survives if at least {half} of its episodes are rewarded in its area, a cell if {half} of a policy's episodes end there."


def reevaluation_table(found: Reevaluation) -> dict[str, Any]:
    """Return everything as JSON values."""
    return {**asdict(found), "policies": [{**asdict(policy), "survives": policy.survives} for policy in found.policies]}


def write_reevaluation(path: Path, found: Reevaluation) -> None:
    """Write a CSV file with a row for each policy."""
    text = io.StringIO()
    columns = [field.name for field in fields(ReevaluatedPolicy)]
    writer = csv.DictWriter(text, fieldnames=[*columns, "survives"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(reevaluation_table(found)["policies"])
    write_text(path, text.getvalue())
