"""The state of a search as one file, for those who evaluate by ask and tell; `stax.run` keeps its own in the run's folder."""

from __future__ import annotations

import json
from pathlib import Path

from stax.errors import InvalidInputError
from stax.runs.files import NONSENSE, pack_arrays, read_arrays, whole
from stax.search.search import Search
from stax.search.state import State

_FORMAT = 1
_TEXT = "state.json"
_SMALL = 100_000
"""Rows that an array may have whatever the budget: weights of a network, say."""


def save_search(search: Search, path: str | Path) -> None:
    """Writes the state of a search that rests, whole or not at all; a file that is there already is replaced.

    Call it from an observer at the event "rest": `observer=lambda search, event: event == "rest" and stax.save_search(search, path)`.

    Args:
        search: between two passes of Algorithm 1's loop, or done.
        path: an `.npz` file.
    """
    state = search.state()
    facts = {"method": search.method.name, "task": search.task.name, "budget": search.budget, "seed": search.seed}
    numbers = {"format": _FORMAT, "search": facts, "state": state.numbers}
    with whole(Path(path)) as unfinished:
        pack_arrays(unfinished, state.arrays, {_TEXT: json.dumps(numbers)})


def restore_search(search: Search, path: str | Path) -> None:
    """Goes on from a state that `save_search` wrote, with the same bits as if nothing had happened in between.

    Args:
        search: newly made, with the same task, method, parameters, budget and seed.
        path: the file.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError(f"There is no file {str(path)!r} to restore a search from.")
    arrays, text = read_arrays(path, "The state of a search", most_rows=max(search.budget, _SMALL), text=_TEXT)
    try:
        numbers = json.loads(text)
        written_as = int(numbers["format"])
        was, state = dict(numbers["search"]), State(arrays, dict(numbers["state"]))
    except (RecursionError, *NONSENSE) as error:
        raise InvalidInputError(f"{str(path)!r} is damaged: {type(error).__name__} in {_TEXT}.") from None
    if written_as != _FORMAT:
        raise InvalidInputError(f"{str(path)!r} has format {written_as}; this version of stax reads {_FORMAT}.")
    now = {"method": search.method.name, "task": search.task.name, "budget": search.budget, "seed": search.seed}
    for name, value in now.items():
        if was.get(name) != value:
            raise InvalidInputError(f"{str(path)!r} is the state of a search with {name} {was.get(name)!r}, not {value!r}.")
    search.restore(state)
