"""The state of a search as one file: arrays, and beside them one JSON text with the numbers.

The file needs no other file. Two checkpoints could share what they have in common and save space, but then one damaged byte
would spoil both. A file with its SHA-256 is beside each checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from stax.errors import InvalidInputError
from stax.runs import limits
from stax.runs.array_files import pack_arrays, read_arrays
from stax.runs.files import BAD_VALUE_ERRORS, parse_json
from stax.search.state import State

_FORMAT = 1
"""Such files are refused by a version of the software that would misread them."""
_TEXT = "state.json"
_ROWS = 100_000
"""Rows that an array may have whatever the budget is."""


def pack_state(file: BinaryIO, state: State, more: Mapping[str, Any]) -> None:
    """Write a state, with numbers of the writer's own beside the search's, into an open file."""
    numbers = {"format": _FORMAT, "search": state.numbers, "run": dict(more)}
    pack_arrays(file, state.arrays, {_TEXT: json.dumps(numbers)})


def read_state(path: Path, what: str, budget: int) -> tuple[State, dict[str, Any]]:
    """Return the state of a search with this budget, and the writer's own numbers."""

    def most_rows(name: str) -> int | None:
        # Weights and statistics of observations have as many rows as the network has inputs and outputs.
        return None if name.startswith("space.") else max(budget, _ROWS)

    arrays, text = read_arrays(path, what, most_rows=most_rows, text=_TEXT)
    try:
        numbers = parse_json(text, limits.STATE_VALUES)
        del text
        written_as = numbers["format"]
        state, more = State(arrays, dict(numbers["search"])), dict(numbers["run"])
    except (RecursionError, *BAD_VALUE_ERRORS) as error:
        raise InvalidInputError(f"{what} {str(path)!r} is damaged: {type(error).__name__} in {_TEXT}.") from None
    if written_as != _FORMAT:
        raise InvalidInputError(f"{what} {str(path)!r} has format {written_as!r}; this version of stax reads {_FORMAT}.")
    return state, more
