"""Dominated Novelty Search: exploration with a population that is selected by its distance from better policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stax.search.explorers.explorer import Asking, require_archive
from stax.search.explorers.population import PopulationExplorer
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.search.search import Search


class DominatedNoveltyExplorer(PopulationExplorer):
    """Dominated Novelty Search (Bahlous-Boldi, Faldor et al. 2025): the population is the result, and takes the place of the archive.

    Algorithm 2 can select by dominated novelty, too (`selection=dominated-novelty`); then it keeps its archive, and emitters climb
    the rewards.
    """

    name = "dominated-novelty"
    archive_about = "of the population, which dominated novelty selects"
    no_emitters_because = "whose archive is its population"
    selections = ("dominated-novelty",)
    selections_because = "which is that selection"
    archives_population = True

    def __init__(self) -> None:
        super().__init__("reward")
        self.selection_about = "by the distance from policies with at least the same reward"

    def start(self, search: Search) -> Asking:
        yield from super().start(search)
        containers = search.containers
        if len(containers.novelty_archive):
            # Seeds from the archives of another run compete for a place in the population.
            family = PolicySet.union([containers.population, containers.novelty_archive.policies])
            containers.population = family.take(self.survivors(search, family))
        stored = yield from search.reevaluate(containers.population, np.arange(len(containers.population)))
        containers.population = containers.population.take(stored)
        containers.replace_novel(containers.population)
        require_archive(search)

    def generation(self, search: Search) -> Asking:
        containers = search.containers
        parents = self.drawn_parents(search, containers.population)
        offspring = yield from self.offspring_of(search, parents, containers.population)
        family = PolicySet.concat([containers.population, offspring])
        if search.parameters.reevaluations:
            # Only those that would survive are reevaluated, and compete again with what they are worth then.
            parents_kept = np.arange(len(containers.population))
            entering = np.setdiff1d(self.survivors(search, family), parents_kept)
            stored = yield from search.reevaluate(family, entering)
            offspring, family = family.take(stored), family.take(np.concatenate([parents_kept, stored]))
        containers.population, containers.offspring = family.take(self.survivors(search, family)), offspring
        containers.replace_novel(containers.population)
