"""Checks of a saved state, which may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER

Arrays = dict[str, NDArray[Any]]
"""Arrays of a state by their names."""


def is_integer(value: Any) -> bool:
    """Return whether this is an integer, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether this can be a number of a state: finite, as all numbers are that a search writes."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def integer(numbers: Mapping[str, Any], name: str) -> int:
    """Return an integer of a state."""
    value = numbers[name]
    if not is_integer(value):
        raise InvalidInputError(f"The state's {name} must be an integer, not {shown(value)}.")
    return int(value)


def count(numbers: Mapping[str, Any], name: str, evaluations: int) -> int:
    """Return how often something has happened, which takes at least one evaluation each time."""
    value = integer(numbers, name)
    if not 0 <= value <= evaluations:
        raise InvalidInputError(f"The state's {name} must be from 0 to its {evaluations} evaluations, not {shown(value)}.")
    return value


def within(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix and a dot, by the rest of their names."""
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
