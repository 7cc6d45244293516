"""Random genomes, mutation and uniform samples."""

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


def sample(rng: np.random.Generator, available: int, wanted: int) -> NDArray[np.int64]:
    """Draw `wanted` different rows uniformly, all of them if there are fewer; in ascending order."""
    return np.sort(rng.choice(available, size=min(wanted, available), replace=False))
