"""The options of a Gymnasium task as they are given, and what they must be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_whole
from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER, MOST_REWARD_AREAS, is_finite_number
from stax.tasks.task import RewardArea, sample_steps

_MOST_NEURONS, _MOST_LAYERS = 4096, 16
_MOST_CONVOLUTIONS, _MOST_FILTERS = 6, 64
_SIDE_MULTIPLE, _LARGEST_SIDE = 16, 128
_MOST_SAMPLES = 1000
_SLICE = re.compile(r"(\d*):(\d*)")


def check_table(what: str, content: str, given: Any) -> dict[str, Any]:
    """Check that an option is a table and return it, empty for None; its entries are checked by the environment."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidInputError(
            f"{what} must be a table of {content}, such as {what}.gravity = 9.8 or {what} = {{gravity = 9.8}}, not {shown(given)}."
        )
    return {name: _with_lists(value) for name, value in given.items()}


def _with_lists(value: Any) -> Any:
    """Return a value with lists in place of tuples, which a configuration holds although lists were written there."""
    if isinstance(value, Mapping):
        return {name: _with_lists(inner) for name, inner in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, (list, tuple)) else value


def check_hidden(given: Any) -> tuple[int, ...]:
    """Check the numbers of neurons of the hidden layers and return them; none for None."""
    layers = () if given is None else _as_tuple(given)
    if len(layers) > _MOST_LAYERS:
        raise InvalidInputError(f"hidden must be at most {_MOST_LAYERS} layers, not {len(layers)}.")
    return tuple(check_whole("Each of hidden", size, 1, _MOST_NEURONS) for size in layers)


def check_filters(given: Any) -> tuple[int, ...]:
    """Check the numbers of filters of the convolutional layers and return them."""
    layers = _as_tuple(given)
    if not 1 <= len(layers) <= _MOST_CONVOLUTIONS:
        raise InvalidInputError(f"filters must be from 1 to {_MOST_CONVOLUTIONS} layers of convolutions, not {len(layers)}.")
    return tuple(check_whole("Each of filters", count, 1, _MOST_FILTERS) for count in layers)


def check_picture_side(given: Any) -> int:
    """Check the side of the picture that a policy is given and return it; an autoencoder must be able to halve it four times."""
    side = check_whole("picture_side", given, _SIDE_MULTIPLE, _LARGEST_SIDE)
    if side % _SIDE_MULTIPLE:
        raise InvalidInputError(f"picture_side must be a multiple of {_SIDE_MULTIPLE}, not {side}.")
    return side


def check_words(what: str, given: Any) -> tuple[str, ...]:
    """Check one name or several and return them; none for None."""
    names = () if given is None else _as_tuple(given)
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"{what} must be a name or a list of names, not {shown(given)}.")
    return names


def check_indices(what: str, given: Any, size: int) -> NDArray[np.int64]:
    """Check indices into a vector of this size (one, several, or a slice such as "2:5") and return them; all for None."""
    if given is None:
        return np.arange(size)
    if isinstance(given, str):
        part = _SLICE.fullmatch(given)
        if part is None:
            raise InvalidInputError(f"{what} must be a list of indices or a slice such as '2:5', not {shown(given)}.")
        indices = np.arange(size)[int(part[1] or 0) : int(part[2] or size)]
    else:
        indices = np.array([check_whole(f"Each of {what}", index, 0, size - 1) for index in _as_tuple(given)], np.int64)
    if not len(indices) or len(np.unique(indices)) < len(indices):
        raise InvalidInputError(f"{what} must be at least one index from 0 to {size - 1}, each once, not {shown(given)}.")
    return indices


def check_samples(given: Any, horizon: int) -> NDArray[np.int64]:
    """Return the steps after which an episode is observed, given as their count, evenly spread, or as a list."""
    if not isinstance(given, (list, tuple)):
        return sample_steps(horizon, check_whole("samples", given, 1, _MOST_SAMPLES)) + 1
    steps = [check_whole("Each of samples", step, 1, horizon) for step in given]
    if not 1 <= len(steps) <= _MOST_SAMPLES or steps != sorted(set(steps)):
        raise InvalidInputError(f"samples must be a number, or numbers of steps that rise, not {given!r:.80}.")
    return np.array(steps, np.int64)


def check_number(what: str, given: Any) -> float:
    if not is_finite_number(given):
        raise InvalidInputError(f"{what} must be a finite number within {LARGEST_NUMBER:g} from 0, not {shown(given)}.")
    return float(given)


def check_bounds(given: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Check pairs of a lowest and a highest value, and return all lowest and all highest values; None for None."""
    if given is None:
        return None
    if isinstance(given, (list, tuple)) and len(given) == 2 and all(isinstance(bound, Real) for bound in given):
        given = [given]
    allowed = "pairs of a lowest and a higher value, such as [[-1, 1], [0, 5]]"
    if (
        not isinstance(given, (list, tuple))
        or not given
        or any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in given)
    ):
        raise InvalidInputError(f"ground_truth_bounds must be {allowed}, not {shown(given)}.")
    low, high = (np.array([check_number("Each of ground_truth_bounds", pair[end]) for pair in given]) for end in (0, 1))
    if not (low < high).all():
        raise InvalidInputError(f"ground_truth_bounds must be {allowed}, not {shown(given)}.")
    return low, high


def check_areas(given: Any, dimensions: int) -> tuple[RewardArea, ...]:
    """Check tables of a name, a centre and a radius, and return them as reward areas."""
    allowed = "a list of tables with name, center and radius"
    if not isinstance(given, (list, tuple)) or not given:
        raise InvalidInputError(f"reward_areas must be {allowed}, not {shown(given)}.")
    if len(given) > MOST_REWARD_AREAS:
        raise InvalidInputError(f"reward_areas must be at most {MOST_REWARD_AREAS:,} tables, not {len(given):,}.")
    areas: list[RewardArea] = []
    for table in given:
        if not isinstance(table, Mapping) or set(table) != {"name", "center", "radius"}:
            raise InvalidInputError(f"reward_areas must be {allowed}, not {shown(table)} in it.")
        name, center = table["name"], table["center"]
        if not isinstance(name, str) or not name or name in {area.name for area in areas}:
            raise InvalidInputError(f"Each of reward_areas must have a name of its own, not {shown(name)}.")
        numbers = tuple(check_number(f"The center of reward area {name!r}", number) for number in _as_tuple(center))
        if len(numbers) != dimensions:
            raise InvalidInputError(
                f"The center of reward area {name!r} must have {dimensions} numbers, as the ground truth has, not {len(numbers)}."
            )
        radius = check_number(f"The radius of reward area {name!r}", table["radius"])
        if radius <= 0:
            raise InvalidInputError(f"The radius of reward area {name!r} must be above 0, not {radius:g}.")
        areas.append(RewardArea(name, numbers, radius))
    return tuple(areas)


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (list, tuple)) else (given,)
