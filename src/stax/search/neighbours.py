"""Exact nearest neighbours among points that keep being added.

In few dimensions a k-d tree (SciPy) is built over most of the points, and the ones added since are looked through one by one:
queries in 2 dimensions against 50,000 points take about a millisecond. In many dimensions trees degenerate (50 dimensions,
10,000 points: 130 ms, against 22 ms), and one matrix product finds the neighbours. Its rounding is bounded, and a query whose
neighbours it leaves in doubt is done again by direct differences.

Either way the distances returned are computed by one formula from the neighbours found, so they depend neither on threads nor
on when a point was added. scikit-learn has the same product, but is a far larger dependency and does not guarantee this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

Points = NDArray[np.float64]

TREE_DIMENSIONS = 8
"""Largest number of dimensions for which a tree is faster than a matrix product (measured on 1,000 to 50,000 points)."""
_LOOSE_POINTS = 512
"""Number of points that may be added before the tree is built anew."""
_BLOCK = 4_000_000
"""Numbers of a distance matrix held at once."""
_SPARE = 8
"""Neighbours beyond those asked for that the matrix product proposes."""


class NeighbourIndex:
    """Points, with a search for the nearest ones."""

    def __init__(self, dimensions: int) -> None:
        self._points: Points = np.empty((0, dimensions))
        self._squares: Points = np.empty(0)
        self._size = 0
        self._tree: cKDTree | None = None

    def __len__(self) -> int:
        return self._size

    @property
    def points(self) -> Points:
        return self._points[: self._size]

    def add(self, points: Points) -> None:
        size = self._size + len(points)
        if size > len(self._points):
            room = max(size, 2 * len(self._points), 64)
            grown = np.empty((room, self._points.shape[1]))
            grown[: self._size] = self.points
            squares = np.empty(room)
            squares[: self._size] = self._squares[: self._size]
            self._points, self._squares = grown, squares
        self._points[self._size : size] = points
        self._squares[self._size : size] = np.einsum("ij,ij->i", points, points)
        self._size = size

    def nearest(self, queries: Points, k: int) -> tuple[Points, NDArray[np.int64]]:
        """Return distances (n, k) and numbers (n, k) of the k nearest points of each query, in no particular order.

        With fewer than k points there are fewer columns.
        """
        k = min(k, self._size)
        if k == 0 or len(queries) == 0:
            return np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        find = self._by_tree if self._points.shape[1] <= TREE_DIMENSIONS else self._by_product
        found = find(queries, k)
        return _distances(queries, self._points, found), found

    def _by_tree(self, queries: Points, k: int) -> NDArray[np.int64]:
        if self._tree is None or self._size - self._tree.n > _LOOSE_POINTS:
            self._tree = cKDTree(self.points.copy(), balanced_tree=False, compact_nodes=False)
        treed = self._tree.n
        distances, found = self._tree.query(queries, list(range(1, min(k, treed) + 1)))
        if treed < self._size:
            loose = cdist(queries, self._points[treed : self._size])
            distances = np.concatenate([distances, loose], axis=1)
            numbers = np.broadcast_to(np.arange(treed, self._size), loose.shape)
            found = np.concatenate([found, numbers], axis=1)
            best = np.argpartition(distances, k - 1, axis=1)[:, :k]
            found = np.take_along_axis(found, best, axis=1)
        return np.asarray(found, np.int64)

    def _by_product(self, queries: Points, k: int) -> NDArray[np.int64]:
        block = max(1, _BLOCK // self._size)
        return np.concatenate([self._block(queries[i : i + block], k) for i in range(0, len(queries), block)])

    def _block(self, queries: Points, k: int) -> NDArray[np.int64]:
        points, squares = self.points, self._squares[: self._size]
        proposed = k + _SPARE
        if proposed >= self._size:
            return _directly(queries, points, k)
        own = np.einsum("ij,ij->i", queries, queries)
        # Squared distances but for the query's own square, which does not change their order.
        nearness = queries @ points.T
        nearness *= -2.0
        nearness += squares
        found = np.argpartition(nearness, proposed, axis=1)[:, : proposed + 1]
        next_best = np.take_along_axis(nearness, found[:, proposed:], axis=1)[:, 0] + own
        found = found[:, :proposed]
        exact = _distances(queries, points, found)
        order = np.argpartition(exact, k - 1, axis=1)[:, :k]
        farthest = np.take_along_axis(exact, order, axis=1).max(axis=1)
        # What a product of this length can be wrong by.
        doubt = 4.0 * (points.shape[1] + 4) * np.finfo(np.float64).eps * (own + squares.max())
        chosen = np.take_along_axis(found, order, axis=1)
        unsure = np.flatnonzero(farthest**2 > next_best - doubt)
        if len(unsure):
            chosen[unsure] = _directly(queries[unsure], points, k)
        return chosen


def _directly(queries: Points, points: Points, k: int) -> NDArray[np.int64]:
    """Return the numbers (n, k) of the k points nearest to each query, in no particular order, by the distances to all points."""
    block = max(1, _BLOCK // len(points))
    parts = []
    for start in range(0, len(queries), block):
        distances = cdist(queries[start : start + block], points)
        parts.append(np.argpartition(distances, k - 1, axis=1)[:, :k])
    return np.concatenate(parts).astype(np.int64)


def _distances(queries: Points, points: Points, found: NDArray[np.int64]) -> Points:
    difference = queries[:, None, :] - points[found]
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", difference, difference)))
