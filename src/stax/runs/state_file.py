"""The state of a search as one file: arrays, and beside them one JSON text with the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError
from stax.runs.files import NONSENSE, pack_arrays, read_arrays
from stax.search.state import State

_FORMAT = 1
"""Such files are refused by a version of the software that would misread them."""
_TEXT = "state.json"
_SMALL = 100_000
"""Rows that an array may have whatever the budget: weights of a network, say."""


def pack_state(path: Path, state: State, more: Mapping[str, Any]) -> None:
    """Writes a state, with numbers of the writer's own beside the search's, at a path that `whole` has given."""
    numbers = {"format": _FORMAT, "search": state.numbers, "run": dict(more)}
    pack_arrays(path, state.arrays, {_TEXT: json.dumps(numbers)})


def read_state(path: Path, what: str, budget: int) -> tuple[State, dict[str, Any]]:
    """The state of a search with this budget, and the writer's own numbers."""
    arrays, text = read_arrays(path, what, most_rows=max(budget, _SMALL), text=_TEXT)
    try:
        numbers = json.loads(text)
        written_as = numbers["format"]
        state, more = State(arrays, dict(numbers["search"])), dict(numbers["run"])
    except (RecursionError, *NONSENSE) as error:
        raise InvalidInputError(f"{what} {str(path)!r} is damaged: {type(error).__name__} in {_TEXT}.") from None
    if written_as != _FORMAT:
        raise InvalidInputError(f"{what} {str(path)!r} has format {written_as!r}; this version of stax reads {_FORMAT}.")
    return state, more
