"""Selection: NSGA-II's fronts and crowding distance (Deb et al. 2002). All objectives are maximised.

Pareto ranks come from the package moocore, which is compiled and exact, and ranks equal rows together.
"""

from __future__ import annotations

import moocore
import numpy as np
from numpy.typing import NDArray


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
