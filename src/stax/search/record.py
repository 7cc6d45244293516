"""What a search records of its course: a ledger of every evaluation, a row of metrics per chunk, coverage, and where time went."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER
from stax.search.grid import PROFILE_LEVELS, Coverage, Grid
from stax.search.policy_set import PolicySet
from stax.search.schedulers.scheduler import Chunk
from stax.search.state_checks import Arrays, integer, is_integer, is_number
from stax.search.vocabulary import CHUNK_PHASES, Phase

ACTIVITIES = ("evaluation", "training", "encoding", "selection", "storage")
"""What time is spent on."""


class Record:
    """The record of a run.

    Args:
        budget: evaluations that the run may do.
        ground_truth_size: numbers of a ground-truth descriptor.
        reward_areas: number of reward areas of the task.
        grid: grid that coverage is measured on, if the task has a ground truth.
    """

    def __init__(self, budget: int, ground_truth_size: int, reward_areas: int, grid: Grid | None) -> None:
        self.grid = grid
        self._coverage = Coverage(grid) if grid else None
        self.ledger = Ledger(budget, ground_truth_size)
        self.max_reward = [0.0] * reward_areas
        """Highest reward found in each reward area."""
        self.metrics: list[dict[str, Any]] = []
        """A row for each chunk of the budget, see `stax.search.metrics`."""
        self.course: list[Chunk] = []
        """The chunks of the budget so far, by which the scheduler decides."""
        self.gain = 0.0
        """How much emitters have raised their best rewards in this chunk."""
        self.stopwatch = Stopwatch(*ACTIVITIES)

    @property
    def coverage(self) -> float | None:
        """Share of the grid's cells that a policy ended in; None for a task without a ground-truth descriptor."""
        return self._coverage.share if self._coverage else None

    @property
    def qd_score(self) -> float | None:
        """Sum over the grid's cells of the best reward that ended there; None as for `coverage`."""
        return self._coverage.qd_score if self._coverage else None

    @property
    def profile(self) -> list[float | None]:
        """Share of the grid's cells whose best reward is at or above each of `PROFILE_LEVELS`; None as for `coverage`."""
        return [self._coverage.profile(level) if self._coverage else None for level in PROFILE_LEVELS]

    def append(self, policies: PolicySet, failed: NDArray[np.bool_]) -> None:
        """Record policies that were just evaluated."""
        self.ledger.append(policies, failed)
        if self._coverage:
            self._coverage.add(policies.ground_truth[~failed], policies.reward[~failed])
        for area in range(len(self.max_reward)):
            rewards = policies.reward[~failed & (policies.reward_area == area)]
            self.max_reward[area] = max(self.max_reward[area], *rewards.tolist(), 0.0)

    def end_chunk(self, phase: Phase, novelty: float, row: dict[str, Any]) -> None:
        """Record that a chunk of the budget is spent."""
        evaluations = len(self.ledger) - (self.metrics[-1]["evaluations"] if self.metrics else 0)
        self.course.append(Chunk(phase, evaluations, novelty=novelty, gain=self.gain))
        self.metrics.append(row)
        self.gain = 0.0

    # To be saved and restored

    def capture(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the arrays and numbers to save. Arrays are views."""
        arrays = {f"ledger.{name}": column for name, column in self.ledger.columns().items() if name != "id"}
        return arrays, {
            "evaluations": len(self.ledger),
            "chunks": len(self.metrics),
            "max_reward": self.max_reward,
            "course": [dataclasses.astuple(chunk) for chunk in self.course],
            "metrics": self.metrics,
            "seconds": self.stopwatch.seconds,
        }

    def restore(self, ledger: Arrays, numbers: Mapping[str, Any], metrics: list[dict[str, Any]]) -> None:
        """Restore what was saved, with these checked rows of metrics."""
        evaluations = numbers["evaluations"]
        self.ledger.restore(ledger, evaluations)
        self.max_reward = _rewards(numbers["max_reward"], len(self.max_reward))
        self.course = _course(numbers["course"])
        if sum(chunk.evaluations for chunk in self.course) != evaluations:
            raise InvalidInputError(f"The evaluations of the state's chunks do not sum to its {evaluations} evaluations.")
        chunks = integer(numbers, "chunks")
        if len(metrics) != chunks:
            raise InvalidInputError(f"The state has {len(metrics)} rows of metrics after {shown(chunks)} chunks.")
        if metrics and metrics[-1]["evaluations"] != evaluations:
            last = shown(metrics[-1]["evaluations"])
            raise InvalidInputError(f"The last row of the state's metrics has {last} evaluations, not {evaluations}.")
        self.metrics = metrics
        for name, seconds in numbers["seconds"].items():
            if name not in ACTIVITIES or not is_number(seconds) or seconds < 0:
                raise InvalidInputError(f"The state's seconds of {shown(name)} are {shown(seconds)}.")
        self.stopwatch.seconds.update({name: float(numbers["seconds"][name]) for name in ACTIVITIES})
        if self.grid:
            known = self.ledger.columns()
            self._coverage = Coverage(self.grid)
            counted = ~known["failed"]
            self._coverage.add(known["ground_truth"][counted], known["reward"][counted])


def _rewards(given: Any, areas: int) -> list[float]:
    """Return the highest rewards of a saved state."""
    if not isinstance(given, list) or len(given) != areas or not all(is_number(value) for value in given):
        raise InvalidInputError(f"The state's max_reward must be {areas} finite numbers, not {shown(given)}.")
    return [float(value) for value in given]


def _course(given: Any) -> list[Chunk]:
    """Return the chunks of a saved state, of which the first is the initial population."""
    course: list[Chunk] = []
    for phase, evaluations, novelty, gain in given:
        allowed = CHUNK_PHASES if course else (Phase.INITIAL_POPULATION,)
        counted = is_integer(evaluations) and evaluations >= 0
        if not (phase in allowed and counted and is_number(novelty) and is_number(gain)):
            raise InvalidInputError(f"The state has an impossible chunk: {shown((phase, evaluations, novelty, gain))}.")
        course.append(Chunk(Phase(phase), evaluations, float(novelty), float(gain)))
    if not course:
        raise InvalidInputError("The state has no chunks; the first must be the initial population.")
    return course


class Ledger:
    """One row per evaluation, in order: the number of the row is the policy's id."""

    def __init__(self, budget: int, ground_truth_size: int) -> None:
        self._size = 0
        # The budget is known: memory that is not written to yet costs nothing.
        self._columns: dict[str, NDArray[Any]] = {
            "parent": np.empty(budget, np.int64),
            "origin": np.empty(budget, np.int8),
            "emitter": np.empty(budget, np.int64),
            "reward": np.empty(budget),
            "reward_area": np.empty(budget, np.int16),
            "ground_truth": np.empty((budget, ground_truth_size)),
            "failed": np.empty(budget, np.bool_),
        }

    def __len__(self) -> int:
        return self._size

    def append(self, policies: PolicySet, failed: NDArray[np.bool_]) -> None:
        """Append policies just evaluated; those whose evaluation failed have no reward and no ground truth."""
        rows = slice(self._size, self._size + len(policies))
        outcome = {
            "reward": np.where(failed, 0.0, policies.reward),
            "reward_area": np.where(failed, -1, policies.reward_area),
            "ground_truth": np.where(failed[:, None], np.nan, policies.ground_truth),
            "failed": failed,
        }
        for name, column in self._columns.items():
            column[rows] = outcome[name] if name in outcome else getattr(policies, name)
        self._size += len(policies)

    def restore(self, columns: Mapping[str, NDArray[Any]], size: int) -> None:
        """Copy the first rows of another ledger."""
        for name, column in self._columns.items():
            if columns[name].shape != (size, *column.shape[1:]) or columns[name].dtype != column.dtype:
                raise InvalidInputError(
                    f"Column {name} of the ledger has the shape {columns[name].shape} and type {columns[name].dtype}."
                )
        counted = ~columns["failed"]
        for name in ("reward", "ground_truth"):
            if not (np.abs(columns[name][counted]) <= LARGEST_NUMBER).all():
                raise InvalidInputError(
                    f"Column {name} of the ledger has a value that is not finite, or beyond {LARGEST_NUMBER:g}."
                )
        for name, column in self._columns.items():
            column[:size] = columns[name]
        self._size = size

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the rows so far, by column: id, parent, origin, emitter, reward, reward_area, ground_truth, failed."""
        rows = {name: column[: self._size] for name, column in self._columns.items()}
        return {"id": np.arange(self._size), **rows}


class Stopwatch:
    """Seconds by activity. Time within an inner activity does not count for the outer one."""

    def __init__(self, *activities: str) -> None:
        self.seconds = dict.fromkeys(activities, 0.0)
        self._running: list[str] = []
        self._since = 0.0

    @contextmanager
    def time(self, activity: str) -> Iterator[None]:
        """Count the time within as spent on this activity."""
        self._book()
        self._running.append(activity)
        try:
            yield
        finally:
            self._book()
            self._running.pop()

    def _book(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now
