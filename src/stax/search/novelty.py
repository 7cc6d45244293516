"""Novelty: the distance of a policy's behaviour from known behaviours (the paper's equation for eta).

The same policy may be in the population, among the offspring and in both archives. It counts once as a reference. It is
excluded from its own neighbours by its id, so two policies with the same behaviour are still neighbours of each other.

There can be tens of thousands of emitter candidates, and every chunk asks for the most novel one. So each keeps its nearest
distances to the reward archive, and a policy that enters the archive costs one distance per candidate instead of a search of
all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from stax.search.neighbours import NeighbourIndex
from stax.search.policy_set import GrowingSet, PolicySet


class References:
    """What novelty is measured against: the archives, the population and the last offspring, each policy once.

    Args:
        neighbors: k, of the nearest references that novelty is the mean distance to.
        dimensions: numbers of a descriptor.
    """

    def __init__(self, neighbors: int, dimensions: int) -> None:
        self.neighbors = neighbors
        self._index = NeighbourIndex(dimensions)
        self._archived: set[int] = set()
        self._ids = np.empty(0, np.int64)
        self._around_ids = np.empty(0, np.int64)
        self._around = np.empty((0, dimensions))

    def archive(self, policies: PolicySet) -> None:
        """Add policies that have entered an archive."""
        new = [row for row, number in enumerate(policies.id.tolist()) if number not in self._archived]
        if not new:
            return
        policies = policies.take(new)
        self._archived.update(policies.id.tolist())
        if len(self._index) + len(policies) > len(self._ids):
            self._ids = np.resize(self._ids, max(64, 2 * (len(self._index) + len(policies))))
        self._ids[len(self._index) : len(self._index) + len(policies)] = policies.id
        self._index.add(policies.descriptor)
        # One of the population that enters an archive (an emitter's ancestor, say) still counts once.
        loose = ~np.isin(self._around_ids, policies.id)
        self._around_ids, self._around = self._around_ids[loose], self._around[loose]

    def surround(self, policies: PolicySet) -> None:
        """Replace the population and offspring, each policy being given once."""
        loose = [row for row, number in enumerate(policies.id.tolist()) if number not in self._archived]
        self._around_ids = policies.id[loose]
        self._around = policies.descriptor[loose]

    def novelty(self, ids: NDArray[np.int64], descriptors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean distance of each policy to its k nearest references, itself excluded by its id.

        Infinite where there is nothing to compare with.
        """
        # One more than asked for, since one of those found may be the policy itself.
        archived, found = self._index.nearest(descriptors, self.neighbors + 1)
        around = cdist(descriptors, self._around)
        distances = np.concatenate([archived, around], axis=1)
        others = np.concatenate([self._ids[found], np.broadcast_to(self._around_ids, around.shape)], axis=1)
        distances[others == ids[:, None]] = np.inf
        return mean_of_nearest(distances, self.neighbors)


def mean_of_nearest(distances: NDArray[np.float64], neighbors: int) -> NDArray[np.float64]:
    """Return the mean of each row's smallest distances; of all there are if fewer, infinite ones not counting."""
    if distances.shape[1] > neighbors:
        distances = np.partition(distances, neighbors - 1, axis=1)[:, :neighbors]
    # Sorted, so that the sum does not depend on the order in which neighbours were found.
    distances = np.sort(distances, axis=1)
    known = np.isfinite(distances)
    count = known.sum(axis=1)
    total = np.where(known, distances, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


class CandidateBuffer:
    """Rewarding policies waiting to become emitters, the most novel with respect to the reward archive first.

    Each keeps its nearest distances to the reward archive, so that a policy entering there costs one distance per candidate.
    """

    def __init__(self, like: PolicySet, neighbors: int) -> None:
        self.neighbors = neighbors
        self._waiting = GrowingSet(like)
        self._nearest = np.empty((0, neighbors))

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def policies(self) -> PolicySet:
        """All candidates, as views."""
        return self._waiting.policies

    def append(self, policies: PolicySet, reward_archive: PolicySet) -> None:
        """Add candidates, and measure their distances to the reward archive."""
        start = len(self._waiting)
        self._waiting.append(policies)
        if len(self._waiting) > len(self._nearest):
            grown = np.full((2 * len(self._waiting), self.neighbors), np.inf)
            grown[:start] = self._nearest[:start]
            self._nearest = grown
        self._nearest[start : len(self._waiting)] = np.inf
        self._measure(slice(start, len(self._waiting)), reward_archive)

    def rewarded(self, policies: PolicySet) -> None:
        """Take account of policies that have entered the reward archive."""
        self._measure(slice(0, len(self._waiting)), policies)

    def remeasure(self, reward_archive: PolicySet) -> None:
        """Measure all distances again, after all descriptors have changed."""
        self._nearest[:] = np.inf
        self._measure(slice(0, len(self._waiting)), reward_archive)

    def _measure(self, rows: slice, archived: PolicySet) -> None:
        waiting = self._waiting.policies.descriptor[rows]
        nearest = self._nearest[rows]
        # A block of archived policies at a time keeps the distance matrix small.
        block = max(1, 2_000_000 // max(1, len(waiting)))
        for start in range(0, len(archived), block):
            distances = cdist(waiting, archived.descriptor[start : start + block])
            both = np.concatenate([nearest, distances], axis=1)
            nearest[:] = np.partition(both, self.neighbors - 1, axis=1)[:, : self.neighbors]

    def novelty(self) -> NDArray[np.float64]:
        """Return the novelty of each candidate with respect to the reward archive; infinite while that is empty."""
        return mean_of_nearest(self._nearest[: len(self._waiting)], self.neighbors)

    def pop_most_novel(self) -> PolicySet:
        """Remove and return the most novel candidate."""
        row = int(np.argmax(self.novelty()))
        self._nearest[row] = self._nearest[len(self._waiting) - 1]
        return self._waiting.pop(row)
