"""The container of AURORA: policies of a behaviour space without cells, kept apart by a threshold of distance.

The rules and the two controls of the threshold are those of the authors (Cully 2019; Grillotti and Cully 2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.principal_axes import principal_ranges
from stax.search.state_checks import count, is_number

if TYPE_CHECKING:
    from stax.search.parameters import Parameters

_BLOCK = 512
"""Newcomers whose distances are computed together."""
_FLAT = 1e-9
"""Largest range of a principal axis that counts as zero, as a share of the largest range."""


class DistanceContainer:
    """Policies that are kept apart by a threshold of distance, and compete with their nearest neighbour only.

    Args:
        like: policies whose columns have the shapes and types of those to come.
        parameters: parameters of the search.
    """

    def __init__(self, like: PolicySet, parameters: Parameters) -> None:
        self._parameters = parameters
        self._kept = GrowingSet(like)
        self.threshold = 0.0
        """l: a policy enters if it is farther than this from all others. At 0 everything enters that is no duplicate."""
        self.generations = 0
        """Generations of exploration so far."""

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def policies(self) -> PolicySet:
        """All policies, as views."""
        return self._kept.policies

    def append(self, policies: PolicySet) -> None:
        """Add policies as they are: those of a saved state, which passed the rules before."""
        self._kept.append(policies)

    # The rules of entering

    def entering(self, policies: PolicySet) -> NDArray[np.int64]:
        """Return the rows of the policies that would be in the container after they were all offered."""
        held, offered = (replace(some, snapshots=some.snapshots[:, :0]) for some in (self.policies, policies))
        trial = DistanceContainer(held, self._parameters)
        trial.append(held)
        trial.offer(offered, self.threshold)
        return np.flatnonzero(np.isin(policies.id, trial.policies.id))

    def offer(self, policies: PolicySet, threshold: float | None = None) -> None:
        """Offer policies one after the other, by another threshold than the container's if given."""
        threshold = self.threshold if threshold is None else threshold
        for start in range(0, len(policies), _BLOCK):
            self._offer_block(policies.take(slice(start, start + _BLOCK)), threshold)

    def _offer_block(self, newcomers: PolicySet, threshold: float) -> None:
        held = len(self._kept)
        distances = np.empty((len(newcomers), held + len(newcomers)))
        distances[:, :held] = cdist(newcomers.descriptor, self._kept.policies.descriptor)
        among = cdist(newcomers.descriptor, newcomers.descriptor)
        for row in range(len(newcomers)):
            place = self._place(float(newcomers.reward[row]), distances[row, : len(self._kept)], threshold)
            if place is None:
                continue
            newcomer = newcomers.take(slice(row, row + 1))
            if place == len(self._kept):
                self._kept.append(newcomer)
            else:
                for name, column in self._kept.policies.columns().items():
                    column[place] = getattr(newcomer, name)[0]
            distances[:, place] = among[:, row]

    def _place(self, reward: float, distances: NDArray[np.float64], threshold: float) -> int | None:
        """Return the place that a newcomer takes: a new one, that of its nearest neighbour, or None if it is rejected.

        Args:
            reward: reward of the newcomer.
            distances: its distances to all policies in the container.
            threshold: the threshold.
        """
        if not len(distances):
            return 0
        nearest = int(np.argmin(distances))
        if distances[nearest] > threshold:
            return len(distances)
        if len(distances) == 1:
            return None
        second = np.partition(distances, 1)[1]
        if second < (1 - self._parameters.container_tolerance) * threshold:
            return None
        return nearest if self._replaces(reward, distances, nearest) else None

    def _replaces(self, reward: float, distances: NDArray[np.float64], nearest: int) -> bool:
        """Return whether a newcomer is better than its nearest neighbour: not much worse in reward and novelty, and better on balance."""
        tolerance = self._parameters.container_tolerance
        rival = float(self._kept.policies.reward[nearest])
        if not self._parameters.container_rewards:
            reward = rival = 0.0
        # Rewards are never negative. Where neither policy is rewarded, the balance below is 0 > 0.
        if reward < (1 - tolerance) * rival or reward == rival == 0:
            return False
        where = self._kept.policies.descriptor
        novelty = self._novelty(distances)
        rival_novelty = self._novelty(cdist(where[nearest : nearest + 1], where)[0])
        if novelty < (1 - tolerance) * rival_novelty:
            return False
        return (reward - rival) * rival_novelty > -(novelty - rival_novelty) * rival

    def _novelty(self, distances: NDArray[np.float64]) -> float:
        """Return the mean of the smallest distances but the very smallest, which is to the policy that may be replaced."""
        neighbors = min(self._parameters.novelty_neighbors, len(distances) - 1)
        nearest = np.sort(np.partition(distances, neighbors)[: neighbors + 1])[1:]
        return float(nearest.sum() / neighbors)

    # The threshold

    def refill(self) -> None:
        """Empty the container, and offer all its policies again, by a threshold that is lower by the tolerance."""
        policies = PolicySet.concat([self._kept.policies])
        self._kept = GrowingSet(policies)
        self.offer(policies, (1 - self._parameters.container_tolerance) * self.threshold)

    def control_size(self) -> None:
        """Apply container size control: l <- l (1 - K (N - size)), where K N is `container_gain`."""
        parameters = self._parameters
        error = (parameters.container_size - len(self)) / parameters.container_size
        self.threshold = min(self.threshold * (1 - parameters.container_gain * error), LARGEST_NUMBER)

    def measure_threshold(self) -> None:
        """Set the threshold by the extent of the container, for `container_size` policies to fill it."""
        points, parameters = self.policies.descriptor, self._parameters
        if parameters.container_control == "vat":
            self.threshold = volume_adaptive_threshold(points, parameters.container_size * parameters.container_vat_factor)
        else:
            self.threshold = first_threshold(points, parameters.container_size)

    # To be saved and restored

    def numbers(self) -> dict[str, Any]:
        """Return what is to be saved beside the policies."""
        return {"threshold": self.threshold, "generations": self.generations}

    def restore(self, numbers: Mapping[str, Any], evaluations: int) -> None:
        """Restore what was saved, after so many evaluations."""
        threshold = numbers["threshold"]
        if not is_number(threshold) or threshold < 0:
            raise InvalidInputError(f"The state's threshold of the container must be a number from 0, not {shown(threshold)}.")
        self.threshold = float(threshold)
        self.generations = count(numbers, "generations", evaluations)


def first_threshold(points: NDArray[np.float64], size: int) -> float:
    """Return 0.5 (V / N)^(1 / d), with V the product of the ranges of N = `size` points along their d principal axes.

    Axes along which the points do not extend are left out of V and d.
    """
    ranges = principal_ranges(points)
    ranges = ranges[ranges > _FLAT * ranges.max(initial=0.0)]
    if not len(ranges):
        return 0.0
    return 0.5 * math.exp((math.fsum(map(math.log, ranges.tolist())) - math.log(size)) / len(ranges))


def volume_adaptive_threshold(points: NDArray[np.float64], resolution: float) -> float:
    """Return the largest distance of two points, divided by the d-th root of the resolution c N."""
    largest = 0.0
    for start in range(0, len(points), _BLOCK):
        largest = max(largest, float(cdist(points[start : start + _BLOCK], points).max()))
    return float(largest / resolution ** (1 / max(1, points.shape[1])))
