"""The evidence by which the paper's claims are judged: measures of our runs, with one number per seed.

Groups of runs may differ in their seeds and their budgets: what is compared is taken at the largest number of evaluations that
all runs concerned have done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stax.analysis.measures import Curve, Measured, archive_ends
from stax.analysis.splits import Split
from stax.analysis.statistics import median_interval
from stax.reproduction.learned_figures import SimilarityValues
from stax.reproduction.plan import MINIMUM_SEEDS, PAPER_BUDGET, TASKS
from stax.reproduction.results import PaperRuns, name_of, title
from stax.wording import counted

COVERAGE_MARGIN, REWARD_MARGIN = 3.0, 0.05
"""Differences below which two methods count as the same: in points of coverage, and in reward."""
HIGH_REWARD = 0.8
"""Reward that counts as high; the highest possible is 1."""
HIGH_COVERAGE = 0.8
"""Share of NS's coverage that counts as high."""
HIGH_SIMILARITY = 0.5
"""Similarity of descriptors that counts as high; it lies between 0 and 1."""
CLEAR_RECONSTRUCTION = 0.75
"""Share of the mean picture's error below which a reconstruction counts as showing the arm."""
FEW_EVALUATIONS = PAPER_BUDGET // 5
"""Evaluations that count as few."""
EARLY_SHARE = 0.2
"""Share of the budget that counts as early."""
CURLING, MAZE, ARM = TASKS
FARTHEST_MAZE_AREA = "area 1"
"""HardMaze's area "far end", the one farthest from the start."""
RANDOM = "random autoencoder"
"""Stands for a method where STAX's descriptors are compared with those of an autoencoder that was never trained."""

Samples = dict[str, list[float]]
"""Values by seed, for each reward area; under an empty name for measures that concern no single area."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that claims are judged by."""

    runs: PaperRuns
    similarities: dict[str, SimilarityValues]
    """Similarity of descriptors to the ground truth, by task."""
    splits: dict[str, list[Split]]
    """One reward area of each run of STAX in both spaces, by task."""
    reconstruction_errors: list[float]
    """Error of STAX's reconstructions of the arm as a share of the error of the mean picture, by seed."""

    def has(self, task: str, key: str) -> bool:
        return self.runs.has(task, _owner(key)) and bool(self._measured(task, key))

    def evaluations(self, task: str, keys: Sequence[str]) -> int:
        """Return the largest number of evaluations that all runs of these methods have done."""
        return min(run.evaluations for key in keys for run in self._measured(task, key))

    def budgets(self, task: str, keys: Sequence[str]) -> list[int]:
        """Return the numbers of evaluations that these runs have done, each once."""
        return sorted({run.evaluations for key in keys for run in self._measured(task, key)})

    def _measured(self, task: str, key: str) -> list[Measured]:
        return self.runs.group(task, _owner(key)).measured


def _owner(key: str) -> str:
    return "stax" if key == RANDOM else key


# Measures


@dataclass(frozen=True, eq=False)
class Measure:
    """A number for every run."""

    name: str
    samples: Callable[[Evidence, str, str, int, bool], Samples]
    """The values of a task's method after so many evaluations; the last argument chooses the published code's way of counting."""
    unit: str = ""
    digits: int = 2
    margin: float = 0.0
    """Difference below which two methods count as the same."""
    published: str = ""
    """Measure that the authors' published code counts instead; empty if there is none."""
    horizon: int | None = None
    """Evaluations at which the paper's claim holds, for measures that never fall in the course of a run."""
    final: bool = False
    """Whether the measure is known only at the end of a run."""
    share: float = 1.0
    """Share of the evaluations after which it is taken."""

    def words(self, value: float) -> str:
        return f"{value:.{self.digits}f}{self.unit}"

    def difference(self, value: float) -> str:
        return f"{value:+.{self.digits}f}"

    def evaluations(self, common: int) -> int:
        """Return the number of evaluations at which the measure is taken if the runs have so many in common."""
        return min(int(self.share * common), self.horizon or common)


def _by_run(read: Callable[[str, Measured, int, bool], dict[str, float]]) -> Callable[[Evidence, str, str, int, bool], Samples]:
    """Make samples of a function that reads one run."""

    def samples(evidence: Evidence, task: str, key: str, evaluations: int, published: bool) -> Samples:
        rows = [read(task, run, evaluations, published) for run in evidence.runs.group(task, key).measured]
        return {area: [row[area] for row in rows] for area in rows[0]}

    return samples


