"""Measures of a run: coverage, rewards, the content of the archives, the quality of the learned space, how the budget was spent.

Plain functions of what a run leaves, in memory (`stax.Result`) or in its folder (`RunReader`). An evaluation that failed uses
up budget and counts for nothing else.

Curves are steps: coverage rises with the first visit of a cell, and the highest reward when it is beaten. A run of half a
million evaluations is then a few thousand numbers, exact at every evaluation. `stax compare` keeps these and drops the ledger,
of which it reads four columns. The ends of the curves must agree with the summary of the run, or the run is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError, printable
from stax.representation.space import DescriptorSpace
from stax.runs.config import RunConfig
from stax.search.grid import MOST_DIMENSIONS, PROFILE_LEVELS, Grid
from stax.search.making import make_space
from stax.search.methods import find_method
from stax.search.policy_set import PolicySet
from stax.search.repeated_rewards import kept_rewards
from stax.search.vocabulary import ORIGINS, Origin
from stax.tasks import BUILT_IN
from stax.tasks.task import Task

if TYPE_CHECKING:
    from stax.analysis.records.record import Record
    from stax.representation.learned import LearnedSpace
    from stax.runs.reader import RunReader

SHARES = (0.5, 0.8, 0.95)
"""Shares of the highest reward; it is measured when a run reaches them."""
HIGHEST_REWARD = 1.0
"""Reward of the built-in tasks at the centre of a reward area."""
MEASURED_COLUMNS = ("id", "parent", "origin", "reward", "reward_area", "ground_truth", "failed")
"""Columns of the ledger that `measure` needs."""
_OTHER_SEED = 10**9
"""Number added to the run's seed for the seed of a random autoencoder."""
_RECONSTRUCTED_AT_ONCE = 128
"""Policies whose pictures and reconstructions are in memory at the same time."""


class Ends(Protocol):
    """The common attributes of `PolicySet` and the archives of a record."""

    @property
    def reward(self) -> NDArray[np.float64]: ...
    @property
    def ground_truth(self) -> NDArray[np.float64]: ...


class Archived(Protocol):
    """The common attributes of `stax.Result`, `RunReader` and `Record`."""

    @property
    def config(self) -> RunConfig: ...
    @property
    def novelty_archive(self) -> Ends: ...
    @property
    def reward_archive(self) -> Ends: ...


class Outcome(Protocol):
    """The common attributes of `stax.Result` and `RunReader`."""

    @property
    def config(self) -> RunConfig: ...
    @property
    def novelty_archive(self) -> PolicySet: ...
    @property
    def reward_archive(self) -> PolicySet: ...


# The course of a run


@dataclass(frozen=True, eq=False)
class Curve:
    """A measure over evaluations that changes in steps and never falls."""

    evaluations: NDArray[np.int64]
    """(n,) rising, the first 0."""
    values: NDArray[np.float64]
    """(n,) each holds from when so many evaluations are done until the next."""

    @property
    def last(self) -> float:
        return float(self.values[-1])

    def at(self, evaluations: ArrayLike) -> NDArray[np.float64]:
        """Return the values after so many evaluations."""
        steps = np.searchsorted(self.evaluations, np.asarray(evaluations), side="right") - 1
        return np.asarray(self.values[steps])

    def mean_until(self, evaluations: int) -> float:
        """Return the mean of the value over the first so many evaluations, which is higher for a curve that rises earlier."""
        ends = np.minimum(np.append(self.evaluations, evaluations), evaluations)
        return float(self.values @ np.diff(ends) / evaluations)

    def until(self, evaluations: int) -> Curve:
        """Return the curve of the first so many evaluations."""
        steps = int(np.searchsorted(self.evaluations, evaluations, side="right"))
        return Curve(self.evaluations[:steps], self.values[:steps])

    def first_reaching(self, value: float) -> int | None:
        """Return the number of evaluations after which the value is reached; None if it never is."""
        step = int(np.searchsorted(self.values, value, side="left"))
        return int(self.evaluations[step]) if step < len(self.values) else None


