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


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method: its name and description, and all that distinguishes it from the others."""

    name: str
    about: str
    explorer: Explorer
    """Way of exploring."""
    emitters: bool = True
    """Whether emitters climb rewards."""
    training: str = "continued"
    """Training of the autoencoder: continued, from scratch every time (reset), or never."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Values of parameters that belong to the method; the user may still change them."""
    preset_parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of parameters that belong to the method with one preset only, by the preset."""
    color: str = "#33363D"
    """Colour of its lines in plots. The colours below are after Okabe and Ito, and Tol: people who see red and green alike can tell all
    lines of one style (solid, dashed) apart."""

    def values(self, preset: str) -> dict[str, Any]:
        """Return the values of parameters that belong to the method with this preset."""
        of_preset = [values for name, values in self.preset_parameters.items() if name == preset]
        return {**self.parameters, **(of_preset[0] if of_preset else {})}


_NOVELTY_AND_SURPRISE = PopulationExplorer("novelty", "surprise")
_NOVELTY_OR_SURPRISE = AlternatingExplorer("novelty", "surprise")
_NOVELTY = PopulationExplorer("novelty")
_LAST_OBSERVATION = {"descriptor_samples": 1}
_GROUND_TRUTH = {"descriptor": "ground-truth"}

METHODS = {
    method.name: method
    for method in (
        Method(
            name="stax",
            about="novelty and surprise in a learned space by NSGA-II, emitters on rewards (STAX_multi)",
            explorer=_NOVELTY_AND_SURPRISE,
            color="#CC79A7",
        ),
        Method(
            name="stax-single",
            about="stax with a descriptor of the last observation only",
            explorer=_NOVELTY_AND_SURPRISE,
            parameters=_LAST_OBSERVATION,
            color="#332288",
        ),
        Method(
            name="stax-alt-multi",
            about="stax that selects by novelty or by surprise, at random each generation",
            explorer=_NOVELTY_OR_SURPRISE,
            color="#DDCC77",
        ),
        Method(
            name="stax-alt-single",
            about="stax-alt-multi with a descriptor of the last observation only",
            explorer=_NOVELTY_OR_SURPRISE,
            parameters=_LAST_OBSERVATION,
            color="#661100",
        ),
        Method(
            name="stax-nt",
            about="stax whose autoencoder is never trained",
            explorer=_NOVELTY_AND_SURPRISE,
            training="never",
            preset_parameters={"published-code": {"population_update": "frozen"}},
            color="#56B4E9",
        ),
        Method(
            name="stax-reset",
            about="stax whose autoencoder starts from scratch at every training",
            explorer=_NOVELTY_AND_SURPRISE,
            training="reset",
            # What a continued autoencoder has learned in many short episodes, this one must learn in each.
            preset_parameters={"default": {"max_images_per_episode": 20_000}},
            color="#000000",
        ),
        Method(
            name="taxons",
            about="exploration alone in a learned space of the last observation, by novelty or surprise at random",
            explorer=_NOVELTY_OR_SURPRISE,
            emitters=False,
            parameters=_LAST_OBSERVATION,
            color="#E69F00",
        ),
        Method(
            name="serene",
            about="novelty search in the ground-truth space, emitters on rewards",
            explorer=_NOVELTY,
            parameters=_GROUND_TRUTH,
            color="#D55E00",
        ),
        Method(
            name="ns",
            about="novelty search in the ground-truth space",
            explorer=_NOVELTY,
            emitters=False,
            parameters=_GROUND_TRUTH,
            color="#0072B2",
        ),
        Method(
            name="map-elites",
            about="a grid over the ground-truth space that keeps the best policy of each cell",
            explorer=GridExplorer(),
            emitters=False,
            parameters={**_GROUND_TRUTH, "offspring_per_parent": 1},
            color="#009E73",
        ),
        Method(
            name="moo-nr",
            about="NSGA-II on novelty in the ground-truth space and reward",
            explorer=PopulationExplorer("novelty", "reward"),
            emitters=False,
            parameters=_GROUND_TRUTH,
            color="#555555",
        ),
        Method(
            name="random",
            about="genomes drawn at random like the first population, without selection: what any method must beat",
            explorer=RandomExplorer(),
            emitters=False,
            parameters={"descriptor": "none"},
            color="#BBBBBB",
        ),
    )
}


def find_method(name: str) -> Method:
    """Return the method of this name, or raise `stax.InvalidInputError`."""
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(no_such("method", name, METHODS))
    return METHODS[name]
