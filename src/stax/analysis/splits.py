"""A measure of whether one reward area of the ground truth lies in several places of the learned space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stax.search.policy_set import PolicySet

_SPLIT_SHARE = 0.2
"""Share of the largest distance between two policies of an area at which groups count as separate parts."""
_LEAST_PART = 0.05
"""Share of an area's policies that a group needs to be counted."""
_LEAST_COUNTED = 20
"""Policies below which every gap between two of them would look like a split."""
_LEAST_SHOWN = 3
"""Policies of an area below which there is nothing to show."""
MOST_SPLIT = 1000
"""Policies of an area that are looked at; of more, a sample. Counting parts takes memory for every pair of them."""


@dataclass(frozen=True, eq=False)
class Split:
    """The policies of one reward area, in both spaces."""

    task: str
    area: int
    ground_truth: NDArray[np.float64]
    """(n, 2)"""
    components: NDArray[np.float64]
    """(n, 2) the first two principal components of the learned descriptors."""
    parts_ground_truth: int
    """Groups that are well apart from each other in the ground truth; of a few policies that says nothing, see `enough`."""
    parts_learned: int
    """The same by the learned descriptors."""

    @property
    def enough(self) -> bool:
        """Whether there are enough policies to count their groups."""
        return len(self.ground_truth) >= _LEAST_COUNTED


def split_of(task: str, policies: PolicySet) -> Split | None:
    """Return the split of the reward area that most of these policies are in; None if none of them has enough.

    Args:
        task: the name of the task.
        policies: those of the final archives; of an area with many, a sample is used, always the same.
    """
    areas = policies.reward_area[policies.reward > 0]
    if not len(areas):
        return None
    area = int(np.bincount(areas).argmax())
    rows = np.flatnonzero((policies.reward_area == area) & (policies.reward > 0))
    if len(rows) < _LEAST_SHOWN:
        return None
    if len(rows) > MOST_SPLIT:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_SPLIT, replace=False, shuffle=False))
    inside = policies.take(rows)
    components = _principal_components(inside.descriptor)
    return Split(task, area, inside.ground_truth, components, parts(inside.ground_truth), parts(inside.descriptor))


def _principal_components(descriptors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first two principal components; the second is 0 if there is only one."""
    left, sizes, _ = np.linalg.svd(descriptors - descriptors.mean(axis=0), full_matrices=False)
    components = left[:, :2] * sizes[:2]
    missing = 2 - components.shape[1]
    return np.column_stack([components, np.zeros((len(components), missing))]) if missing else components


def parts(points: NDArray[np.float64]) -> int:
    """Return how many groups the points form if those closer than a fifth of the largest distance belong together.

    A few stray points are no group.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    distances = pdist(points)
    if not distances.size or distances.max() == 0:
        return 1
    group = fcluster(linkage(distances, "single"), _SPLIT_SHARE * distances.max(), "distance")
    return max(1, int(np.count_nonzero(np.bincount(group) >= max(2, _LEAST_PART * len(points)))))
