"""The table of methods: each is a way of exploring, with or without emitters, and values of parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stax.errors import InvalidInputError
from stax.search.explorers.alternating import AlternatingExplorer
from stax.search.explorers.explorer import Explorer
from stax.search.explorers.grid import GridExplorer
from stax.search.explorers.population import PopulationExplorer
from stax.search.explorers.random import RandomExplorer
from stax.search.parameters import no_such


@dataclass(frozen=True)
class Method:
    """A method: its name and description, and all that distinguishes it from the others."""

    name: str
    about: str
    explorer: Explorer
    """Way of exploring."""
    color: str = "#33363D"
    """Colour of its lines in plots. The colours below are after Okabe and Ito, and Tol: people who see red and green alike can tell all
    lines of one style (solid, dashed) apart."""
    emitters: bool = True
    """Whether emitters climb rewards."""
    training: str = "continued"
    """Training of the autoencoder: continued, from scratch every time (reset), or never."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Values of parameters that belong to the method; the user may still change them."""
    preset_parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of parameters that belong to the method with one preset only, by the preset."""

    def values(self, preset: str) -> dict[str, Any]:
        """Return the values of parameters that belong to the method with this preset."""
        of_preset = [values for name, values in self.preset_parameters.items() if name == preset]
        return {**self.parameters, **(of_preset[0] if of_preset else {})}


_BOTH = PopulationExplorer("novelty", "surprise")
_EITHER = AlternatingExplorer("novelty", "surprise")
_NOVELTY = PopulationExplorer("novelty")
_LAST_OBSERVATION = {"descriptor_samples": 1}
_GROUND_TRUTH = {"descriptor": "ground-truth"}
# What a continued autoencoder has learned in many short episodes, one that starts from scratch must learn in each.
_LONG_TRAINING = {"default": {"max_images_per_episode": 20_000}}

METHODS = {
    method.name: method
    for method in (
        Method(
            "stax", "novelty and surprise in a learned space by NSGA-II, emitters on rewards (STAX_multi)", _BOTH, "#CC79A7"
        ),
        Method(
            "stax-single", "stax with a descriptor of the last observation only", _BOTH, "#332288", parameters=_LAST_OBSERVATION
        ),
        Method("stax-alt-multi", "stax that selects by novelty or by surprise, at random each generation", _EITHER, "#DDCC77"),
        Method(
            "stax-alt-single",
            "stax-alt-multi with a descriptor of the last observation only",
            _EITHER,
            "#661100",
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "stax-nt",
            "stax whose autoencoder is never trained",
            _BOTH,
            "#56B4E9",
            training="never",
            preset_parameters={"published-code": {"population_update": "frozen"}},
        ),
        Method(
            "stax-reset",
            "stax whose autoencoder starts from scratch at every training",
            _BOTH,
            "#000000",
            training="reset",
            preset_parameters=_LONG_TRAINING,
        ),
        Method(
            "taxons",
            "exploration alone in a learned space of the last observation, by novelty or surprise at random",
            _EITHER,
            "#E69F00",
            emitters=False,
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "serene",
            "novelty search in the ground-truth space, emitters on rewards",
            _NOVELTY,
            "#D55E00",
            parameters=_GROUND_TRUTH,
        ),
        Method("ns", "novelty search in the ground-truth space", _NOVELTY, "#0072B2", emitters=False, parameters=_GROUND_TRUTH),
        Method(
            "map-elites",
            "a grid over the ground-truth space that keeps the best policy of each cell",
            GridExplorer(),
            "#009E73",
            emitters=False,
            parameters={**_GROUND_TRUTH, "offspring_per_parent": 1},
        ),
        Method(
            "moo-nr",
            "NSGA-II on novelty in the ground-truth space and reward",
            PopulationExplorer("novelty", "reward"),
            "#555555",
            emitters=False,
            parameters=_GROUND_TRUTH,
        ),
        Method(
            "random",
            "genomes drawn at random like the first population, without selection: what any method must beat",
            RandomExplorer(),
            "#BBBBBB",
            emitters=False,
            parameters={"descriptor": "none"},
        ),
    )
}


def find_method(name: str) -> Method:
    """Return the method of this name, or raise `stax.InvalidInputError`."""
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(no_such("method", name, METHODS))
    return METHODS[name]