def _coverage(run: Measured, evaluations: int, published: bool) -> float:
    curve = run.exploration_coverage if published else run.coverage
    assert curve is not None, "the paper's tasks have a ground-truth descriptor"
    return 100 * float(curve.at(evaluations))


def _reward_curves(run: Measured, published: bool) -> list[Curve]:
    return run.archived_reward if published else run.max_reward


def _rewards(run: Measured, evaluations: int, published: bool) -> dict[str, float]:
    curves = _reward_curves(run, published)
    return {f"area {number}": float(curve.at(evaluations)) for number, curve in enumerate(curves, 1)}


def _over_areas(summary: Callable[[list[float]], float]) -> Callable[[Evidence, str, str, int, bool], Samples]:
    return _by_run(
        lambda task, run, evaluations, published: {"": float(summary(list(_rewards(run, evaluations, published).values())))}
    )


def _reward_over_time(task: str, run: Measured, evaluations: int, published: bool) -> dict[str, float]:
    return {"": float(np.mean([curve.mean_until(evaluations) for curve in _reward_curves(run, published)]))}


def _in_farthest_area(task: str, run: Measured, evaluations: int, published: bool) -> dict[str, float]:
    return {area: reward for area, reward in _rewards(run, evaluations, published).items() if _is_farthest(task, area)}


def _in_other_areas(task: str, run: Measured, evaluations: int, published: bool) -> dict[str, float]:
    return {area: reward for area, reward in _rewards(run, evaluations, published).items() if not _is_farthest(task, area)}


def _is_farthest(task: str, area: str) -> bool:
    return task == MAZE and area == FARTHEST_MAZE_AREA


def _rewarded_shares(evidence: Evidence, task: str, key: str, evaluations: int, published: bool) -> Samples:
    shares = []
    for run in evidence.runs.group(task, key).group.runs:
        ends = archive_ends(run)
        shares.append(100 * len(ends.rewarded) / max(len(ends.rewarded) + len(ends.exploring), 1))
    return {"": shares}


def _similarities(evidence: Evidence, task: str, key: str, evaluations: int, published: bool) -> Samples:
    values = evidence.similarities.get(task, SimilarityValues([], []))
    return {"": values.random if key == RANDOM else values.trained}


EXPLORED, ARCHIVED = "exploration alone", "archived policies"
COVERAGE = Measure(
    "coverage",
    _by_run(lambda task, run, evaluations, published: {"": _coverage(run, evaluations, published)}),
    unit=" %",
    digits=1,
    margin=COVERAGE_MARGIN,
    published=EXPLORED,
    horizon=PAPER_BUDGET,
)
EARLY_COVERAGE = Measure("coverage", COVERAGE.samples, unit=" %", digits=1, published=EXPLORED, share=EARLY_SHARE)
REWARD = Measure(
    "best reward",
    _by_run(lambda task, run, evaluations, published: _rewards(run, evaluations, published)),
    margin=REWARD_MARGIN,
    published=ARCHIVED,
    horizon=PAPER_BUDGET,
)
FARTHEST_REWARD = Measure("best reward", _by_run(_in_farthest_area), published=ARCHIVED)
OTHER_REWARD = Measure("best reward", _by_run(_in_other_areas), margin=REWARD_MARGIN, published=ARCHIVED)
MEAN_REWARD = Measure(
    "best reward, mean of the areas",
    _over_areas(lambda rewards: sum(rewards) / len(rewards)),
    margin=REWARD_MARGIN,
    published=ARCHIVED,
)
SOON_REWARD = Measure(
    "best reward, mean of the areas",
    MEAN_REWARD.samples,
    published=ARCHIVED,
    horizon=FEW_EVALUATIONS,
)
REWARD_OVER_TIME = Measure("best reward, mean of the areas and evaluations", _by_run(_reward_over_time), published=ARCHIVED)
EASIEST_REWARD = Measure("best reward in a run's best area", _over_areas(max), published=ARCHIVED, horizon=PAPER_BUDGET)
HARDEST_REWARD = Measure("best reward in a run's worst area", _over_areas(min), published=ARCHIVED, horizon=PAPER_BUDGET)
AREAS_FOUND = Measure(
    "areas in which a reward was found",
    _over_areas(lambda rewards: sum(reward > 0 for reward in rewards)),
    digits=0,
    published=ARCHIVED,
    horizon=PAPER_BUDGET,
)
REWARDED_SHARE = Measure("archived policies in reward areas", _rewarded_shares, unit=" %", digits=1, final=True)
SIMILARITY = Measure("similarity to the ground truth", _similarities, final=True)
RECONSTRUCTION = Measure(
    "error of the reconstructions as a share of the mean picture's",
    lambda evidence, task, key, evaluations, published: {"": evidence.reconstruction_errors},
    final=True,
)