@dataclass(frozen=True, eq=False)
class Measured:
    """The course of one run."""

    evaluations: int
    coverage: Curve | None
    """Coverage by all evaluations; None for a task without a ground-truth descriptor."""
    exploration_coverage: Curve | None
    """Coverage by the evaluations of exploration alone, the initial population included; None as for `coverage`."""
    max_reward: list[Curve]
    """Best reward of all evaluations so far, one curve per reward area."""
    archived_reward: list[Curve]
    """Best reward so far among the policies that are in the final archives, one curve per reward area."""
    qd_score: Curve | None = None
    """Sum over the grid's cells of the best reward so far; None as for `coverage`."""
    profile: tuple[Curve, ...] = ()
    """Share of the grid's cells whose best reward is at or above each of `PROFILE_LEVELS`; empty where there is no `qd_score`."""

    def until(self, evaluations: int) -> Measured:
        """Return the course of the first so many evaluations; archived policies are still those of the final archives."""
        if evaluations >= self.evaluations:
            return self
        return Measured(
            evaluations=evaluations,
            coverage=self.coverage and self.coverage.until(evaluations),
            exploration_coverage=self.exploration_coverage and self.exploration_coverage.until(evaluations),
            max_reward=[curve.until(evaluations) for curve in self.max_reward],
            archived_reward=[curve.until(evaluations) for curve in self.archived_reward],
            qd_score=self.qd_score and self.qd_score.until(evaluations),
            profile=tuple(curve.until(evaluations) for curve in self.profile),
        )


def measure(task: Task, ledger: Mapping[str, NDArray[Any]], *, grid_cells: int, archived_ids: NDArray[np.int64]) -> Measured:
    """Measure the course of a run by its ledger.

    Args:
        task: the run's task.
        ledger: the run's ledger, with `MEASURED_COLUMNS` at least.
        grid_cells: cells of the grid of coverage along each dimension.
        archived_ids: ids of the policies in the final archives.
    """
    grid = coverage_grid(task, grid_cells)
    failed, areas = ledger["failed"], len(task.reward_areas)
    exploiting = ~np.isin(ledger["origin"], (Origin.INITIAL, Origin.EXPLORATION))
    forgotten = ~np.isin(ledger["id"], archived_ids)
    return Measured(
        evaluations=len(failed),
        coverage=None if grid is None else coverage_curve(ledger["ground_truth"], failed, grid),
        exploration_coverage=None if grid is None else coverage_curve(ledger["ground_truth"], failed | exploiting, grid),
        max_reward=max_reward_curves(ledger["reward"], ledger["reward_area"], failed, areas),
        archived_reward=max_reward_curves(*kept_rewards(ledger, archived_ids), failed | forgotten, areas),
        qd_score=None if grid is None else qd_score_curve(ledger["ground_truth"], ledger["reward"], failed, grid),
        profile=() if grid is None else profile_curves(ledger["ground_truth"], ledger["reward"], failed, grid),
    )


def measure_recorded(run: RunReader | Record, *, grid_cells: int | None = None) -> Measured:
    """Measure the course of a finished run by its folder, on its own grid or on one of `grid_cells` cells a dimension; or by its record.

    Ledger and summary must tell the same end, or one of them is damaged.
    """
    from stax.analysis.records.record import Record

    if isinstance(run, Record):
        return run.measured(grid_cells)
    run.require_finished()
    own = run.config.parameters.grid_cells
    ledger = run.ledger(*MEASURED_COLUMNS)
    measured = measure(run.task, ledger, grid_cells=grid_cells or own, archived_ids=run.archived_ids())
    # The summary's coverage is that of the run's own grid.
    comparable = measured if (grid_cells or own) == own else replace(measured, coverage=None)
    check_ends(comparable, run.coverage, run.max_reward, run.path)
    return measured


