"""Algorithm 2: exploration with a population that NSGA-II selects, or dominated novelty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.explorers.explorer import Asking, Explorer
from stax.search.policy_set import PolicySet
from stax.search.selection import dominated_novelty, select
from stax.search.variation import sample

if TYPE_CHECKING:
    from stax.search.search import Search


class PopulationExplorer(Explorer):
    """The paper's exploration (Algorithm 2): parents and offspring compete, and NSGA-II selects among them.

    Args:
        objectives: columns of the policies that selection maximises.
    """

    name = "population"
    selections: tuple[str, ...] = ("pareto", "dominated-novelty")

    def __init__(self, *objectives: str) -> None:
        self.objectives = objectives
        together = " together, with NSGA-II" if len(objectives) > 1 else ""
        self.selection_about = f"by {' and '.join(objectives)}{together}"
        if "surprise" in objectives:
            self.descriptors, self.descriptors_because = ("learned",), "whose selection needs surprise"

    def generation(self, search: Search) -> Asking:
        parameters, containers = search.parameters, search.containers

        # Generate offspring from the population, and evaluate them
        parents = (
            containers.population
            if parameters.parents_per_generation is None
            else self.drawn_parents(search, containers.population)
        )
        offspring = yield from self.offspring_of(search, parents, containers.population)

        # Novelty; of the parents again too, since the archive has grown
        family = PolicySet.concat([containers.population, offspring])
        containers.references.surround(family)
        containers.measure_novelty(family)
        offspring = family.take(slice(len(containers.population), None))

        # Store N_Q offspring in the novelty archive, and rewarding policies as emitter candidates
        if parameters.archive_selection == "most-novel":
            stored = select(offspring.novelty[:, None], parameters.archive_additions)
        else:
            stored = sample(search.random.archive, len(offspring), parameters.archive_additions)
        stored = yield from search.reevaluate(offspring, stored)
        containers.store_candidates(offspring)
        containers.store_novel(offspring.take(stored))

        # NSGA-II selection over parents and offspring
        containers.population, containers.offspring = family.take(self.survivors(search, family)), offspring
        containers.surround()

    def survivors(self, search: Search, family: PolicySet) -> NDArray[np.int64]:
        """Return the rows of the next population among the population, which comes first, and its offspring."""
        parameters = search.parameters
        if parameters.population_update == "frozen":
            return np.arange(len(search.containers.population))
        return select(self.objective_values(search, family), parameters.population_size)

    def objective_values(self, search: Search, policies: PolicySet) -> NDArray[np.float64]:
        """Return the values (n, objectives) that selection maximises."""
        if search.parameters.selection == "dominated-novelty":
            return dominated_novelty(policies.descriptor, policies.reward, search.parameters.dns_neighbors)[:, None]
        return np.stack([getattr(policies, name) for name in self.objectives], axis=1)
