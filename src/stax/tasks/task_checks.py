"""What the attributes of a task must be: the one check of `stax check-task` and of every search before it begins."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from stax.errors import InvalidInputError, in_one_line, shortened, shown
from stax.input_limits import (
    LARGEST_GENE,
    LARGEST_NUMBER,
    LARGEST_OBSERVATION,
    LONGEST_NAME,
    MOST_GENES,
    MOST_GROUND_TRUTH,
    MOST_OBSERVED,
    MOST_REWARD_AREAS,
    MOST_SAMPLES,
    is_finite_number,
)
from stax.tasks.task import RewardArea, Task

OBSERVATION_DTYPES = ("uint8", "float32")


class _Problem(Exception):
    """A problem found; its text says which."""


def attribute_problem(task: Task) -> str:
    """Return what is wrong with the attributes of a task, in words; nothing if they are fine."""
    try:
        _check(task)
    except _Problem as problem:
        return str(problem)
    except Exception as error:  # an attribute may be a property of a user's own class, which may raise anything
        return f"its attributes cannot be read: {in_one_line(error)}"
    return ""


def check_attributes(task: Task) -> None:
    """Refuse a task whose attributes are not what a search relies on."""
    if not isinstance(task, Task):
        raise InvalidInputError(f"The task must be an object of a subclass of stax.Task, not {shown(task)}.")
    problem = attribute_problem(task)
    if problem:
        name = getattr(task, "name", None) if "its attributes cannot be read" not in problem else None
        called = name if isinstance(name, str) and name else type(task).__name__
        raise InvalidInputError(f"Task {shortened(called, LONGEST_NAME)!r} cannot be used: {problem}.")


def _check(task: Task) -> None:
    for name in ("name", "genome_size", "observation_shape", "reward_areas"):
        if not hasattr(task, name):
            raise _Problem(f"the task has no attribute {name!r}")
    _check_name("name", task.name)
    _check_integer("genome_size", task.genome_size, MOST_GENES)
    _check_bounds("genome_bounds", task.genome_bounds, LARGEST_GENE)
    _check_observations(task)
    if task.ground_truth_bounds is not None:
        _check_ground_truth_bounds(task.ground_truth_bounds)
    if task.ground_truth_names is not None:
        _check_ground_truth_names(task.ground_truth_names, len(task.ground_truth_bounds or ()))
    _check_areas(task)
    if task.policy_sizes is not None:
        _check_policy_sizes(task.policy_sizes, task.genome_size)


def _check_name(what: str, given: Any) -> None:
    if not isinstance(given, str) or not given:
        raise _Problem(f"{what} must be text, not {shown(given)}")
    if len(given) > LONGEST_NAME:
        raise _Problem(f"{what} must have at most {LONGEST_NAME} characters, not {len(given):,}")
    if not given.isprintable():
        raise _Problem(f"{what} must have no control characters or line breaks in it, not {shown(given)}")


def _check_integer(what: str, given: Any, most: int) -> None:
    if isinstance(given, bool) or not isinstance(given, Integral) or not 1 <= int(given) <= most:
        raise _Problem(f"{what} must be a whole number of at least 1 and at most {most:,}, not {shown(given)}")


def _check_bounds(what: str, given: Any, largest: float = LARGEST_NUMBER) -> None:
    pair = isinstance(given, (list, tuple)) and len(given) == 2 and all(is_finite_number(bound, largest) for bound in given)
    if not pair or not given[0] < given[1]:
        raise _Problem(
            f"{what} must be a finite lowest and a higher highest value, within {largest:g} from 0, not {shown(given)}"
        )


def _check_observations(task: Task) -> None:
    _check_integer("observation_samples", task.observation_samples, MOST_SAMPLES)
    if task.observation_dtype not in OBSERVATION_DTYPES:
        raise _Problem(f"observation_dtype must be 'uint8' or 'float32', not {shown(task.observation_dtype)}")
    shape = task.observation_shape
    if not isinstance(shape, (list, tuple)) or not shape:
        raise _Problem(f"observation_shape must be whole numbers of at least 1, as a tuple, not {shown(shape)}")
    for side in shape:
        _check_integer("each side in observation_shape", side, LARGEST_OBSERVATION)
    size = math.prod(shape)
    if size > LARGEST_OBSERVATION:
        raise _Problem(
            f"observation_shape {shown(tuple(shape))} makes observations of {size:,} numbers; at most {LARGEST_OBSERVATION:,} are"
            " allowed"
        )
    if size * task.observation_samples > MOST_OBSERVED:
        raise _Problem(
            f"observation_samples {task.observation_samples} of {size:,} numbers each are {size * task.observation_samples:,} numbers"
            f" of a rollout; at most {MOST_OBSERVED:,} are allowed"
        )


def _check_ground_truth_bounds(given: Any) -> None:
    if not isinstance(given, (list, tuple)) or not given:
        raise _Problem(f"ground_truth_bounds must be None or pairs of a lowest and a higher value, not {shown(given)}")
    if len(given) > MOST_GROUND_TRUTH:
        raise _Problem(f"ground_truth_bounds must be at most {MOST_GROUND_TRUTH} pairs, not {len(given):,}")
    for pair in given:
        _check_bounds("each pair in ground_truth_bounds", pair)


def _check_ground_truth_names(given: Any, numbers: int) -> None:
    if not isinstance(given, (list, tuple)) or len(given) != numbers:
        raise _Problem(
            f"ground_truth_names must be None or a name for each of the {numbers} pairs in ground_truth_bounds, not {shown(given)}"
        )
    for name in given:
        _check_name("each name in ground_truth_names", name)


def _check_areas(task: Task) -> None:
    areas = task.reward_areas
    if not isinstance(areas, (list, tuple)):
        raise _Problem(f"reward_areas must be a tuple of stax.RewardArea objects, not {shown(areas)}")
    if not areas:
        raise _Problem("reward_areas is empty: a task has at least one source of reward")
    if len(areas) > MOST_REWARD_AREAS:
        raise _Problem(f"reward_areas must be at most {MOST_REWARD_AREAS:,}, not {len(areas):,}")
    for area in areas:
        if not isinstance(area, RewardArea):
            raise _Problem(f"reward_areas must hold stax.RewardArea objects, not {shown(area)}")
        _check_area(area, task)
    if len({area.name for area in areas}) < len(areas):
        raise _Problem("reward_areas must have different names")


def _check_area(area: RewardArea, task: Task) -> None:
    _check_name("the name of a reward area", area.name)
    if area.center is not None:
        numbers = not isinstance(area.center, str) and all(is_finite_number(number) for number in area.center)
        if not numbers or not 0 < len(area.center) <= MOST_GROUND_TRUTH:
            raise _Problem(
                f"the center of reward area {area.name!r} must be None or finite numbers, within {LARGEST_NUMBER:g} from 0,"
                f" not {shown(area.center)}"
            )
        if task.ground_truth_bounds is not None and len(area.center) != len(task.ground_truth_bounds):
            raise _Problem(
                f"the center of reward area {area.name!r} must have {len(task.ground_truth_bounds)} numbers, as ground_truth_bounds"
                f" has pairs, not {len(area.center)}"
            )
    if area.radius is not None and not (is_finite_number(area.radius) and area.radius > 0):
        raise _Problem(
            f"the radius of reward area {area.name!r} must be None or a number above 0 and at most {LARGEST_NUMBER:g},"
            f" not {shown(area.radius)}"
        )


def _check_policy_sizes(sizes: tuple[int, ...], genome_size: int) -> None:
    integers = isinstance(sizes, tuple) and all(
        isinstance(size, Integral) and not isinstance(size, bool) and size >= 1 for size in sizes
    )
    if not integers or len(sizes) < 2:
        raise _Problem(
            f"policy_sizes must be None or at least two whole numbers of at least 1, inputs first, not {shown(sizes)}"
        )
    # Here, because the compiler of policies takes a while to import.
    from stax.policies import network_genome_size

    if network_genome_size(sizes) != genome_size:
        raise _Problem(
            f"policy_sizes {shown(sizes)} take {network_genome_size(sizes)} numbers, but genome_size is {genome_size}"
        )
