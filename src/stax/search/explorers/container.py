"""AURORA: exploration from a container without cells, in a space that is trained on the container."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from stax.search.distance_container import DistanceContainer
from stax.search.explorers.explorer import Asking, Explorer, require_archive
from stax.search.grid import Grid
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.search.containers import Containers
    from stax.search.parameters import Parameters
    from stax.search.search import Search


class ContainerExplorer(Explorer):
    """AURORA (Cully 2019; Grillotti and Cully 2022): parents are drawn uniformly from the container, and offspring offered to it."""

    name = "container"
    selection_about = "none: parents are drawn from the container, in which policies compete with their nearest neighbour"
    archive_about = "of the container"
    objectives = ("reward",)
    selections_because = "whose policies compete with their nearest neighbour only"
    no_emitters_because = "whose container is all that it keeps"
    archives_population = True

    def make_archive(self, parameters: Parameters, grid: Grid | None, like: PolicySet) -> DistanceContainer:
        return DistanceContainer(like, parameters)

    def start(self, search: Search) -> Asking:
        yield from super().start(search)
        yield from _offer(search, search.containers.population)
        require_archive(search)

    def generation(self, search: Search) -> Asking:
        container, parameters = _container(search), search.parameters
        parents = self.drawn_parents(search, container.policies)
        offspring = yield from self.offspring_of(search, parents, container.policies)
        search.containers.offspring = offspring
        container.generations += 1

        # Until the first training the threshold is 0, since distances mean nothing yet
        if not search.trains or search.training_episodes:
            controls_size = parameters.container_control == "csc"
            if not container.threshold:
                container.measure_threshold()
            elif controls_size:
                container.control_size()
            if controls_size and container.generations % parameters.container_refill == 0:
                container.refill()
        yield from _offer(search, offspring)

    def training_set(self, containers: Containers) -> tuple[PolicySet, PolicySet]:
        return containers.novelty_archive.policies, containers.population.take(slice(0, 0))

    def after_training(self, search: Search) -> None:
        """Refill the container in the new space; container size control keeps its threshold, which adapts to the new distances."""
        container = _container(search)
        if search.training_episodes == 1 or search.parameters.container_control == "vat":
            container.measure_threshold()
        container.refill()
        search.containers.index()


def _offer(search: Search, policies: PolicySet) -> Asking:
    """Offer policies to the container; those that would enter are reevaluated first, and only they are offered then."""
    container = _container(search)
    if search.parameters.reevaluations:
        policies = policies.take((yield from search.reevaluate(policies, container.entering(policies))))
    container.offer(policies)


def _container(search: Search) -> DistanceContainer:
    return cast(DistanceContainer, search.novelty_archive)
