"""Random search: exploration without parents or selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.errors import InvalidInputError
from stax.search.explorers.explorer import Asking, Explorer
from stax.search.variation import sample
from stax.search.vocabulary import Origin

if TYPE_CHECKING:
    from stax.search.parameters import Parameters
    from stax.search.search import Search


class RandomExplorer(Explorer):
    """Random search: all genomes are drawn like those of Gamma_0, as many a generation as there would be offspring."""

    name = "random"
    selection_about = "none: there are no parents"
    archive_about = "drawn at random"
    descriptors = ("none",)
    descriptors_because = no_emitters_because = "which compares nothing"
    selections_because = "which selects nothing"

    def check(self, method: str, parameters: Parameters) -> None:
        super().check(method, parameters)
        if parameters.archive_selection != "uniform":
            raise InvalidInputError(
                f"Parameter archive_selection must be 'uniform' for {method}, which measures no novelty,"
                f" not {parameters.archive_selection!r}."
            )

        if parameters.variation != "gaussian":
            raise InvalidInputError(
                f"Parameter variation must be 'gaussian' for {method}, which has no parents, not {parameters.variation!r}."
            )

    def generation(self, search: Search) -> Asking:
        parameters = search.parameters
        wanted = parameters.parent_count * parameters.offspring_per_parent
        offspring = yield from search.evaluate(*self.draw(search, wanted), Origin.EXPLORATION)
        search.containers.offspring = offspring
        stored = sample(search.random.archive, len(offspring), parameters.archive_additions)
        stored = yield from search.reevaluate(offspring, stored)
        search.novelty_archive.append(offspring.take(stored))
