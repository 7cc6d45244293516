"""What a search remembers of its course: a ledger of every evaluation, a row of metrics per chunk, and where time went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.input_limits import LARGEST_NUMBER
from stax.search.policy_set import PolicySet


class Ledger:
    """One row per evaluation, in order: the row is the policy's id."""

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
        """Policies just evaluated; those whose evaluation failed earned nothing and ended nowhere."""
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
        """Takes over the first rows of another ledger."""
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
        """The rows so far, by column: id, parent, origin, emitter, reward, reward_area, ground_truth, failed."""
        rows = {name: column[: self._size] for name, column in self._columns.items()}
        return {"id": np.arange(self._size), **rows}


class Stopwatch:
    """Seconds by what they were spent on. Time within an inner activity does not count for the outer one."""

    def __init__(self, *activities: str) -> None:
        self.seconds = dict.fromkeys(activities, 0.0)
        self._running: list[str] = []
        self._since = 0.0

    @contextmanager
    def time(self, activity: str) -> Iterator[None]:
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
