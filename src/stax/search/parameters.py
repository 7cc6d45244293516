"""The parameters of a search: their names, the paper's symbols and values, and what is allowed."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from stax.errors import InvalidInputError, shown
from stax.input_limits import (
    LARGEST_GENE,
    MOST_CODE,
    MOST_EVALUATIONS,
    MOST_LAYERS,
    MOST_POLICIES,
    MOST_SAMPLES,
    is_finite_number,
)
from stax.representation.choice import AUTOENCODERS, names_code, names_object
from stax.search.emitters import ABOUT_KINDS
from stax.search.schedulers import ABOUT_SCHEDULERS

OWN_PARTS = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.<>]*")
"""How a part of a user's own is named: `module:Class`."""
_LONGEST_NAME = 200
"""Characters of a name that is compared with those that there are."""
_MOST_PARTS = 100
"""Kinds of emitters that one search may have."""


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be, and what a reader should know of it."""

    about: str
    symbol: str = ""
    """In the paper."""
    kind: str = "whole"
    """whole, number, flag, choice, bounds, sizes, autoencoder, part, parts."""
    least: float = 1
    most: float | None = None
    above: bool = False
    """Whether `least` itself is not allowed."""
    choices: tuple[str, ...] = ()
    none: str = ""
    """What None stands for; empty if it is not allowed."""

    def words(self) -> str:
        """What is allowed, as the end of a sentence."""
        if self.kind == "flag":
            words = "true or false"
        elif self.kind == "choice":
            words = "one of " + ", ".join(repr(choice) for choice in self.choices)
        elif self.kind == "bounds":
            words = f"two numbers within {LARGEST_GENE:g} from 0, the lower first"
        elif self.kind in ("part", "parts"):
            named = "one of " if self.kind == "part" else "different ones of "
            words = f"{named}{', '.join(repr(choice) for choice in self.choices)}, or module:Class of your own"
        elif self.kind == "sizes":
            words = (
                f"at most {MOST_LAYERS} whole numbers of at least {_digits(self.least)} and at most {_digits(self.most or 0)}"
            )
        elif self.kind == "autoencoder":
            words = (
                "one of "
                + ", ".join(repr(choice) for choice in self.choices)
                + ", or your own: 'module:name', in Python an object"
            )
        else:
            noun = "a whole number" if self.kind == "whole" else "a number"
            low = f"above {_digits(self.least)}" if self.above else f"of at least {_digits(self.least)}"
            words = f"{noun} {low}" if self.most is None else f"{noun} {low} and at most {_digits(self.most)}"
        return f"{words}, or none ({self.none})" if self.none else words

    def check(self, name: str, value: Any) -> Any:
        """The value in its proper type, or one sentence that says what is allowed."""
        checked = self._accept(value)
        if checked is None and not (value is None and self.none):
            raise InvalidInputError(f"Parameter {name} must be {self.words()}, not {shown(value)}.")
        return checked

    def _accept(self, value: Any) -> Any:
        if value is None:
            # The command line and TOML have one word for None and for this choice.
            return "none" if "none" in self.choices else None
        if self.kind == "flag":
            return bool(value) if isinstance(value, (bool, np.bool_)) else None
        if self.kind == "choice":
            return value if isinstance(value, str) and value in self.choices else None
        if self.kind == "bounds":
            return _bounds(value)
        if self.kind in ("part", "parts"):
            return self._parts(value)
        if self.kind == "autoencoder":
            known = isinstance(value, str) and (value in self.choices or names_code(value) or names_object(value))
            return value if known else None
        if self.kind == "sizes":
            return self._sizes(value)
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind == "whole" else Real):
            return None
        try:
            number = int(value) if isinstance(value, Integral) and self.kind == "whole" else float(value)
        except OverflowError:
            return None
        too_low = number <= self.least if self.above else number < self.least
        if too_low or not number < math.inf or (self.most is not None and number > self.most):
            return None
        return number

    def _sizes(self, value: Any) -> tuple[int, ...] | None:
        """A number alone is a list of one."""
        single = replace(self, kind="whole")
        items = value if isinstance(value, (list, tuple)) else [value]
        if len(items) > MOST_LAYERS:
            return None
        checked = [single._accept(item) for item in items]
        return tuple(checked) if checked and None not in checked else None

    def _parts(self, value: Any) -> str | tuple[str, ...] | None:
        """One name, or several as a list or with commas between them."""
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, Sequence) or len(names) > _MOST_PARTS or not all(isinstance(name, str) for name in names):
            return None
        names = tuple(name.strip() for name in names)
        known = all(name in self.choices or OWN_PARTS.fullmatch(name) for name in names)
        if not names or not known or len(set(names)) < len(names):
            return None
        if self.kind == "parts":
            return names
        return names[0] if len(names) == 1 and isinstance(value, str) else None


def _bounds(value: Any) -> tuple[float, float] | None:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    numbers = all(is_finite_number(bound, LARGEST_GENE) for bound in value)
    return (float(value[0]), float(value[1])) if numbers and value[0] < value[1] else None


def _digits(number: float) -> str:
    """Return a limit as it reads best in a sentence."""
    return f"{number:,.0f}" if number == int(number) and 10_000 <= number <= MOST_EVALUATIONS else f"{number:g}"


def _described(about: Mapping[str, str]) -> str:
    """List choices with their descriptions."""
    return "; ".join(f"{name} ({words})" for name, words in about.items())


def _parameter(default: Any, about: str, **allowed: Any) -> Any:
    return field(default=default, metadata={"allowed": Allowed(about, **allowed)})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Every parameter of a search, with the values of the paper."""

    population_size: int = _parameter(100, "policies in the population", symbol="M", least=2, most=MOST_POLICIES)
    offspring_per_parent: int = _parameter(
        2, "mutated copies of each member of the population per generation", symbol="m", most=10_000
    )
    mutation_sigma: float = _parameter(
        0.5,
        "standard deviation of mutations in exploration",
        symbol="sigma",
        kind="number",
        least=0,
        above=True,
        most=LARGEST_GENE,
    )
    genome_bounds: tuple[float, float] | None = _parameter(
        None, "what genomes are clipped to", kind="bounds", none="the task's own, [-5, 5] for the built-in ones"
    )
    novelty_neighbors: int = _parameter(
        15, "nearest neighbours that novelty is the mean distance to", symbol="k = |J|", most=10_000
    )
    archive_additions: int = _parameter(
        5,
        "offspring that enter the novelty archive per generation, and novelty candidates when an emitter ends",
        symbol="N_Q",
        most=MOST_POLICIES,
    )
    archive_selection: str = _parameter(
        "uniform", "which offspring enter the novelty archive", kind="choice", choices=("uniform", "most-novel")
    )
    elite_replacement: str = _parameter(
        "not-worse",
        "which newcomers replace the elite of their cell in MAP-Elites: those with at least its reward (not-worse), or with more (better)",
        kind="choice",
        choices=("not-worse", "better"),
    )
    population_update: str = _parameter(
        "selection",
        "the population after each generation of exploration: the policies that selection chooses (selection), or always the first"
        " population (frozen)",
        kind="choice",
        choices=("selection", "frozen"),
    )
    chunk_size: int = _parameter(
        100, "evaluations the scheduler gives to a phase at a time", symbol="K_Bud", most=MOST_EVALUATIONS
    )
    emitters: bool | None = _parameter(
        None, "whether rewarding policies are climbed by emitters", kind="flag", none="as the method does"
    )
    emitter_population: int = _parameter(6, "policies in an emitter's population", symbol="M_E", least=2, most=MOST_POLICIES)
    bootstrap_generations: int = _parameter(
        6, "generations after which a new emitter is kept or discarded", symbol="lambda", least=2, most=MOST_POLICIES
    )
    bootstrap_share: float = _parameter(
        1 / 3,
        "share of an exploitation chunk for the bootstrap step; the emitter step has the rest",
        kind="number",
        least=0,
        most=1,
    )
    emitter_novelty: str = _parameter(
        "all",
        "what the novelty of an emitter is measured against when the next emitter to run is chosen: both archives, the population and the"
        " last offspring (all), or the reward archive alone (reward-archive)",
        kind="choice",
        choices=("all", "reward-archive"),
    )
    emitter_sigma: str = _parameter(
        "distance",
        "an emitter's mutation: a third of the distance to the nearest policy is the standard deviation of every gene (distance),"
        " or the typical length of the whole mutation (length)",
        symbol="sigma_i",
        kind="choice",
        choices=("distance", "length"),
    )
    emitter_kinds: tuple[str, ...] = _parameter(
        ("elitist",),
        "kinds of emitters, several with commas between them, which share the budget: " + _described(ABOUT_KINDS),
        kind="parts",
        choices=tuple(ABOUT_KINDS),
    )
    emitter_choice: str = _parameter(
        "bandit",
        "of several kinds of emitters, which one gets the next turn: the one that promises most (bandit), any (uniform), or each in turn"
        " (round-robin)",
        kind="choice",
        choices=("bandit", "uniform", "round-robin"),
    )
    cma_population: str = _parameter(
        "emitter",
        "policies that an emitter of CMA-ES draws per generation: emitter_population (emitter), or 4 + 3 ln n of n genes (genome)",
        kind="choice",
        choices=("emitter", "genome"),
    )
    scheduler: str = _parameter(
        "alternating",
        "how the budget is shared by exploration and exploitation: " + _described(ABOUT_SCHEDULERS),
        kind="part",
        choices=tuple(ABOUT_SCHEDULERS),
    )
    exploration_share: float = _parameter(
        0.5, "share of the evaluations for exploration, with scheduler=fixed-ratio", kind="number", least=0, most=1
    )
    bandit_window: int = _parameter(
        50, "turns or chunks that emitter_choice=bandit and scheduler=adaptive look back on", least=2, most=10**6
    )
    bandit_exploration: float = _parameter(
        1.0, "how much these two value what they have tried little", kind="number", least=0, most=10**6
    )
    grid_cells: int = _parameter(50, "cells along each ground-truth dimension, for coverage and MAP-Elites", most=1000)
    descriptor: str = _parameter(
        "learned",
        "where behaviours are compared; nowhere (none) in random search",
        symbol="psi",
        kind="choice",
        choices=("learned", "ground-truth", "states", "none"),
    )
    descriptor_samples: int | None = _parameter(
        None,
        "observations of a rollout that make its descriptor, the last one always among them",
        symbol="K",
        none="all",
        most=MOST_SAMPLES,
    )
    code_size: int = _parameter(10, "numbers that the encoder makes of an observation", symbol="dim F", most=MOST_CODE)
    autoencoder: str = _parameter(
        "auto",
        "what makes the codes: for pictures convolutional, for vectors dense (auto chooses), for both variational",
        kind="autoencoder",
        choices=AUTOENCODERS,
    )
    hidden_sizes: tuple[int, ...] = _parameter(
        (64, 32), "layers between a vector and its code; the decoder's mirror them", kind="sizes", most=10_000
    )
    kl_weight: float = _parameter(
        0.01,
        "what a nat of divergence costs a variational autoencoder, in squared errors summed over an observation",
        kind="number",
        least=0,
        most=10**6,
    )
    learning_rate: float = _parameter(1e-3, "of Adam", kind="number", least=0, above=True, most=100)
    batch_size: int = _parameter(128, "observations per training step", most=10**6)
    max_epochs: int = _parameter(100, "epochs of a training episode at most", most=10**6)
    patience: int = _parameter(3, "epochs in a row with a rising validation error after which an episode ends", most=10**6)
    validation_share: float = _parameter(
        0.2, "share of the training set held back for validation", kind="number", least=0, above=True, most=0.9
    )
    kept_weights: str = _parameter(
        "best",
        "weights kept at the end of an episode: of its best epoch in validation or its last",
        kind="choice",
        choices=("best", "last"),
    )
    max_images_per_episode: int | None = _parameter(
        None,
        "observations trained on in all epochs of a training episode together at most, except that one epoch is always done",
        least=100,
        none="no limit",
        most=MOST_EVALUATIONS,
    )
    training_set_size: int | None = _parameter(
        None,
        "observations in the set of a training episode at most, those held back for validation included",
        least=100,
        none="max_images_per_episode",
        most=MOST_EVALUATIONS,
    )
    center_observations: bool = _parameter(
        False, "whether the autoencoder sees the difference to the mean observation of its training set", kind="flag"
    )
    scale_observations: bool = _parameter(
        False, "whether that difference is divided by its standard deviation over the training set", kind="flag"
    )


PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "max_images_per_episode": 2000,
        "center_observations": True,
        "scale_observations": True,
        "emitter_sigma": "length",
    },
    "paper": {},
    "published-code": {
        "mutation_sigma": 0.05,
        "chunk_size": 1000,
        "bootstrap_share": 2 / 3,
        "emitter_novelty": "reward-archive",
    },
}
"""What a preset changes of the paper's values."""
ABOUT_PRESETS = {
    "default": "the paper's parameters with bounded training episodes on centred observations, and emitters that stay near",
    "paper": "the letter of the paper",
    "published-code": "the paper's parameters with the values and rules of the authors' published code, where these differ",
}


def allowed() -> dict[str, Allowed]:
    """Every parameter's name, and what it may be."""
    return {entry.name: entry.metadata["allowed"] for entry in fields(Parameters)}


def make_parameters(preset: str, method_values: Mapping[str, Any], given: Mapping[str, Any]) -> Parameters:
    """The paper's values, changed by the preset, then by the method, then by what the user gave."""
    if not isinstance(preset, str) or preset not in PRESETS:
        raise InvalidInputError(no_such("preset", preset, PRESETS))
    known = allowed()
    for name in given:
        if name not in known:
            raise InvalidInputError(no_such("parameter", name, known))
    checked = {name: known[name].check(name, value) for name, value in given.items()}
    return replace(Parameters(), **{**PRESETS[preset], **method_values, **checked})


def no_such(what: str, given: object, known: Iterable[str]) -> str:
    """One sentence that names the nearest right name."""
    names = list(known)
    text = given if isinstance(given, str) and len(given) <= _LONGEST_NAME else ""
    begun = [name for name in names if text and name.startswith(text)]
    near = begun or difflib.get_close_matches(text, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"There is no {what} {shown(given)}; {hint}there are {', '.join(names)}."
