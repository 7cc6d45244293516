"""Principal axes of points, by Jacobi's rotations.

NumPy's own eigenvectors come from LAPACK, whose last bits depend on the processor and the number of threads. Everything here is
element-wise, or a sum in one fixed order, so the bits are the same everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_SWEEPS = 40
"""Sweeps over all pairs of axes at most; ten are enough for hundreds of axes."""
_PRECISION = 1e-13
"""Largest number off the diagonal that counts as zero, as a share of the largest one on it."""


def principal_ranges(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far the points (n, d) extend along each of their d principal axes."""
    centred = points - points.mean(axis=0)
    largest = np.abs(centred).max(initial=0.0)
    if largest == 0:
        return np.zeros(points.shape[1])
    centred = centred / largest
    axes = eigenvectors(np.einsum("ij,ik->jk", centred, centred))
    return np.asarray(np.ptp(np.einsum("ij,jk->ik", centred, axes), axis=0) * largest)


def eigenvectors(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvectors of a symmetric matrix as columns, in no particular order."""
    size = len(matrix)
    work, vectors = matrix.copy(), np.eye(size)
    # A tournament: in each round every axis meets another one, and a sweep has met all pairs. An odd axis rests.
    players = list(range(size + size % 2))
    for _ in range(_MOST_SWEEPS):
        diagonal = np.diag(work)
        if np.abs(work - np.diag(diagonal)).max() <= _PRECISION * np.abs(diagonal).max():
            break
        for _ in range(len(players) - 1):
            pairs = zip(players[: len(players) // 2], reversed(players), strict=False)
            met = np.array([pair for pair in pairs if max(pair) < size])
            _rotate(work, vectors, met[:, 0], met[:, 1])
            players = [players[0], players[-1], *players[1:-1]]
    return vectors


def _rotate(
    work: NDArray[np.float64], vectors: NDArray[np.float64], first: NDArray[np.int64], second: NDArray[np.int64]
) -> None:
    """Rotate the planes of these pairs of axes, so that the numbers between them become zero."""
    off = work[first, second]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = np.where(off == 0, np.inf, (work[second, second] - work[first, first]) / (2 * off))
        tangent = np.where(ratio >= 0, 1.0, -1.0) / (np.abs(ratio) + np.sqrt(1 + ratio**2))
    cosine = 1 / np.sqrt(1 + tangent**2)
    sine = tangent * cosine
    for matrix in (work.T, work, vectors):
        one, other = matrix[:, first], matrix[:, second]
        matrix[:, first], matrix[:, second] = cosine * one - sine * other, sine * one + cosine * other
