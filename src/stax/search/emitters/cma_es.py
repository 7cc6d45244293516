"""CMA-ES with a full covariance matrix (the package `cmaes`, after Hansen)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.search.emitters.sep_cma_es import SeparableCmaEmitter

if TYPE_CHECKING:
    from stax.search.parameters import Parameters

MOST_GENES = 1000
"""Largest genome: with n genes the covariance matrix has n x n numbers. It is decomposed once a generation, and once more when an
emitter starts, or runs again after another one."""


class CmaEmitter(SeparableCmaEmitter):
    """CMA-ES: policies are drawn around a mean; the mean, the step size and the covariance of genes adapt to their rewards."""

    name = "cma-es"
    about = "CMA-ES with a full covariance matrix, for genomes of up to 1,000 numbers"

    def fits(self, parameters: Parameters, genome_size: int) -> None:
        super().fits(parameters, genome_size)
        if genome_size > MOST_GENES:
            raise InvalidInputError(
                f"Emitters of the kind {self.name} keep a matrix of all pairs of genes, so genomes may have at most {MOST_GENES:,}"
                f" numbers, not {genome_size:,}; take 'sep-cma-es'."
            )

    def _make(self, **options: Any) -> Any:
        from cmaes import CMA

        return CMA(**options)

    def _compact(self, name: str, value: Any) -> Any:
        """Reduce the symmetric covariance matrix to its upper triangle."""
        if name != "covariance":
            return value
        # The package makes it symmetric in the same way before it uses it.
        return ((value + value.T) / 2)[np.triu_indices(len(value))]

    def _expanded(self, name: str, known: NDArray[np.float64]) -> NDArray[np.float64]:
        if name != "covariance":
            return known.copy()
        genes = (math.isqrt(8 * len(known) + 1) - 1) // 2
        covariance = np.empty((genes, genes))
        rows, columns = np.triu_indices(genes)
        covariance[rows, columns] = covariance[columns, rows] = known
        return covariance
