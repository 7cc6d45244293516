"""The twelve methods: each a choice among the same parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stax.errors import InvalidInputError
from stax.search.parameters import no_such


@dataclass(frozen=True)
class Method:
    """What makes a method, beyond its parameters."""

    name: str
    about: str
    objectives: tuple[str, ...] = ("novelty", "surprise")
    """What selection maximises: novelty, surprise, reward."""
    alternates: bool = False
    """Whether each generation is selected by one of the objectives, drawn at random, instead of by all with NSGA-II."""
    emitters: bool = True
    """Whether rewards are climbed by emitters."""
    elites: bool = False
    """Whether parents are drawn from a grid of elites instead of a population."""
    random: bool = False
    """Whether all genomes are drawn like the first ones, without parents or selection."""
    training: str = "continued"
    """Of the autoencoder: continued, from scratch every time (reset), or never."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Values of parameters that belong to the method; the user may still change them."""
    preset_parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of parameters that belong to the method with one preset only, by the preset."""

    def values(self, preset: str) -> dict[str, Any]:
        """Values of parameters that belong to the method with this preset."""
        of_preset = [values for name, values in self.preset_parameters.items() if name == preset]
        return {**self.parameters, **(of_preset[0] if of_preset else {})}


_LAST_OBSERVATION = {"descriptor_samples": 1}
_GROUND_TRUTH = {"descriptor": "ground-truth"}

METHODS = {
    method.name: method
    for method in (
        Method("stax", "novelty and surprise in a learned space by NSGA-II, emitters on rewards (STAX_multi)"),
        Method("stax-single", "stax with a descriptor of the last observation only", parameters=_LAST_OBSERVATION),
        Method("stax-alt-multi", "stax that selects by novelty or by surprise, at random each generation", alternates=True),
        Method(
            "stax-alt-single",
            "stax-alt-multi with a descriptor of the last observation only",
            alternates=True,
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "stax-nt",
            "stax whose autoencoder is never trained",
            training="never",
            preset_parameters={"published-code": {"population_update": "frozen"}},
        ),
        Method(
            "stax-reset",
            "stax whose autoencoder starts from scratch at every training",
            training="reset",
            # What a continued autoencoder has learned in many short episodes, this one must learn in each.
            preset_parameters={"default": {"max_images_per_episode": 20_000}},
        ),
        Method(
            "taxons",
            "exploration alone in a learned space of the last observation, by novelty or surprise at random",
            alternates=True,
            emitters=False,
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "serene", "novelty search in the ground-truth space, emitters on rewards", ("novelty",), parameters=_GROUND_TRUTH
        ),
        Method("ns", "novelty search in the ground-truth space", ("novelty",), emitters=False, parameters=_GROUND_TRUTH),
        Method(
            "map-elites",
            "a grid over the ground-truth space that keeps the best policy of each cell",
            ("reward",),
            emitters=False,
            elites=True,
            parameters={**_GROUND_TRUTH, "offspring_per_parent": 1},
        ),
        Method(
            "moo-nr",
            "NSGA-II on novelty in the ground-truth space and reward",
            ("novelty", "reward"),
            emitters=False,
            parameters=_GROUND_TRUTH,
        ),
        Method(
            "random",
            "genomes drawn at random like the first population, without selection: what any method must beat",
            (),
            emitters=False,
            random=True,
            parameters={"descriptor": "none"},
        ),
    )
}


def find_method(name: str) -> Method:
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(no_such("method", name, METHODS))
    return METHODS[name]
