"""The state of a search as one file, for searches by ask and tell; `stax.run` keeps checkpoints in its folder instead."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError
from stax.runs.files import atomic_write
from stax.runs.state_file import pack_state, read_state
from stax.search.search import Search


def save_search(search: Search, path: str | Path) -> None:
    """Write the state of a search atomically; an existing file is replaced.

    Args:
        search: a search at rest: call it after `tell`, if `search.at_rest`.
        path: an `.npz` file.
    """
    with atomic_write(Path(path)) as file:
        pack_state(file, search.state(), _decisive(search))


def restore_search(search: Search, path: str | Path) -> None:
    """Continue from a state that `save_search` wrote, with the same bits as if the search had not been interrupted.

    Args:
        search: a newly made search with the same task, method, parameters, budget and seed.
        path: the file.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInputError(f"There is no file {str(path)!r} to restore a search from.")
    state, was = read_state(path, "The state of a search", search.budget)
    for name, value in _decisive(search).items():
        if was.get(name) != value:
            raise InvalidInputError(f"{str(path)!r} is the state of a search with {name} {was.get(name)!r}, not {value!r}.")
    search.restore(state)


def _decisive(search: Search) -> dict[str, Any]:
    """Return what two searches must have in common if one is to continue from the other's state."""
    facts = {"method": search.method.name, "task": search.task.name, "budget": search.budget, "seed": search.seed}
    # As they are read from the file, where a pair is a list.
    return dict(json.loads(json.dumps({**facts, **asdict(search.parameters)})))
