"""`make_search`: a search from the name of its method and its parameters, or one sentence that says why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stax.errors import InvalidInputError, check_whole
from stax.input_limits import (
    LARGEST_GENERATION,
    LARGEST_SEED,
    MOST_DESCRIPTOR,
    MOST_EVALUATIONS,
    MOST_WEIGHTS,
)
from stax.representation.choice import chosen, count_weights, name_of
from stax.representation.space import DescriptorSpace, GroundTruthSpace, NoSpace, StatesSpace
from stax.search.methods import Method, find_method
from stax.search.parameters import Parameters, make_parameters
from stax.search.parts import Parts, check_built_in, make_parts, name_parts
from stax.search.random_numbers import space_seed
from stax.search.search import Observer, Search
from stax.tasks.task import Task
from stax.tasks.task_checks import check_attributes


def make_search(
    algo: str,
    task: Task,
    *,
    budget: int,
    seed: int = 0,
    preset: str = "default",
    device: str = "auto",
    observer: Observer | None = None,
    **parameters: Any,
) -> Search:
    """A search by the name of its method; parameters as keywords, see `stax algos`. An autoencoder, kinds of emitters and the
    scheduler may also be objects.

    ```python
    search = stax.make_search("stax", task, budget=20_000, seed=0)
    while not search.done:
        search.tell(task.evaluate(search.ask()))
    ```
    """
    parameters, objects = without_objects(parameters)
    method, resolved = fit(algo, task, budget=budget, preset=preset, parameters=parameters)
    seed = check_whole("seed", seed, 0, LARGEST_SEED)
    space = make_space(task, method, resolved, seed, device, objects.get("autoencoder"))
    parts = make_parts(resolved, name_parts(objects)[1], task.genome_size) if method.emitters else Parts()
    try:
        return Search(task, method, resolved, budget=int(budget), seed=seed, space=space, parts=parts, observer=observer)
    except MemoryError:
        raise InvalidInputError(
            f"There is not enough memory to record a budget of {int(budget):,} evaluations; give a smaller budget."
        ) from None


def without_objects(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters that can be written down, and those of them that were given as objects, as they were given."""
    named, _ = name_parts(parameters)
    if named.get("autoencoder") is not None and not isinstance(named["autoencoder"], str):
        named["autoencoder"] = name_of(named["autoencoder"])
    return named, {name: value for name, value in parameters.items() if named[name] is not value}


def fit(
    algo: str, task: Task, *, budget: int, preset: str = "default", parameters: Mapping[str, Any]
) -> tuple[Method, Parameters]:
    """The method and all parameters as a search on this task uses them, or one sentence that says why it cannot."""
    method = find_method(algo)
    check_attributes(task)
    resolved = make_parameters(preset, method.values(preset), parameters)
    budget = check_whole("budget", budget, 1, MOST_EVALUATIONS)
    if budget < resolved.population_size:
        raise InvalidInputError(
            f"budget must be at least one population of {resolved.population_size} evaluations, not {budget}."
        )
    samples = resolved.descriptor_samples or task.observation_samples
    if samples > task.observation_samples:
        raise InvalidInputError(
            f"Parameter descriptor_samples must be at most {task.observation_samples}, the observations that task"
            f" {task.name!r} keeps of a rollout, not {samples}."
        )
    low, high = resolved.genome_bounds or task.genome_bounds
    resolved = replace(resolved, descriptor_samples=int(samples), genome_bounds=(float(low), float(high)))
    method.explorer.check(method.name, resolved)
    if resolved.descriptor == "learned":
        chosen(resolved.autoencoder, task.observation_shape)
    _refuse_excess(task, resolved)
    if resolved.emitters is not None:
        method = replace(method, emitters=resolved.emitters)
    if method.emitters:
        check_built_in(resolved, task.genome_size)
    if method.explorer.needs_grid and task.ground_truth_bounds is None:
        raise InvalidInputError(f"Task {task.name!r} has no ground-truth descriptor, which the grid of {algo} needs.")
    return method, resolved


def _refuse_excess(task: Task, parameters: Parameters) -> None:
    """Refuse parameters that are allowed one by one, but contradict each other or are too much together."""
    set_size, images = parameters.training_set_size, parameters.max_images_per_episode
    if set_size is not None and images is not None and set_size > images:
        raise InvalidInputError(
            f"Parameter training_set_size must be at most max_images_per_episode, which is {images:,}, not {set_size:,}."
        )
    samples = parameters.descriptor_samples or task.observation_samples
    numbers, sizes = 0, ""
    if parameters.descriptor == "learned":
        numbers, sizes = samples * parameters.code_size, f"code_size {parameters.code_size}"
    elif parameters.descriptor == "states":
        numbers, sizes = samples * math.prod(task.observation_shape), f"observations of shape {tuple(task.observation_shape)}"
    if numbers > MOST_DESCRIPTOR:
        raise InvalidInputError(
            f"Parameter descriptor_samples {samples} and {sizes} make descriptors of {numbers:,} numbers; at most {MOST_DESCRIPTOR:,}"
            " are allowed."
        )
    if parameters.descriptor == "learned":
        weights = count_weights(parameters.autoencoder, task.observation_shape, parameters.code_size, parameters.hidden_sizes)
        if weights is not None and weights > MOST_WEIGHTS:
            raise InvalidInputError(
                f"Parameters code_size {parameters.code_size} and hidden_sizes {parameters.hidden_sizes} make an autoencoder of"
                f" {weights:,} weights for observations of shape {tuple(task.observation_shape)}; at most {MOST_WEIGHTS:,} are allowed."
            )
    generation = max(parameters.population_size, parameters.emitter_population) * (1 + parameters.offspring_per_parent)
    size = 8 * generation * (task.genome_size + numbers)
    if size > LARGEST_GENERATION:
        raise InvalidInputError(
            f"Parameters population_size {parameters.population_size}, emitter_population {parameters.emitter_population} and"
            f" offspring_per_parent {parameters.offspring_per_parent} make generations of {size:,} bytes, with {task.genome_size:,}"
            f" numbers a genome and {numbers:,} a descriptor; at most {LARGEST_GENERATION:,} are allowed."
        )


def make_space(
    task: Task, method: Method, parameters: Parameters, seed: int, device: str, autoencoder: Any = None
) -> DescriptorSpace:
    """The descriptor space of a search with this seed, as it is at the start, with this autoencoder if it is an object."""
    samples = parameters.descriptor_samples or task.observation_samples
    if parameters.descriptor == "ground-truth":
        return GroundTruthSpace(task)
    if parameters.descriptor == "states":
        return StatesSpace(task, samples)
    if parameters.descriptor == "none":
        return NoSpace()
    # Here, because torch takes seconds to import and half of the methods do without.
    from stax.representation.learned import LearnedSpace

    return LearnedSpace(
        task=task,
        samples=samples,
        code_size=parameters.code_size,
        autoencoder=parameters.autoencoder if autoencoder is None else autoencoder,
        hidden_sizes=parameters.hidden_sizes,
        kl_weight=parameters.kl_weight,
        learning_rate=parameters.learning_rate,
        batch_size=parameters.batch_size,
        max_epochs=parameters.max_epochs,
        max_images_per_episode=parameters.max_images_per_episode,
        training_set_size=parameters.training_set_size,
        center_observations=parameters.center_observations,
        scale_observations=parameters.scale_observations,
        validation_share=parameters.validation_share,
        patience=parameters.patience,
        keep="last" if parameters.kept_weights == "last" else "best",
        reset=method.training == "reset",
        seed=space_seed(seed),
        device=device,
    )
