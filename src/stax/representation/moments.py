"""The moments of a rollout whose observations make its descriptor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def changing_moments(observations: NDArray[Any], wanted: int) -> NDArray[np.int64]:
    """Return (n, wanted) which observations of each rollout are used: the last one, and those before which most has changed.

    The change before an observation is the sum of the squared differences to the one before it, of all its numbers in their own units;
    bytes are summed exactly. The first observation has none before it, so it comes last. Of equal changes, the later one counts.

    Args:
        observations: (n, available, ...), in the order of time.
        wanted: number of observations to use, at most those available.
    """
    count, available = observations.shape[:2]
    changes = np.full((count, available), -1.0)
    exact = np.int64 if observations.dtype.kind in "iu" else np.float64
    for moment in range(1, available):
        before, after = (observations[:, one].reshape(count, -1).astype(exact) for one in (moment - 1, moment))
        changes[:, moment] = np.square(after - before).sum(axis=1)
    changes[:, -1] = np.inf
    # Sorted from the end, so that a stable sort prefers the later of two.
    order = np.argsort(-changes[:, ::-1], axis=1, kind="stable")[:, :wanted]
    return np.sort(available - 1 - order, axis=1)