def check_ends(
    measured: Measured, coverage: float | None, max_reward: Sequence[float], where: Path, source: str = "ledger"
) -> None:
    """Refuse a run whose ledger, or other source of the measured course, does not end with the numbers of the summary."""
    pairs = [("max_reward", [curve.last for curve in measured.max_reward], list(max_reward))]
    if measured.coverage is not None:
        pairs.append(("coverage", [measured.coverage.last], [np.nan if coverage is None else coverage]))
    for name, by_ledger, by_summary in pairs:
        if len(by_ledger) != len(by_summary) or not np.allclose(by_ledger, by_summary, rtol=0, atol=1e-9):
            raise InvalidInputError(
                f"Summary and {source} of {str(where)!r} do not belong together: {name} is {printable(by_summary, 200)} by the one and"
                f" {printable(by_ledger, 200)} by the other."
            )


def coverage_grid(task: Task, cells: int) -> Grid | None:
    """Return the grid that the search counts coverage on; None for a task without a ground-truth descriptor, or one of too many numbers."""
    bounds = task.ground_truth_bounds
    return None if bounds is None or len(bounds) > MOST_DIMENSIONS else Grid(bounds, cells)


def coverage_curve(ground_truth: NDArray[np.float64], left_out: NDArray[np.bool_], grid: Grid) -> Curve:
    """Return the share of the grid's cells that policies have ended in; it rises with the first visit of each cell."""
    rows = np.flatnonzero(~left_out)
    first = np.unique(grid.cell(ground_truth[rows]), return_index=True)[1]
    visits = np.sort(rows[first]) + 1
    shares = np.arange(len(visits) + 1) / grid.size
    return Curve(np.concatenate([[0], visits]), shares)


def qd_score_curve(
    ground_truth: NDArray[np.float64], reward: NDArray[np.float64], left_out: NDArray[np.bool_], grid: Grid
) -> Curve:
    """Return the sum over the grid's cells of the best reward so far; it rises when the best reward of a cell is beaten."""
    rows = np.flatnonzero(~left_out & (reward > 0))
    best: dict[int, float] = {}
    steps, gains = [0], [0.0]
    for row, cell, value in zip(rows.tolist(), grid.cell(ground_truth[rows]).tolist(), reward[rows].tolist(), strict=True):
        gain = value - best.get(cell, 0.0)
        if gain > 0:
            best[cell] = value
            steps.append(row + 1)
            gains.append(gain)
    score = np.cumsum(gains)
    # A gain may be too small to change the sum.
    rises = np.concatenate([[True], np.diff(score) > 0])
    return Curve(np.array(steps, np.int64)[rises], score[rises])


def profile_curves(
    ground_truth: NDArray[np.float64], reward: NDArray[np.float64], left_out: NDArray[np.bool_], grid: Grid
) -> tuple[Curve, ...]:
    """Return the share of the grid's cells with a reward at or above each of `PROFILE_LEVELS`."""
    return tuple(coverage_curve(ground_truth, left_out | (reward < level), grid) for level in PROFILE_LEVELS)


def max_reward_curves(
    reward: NDArray[np.float64], reward_area: NDArray[Any], left_out: NDArray[np.bool_], areas: int
) -> list[Curve]:
    """Return the highest reward so far in each area, 0 until the first."""
    curves = []
    for area in range(areas):
        rows = np.flatnonzero((reward_area == area) & ~left_out & (reward > 0))
        highest = np.maximum.accumulate(np.concatenate([[0.0], reward[rows]]))
        rises = np.flatnonzero(np.diff(highest) > 0)
        curves.append(Curve(np.concatenate([[0], rows[rises] + 1]), np.concatenate([[0.0], highest[rises + 1]])))
    return curves


def highest_reward(task: str, found: Iterable[float]) -> float:
    """Return the reward of an area that `evaluations_to` takes shares of, for all tables and pages.

    That is 1, the highest possible reward, for the built-in tasks, and elsewhere the highest reward found in the area by any of the runs
    that are looked at; 0 if there is none.

    Args:
        task: the task's name.
        found: the highest reward in the area of each run.
    """
    return HIGHEST_REWARD if task in BUILT_IN else max(found, default=0.0)


