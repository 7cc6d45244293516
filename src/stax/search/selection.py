"""Selection: NSGA-II's fronts and crowding distance (Deb et al. 2002), and dominated novelty. All objectives are maximised.

Pareto ranks come from the package moocore, which is compiled and exact, and ranks equal rows together.
"""

from __future__ import annotations

import moocore
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from stax.search.novelty import mean_of_nearest

_BLOCK = 4_000_000
"""Numbers of a distance matrix held at once."""


def fronts(objectives: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the front of each row, from 0: no row of a front is dominated by one of its own or a later front."""
    if len(objectives) == 0:
        return np.empty(0, np.int64)
    return np.asarray(moocore.pareto_rank(objectives, maximise=True), np.int64)


def crowding_distance(objectives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much room the rows of one front have around them.

    It is the sum over objectives of the gap between the two neighbours, as a share of the front's range; infinite at the two ends of
    each objective.
    """
    distance = np.zeros(len(objectives))
    for values in objectives.T:
        order = np.argsort(values, kind="stable")
        span = values[order[-1]] - values[order[0]]
        if span > 0:
            distance[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / span
        distance[order[[0, -1]]] = np.inf
    return distance


def select(objectives: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the rows that survive: whole fronts, the best first, and of the last one those with the most room.

    With one objective these are the best rows. Equal ones survive in the order given.
    """
    if objectives.shape[1] == 1:
        return np.argsort(-objectives[:, 0], kind="stable")[:count]
    front = fronts(objectives)
    survivors: list[NDArray[np.int64]] = []
    missing = min(count, len(objectives))
    for number in range(front.max() + 1):
        rows = np.flatnonzero(front == number)
        if len(rows) > missing:
            room = crowding_distance(objectives[rows])
            rows = rows[np.argsort(-room, kind="stable")[:missing]]
        survivors.append(rows)
        missing -= len(rows)
        if missing == 0:
            break
    return np.concatenate(survivors)


def dominated_novelty(descriptors: NDArray[np.float64], rewards: NDArray[np.float64], neighbors: int) -> NDArray[np.float64]:
    """Return the score (n,) of each row in Dominated Novelty Search (Bahlous-Boldi, Faldor et al. 2025).

    It is the mean distance to the `neighbors` nearest other rows with at least the same reward; to all of these if they are fewer, and
    infinite if there are none. Among rows of equal reward it is their novelty.
    """
    scores = np.empty(len(descriptors))
    block = max(1, _BLOCK // max(1, len(descriptors)))
    for start in range(0, len(descriptors), block):
        rows = np.arange(start, min(start + block, len(descriptors)))
        distances = cdist(descriptors[rows], descriptors)
        distances[rewards[None, :] < rewards[rows, None]] = np.inf
        distances[np.arange(len(rows)), rows] = np.inf
        scores[rows] = mean_of_nearest(distances, neighbors)
    return scores