# Panels


@dataclass(frozen=True, eq=False)
class Panel:
    """The samples that a claim compares, of one task and, for rewards, of one area."""

    measure: Measure
    task: str
    area: str
    evaluations: int
    samples: dict[str, list[float]]
    """Values by method: those of the claim, and others of their family that have as many evaluations."""
    keys: tuple[str, ...]
    """Methods of the claim that have runs."""
    problem: str
    """Why there can be no verdict; empty if there can be one."""

    @property
    def head(self) -> str:
        area = f" in {self.area}" if self.area else ""
        return f"{title(self.task)}, {self.measure.name}{area} at {self.evaluations:,}"

    def value(self, key: str) -> str:
        """Return a method's median as text, with its 95 % interval if there is one."""
        sample = self.samples[key]
        if not sample:
            return f"{name_of(key)} no value"
        interval = _interval(tuple(sample))
        digits = self.measure.digits
        within = f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]" if interval else ""
        return f"{name_of(key)} {self.measure.words(float(np.median(sample)))}{within}"

    @property
    def seeds(self) -> str:
        """Return the number of seeds behind the medians, in words."""
        counts = {key: len(self.samples[key]) for key in self.keys}
        if len(set(counts.values())) == 1:
            (count,) = set(counts.values())
            return counted(count, "seed")
        return "seeds: " + ", ".join(f"{name_of(key)} {count}" for key, count in counts.items())


@lru_cache(maxsize=4096)
def _interval(sample: tuple[float, ...]) -> tuple[float, float] | None:
    return median_interval(sample)


def panels(
    evidence: Evidence,
    measure: Measure,
    tasks: Sequence[str],
    keys: Sequence[str],
    published: bool,
    *,
    also: Sequence[str] = (),
    at_most: int | None = None,
) -> Iterator[Panel]:
    """Take the samples that a claim compares.

    Args:
        evidence: our runs.
        measure: what is compared.
        tasks: those of the claim.
        keys: methods of the claim; where one has no runs, or too few, the panel says so.
        published: whether to count as the published code does.
        also: further methods of the family, taken if they have runs of enough evaluations.
        at_most: evaluations after which samples are taken even if all runs of a task have more.
    """
    for task in tasks:
        there = tuple(key for key in keys if evidence.has(task, key))
        if not there:
            yield Panel(measure, task, "", 0, {}, (), _problem(evidence, measure, task, keys, {}))
            continue
        common = evidence.evaluations(task, there)
        evaluations = measure.evaluations(min(common, at_most or common))
        more = [
            key for key in also if evidence.has(task, key) and _comparable(evidence.budgets(task, [key]), measure, evaluations)
        ]
        samples = {key: measure.samples(evidence, task, key, evaluations, published) for key in dict.fromkeys((*there, *more))}
        for area in samples[there[0]]:
            taken = {key: by_area[area] for key, by_area in samples.items()}
            yield Panel(measure, task, area, evaluations, taken, there, _problem(evidence, measure, task, keys, taken))


def _comparable(budgets: Sequence[int], measure: Measure, evaluations: int) -> bool:
    """Return whether runs that have done so many evaluations can be measured after the evaluations given."""
    return budgets == [evaluations] if measure.final else min(budgets) >= evaluations


def _problem(evidence: Evidence, measure: Measure, task: str, keys: Sequence[str], samples: dict[str, list[float]]) -> str:
    missing = [name_of(key) for key in keys if key not in samples]
    if missing:
        return f"no runs of {' and '.join(missing)} on {title(task)}"
    fewest = min(keys, key=lambda key: len(samples[key]))
    count = len(samples[fewest])
    if count < MINIMUM_SEEDS:
        return f"{counted(count, 'seed')} of {name_of(fewest)}; {MINIMUM_SEEDS} are needed"
    budgets = evidence.budgets(task, keys)
    if measure.final and len(budgets) > 1:
        return f"known only at the end of the runs, after {' and '.join(f'{budget:,}' for budget in budgets)} evaluations"
    return ""
