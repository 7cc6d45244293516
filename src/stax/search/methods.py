"""The table of methods: each is a way of exploring, with or without emitters, and values of parameters.

To add a method, add a row here, and a file in `explorers/` if it explores in a new way. The rest of the code asks a method, or
its explorer, what it needs and does (`needs_grid`, `descriptors`, `no_emitters_because`); no code asks for its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stax.errors import InvalidInputError, no_such
from stax.search.explorers.alternating import AlternatingExplorer
from stax.search.explorers.container import ContainerExplorer
from stax.search.explorers.dominated_novelty import DominatedNoveltyExplorer
from stax.search.explorers.explorer import Explorer
from stax.search.explorers.grid import GridExplorer
from stax.search.explorers.population import PopulationExplorer
from stax.search.explorers.random import RandomExplorer
from stax.search.parameters import Parameters, make_parameters


@dataclass(frozen=True)
class Method:
    """A method: its name and description, and all that distinguishes it from the others."""

    name: str
    paper_name: str
    """Name in the paper; the method's own name if it is not in the paper."""
    about: str
    explorer: Explorer
    """Way of exploring."""
    color: str
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

    @property
    def is_learned(self) -> bool:
        """Whether its behaviour space is learned, unless the user says otherwise."""
        return self.resolve("default").descriptor == "learned"

    @property
    def line_style(self) -> str:
        """Style of its lines in plots: solid for a learned behaviour space and dashed for the ground truth, as in the paper."""
        return line_style(is_learned=self.is_learned)

    @property
    def page(self) -> str:
        """Path of its page from the root of the repository."""
        return f"docs/algorithms/{self.name}.md"

    def resolve(self, preset: str, given: Mapping[str, Any] | None = None) -> Parameters:
        """Return the parameters of a search: the preset's values, changed by the method's, then by those given."""
        of_preset = self.preset_parameters.get(preset, {}) if isinstance(preset, str) else {}
        return make_parameters(preset, {**self.parameters, **of_preset}, given or {})


def line_style(*, is_learned: bool) -> str:
    """Return the style of the lines of runs in a learned behaviour space, or in another one."""
    return "solid" if is_learned else "dashed"


_BOTH = PopulationExplorer("novelty", "surprise")
_EITHER = AlternatingExplorer("novelty", "surprise")
_NOVELTY = PopulationExplorer("novelty")
_LAST_OBSERVATION = {"descriptor_samples": 1}
_GROUND_TRUTH = {"descriptor": "ground-truth"}
_DOMINATED_NOVELTY = {
    "selection": "dominated-novelty",
    "population_size": 1024,
    "parents_per_generation": 256,
    "offspring_per_parent": 1,
    "variation": "iso-line",
}
"""Values of the authors of Dominated Novelty Search."""
_AURORA = {"population_size": 128, "offspring_per_parent": 1, "training_growth": 10, "training_limit": 15_000}
"""Values of the authors of AURORA."""
# What a continued autoencoder has learned in many short episodes, one that starts from scratch must learn in each.
_LONG_TRAINING = {"default": {"max_images_per_episode": 20_000}}

METHODS = {
    method.name: method
    for method in (
        Method(
            "stax",
            "STAX",
            "novelty and surprise in a learned space by NSGA-II, emitters on rewards (STAX_multi)",
            _BOTH,
            "#CC79A7",
        ),
        Method(
            "stax-single",
            "STAX_single",
            "stax with a descriptor of the last observation only",
            _BOTH,
            "#332288",
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "stax-alt-multi",
            "STAX-ALT_multi",
            "stax that selects by novelty or by surprise, at random each generation",
            _EITHER,
            "#DDCC77",
        ),
        Method(
            "stax-alt-single",
            "STAX-ALT_single",
            "stax-alt-multi with a descriptor of the last observation only",
            _EITHER,
            "#661100",
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "stax-nt",
            "STAX-NT",
            "stax whose autoencoder is never trained",
            _BOTH,
            "#56B4E9",
            training="never",
            preset_parameters={"published-code": {"population_update": "frozen"}},
        ),
        Method(
            "stax-reset",
            "STAX_reset",
            "stax whose autoencoder starts from scratch at every training",
            _BOTH,
            "#000000",
            training="reset",
            preset_parameters=_LONG_TRAINING,
        ),
        Method(
            "taxons",
            "TAXONS",
            "exploration alone in a learned space of the last observation, by novelty or surprise at random",
            _EITHER,
            "#E69F00",
            emitters=False,
            parameters=_LAST_OBSERVATION,
        ),
        Method(
            "serene",
            "SERENE",
            "novelty search in the ground-truth space, emitters on rewards",
            _NOVELTY,
            "#D55E00",
            parameters=_GROUND_TRUTH,
        ),
        Method(
            "ns",
            "NS",
            "novelty search in the ground-truth space",
            _NOVELTY,
            "#0072B2",
            emitters=False,
            parameters=_GROUND_TRUTH,
        ),
        Method(
            "map-elites",
            "ME",
            "a grid over the ground-truth space that keeps the best policy of each cell",
            GridExplorer(),
            "#009E73",
            emitters=False,
            parameters={**_GROUND_TRUTH, "offspring_per_parent": 1},
        ),
        Method(
            "moo-nr",
            "MOO-NR",
            "NSGA-II on novelty in the ground-truth space and reward",
            PopulationExplorer("novelty", "reward"),
            "#555555",
            emitters=False,
            parameters=_GROUND_TRUTH,
        ),
        Method(
            "dns",
            "dns",
            "dominated novelty search in the ground-truth space: policies survive far from all that are as good",
            DominatedNoveltyExplorer(),
            "#002244",
            emitters=False,
            parameters={**_GROUND_TRUTH, **_DOMINATED_NOVELTY},
        ),
        Method(
            "dns-learned",
            "dns-learned",
            "dns in a learned space",
            DominatedNoveltyExplorer(),
            "#6611FF",
            emitters=False,
            parameters=_DOMINATED_NOVELTY,
        ),
        Method(
            "aurora",
            "aurora",
            "a container of policies that keep their distance in a learned space, which is trained on the container",
            ContainerExplorer(),
            "#3377EE",
            emitters=False,
            parameters=_AURORA,
        ),
        Method(
            "stax-plus",
            "stax-plus",
            "stax whose learned space is made of principal components of smoothed pictures",
            _BOTH,
            "#117733",
            parameters={"autoencoder": "auto-principal"},
        ),
        Method(
            "random",
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
