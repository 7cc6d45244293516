"""The grid over the ground-truth bounds: coverage and QD-score are measured on its cells, and MAP-Elites keeps an elite in each.

The package `ribs` has such a grid too, but would hold the same arrays a second time, and needs pandas. Here an elite is a row
of a `PolicySet`, with its snapshots and descriptors.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.search.policy_set import GrowingSet, PolicySet

MOST_DIMENSIONS = 8
PROFILE_LEVELS = (0.2, 0.5, 0.8)
"""Rewards at which the archive profile is measured in the metrics, reports and comparisons."""


class Grid:
    """Cells of equal size, `cells` along each dimension."""

    def __init__(self, bounds: tuple[tuple[float, float], ...], cells: int) -> None:
        if len(bounds) > MOST_DIMENSIONS:
            raise InvalidInputError(
                f"A grid over {len(bounds)} ground-truth numbers is too large; at most {MOST_DIMENSIONS} are allowed."
            )
        if cells ** len(bounds) > np.iinfo(np.int64).max:
            raise InvalidInputError(
                f"A grid of {cells} cells along each of {len(bounds)} ground-truth numbers has too many cells; use fewer grid_cells."
            )
        self._low = np.array([low for low, _ in bounds])
        self._span = np.array([high - low for low, high in bounds])
        self._cells = cells
        self.size = int(cells ** len(bounds))

    def cell(self, ground_truth: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell of each row; what lies on or beyond the bounds belongs to the outermost cells."""
        place = np.floor((ground_truth - self._low) / self._span * self._cells)
        place = np.clip(place, 0, self._cells - 1).astype(np.int64)
        powers = self._cells ** np.arange(place.shape[1] - 1, -1, -1)
        return np.asarray(place @ powers, np.int64)


class Coverage:
    """The cells of the grid that policies ended in, with the best reward of each."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._best: dict[int, float] = {}

    def add(self, ground_truth: NDArray[np.float64], reward: NDArray[np.float64]) -> None:
        """Count the cells of these policies."""
        for cell, value in zip(self._grid.cell(ground_truth).tolist(), reward.tolist(), strict=True):
            if value > self._best.get(cell, -1.0):
                self._best[cell] = value

    @property
    def share(self) -> float:
        """Share of the cells that any policy ended in."""
        return len(self._best) / self._grid.size

    @property
    def qd_score(self) -> float:
        """QD-score: the sum of the best rewards of all cells."""
        # Exact, so that it does not depend on the order in which cells were found.
        return math.fsum(self._best.values())

    def profile(self, level: float) -> float:
        """Return the archive profile: the share of the cells whose best reward is at or above a level."""
        return sum(best >= level for best in self._best.values()) / self._grid.size


class Elites:
    """One policy per cell of the grid: the first one, until one with a better reward, or with an equal one, replaces it.

    Args:
        like: policies whose columns have the shapes and types of those to come.
        grid: the grid.
        equals_replace: whether a newcomer also replaces an elite with the same reward.
    """

    def __init__(self, like: PolicySet, grid: Grid, *, equals_replace: bool) -> None:
        self._grid = grid
        self._beats = np.greater_equal if equals_replace else np.greater
        self._kept = GrowingSet(like)
        self._row: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def policies(self) -> PolicySet:
        return self._kept.policies

    def entering(self, policies: PolicySet) -> NDArray[np.int64]:
        """Return the rows of the policies that `append` would keep."""
        return np.array(list(self._entering(policies).values()), np.int64)

    def _entering(self, policies: PolicySet) -> dict[int, int]:
        """Return the cells that would get another elite, with its row."""
        kept = self._kept.policies
        cells = self._grid.cell(policies.ground_truth).tolist()
        entering: dict[int, int] = {}
        for row, cell in enumerate(cells):
            rival = entering.get(cell)
            best = policies.reward[rival] if rival is not None else -np.inf
            if rival is None and cell in self._row:
                best = kept.reward[self._row[cell]]
            if self._beats(policies.reward[row], best):
                entering[cell] = row
        return entering

    def append(self, policies: PolicySet) -> None:
        kept, entering = self._kept.policies, self._entering(policies)
        known = [cell for cell in entering if cell in self._row]
        for name, column in kept.columns().items():
            column[[self._row[cell] for cell in known]] = getattr(policies, name)[[entering[cell] for cell in known]]
        new = [cell for cell in entering if cell not in self._row]
        for cell in new:
            self._row[cell] = len(self._row)
        self._kept.append(policies.take(np.array([entering[cell] for cell in new], np.int64)))
