"""Random genomes, variation of parents and uniform samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stax.tasks.task import Genomes


def random_genomes(rng: np.random.Generator, count: int, size: int, bounds: tuple[float, float]) -> Genomes:
    """Draw genomes from N(0, I), clipped to the bounds."""
    return np.clip(rng.normal(size=(count, size)), *bounds)


def mutate(genomes: Genomes, sigma: float, rng: np.random.Generator, bounds: tuple[float, float]) -> Genomes:
    """Return theta + epsilon with epsilon ~ N(0, sigma I), sigma being a standard deviation, clipped to the bounds."""
    return np.clip(genomes + sigma * rng.normal(size=genomes.shape), *bounds)


def iso_line(
    genomes: Genomes,
    others: Genomes,
    iso_sigma: float,
    line_sigma: float,
    rng: np.random.Generator,
    bounds: tuple[float, float],
) -> Genomes:
    """Return x1 + iso_sigma N(0, I) + line_sigma (x2 - x1) N(0, 1), clipped to the bounds (Vassiliades and Mouret 2018).

    Args:
        genomes: first parents x1, one per row.
        others: second parents x2, aligned with them.
        iso_sigma: standard deviation of the mutation of every gene.
        line_sigma: standard deviation of the step along the line through both parents, as a share of their distance. One number is drawn
            per row.
        rng: generator of random numbers.
        bounds: interval that every gene is clipped to.
    """
    isotropic = iso_sigma * rng.normal(size=genomes.shape)
    along = line_sigma * rng.normal(size=(len(genomes), 1))
    return np.clip(genomes + isotropic + along * (others - genomes), *bounds)


def sample(rng: np.random.Generator, available: int, wanted: int) -> NDArray[np.int64]:
    """Draw `wanted` different rows uniformly, all of them if there are fewer; in ascending order."""
    return np.sort(rng.choice(available, size=min(wanted, available), replace=False))
