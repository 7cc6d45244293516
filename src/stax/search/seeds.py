"""The policies and the weights that a search starts from, instead of random genomes and a new autoencoder.

Seeded policies are evaluated by the search like any other policy: they have the first ids, are in the ledger, and count for the
budget. What they did elsewhere is not used, because another task's options, seeds or version may have decided it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.search.policy_set import PolicySet
from stax.tasks.task import Genomes

if TYPE_CHECKING:
    from stax.search.search import Answer, Batch, Search


@dataclass(frozen=True, eq=False)
class Seeds:
    """Policies from elsewhere with their places in the search, as aligned arrays, and the weights of an autoencoder."""

    genome: Genomes
    """(n, genome_size)"""
    population: NDArray[np.bool_]
    """(n,) whether the policy is a member of the first population."""
    novelty: NDArray[np.bool_]
    """(n,) whether it enters the novelty archive."""
    reward: NDArray[np.bool_]
    """(n,) whether it enters the reward archive, if it is rewarded and the method has emitters."""
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Weights and constants of the autoencoder by name; none for a new autoencoder."""

    def __len__(self) -> int:
        return len(self.genome)


def check_seeds(search: Search, seeds: Seeds) -> None:
    """Refuse seeds that do not fit the search, and give it their autoencoder."""
    if seeds.genome.shape[1:] != (search.task.genome_size,):
        raise InvalidInputError(
            f"The seeds have genomes of {seeds.genome.shape[-1]:,} numbers, those of task {search.task.name!r} have"
            f" {search.task.genome_size:,}."
        )
    low, high = search.bounds
    outside = seeds.genome[~((seeds.genome >= low) & (seeds.genome <= high))]
    if outside.size:
        raise InvalidInputError(
            f"The seeds have a genome with the number {outside[0]:g}, which is outside of genome_bounds [{low:g}, {high:g}]."
        )
    size, members = search.parameters.population_size, int(np.count_nonzero(seeds.population))
    if members > size:
        raise InvalidInputError(
            f"The seeds are to make a first population of {members:,} policies, but population_size is {size:,}."
        )
    needed = len(seeds) + size - members
    if needed > search.budget:
        raise InvalidInputError(
            f"budget must be at least {needed:,} evaluations: {len(seeds):,} for the seeds and {size - members:,} for the rest of the"
            f" first population, not {search.budget:,}."
        )
    if seeds.weights:
        _seed_autoencoder(search, seeds.weights)


def _seed_autoencoder(search: Search, weights: dict[str, NDArray[Any]]) -> None:
    if not search.space.learned:
        raise InvalidInputError(
            f"The seeds have an autoencoder, but {search.method.name} with descriptor {search.parameters.descriptor!r} has none."
        )
    try:
        search.space.restore_weights(weights, {})
    except InvalidInputError:
        raise InvalidInputError(
            "The autoencoder of the seeds has another architecture than that of this search, whose code_size is"
            f" {search.parameters.code_size} for observations of shape {tuple(search.task.observation_shape)}; leave it out of the parts"
            " to start from."
        ) from None


def store_seeds(search: Search, seeds: Seeds, seeded: PolicySet) -> Generator[Batch | None, Answer | None, PolicySet]:
    """Put evaluated seeds into the archives and among the emitter candidates, and return the members of the first population.

    Args:
        search: the search, at its start.
        seeds: the seeds, whose ids are the numbers of their rows.
        seeded: those whose evaluation did not fail.
    """
    containers = search.containers
    entering = np.flatnonzero(seeds.novelty[seeded.id] | seeds.reward[seeded.id])
    stored = np.isin(np.arange(len(seeded)), (yield from search.reevaluate(seeded, entering)))
    climbed = seeds.reward[seeded.id] & (seeded.reward > 0) & search.method.emitters
    novel = seeds.novelty[seeded.id] | (seeds.reward[seeded.id] & ~climbed)
    containers.store_novel(seeded.take(novel & stored))
    containers.store_rewarding(seeded.take(climbed & stored))
    # Emitters have climbed from those of the reward archive before.
    containers.store_candidates(seeded.take(~climbed))
    return seeded.take(seeds.population[seeded.id])