def highest_reward_words(task: str) -> str:
    """Return what the shares are of, as the end of a heading."""
    return f"of {HIGHEST_REWARD:g}" if task in BUILT_IN else "of the best"


def evaluations_to(curve: Curve, shares: Sequence[float] = SHARES, highest: float = HIGHEST_REWARD) -> dict[float, int | None]:
    """Return how many evaluations it took to reach these shares of the highest reward; None where it was never reached."""
    return {share: curve.first_reaching(share * highest) if highest > 0 else None for share in shares}


# What the archives hold


@dataclass(frozen=True, eq=False)
class ArchiveEnds:
    """The ends of the policies of the final archives in the ground-truth space."""

    exploring: NDArray[np.float64]
    """(n, d) those of the novelty archive."""
    rewarded: NDArray[np.float64]
    """(m, d) those of the reward archive."""


def archive_ends(outcome: Archived) -> ArchiveEnds:
    """Return where the policies of both archives end; without emitters, rewarding policies of the novelty archive count as the others."""
    novelty, reward = outcome.novelty_archive, outcome.reward_archive
    if outcome.config.has_emitters:
        return ArchiveEnds(novelty.ground_truth, reward.ground_truth)
    rewarding = novelty.reward > 0
    return ArchiveEnds(novelty.ground_truth[~rewarding], novelty.ground_truth[rewarding])


def final_policies(outcome: Outcome, most: int | None = None) -> PolicySet:
    """Return the policies of both archives, each once; if there are more than `most`, a uniform sample, always the same."""
    policies = PolicySet.union([outcome.novelty_archive, outcome.reward_archive])
    if most is None or len(policies) <= most:
        return policies
    chosen = np.random.default_rng(0).choice(len(policies), most, replace=False, shuffle=False)
    return policies.take(np.sort(chosen))


# How good the learned space is


@dataclass(frozen=True)
class Similarity:
    """The similarity of two descriptions of the same policies."""

    distance: float | None
    """The correlation matrix distance of Herdin et al.: 0 for the same structure, at most 1. None if all policies are alike in
    one of the descriptions."""

    @property
    def similarity(self) -> float | None:
        """1 - distance."""
        return None if self.distance is None else 1 - self.distance


def correlation_matrix_distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return 1 - tr(C1 C2) / (|C1| |C2|), with Frobenius norms and C = X X^T of the centred descriptors X (n, d).

    C is n x n, and is never made: tr(C1 C2) = |X1^T X2|^2, so this costs n d1 d2. None where a norm is 0.
    """
    if first.ndim != 2 or second.ndim != 2 or len(first) != len(second):
        raise InvalidInputError(f"Descriptors of the same policies are needed, not of shapes {first.shape} and {second.shape}.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InvalidInputError("Descriptors must be finite to be compared, but some are nan or infinite.")
    if not len(first):
        return None
    (x, x_size), (y, y_size) = _centred(first), _centred(second)
    if not (x_size and y_size):
        return None
    norms = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.clip(1 - np.linalg.norm(x.T @ y) ** 2 / norms, 0, 1))


def _centred(descriptors: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the descriptors around 0 and of size 1, and their size before; 0 if that is only rounding."""
    largest = float(np.abs(descriptors).max(initial=0.0))
    scaled = descriptors / (largest or 1.0)
    centred = scaled - scaled.mean(axis=0)
    size = float(np.abs(centred).max(initial=0.0))
    return (centred / size, size * largest) if size > 1e-12 else (centred, 0.0)


def descriptor_similarity(policies: PolicySet) -> Similarity:
    """Compare the descriptors at the end of the search with the ground truth."""
    return _similarity(policies.descriptor, policies.ground_truth)


