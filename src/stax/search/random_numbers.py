"""One generator of random numbers per role, all from the run's seed.

New roles are added at the end, so that the seeds of earlier runs keep their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

_ROLES = ("initial", "mutation", "archive", "objective", "parents", "emitters", "space", "schedule", "seeds")
"""Roles in the order in which seeds are spawned. Add new ones at the end: otherwise all seeds would give other results."""


@dataclass(frozen=True)
class RandomNumbers:
    """One generator per role, so that no role's draws depend on another's."""

    initial: np.random.Generator
    mutation: np.random.Generator
    archive: np.random.Generator
    objective: np.random.Generator
    parents: np.random.Generator
    emitters: np.random.Generator
    schedule: np.random.Generator

    @staticmethod
    def of(seed: int) -> RandomNumbers:
        """Make all generators from the seed of the run."""
        return RandomNumbers(*(np.random.default_rng(_seed(seed, role.name)) for role in fields(RandomNumbers)))


def space_seed(seed: int) -> np.random.SeedSequence:
    """Return the seed of the descriptor space, which draws numbers of its own."""
    return _seed(seed, "space")


def seeds_generator(seed: int) -> np.random.Generator:
    """Return the generator that draws the first population from seeds, before there is a search."""
    return np.random.default_rng(_seed(seed, "seeds"))


def _seed(seed: int, role: str) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed).spawn(len(_ROLES))[_ROLES.index(role)]
