"""One generator of random numbers per role, all from the run's seed."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

_ROLES = ("initial", "mutation", "archive", "objective", "parents", "emitters", "space", "schedule")
"""A new role belongs to the end, or all seeds would mean something else."""


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
        return RandomNumbers(*(np.random.default_rng(_seed(seed, role.name)) for role in fields(RandomNumbers)))


def space_seed(seed: int) -> np.random.SeedSequence:
    """The seed of the descriptor space, which draws numbers of its own."""
    return _seed(seed, "space")


def _seed(seed: int, role: str) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed).spawn(len(_ROLES))[_ROLES.index(role)]