def random_similarity(
    outcome: Outcome,
    task: Task,
    policies: PolicySet,
    *,
    seed: int | None = None,
    device: str = "cpu",
    autoencoder: Any = None,
) -> Similarity:
    """Compare descriptors by an autoencoder like the run's that was never trained with the ground truth.

    Args:
        outcome: the run with the autoencoder.
        task: the task, which draws the observations.
        policies: the policies to describe, see `final_policies`.
        seed: seed of the autoencoder's weights; not the run's own if None.
        device: device of the autoencoder.
        autoencoder: the run's, if it is a user's own; one given with its weights has these, as they were before the run.
    """
    space = random_space(outcome, task, seed=seed, device=device, autoencoder=autoencoder)
    return spaces_similarity(space, policies)


def spaces_similarity(space: DescriptorSpace, policies: PolicySet) -> Similarity:
    """Compare the descriptors that a space gives these policies with the ground truth."""
    return _similarity(space.describe(policies.rollouts()), policies.ground_truth)


def random_space(
    outcome: Outcome, task: Task, *, seed: int | None = None, device: str = "cpu", autoencoder: Any = None
) -> DescriptorSpace:
    """Make a learned space like the run's, with other random weights, before any training."""
    config = outcome.config
    if autoencoder is None and "autoencoder" in {**config.code, **config.objects}:
        # Its name alone is not imported: a stranger's configuration could name anything.
        raise InvalidInputError(f"The autoencoder {config.parameters.autoencoder!r} is a user's own; give it as autoencoder.")
    parameters = replace(config.parameters, descriptor="learned")
    other = config.seed + _OTHER_SEED if seed is None else seed
    return make_space(task, find_method(config.algo), parameters, other, device, autoencoder)


def _similarity(descriptor: NDArray[np.float64], ground_truth: NDArray[np.float64]) -> Similarity:
    if ground_truth.shape[1] == 0:
        raise InvalidInputError("The task has no ground-truth descriptor that others could be compared with.")
    return Similarity(correlation_matrix_distance(descriptor, ground_truth))


def reconstruction_error(space: LearnedSpace, task: Task, policies: PolicySet) -> float | None:
    """Return the mean squared error of the autoencoder's reconstructions of the observations of these policies.

    Pictures are in [0, 1], vectors in units of their own, and the mean is over all their numbers. None if there are no policies.
    """
    if not len(policies):
        return None
    total, numbers = 0.0, 0
    for error in _squared_errors(space, task, policies):
        total += float(error.sum())
        numbers += error.size
    return total / numbers


def _squared_errors(space: LearnedSpace, task: Task, policies: PolicySet) -> Iterator[NDArray[np.float64]]:
    unit = 255 if task.observation_dtype == "uint8" else 1
    rollouts = policies.rollouts()
    for start in range(0, len(policies), _RECONSTRUCTED_AT_ONCE):
        some = rollouts.take(slice(start, start + _RECONSTRUCTED_AT_ONCE))
        reconstructed = space.reconstruct(some)
        seen = task.observe(some)[np.arange(len(some))[:, None], space.used_moments(some)]
        yield np.square(seen.astype(np.float64) / unit - reconstructed)


# Where the budget went


@dataclass(frozen=True)
class Spent:
    """The part of the budget spent on policies of one origin."""

    origin: str
    """One of initial, exploration, bootstrap, emitter."""
    evaluations: int
    share: float
    """Share of all evaluations."""
    failed: int
    """Number of these evaluations that failed."""


def budget_by_origin(origin: NDArray[Any], failed: NDArray[np.bool_]) -> list[Spent]:
    """Return how the budget was spent, by these two columns of the ledger."""
    counts = np.bincount(origin, minlength=len(ORIGINS))
    failures = np.bincount(origin[failed], minlength=len(ORIGINS))
    total = max(len(origin), 1)
    # Most runs have no reevaluations.
    listed = [i for i in range(len(ORIGINS)) if counts[i] or i != Origin.REEVALUATION]
    return [Spent(ORIGINS[i], int(counts[i]), float(counts[i] / total), int(failures[i])) for i in listed]
