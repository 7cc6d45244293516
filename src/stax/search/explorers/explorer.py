"""The base class of explorers: where new genomes come from during exploration, and which policies are kept.

To add a way of exploring, write a subclass of `Explorer` with the method `generation` in a file of its own, and name it in a row of
the table of methods (`stax.search.methods`). An explorer has no state: all that changes is in the containers of
the search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.search.distance_container import DistanceContainer
from stax.search.grid import Elites, Grid
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.seeds import store_seeds
from stax.search.variation import iso_line, mutate, random_genomes
from stax.search.vocabulary import Origin
from stax.tasks.task import Genomes

if TYPE_CHECKING:
    from stax.search.containers import Containers
    from stax.search.parameters import Parameters
    from stax.search.search import Answer, Batch, Search

Asking = Generator["Batch | None", "Answer | None", None]
"""A part of a search. It yields a batch of genomes and is sent their rollouts, or yields None at rest and is sent None."""


class Explorer(ABC):
    """A way of exploring. Its attributes tell what a method with this explorer can and cannot do."""

    name: str
    """Name of the way of exploring."""
    selection_about: str
    """Description of the selection, for `stax algos`."""
    archive_about: str = "of diverse behaviour"
    """Description of the policies in the novelty archive, for the report."""
    objectives: tuple[str, ...] = ()
    """Columns of the policies that selection maximises: novelty, surprise, reward."""
    descriptors: tuple[str, ...] = ("learned", "ground-truth", "states")
    """Values of the parameter `descriptor` that it works with."""
    descriptors_because: str = "which compares behaviours"
    """Reason for that, as part of a sentence."""
    selections: tuple[str, ...] = ("pareto",)
    """Values of the parameter `selection` that it works with."""
    selections_because: str = ""
    """Reason for that, as part of a sentence."""
    no_emitters_because: str = ""
    """Reason why there can be no emitters, as part of a sentence; empty if there can."""
    archives_population: bool = False
    """Whether the first population enters the archive."""
    needs_grid: bool = False
    """Whether it needs the grid over the ground truth, which coverage is also measured on."""

    def check(self, method: str, parameters: Parameters) -> None:
        """Raise `stax.InvalidInputError` if the method cannot work with these parameters."""
        _check_allowed(method, "descriptor", parameters.descriptor, self.descriptors, self.descriptors_because)
        _check_allowed(method, "selection", parameters.selection, self.selections, self.selections_because)
        if parameters.emitters and self.no_emitters_because:
            raise InvalidInputError(f"Parameter emitters must be false for {method}, {self.no_emitters_because}, not True.")

    def make_archive(
        self, parameters: Parameters, grid: Grid | None, like: PolicySet
    ) -> GrowingSet | Elites | DistanceContainer:
        """Make the empty novelty archive A_Nov, for policies with columns like these."""
        return GrowingSet(like)

    def start(self, search: Search) -> Asking:
        """Sample and evaluate the initial population Gamma_0, as far as it is not seeded."""
        wanted, parts, seeds = search.parameters.population_size, [], search.seeds
        seeded = None
        if seeds is not None and len(seeds):
            seeded = yield from search.evaluate(seeds.genome, np.full(len(seeds), -1), Origin.INITIAL)
            wanted -= int(np.count_nonzero(seeds.population))
        drawn = None
        if wanted:
            # Before the seeds are stored, which may take evaluations that the first population needs.
            drawn = yield from search.evaluate(*self.draw(search, wanted), Origin.INITIAL)
        if seeds is not None and seeded is not None:
            parts.append((yield from store_seeds(search, seeds, seeded)))
        if drawn is not None:
            search.containers.store_candidates(drawn)
            parts.append(drawn)
        policies = PolicySet.concat(parts) if len(parts) > 1 else parts[0]
        if not len(policies):
            raise RuntimeError(
                f"All {search.evaluations} evaluations of the initial population failed on task {search.task.name!r}, so there is no"
                " policy to search with."
            )
        search.containers.population = policies
        search.containers.offspring = policies.take(slice(0, 0))

    def explore(self, search: Search) -> Asking:
        """Explore for one chunk of the budget."""
        chunk_end = search.evaluations + search.parameters.chunk_size
        while search.evaluations < chunk_end and search.budget_left:
            yield from self.generation(search)

    @abstractmethod
    def generation(self, search: Search) -> Asking:
        """Generate and evaluate offspring, and update the containers of the search."""

    def training_set(self, containers: Containers) -> tuple[PolicySet, PolicySet]:
        """Return what the autoencoder is trained on: the newest policies, which come first, and archived ones."""
        return containers.dataset()

    def after_training(self, search: Search) -> None:
        """Update the containers after all descriptors have changed."""
        return

    @staticmethod
    def draw(search: Search, count: int) -> tuple[Genomes, NDArray[np.int64]]:
        """Draw random genomes, and return them with the ids of their parents: none."""
        genomes = random_genomes(search.random.initial, count, search.task.genome_size, search.bounds)
        return genomes, np.full(count, -1)

    @staticmethod
    def drawn_parents(search: Search, pool: PolicySet) -> PolicySet:
        """Draw the parents of a generation from these policies, uniformly and with replacement."""
        return pool.take(search.random.parents.integers(len(pool), size=search.parameters.parent_count))

    @staticmethod
    def offspring_of(search: Search, parents: PolicySet, mates: PolicySet) -> Generator[Batch | None, Answer | None, PolicySet]:
        """Evaluate m variations of each parent.

        Args:
            search: the search.
            parents: the parents.
            mates: policies among which a second parent is drawn uniformly, where variation needs one.
        """
        parameters, rng = search.parameters, search.random.mutation
        parents = parents.take(np.repeat(np.arange(len(parents)), parameters.offspring_per_parent))
        if parameters.variation == "iso-line":
            others = mates.genome[search.random.parents.integers(len(mates), size=len(parents))]
            sigmas = (parameters.iso_sigma, parameters.line_sigma)
            genomes = iso_line(parents.genome, others, *sigmas, rng, search.bounds)
        else:
            genomes = mutate(parents.genome, parameters.mutation_sigma, rng, search.bounds)
        return (yield from search.evaluate(genomes, parents.id, Origin.EXPLORATION))


def require_archive(search: Search) -> None:
    """Raise if no policy of the first population could be stored, in a method that draws parents from its archive."""
    if not len(search.novelty_archive):
        raise RuntimeError(
            f"No policy of the first population could be evaluated {search.parameters.reevaluations} more times on task"
            f" {search.task.name!r}, so there is none to search with."
        )


def _check_allowed(method: str, name: str, value: str, allowed: tuple[str, ...], because: str) -> None:
    """Raise `stax.InvalidInputError` for a value of a parameter that the method does not work with."""
    if value not in allowed:
        *others, last = map(repr, allowed)
        choices = f"{', '.join(others)} or {last}" if others else last
        raise InvalidInputError(f"Parameter {name} must be {choices} for {method}, {because}, not {value!r}.")
