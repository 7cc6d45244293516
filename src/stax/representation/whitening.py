"""Whitened codes: principal components of the codes, each divided by its standard deviation.

Distances between whitened codes do not depend on the units of the code, so that no number of the code dominates novelty. The components
are fitted to the archived policies after each training episode; before the first one, codes are used as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError

LEAST_VARIANCE = 1e-3
"""Share of the largest variance that every component counts with at least; otherwise those that are noise would count as much as others."""
_NAMES = ("descriptor.whitening.mean", "descriptor.whitening.components", "descriptor.whitening.deviation")


class Whitening:
    """The affine map from codes to whitened codes, and its inverse.

    Args:
        size: number of values in a code.
    """

    def __init__(self, size: int) -> None:
        self.mean = np.zeros(size)
        self.components = np.eye(size)
        """Principal components, a column each."""
        self.deviation = np.ones(size)
        """Standard deviation along each of them."""

    def fit(self, codes: NDArray[Any]) -> None:
        """Fit the components to codes (n, size), at least one.

        Sums are NumPy's own and not those of BLAS, whose order depends on the number of threads.
        """
        values = np.asarray(codes, np.float64)
        mean = values.mean(0)
        centred = values - mean
        covariance = np.einsum("ni,nj->ij", centred, centred) / len(values)
        variance, components = np.linalg.eigh(covariance)
        largest = float(variance[-1])
        if not np.isfinite(largest) or largest <= 0:
            # All codes are the same: there is nothing to measure their spread by.
            variance, components = np.ones_like(mean), np.eye(len(mean))
        else:
            variance = np.maximum(variance, LEAST_VARIANCE * largest)
        self.mean, self.components, self.deviation = mean, components, np.sqrt(variance)

    def whiten(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the whitened codes (n, size); the bits of a row do not depend on the other rows."""
        centred = np.asarray(codes, np.float64) - self.mean
        return _product(centred, self.components) / self.deviation

    def restore(self, whitened: NDArray[Any]) -> NDArray[np.float64]:
        """Return the codes (n, size) that these whitened codes belong to."""
        values = np.asarray(whitened, np.float64) * self.deviation
        return _product(values, self.components.T) + self.mean

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the map as arrays, by name."""
        return dict(zip(_NAMES, (self.mean.copy(), self.components.copy(), self.deviation.copy()), strict=True))

    def take(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Take over the map that `arrays` returned, and return the other arrays; raise an error if it is no such map."""
        size = len(self.mean)
        given = [arrays.get(name) for name in _NAMES]
        for name, array, shape in zip(_NAMES, given, ((size,), (size, size), (size,)), strict=True):
            if array is None or array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise InvalidInputError(f"These arrays are not the state of this space: {name} must be {shape} finite numbers.")
        mean, components, deviation = (np.array(array) for array in given)
        if not (deviation > 0).all():
            raise InvalidInputError("These arrays are not the state of this space: a whitened code has a deviation of 0.")
        self.mean, self.components, self.deviation = mean, components, deviation
        return {name: array for name, array in arrays.items() if name not in _NAMES}


def _product(rows: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix product, summed in one order for any number of rows."""
    total = np.zeros((len(rows), matrix.shape[1]))
    for column, weights in zip(rows.T, matrix, strict=True):
        total += column[:, None] * weights
    return total
