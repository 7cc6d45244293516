"""The emitter buffer as arrays and numbers that can be saved and restored.

Histories, populations and novelty candidates of all emitters lie one behind the other, with their sizes beside them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER
from stax.search.emitters.buffer import EmitterBuffer
from stax.search.emitters.emitter import Emitter, EmitterRecord
from stax.search.policy_set import SPREAD, GrowingSet, PolicySet
from stax.search.state_checks import Arrays, count, is_integer, is_number, within
from stax.search.vocabulary import Origin
from stax.tasks.task import Task

_SETS = ("ancestor", "most_novel", "population", "novelty_candidates")
_NUMBERS = {
    "id": "i8",
    "sigma": "f8",
    "born": "i8",
    "best_reward": "f8",
    "evaluations": "i8",
    "kept": "i8",
    "improvement": "f8",
}
"""Attributes of an emitter that are numbers, with their types."""
_SIZES: dict[str, Callable[[Emitter], Sized]] = {
    "generations": lambda emitter: emitter.history,
    "members": lambda emitter: emitter.population,
    "waiting": lambda emitter: emitter.novelty_candidates,
}
"""What of an emitter has a size."""
_TURNS = {Origin.BOOTSTRAP: "bootstrap_turns", Origin.EMITTER: "emitter_turns"}


def capture_emitters(emitters: EmitterBuffer, like: PolicySet) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and numbers to save; policies have columns like these."""
    arrays: Arrays = {
        f"emitters.{name}": np.array([getattr(emitter, name) for emitter in emitters], dtype)
        for name, dtype in _NUMBERS.items()
    }
    for name, part in _SIZES.items():
        arrays[f"emitters.{name}"] = np.array([len(part(emitter)) for emitter in emitters], np.int64)
    history = [rewards for emitter in emitters for rewards in emitter.history]
    arrays["emitters.history"] = np.concatenate([np.empty(0), *history])
    arrays["emitters.history_sizes"] = np.array([len(rewards) for rewards in history], np.int64)
    for name in _SETS:
        held = [getattr(emitter, name) for emitter in emitters]
        parts = [part if isinstance(part, PolicySet) else part.policies for part in held]
        joined = PolicySet.concat([like.take(slice(0, 0)), *parts])
        arrays |= {f"emitters.{name}.{column}": values for column, values in joined.columns().items()}
    return {**arrays, **_memories(emitters)}, {
        "emitters_made": emitters.made,
        "retired": [dataclasses.asdict(record) for record in emitters.retired],
        "emitter_kinds": [emitter.kind for emitter in emitters],
        "emitter_memories": [[(name, array.shape) for name, array in emitter.memory.items()] for emitter in emitters],
        **{name: emitters.choices[step].turns for step, name in _TURNS.items()},
    }


def _memories(emitters: EmitterBuffer) -> Arrays:
    """Return a table per kind, since some kinds remember much: a row per emitter, its arrays one behind the other, then zeros."""
    arrays: Arrays = {}
    for number, kind in enumerate(emitters.kinds):
        rows = [
            np.concatenate([np.empty(0), *map(np.ravel, emitter.memory.values())])
            for emitter in emitters
            if emitter.kind == kind
        ]
        table = np.zeros((len(rows), max(map(len, rows), default=0)))
        for row, remembered in zip(table, rows, strict=True):
            row[: len(remembered)] = remembered
        arrays[f"memories.{number}"] = table
    return arrays


def restore_emitters(
    emitters: EmitterBuffer,
    arrays: Mapping[str, NDArray[Any]],
    numbers: Mapping[str, Any],
    task: Task,
    descriptor_size: int,
    evaluations: int,
) -> None:
    """Fill an empty buffer from saved arrays and numbers, or raise `stax.InvalidInputError` if no search can have written them."""
    kinds = [str(kind) for kind in numbers["emitter_kinds"]]
    columns = {name: arrays[f"emitters.{name}"] for name in (*_NUMBERS, *_SIZES)}
    sets = {name: checked_policies(arrays, f"emitters.{name}", task, descriptor_size, evaluations) for name in _SETS}
    history, sizes = arrays["emitters.history"], arrays["emitters.history_sizes"]
    if not set(kinds) <= set(emitters.kinds) or not _fit_together(kinds, columns, sets, history, sizes):
        raise InvalidInputError("The state's emitters do not fit together.")
    for name in ("ancestor", "most_novel", "novelty_candidates"):
        check_described(sets[name], name)
    amounts = [columns["sigma"], columns["best_reward"], columns["improvement"], history]
    if any(not (np.abs(amount) <= LARGEST_NUMBER).all() for amount in amounts) or not (columns["sigma"] > 0).all():
        raise InvalidInputError("The state's emitters have an impossible sigma, reward or improvement.")
    for emitter in _emitters(emitters, kinds, columns, sets, np.split(history, np.cumsum(sizes)[:-1]) if len(sizes) else []):
        emitters.append(emitter)
    _restore_memories(emitters, arrays, numbers["emitter_memories"])
    emitters.made = count(numbers, "emitters_made", evaluations)
    emitters.retired = [_record(record, emitters, evaluations) for record in numbers["retired"]]
    for step, name in _TURNS.items():
        emitters.choices[step].restore(numbers[name], list(emitters.kinds))


