"""Algorithm 2: exploration. Beside it, that of MAP-Elites and that of random search."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.policy_set import EXPLORATION, INITIAL, PolicySet
from stax.search.selection import select
from stax.search.variation import mutate, random_genomes, sample
from stax.tasks.task import Genomes, Rollouts

if TYPE_CHECKING:
    from stax.search.search import Search

Asking = Generator[Genomes, Rollouts, None]
"""A part of the search that asks for evaluations by yielding genomes."""


def start(search: Search) -> Asking:
    """Evaluates the initial population Gamma_0."""
    wanted = search.parameters.population_size
    genomes = random_genomes(search.random.initial, wanted, search.task.genome_size, search.bounds)
    policies = yield from search.evaluate(genomes, np.full(wanted, -1), INITIAL)
    if not len(policies):
        raise RuntimeError(
            f"All {wanted} evaluations of the initial population failed on task {search.task.name!r}, so there is nobody to search with."
        )
    search.population = policies
    search.offspring = policies.take(slice(0, 0))
    search.found_rewards(policies)
    if search.method.elites:
        search.novelty_archive.append(policies)


def exploration_of(search: Search) -> Asking:
    """The exploration that belongs to the method, for one chunk of the budget."""
    if search.method.random:
        return explore_at_random(search)
    return explore_grid(search) if search.method.elites else explore(search)


def explore(search: Search) -> Asking:
    """Algorithm 2, for one chunk of the budget."""
    parameters = search.parameters
    chunk_end = search.evaluations + parameters.chunk_size
    while search.evaluations < chunk_end and search.budget_left:
        # Generate offspring from the population, and evaluate them
        parents = search.population.take(np.repeat(np.arange(len(search.population)), parameters.offspring_per_parent))
        genomes = mutate(parents.genome, parameters.mutation_sigma, search.random.mutation, search.bounds)
        offspring = yield from search.evaluate(genomes, parents.id, EXPLORATION)

        # Novelty; of the parents again too, since the archive has grown
        family = PolicySet.concat([search.population, offspring])
        search.references.surround(family)
        search.measure_novelty(family)
        offspring = family.take(slice(len(search.population), None))

        # Store rewarding policies as emitter candidates, and N_Q offspring in the novelty archive
        search.found_rewards(offspring)
        search.add_to_novelty_archive(offspring.take(_entering(search, offspring)))

        # NSGA-II selection over parents and offspring
        if parameters.population_update == "selection":
            survivors = select(_objectives(search, family), parameters.population_size)
        else:
            survivors = np.arange(len(search.population))
        search.population, search.offspring = family.take(survivors), offspring
        search.surround()


def _entering(search: Search, offspring: PolicySet) -> NDArray[np.int64]:
    """Rows of the offspring that enter the novelty archive."""
    wanted = search.parameters.archive_additions
    if search.parameters.archive_selection == "most-novel":
        return select(offspring.novelty[:, None], wanted)
    return sample(search.random.archive, len(offspring), wanted)


def _objectives(search: Search, policies: PolicySet) -> NDArray[np.float64]:
    """What selection maximises, a column each; TAXONS' alternation draws one of them."""
    names = search.method.objectives
    if search.method.alternates:
        names = (names[search.random.objective.integers(len(names))],)
    return np.stack([getattr(policies, name) for name in names], axis=1)


def explore_grid(search: Search) -> Asking:
    """MAP-Elites, for one chunk of the budget: parents drawn uniformly from the elites, their offspring offered to the grid."""
    parameters = search.parameters
    chunk_end = search.evaluations + parameters.chunk_size
    while search.evaluations < chunk_end and search.budget_left:
        elites = search.novelty_archive.policies
        chosen = search.random.parents.integers(len(elites), size=parameters.population_size)
        parents = elites.take(np.repeat(chosen, parameters.offspring_per_parent))
        genomes = mutate(parents.genome, parameters.mutation_sigma, search.random.mutation, search.bounds)
        offspring = yield from search.evaluate(genomes, parents.id, EXPLORATION)
        search.novelty_archive.append(offspring)
        search.offspring = offspring


def explore_at_random(search: Search) -> Asking:
    """Random search, for one chunk of the budget: genomes like those of Gamma_0, as many as there would be offspring."""
    parameters = search.parameters
    chunk_end = search.evaluations + parameters.chunk_size
    while search.evaluations < chunk_end and search.budget_left:
        wanted = parameters.population_size * parameters.offspring_per_parent
        genomes = random_genomes(search.random.initial, wanted, search.task.genome_size, search.bounds)
        offspring = yield from search.evaluate(genomes, np.full(wanted, -1), EXPLORATION)
        search.novelty_archive.append(offspring.take(_entering(search, offspring)))
        search.offspring = offspring
