"""MAP-Elites: exploration from a grid of elites."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from stax.search.explorers.explorer import Asking, Explorer, require_archive
from stax.search.grid import Elites, Grid
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.search.parameters import Parameters
    from stax.search.search import Search


class GridExplorer(Explorer):
    """MAP-Elites: parents are drawn uniformly from the elites, and their offspring are offered to the grid."""

    name = "grid"
    selection_about = "none: parents are drawn from the grid of elites"
    archive_about = "elites of the grid"
    objectives = ("reward",)
    descriptors = ("ground-truth",)
    descriptors_because = "whose grid lies in that space"
    no_emitters_because = "which has no population to explore with"
    selections_because = "whose elites compete within their cells only"
    archives_population = needs_grid = True

    def make_archive(self, parameters: Parameters, grid: Grid | None, like: PolicySet) -> Elites:
        return Elites(like, cast(Grid, grid), equals_replace=parameters.elite_replacement == "not-worse")

    def start(self, search: Search) -> Asking:
        yield from super().start(search)
        yield from _offer(search, search.containers.population)
        require_archive(search)

    def generation(self, search: Search) -> Asking:
        elites = search.novelty_archive.policies
        parents = self.drawn_parents(search, elites)
        search.containers.offspring = yield from self.offspring_of(search, parents, elites)
        yield from _offer(search, search.containers.offspring)


def _offer(search: Search, policies: PolicySet) -> Asking:
    """Offer policies to the grid; those that would enter are reevaluated first, and only they are offered then."""
    elites = cast(Elites, search.novelty_archive)
    if search.parameters.reevaluations:
        policies = policies.take((yield from search.reevaluate(policies, elites.entering(policies))))
    elites.append(policies)
