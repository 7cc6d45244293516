"""The parameters of a search: names, symbols of the paper, defaults and constraints; and the presets.

The default of a parameter has one home, its field of `Parameters`. A preset or a method holds only the values that differ.
`Method.resolve` makes one frozen `Parameters` of the preset, the method and the values given, and nothing is resolved again
after that. The constraints are applied when the object is made, so every `Parameters` is valid. `--set`, TOML files, keywords,
`stax algos` and the tables of the documentation use the same constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stax.constraints import (
    CheckedParameters,
    Choice,
    CodeName,
    Flag,
    Interval,
    Number,
    OrNone,
    Several,
    WholeNumber,
    parameter,
)
from stax.errors import InvalidInputError, no_such
from stax.input_limits import LARGEST_GENE, MOST_CODE, MOST_EVALUATIONS, MOST_LAYERS, MOST_POLICIES, MOST_SAMPLES
from stax.representation.choice import AUTOENCODERS, MOMENTS
from stax.search.emitters import ABOUT_KINDS
from stax.search.schedulers import ABOUT_SCHEDULERS

_MOST_KINDS = 100
"""Kinds of emitters that one search may have."""
_MILLION = 10**6
_POLICIES = WholeNumber(1, MOST_POLICIES)
_TWO_POLICIES = WholeNumber(2, MOST_POLICIES)
_OBSERVATIONS = WholeNumber(100, MOST_EVALUATIONS)
_SHARE = Number(0, 1)


def _described(about: Mapping[str, str]) -> str:
    """List choices with their descriptions."""
    return "; ".join(f"{name} ({words})" for name, words in about.items())


@dataclass(frozen=True, kw_only=True)
class Parameters(CheckedParameters):
    """Every parameter of a search. `Parameters()` has the values of the preset `default`."""

    population_size: int = parameter(100, "policies in the population", _TWO_POLICIES, "M")
    offspring_per_parent: int = parameter(
        2, "mutated copies of each member of the population per generation", WholeNumber(1, 10_000), "m"
    )
    parents_per_generation: int | None = parameter(
        None,
        "parents drawn uniformly and with replacement for each generation of exploration",
        OrNone(
            _POLICIES, "every member of the population once; population_size draws where parents do not come from Algorithm 2"
        ),
    )
    mutation_sigma: float = parameter(
        0.5, "standard deviation of mutations in exploration", Number(0, LARGEST_GENE, above=True), "sigma"
    )
    variation: str = parameter(
        "gaussian",
        "how exploration makes a genome: a parent with Gaussian noise of mutation_sigma (gaussian), or a parent with noise of iso_sigma and"
        " a random step of line_sigma along the line to a second parent (iso-line); emitters have their own ways",
        Choice(("gaussian", "iso-line")),
    )
    iso_sigma: float = parameter(
        0.005, "standard deviation of the noise of every gene, with variation=iso-line", Number(0, LARGEST_GENE, above=True)
    )
    line_sigma: float = parameter(
        0.05,
        "standard deviation of the step towards or away from the second parent, in distances of the parents, with variation=iso-line",
        Number(0, _MILLION),
    )
    genome_bounds: tuple[float, float] | None = parameter(
        None,
        "interval that every number of a genome is clipped to",
        OrNone(Interval(LARGEST_GENE), "the task's own, [-5, 5] for the built-in ones"),
    )
    novelty_neighbors: int = parameter(
        15, "nearest neighbours that novelty is the mean distance to", WholeNumber(1, 10_000), "k = |J|"
    )
    archive_additions: int = parameter(
        5,
        "offspring that enter the novelty archive per generation, and novelty candidates when an emitter ends",
        _POLICIES,
        "N_Q",
    )
    archive_selection: str = parameter(
        "uniform", "which offspring enter the novelty archive", Choice(("uniform", "most-novel"))
    )
    elite_replacement: str = parameter(
        "not-worse",
        "which newcomers replace the elite of their cell in MAP-Elites: those with at least its reward (not-worse), or with more (better)",
        Choice(("not-worse", "better")),
    )
    selection: str = parameter(
        "pareto",
        "how exploration selects its population: by the objectives of the method, with NSGA-II if there are several (pareto), or by the"
        " distance from policies with at least the same reward (dominated-novelty)",
        Choice(("pareto", "dominated-novelty")),
    )
    dns_neighbors: int = parameter(
        3, "nearest policies of at least the same reward that dominated novelty is the mean distance to", WholeNumber(1, 10_000)
    )
    reevaluations: int = parameter(
        0,
        "further evaluations, with another seed each, of a policy that would enter an archive; the mean of its rewards is kept and their"
        " spread recorded; for tasks whose rollouts depend on a seed",
        WholeNumber(0, 1000),
    )
    population_update: str = parameter(
        "selection",
        "the population after each generation of exploration: the policies that selection chooses (selection), or always the first"
        " population (frozen)",
        Choice(("selection", "frozen")),
    )
    container_size: int = parameter(10_000, "policies that the container of AURORA aims to hold", _TWO_POLICIES, "N")
    container_control: str = parameter(
        "csc",
        "how AURORA sets the distance that policies in its container keep: it rises and falls in every generation with the number of"
        " policies (csc, container size control), or follows from the largest distance after each training (vat, volume adaptive"
        " threshold)",
        Choice(("csc", "vat")),
    )
    container_gain: float = parameter(
        0.05,
        "relative change per generation of the distance that policies in the container keep, if it were empty, with container_control=csc",
        Number(0, 0.5, above=True),
        "K N",
    )
    container_refill: int = parameter(
        10,
        "generations after which the container is emptied and refilled, with container_control=csc",
        WholeNumber(1, _MILLION),
    )
    container_tolerance: float = parameter(
        0.1,
        "how much worse a policy may be in one respect than the one whose place it takes in the container",
        _SHARE,
        "epsilon",
    )
    container_vat_factor: float = parameter(
        25.0,
        "policies that would fill the container as multiples of container_size, with container_control=vat",
        Number(0, _MILLION, above=True),
        "c",
    )
    container_rewards: bool = parameter(
        True, "whether policies compete by their rewards in the container; without, the first one keeps its place", Flag()
    )
    training_growth: int = parameter(
        1, "chunks of exploration by which the interval between training episodes grows each time", WholeNumber(1, _MILLION)
    )
    training_limit: int | None = parameter(
        None,
        "chunks of exploration between training episodes at most",
        OrNone(WholeNumber(1, MOST_EVALUATIONS), "no limit"),
    )
    chunk_size: int = parameter(
        100, "evaluations the scheduler gives to a phase at a time", WholeNumber(1, MOST_EVALUATIONS), "K_Bud"
    )
    emitters: bool | None = parameter(None, "whether emitters improve rewarding policies", OrNone(Flag(), "as the method does"))
    emitter_population: int = parameter(6, "policies in an emitter's population", _TWO_POLICIES, "M_E")
    bootstrap_generations: int = parameter(
        6, "generations after which a new emitter is kept or discarded", _TWO_POLICIES, "lambda"
    )
    bootstrap_share: float = parameter(
        1 / 3, "share of an exploitation chunk for the bootstrap step; the emitter step has the rest", _SHARE
    )
    emitter_novelty: str = parameter(
        "all",
        "what the novelty of an emitter is measured against when the next emitter to run is chosen: both archives, the population and the"
        " last offspring (all), or the reward archive alone (reward-archive)",
        Choice(("all", "reward-archive")),
    )
    emitter_sigma: str = parameter(
        "length",
        "an emitter's mutation: a third of the distance to the nearest policy is the standard deviation of every gene (distance),"
        " or the typical length of the whole mutation (length)",
        Choice(("distance", "length")),
        "sigma_i",
    )
    emitter_kinds: tuple[str, ...] = parameter(
        ("elitist",),
        "kinds of emitters, several with commas between them, which share the budget: " + _described(ABOUT_KINDS),
        Several(CodeName(tuple(ABOUT_KINDS)), _MOST_KINDS, different=True),
    )
    emitter_choice: str = parameter(
        "bandit",
        "which of several kinds of emitters gets the next turn: the most promising one (bandit), any (uniform), or each in turn"
        " (round-robin)",
        Choice(("bandit", "uniform", "round-robin")),
    )
    cma_population: str = parameter(
        "emitter",
        "policies that an emitter of CMA-ES draws per generation: emitter_population (emitter), or 4 + 3 ln n of n genes (genome)",
        Choice(("emitter", "genome")),
    )
    scheduler: str = parameter(
        "alternating",
        "how the budget is shared by exploration and exploitation: " + _described(ABOUT_SCHEDULERS),
        CodeName(tuple(ABOUT_SCHEDULERS)),
    )
    exploration_share: float = parameter(0.5, "share of the evaluations for exploration, with scheduler=fixed-ratio", _SHARE)
    bandit_window: int = parameter(
        50, "last turns or chunks that emitter_choice=bandit and scheduler=adaptive decide by", WholeNumber(2, _MILLION)
    )
    bandit_exploration: float = parameter(
        1.0,
        "weight of exploration in emitter_choice=bandit and scheduler=adaptive: larger values favour choices that were tried rarely",
        Number(0, _MILLION),
    )
    grid_cells: int = parameter(
        50, "cells along each ground-truth dimension, for coverage and MAP-Elites", WholeNumber(1, 1000)
    )
    descriptor: str = parameter(
        "learned",
        "space in which behaviours are compared; none is for random search",
        Choice(("learned", "ground-truth", "states", "none")),
        "psi",
    )
    descriptor_samples: int | None = parameter(
        None,
        "observations of a rollout that make its descriptor, the last one always among them",
        OrNone(WholeNumber(1, MOST_SAMPLES), "all"),
        "K",
    )
    descriptor_moments: str = parameter(
        "even",
        "how descriptor_samples chooses observations: evenly spread (even), or those that differ most from the one before (changing)",
        Choice(MOMENTS),
    )
    sequence_size: int | None = parameter(
        None,
        "numbers of the descriptor that a sequence encoder makes of the codes of a rollout's observations",
        OrNone(WholeNumber(1, MOST_CODE), "the codes side by side"),
    )
    whiten_codes: bool = parameter(
        False,
        "whether codes are whitened before distances are measured, so that no number of the code dominates novelty",
        Flag(),
    )
    code_size: int = parameter(10, "numbers that the encoder makes of an observation", WholeNumber(1, MOST_CODE), "dim F")
    autoencoder: str = parameter(
        "auto",
        "the autoencoder: convolutional for pictures, dense for vectors (auto chooses), variational, triplet (near rewards have near codes)"
        " or temporal (successive observations have near codes) for both, spatial (positions in pictures) or principal (principal components of"
        " smoothed pictures) for pictures; auto-principal chooses principal for pictures and dense for vectors",
        CodeName(AUTOENCODERS),
    )
    hidden_sizes: tuple[int, ...] = parameter(
        (64, 32),
        "sizes of the layers between a vector and its code; the decoder's mirror them",
        Several(WholeNumber(1, 10_000), MOST_LAYERS),
    )
    kl_weight: float = parameter(
        0.01,
        "cost of a nat of divergence in a variational autoencoder, in squared errors summed over an observation",
        Number(0, _MILLION),
    )
    contrast_weight: float = parameter(
        10.0,
        "cost of a unit of the triplet loss with autoencoder=triplet or temporal, in squared errors summed over an observation",
        Number(0, _MILLION),
    )
    contrast_margin: float = parameter(
        1.0,
        "by how much the code of a negative should be farther than that of a positive, with autoencoder=triplet or temporal",
        Number(0, _MILLION),
    )
    smoothing: float = parameter(
        1.5,
        "exponent of the frequency by which amplitudes of pictures are divided with autoencoder=principal: 0 for pictures as they are, 1.5"
        " for distances that grow with the square root of a displacement",
        Number(0, 10),
    )
    learning_rate: float = parameter(1e-3, "learning rate of Adam", Number(0, 100, above=True))
    batch_size: int = parameter(128, "observations per training step", WholeNumber(1, _MILLION))
    max_epochs: int = parameter(100, "epochs of a training episode at most", WholeNumber(1, _MILLION))
    patience: int = parameter(
        3, "epochs in a row with a rising validation error after which an episode ends", WholeNumber(1, _MILLION)
    )
    validation_share: float = parameter(0.2, "share of the training set held back for validation", Number(0, 0.9, above=True))
    kept_weights: str = parameter(
        "best", "weights kept at the end of an episode: of its best epoch in validation or its last", Choice(("best", "last"))
    )
    max_images_per_episode: int | None = parameter(
        2000,
        "observations trained on in all epochs of a training episode together at most, except that one epoch is always done",
        OrNone(_OBSERVATIONS, "no limit"),
    )
    training_set_size: int | None = parameter(
        None,
        "observations in the set of a training episode at most, those held back for validation included",
        OrNone(_OBSERVATIONS, "max_images_per_episode"),
    )
    center_observations: bool = parameter(
        True, "whether the autoencoder sees the difference to the mean observation of its training set", Flag()
    )
    scale_observations: bool = parameter(
        True, "whether centred observations are divided by their standard deviation over the training set", Flag()
    )

    @property
    def parent_count(self) -> int:
        """Number of parents of a generation of exploration."""
        return self.parents_per_generation or self.population_size


_PAPER = {
    "emitter_sigma": "distance",
    "max_images_per_episode": None,
    "center_observations": False,
    "scale_observations": False,
}
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": _PAPER,
    "published-code": {
        **_PAPER,
        "mutation_sigma": 0.05,
        "chunk_size": 1000,
        "bootstrap_share": 2 / 3,
        "emitter_novelty": "reward-archive",
    },
}
"""Values of each preset that differ from those of `Parameters()`."""
ABOUT_PRESETS = {
    "default": "the paper's parameters with bounded training episodes on centred observations, and emitters that stay near",
    "paper": "the letter of the paper",
    "published-code": "the paper's parameters with the values and rules of the authors' published code, where these differ",
}


def make_parameters(preset: str, method_values: Mapping[str, Any], given: Mapping[str, Any]) -> Parameters:
    """Return the values of the preset, changed by those of the method, then by those the user gave."""
    if not isinstance(preset, str) or preset not in PRESETS:
        raise InvalidInputError(no_such("preset", preset, PRESETS))
    known = Parameters.described()
    for name in given:
        if name not in known:
            raise InvalidInputError(no_such("parameter", name, known))
    return Parameters(**{**PRESETS[preset], **method_values, **given})