def _fit_together(
    kinds: Sequence[str],
    columns: Mapping[str, NDArray[Any]],
    sets: Mapping[str, PolicySet],
    history: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> bool:
    """Return whether all parts have the lengths that the sizes say."""
    if any(len(column) != len(kinds) for column in columns.values()):
        return False
    if any((column < 0).any() for column in (sizes, *(columns[name] for name in _SIZES))):
        return False
    found = (len(sizes), len(history), *(len(sets[name]) for name in _SETS))
    generations, members, waiting = (columns[name].sum() for name in _SIZES)
    return found == (generations, sizes.sum(), len(kinds), len(kinds), members, waiting)


def _emitters(
    emitters: EmitterBuffer,
    kinds: Sequence[str],
    columns: Mapping[str, NDArray[Any]],
    sets: Mapping[str, PolicySet],
    history: Sequence[NDArray[np.float64]],
) -> list[Emitter]:
    """Return the emitters, each with its part of what lies one behind the other."""
    ends = {name: np.cumsum(columns[name]) for name in _SIZES}
    found = []
    for row, kind in enumerate(kinds):
        part = {name: slice(int(ends[name][row] - columns[name][row]), int(ends[name][row])) for name in _SIZES}
        novelty_candidates = GrowingSet(sets["ancestor"])
        novelty_candidates.append(sets["novelty_candidates"].take(part["waiting"]))
        found.append(
            Emitter(
                **{name: columns[name][row].item() for name in _NUMBERS},
                kind=kind,
                parameters=emitters.parameters,
                ancestor=sets["ancestor"].take([row]),
                most_novel=sets["most_novel"].take([row]),
                population=sets["population"].take(np.arange(part["members"].start, part["members"].stop)),
                novelty_candidates=novelty_candidates,
                history=list(history[part["generations"]]),
            )
        )
    return found


def _restore_memories(emitters: EmitterBuffer, arrays: Mapping[str, NDArray[Any]], shapes: Sequence[Sequence[Any]]) -> None:
    rows = {kind: list(arrays[f"memories.{number}"]) for number, kind in enumerate(emitters.kinds)}
    for emitter, remembered in zip(emitters, shapes, strict=True):
        row, start = rows[emitter.kind].pop(0), 0
        for name, shape in remembered:
            size = math.prod(shape)
            emitter.memory[str(name)] = row[start : start + size].reshape(shape)
            start += size
        emitters.kind_of(emitter).check(emitter)


def _record(given: Any, emitters: EmitterBuffer, evaluations: int) -> EmitterRecord:
    """Return the record of an emitter that ended."""
    types = {field.name: str(field.type) for field in dataclasses.fields(EmitterRecord)}
    for name, value in dict(given).items():
        expected = types.get(name, "int")
        fits = isinstance(value, str) if expected == "str" else is_number(value)
        if not fits or (expected == "int" and not (is_integer(value) and -1 <= value <= evaluations)):
            raise InvalidInputError(f"The state has a record of an emitter whose {name} is {shown(value)}.")
    record = EmitterRecord(**given)
    if record.kind not in emitters.kinds:
        raise InvalidInputError(
            f"The state has a record of an emitter of the kind {shown(record.kind)}, which the search lacks."
        )
    return record


def checked_policies(
    arrays: Mapping[str, NDArray[Any]], name: str, task: Task, descriptor_size: int, evaluations: int
) -> PolicySet:
    """Return one set of policies of a state, checked."""
    what = f"The state's {name}"
    return PolicySet.checked(within(arrays, name), what, task, descriptor_size=descriptor_size, evaluations=evaluations)


def check_spreads(arrays: Mapping[str, NDArray[Any]], names: Sequence[str], *, reevaluates: bool) -> None:
    """Refuse a state whose policies have a spread of rewards in a search that does not reevaluate, or have none in one that does."""
    for name in (*names, *(f"emitters.{part}" for part in _SETS)):
        if (f"{name}.{SPREAD}" in arrays) != reevaluates:
            raise InvalidInputError(
                f"The state's {name} has {'no' if reevaluates else 'a'} {SPREAD}, which searches with reevaluations have and no others."
            )


def check_described(policies: PolicySet, name: str) -> None:
    """Refuse policies without a descriptor where descriptors are compared."""
    if not np.isfinite(policies.descriptor).all():
        raise InvalidInputError(f"The state's {name} has a policy with nan or infinity in its descriptor.")
