"""Making a search from the name of its method and its parameters, or refusing it in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.input_limits import LARGEST_GENERATION, LARGEST_SEED, MOST_DESCRIPTOR, MOST_EVALUATIONS, MOST_WEIGHTS
from stax.own_code import without_objects
from stax.representation.choice import check_code_size, chosen, count_added_weights, count_weights, descriptor_size
from stax.representation.space import DescriptorSpace, GroundTruthSpace, NoSpace, StatesSpace, truth_remedy
from stax.search.emitters import check_built_in_kinds, make_kinds
from stax.search.methods import Method, find_method
from stax.search.parameters import Parameters
from stax.search.random_numbers import space_seed
from stax.search.schedulers import make_scheduler
from stax.search.search import Search
from stax.search.seeds import Seeds, check_seeds
from stax.tasks import is_built_in
from stax.tasks.task import Task
from stax.tasks.task_checks import check_attributes
from stax.tasks.variants import SEEDS, has_options

_LEARNING = (
    *("code_size", "autoencoder", "hidden_sizes", "kl_weight", "contrast_weight", "contrast_margin", "smoothing"),
    *("learning_rate", "batch_size", "max_epochs", "patience"),
    *("validation_share", "kept_weights", "max_images_per_episode", "training_set_size"),
    *("center_observations", "scale_observations", "descriptor_moments", "sequence_size", "whiten_codes"),
)
"""Parameters of the learned descriptor space."""


def make_search(
    algo: str,
    task: Task,
    *,
    budget: int,
    seed: int = 0,
    preset: str = "default",
    device: str = "auto",
    **parameters: Any,
) -> Search:
    """Return a search by the name of its method. `stax algos` lists the parameters, which are keywords.

    An autoencoder, kinds of emitters and the scheduler may also be objects.

    ```python
    search = stax.make_search("stax", task, budget=20_000, seed=0)
    while not search.done:
        search.tell(task.evaluate(search.ask()))
    ```
    """
    method = find_method(algo)
    named, objects = without_objects(parameters)
    resolved = method.resolve(preset, named)
    return build_search(method, task, resolved, objects, budget=budget, seed=seed, device=device)


def build_search(
    method: Method,
    task: Task,
    parameters: Parameters,
    objects: Mapping[str, Any],
    *,
    budget: int,
    seed: int,
    device: str,
    seeds: Seeds | None = None,
) -> Search:
    """Return a search with parameters that are resolved; `objects` are those that `without_objects` found among them."""
    method, parameters = fit(method, task, parameters, budget=budget)
    seed = check_whole("seed", seed, 0, LARGEST_SEED)
    space = make_space(task, method, parameters, seed, device, objects.get("autoencoder"))
    # For a method without emitters no code of a user's own is imported.
    of_parts, own_parts = (parameters, objects) if method.emitters else (Parameters(), {})
    kinds = make_kinds(of_parts, own_parts.get("emitter_kinds"), task.genome_size)
    scheduler = make_scheduler(of_parts, own_parts.get("scheduler"))
    try:
        search = Search(
            task,
            method,
            parameters,
            budget=int(budget),
            seed=seed,
            space=space,
            kinds=kinds,
            scheduler=scheduler,
        )
    except MemoryError:
        raise InvalidInputError(
            f"There is not enough memory to record a budget of {int(budget):,} evaluations; give a smaller budget."
        ) from None
    if seeds is not None:
        check_seeds(search, seeds)
        search.seeds = seeds
    return search


def fit(method: Method, task: Task, parameters: Parameters, *, budget: int) -> tuple[Method, Parameters]:
    """Return the method and the parameters as a search on this task uses them, or raise `stax.InvalidInputError`.

    Values that the task decides are filled in. No code of a user's own is imported.
    """
    check_attributes(task)
    budget = check_whole("budget", budget, 1, MOST_EVALUATIONS)
    if budget < parameters.population_size:
        raise InvalidInputError(
            f"budget must be at least one population of {parameters.population_size} evaluations, not {budget}."
        )
    samples = parameters.descriptor_samples or task.observation_samples
    if samples > task.observation_samples:
        raise InvalidInputError(
            f"Parameter descriptor_samples must be at most {task.observation_samples}, the observations that task"
            f" {task.name!r} keeps of a rollout, not {samples}."
        )
    low, high = parameters.genome_bounds or task.genome_bounds
    parameters = replace(parameters, descriptor_samples=samples, genome_bounds=(low, high))
    method.explorer.check(method.name, parameters)
    if parameters.descriptor == "learned":
        chosen(parameters.autoencoder, task.observation_shape)
        check_code_size(parameters.autoencoder, parameters.code_size)
        _refuse_untrained(method, parameters)
    _refuse_excess(task, parameters)
    if parameters.reevaluations:
        _check_reevaluations(method, task, parameters, budget)
    if parameters.emitters is not None:
        method = replace(method, emitters=parameters.emitters)
    if method.emitters:
        check_built_in_kinds(parameters, task.genome_size)
    if method.explorer.needs_grid and task.ground_truth_bounds is None:
        raise InvalidInputError(
            f"Task {task.name!r} has no ground-truth descriptor, which the grid of {method.name} needs; {truth_remedy(task)}."
        )
    return method, parameters


def _check_reevaluations(method: Method, task: Task, parameters: Parameters, budget: int) -> None:
    """Refuse `reevaluations` for a task whose rollouts do not depend on a seed, and for a budget that the first population exceeds."""
    times, reason = parameters.reevaluations, ""
    if not has_options(task, *SEEDS):
        reason = f"which has no options {' and '.join(SEEDS)} to evaluate a policy with other seeds"
    elif is_built_in(task) and not getattr(task, "is_noisy", False):
        reason = "which has no noise, so a policy does the same with every seed; see the options sensor_noise and action_noise"
    if reason:
        raise InvalidInputError(f"Parameter reevaluations must be 0 for task {task.name!r}, {reason}, not {times}.")
    needed = parameters.population_size * (1 + times)
    if method.explorer.archives_population and budget < needed:
        raise InvalidInputError(
            f"budget must be at least {needed:,} evaluations for {method.name}, whose first population of {parameters.population_size:,}"
            f" enters its archive after {times} reevaluations of each policy, not {budget:,}."
        )


def _refuse_untrained(method: Method, parameters: Parameters) -> None:
    """Refuse parameters of the learned space that mean nothing for a method that never trains it."""
    if method.training != "never":
        return
    for name, unset in {"whiten_codes": False, "sequence_size": None}.items():
        if getattr(parameters, name) != unset:
            raise InvalidInputError(
                f"Parameter {name} is fitted when the autoencoder is trained, which {method.name} never does; leave it at {unset}."
            )


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
        numbers = descriptor_size(samples, parameters.code_size, parameters.sequence_size)
        sizes = f"code_size {parameters.code_size}"
    elif parameters.descriptor == "states":
        numbers, sizes = samples * math.prod(task.observation_shape), f"observations of shape {tuple(task.observation_shape)}"
    if numbers > MOST_DESCRIPTOR:
        raise InvalidInputError(
            f"Parameter descriptor_samples {samples} and {sizes} make descriptors of {numbers:,} numbers; at most {MOST_DESCRIPTOR:,}"
            " are allowed."
        )
    if parameters.descriptor == "learned":
        weights = count_weights(parameters.autoencoder, task.observation_shape, parameters.code_size, parameters.hidden_sizes)
        added = count_added_weights(
            samples, parameters.code_size, parameters.sequence_size, whiten_codes=parameters.whiten_codes
        )
        if added > MOST_WEIGHTS:
            raise InvalidInputError(
                f"Parameters code_size {parameters.code_size}, sequence_size {parameters.sequence_size} and whiten_codes"
                f" {parameters.whiten_codes} need {added:,} numbers; at most {MOST_WEIGHTS:,} are allowed."
            )
        if weights is not None and weights > MOST_WEIGHTS:
            raise InvalidInputError(
                f"Parameters code_size {parameters.code_size} and hidden_sizes {parameters.hidden_sizes} make an autoencoder of"
                f" {weights:,} weights for observations of shape {tuple(task.observation_shape)}; at most {MOST_WEIGHTS:,} are allowed."
            )
    largest = max(parameters.population_size, parameters.parent_count, parameters.emitter_population)
    generation = largest * max(1 + parameters.offspring_per_parent, parameters.reevaluations)
    size = 8 * generation * (task.genome_size + numbers)
    if size > LARGEST_GENERATION:
        raise InvalidInputError(
            f"Parameters population_size {parameters.population_size}, parents_per_generation {parameters.parent_count},"
            f" emitter_population {parameters.emitter_population}, offspring_per_parent {parameters.offspring_per_parent} and"
            f" reevaluations {parameters.reevaluations} make generations of {size:,} bytes, with {task.genome_size:,} numbers a genome and {numbers:,} a descriptor; at most {LARGEST_GENERATION:,} are allowed."
        )


def make_space(
    task: Task, method: Method, parameters: Parameters, seed: int, device: str, autoencoder: Any = None
) -> DescriptorSpace:
    """Return the descriptor space of a search with this seed at its start, with the autoencoder if it was given as an object."""
    samples = parameters.descriptor_samples or task.observation_samples
    if parameters.descriptor == "ground-truth":
        return GroundTruthSpace(task)
    if parameters.descriptor == "states":
        return StatesSpace(task, samples)
    if parameters.descriptor == "none":
        return NoSpace()
    # Here, because torch takes seconds to import and half of the methods do without.
    from stax.representation.learned import LearnedSpace

    options = learning_options(parameters)
    if autoencoder is not None:
        options["autoencoder"] = autoencoder
    reset = method.training == "reset"
    return LearnedSpace(task=task, samples=samples, reset=reset, seed=space_seed(seed), device=device, **options)


def learning_options(parameters: Parameters) -> dict[str, Any]:
    """Return those parameters that `LearnedSpace` takes under the same names."""
    return {name: getattr(parameters, name) for name in _LEARNING}
