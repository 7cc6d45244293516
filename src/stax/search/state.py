"""The state of a search between two passes of Algorithm 1's loop, as arrays and numbers that can be written and read back.

`capture` and `restore` are opposites: a restored search goes on with the same bits. What can be computed from the rest (indices
of neighbours, coverage, distances of candidates) is not part of the state.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, shortened, shown
from stax.input_limits import LARGEST_NUMBER
from stax.search.emitters.emitter import Emitter, EmitterRecord
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.schedulers.scheduler import Chunk
from stax.search.vocabulary import Phase

if TYPE_CHECKING:
    from stax.search.search import Search

Arrays = dict[str, NDArray[Any]]

_PHASES = (Phase.EXPLORATION, Phase.EXPLOITATION)
_SETS = ("population", "offspring", "novelty_archive", "reward_archive", "candidates")
_OF_EMITTERS = ("ancestor", "most_novel", "population", "novelty_candidates")
_EMITTER_NUMBERS = {
    "id": "i8",
    "sigma": "f8",
    "born": "i8",
    "best_reward": "f8",
    "evaluations": "i8",
    "kept": "i8",
    "improvement": "f8",
}
_EMITTER_SIZES = ("generations", "members", "waiting")
"""Of its history, its population and its novelty candidates, which lie one emitter behind the other."""


@dataclass(frozen=True)
class State:
    """All that a search needs to go on."""

    arrays: Arrays
    numbers: dict[str, Any]
    """Fit for JSON."""


def capture(search: Search) -> State:
    """The state as it is now. Arrays may be views of the search's own: write them before it goes on."""
    arrays: Arrays = {}
    for name in _SETS:
        held = getattr(search, name)
        policies = held if isinstance(held, PolicySet) else held.policies
        arrays |= {f"{name}.{column}": values for column, values in policies.columns().items()}
    arrays |= _emitters(search.emitters, like=search.population)
    arrays |= _memories(search)
    arrays |= {f"ledger.{name}": column for name, column in search.ledger.columns().items() if name != "id"}
    arrays |= {f"space.{name}": tensor for name, tensor in search.space.arrays().items()}
    numbers = {
        "evaluations": search.evaluations,
        "chunks": search.chunks,
        "max_reward": search.max_reward,
        "training_interval": search.training_interval,
        "chunks_since_training": search.chunks_since_training,
        "emitters_made": search.emitters_made,
        "retired": [dataclasses.asdict(record) for record in search.retired],
        "emitter_kinds": [emitter.kind for emitter in search.emitters],
        "emitter_memories": [_shapes(emitter) for emitter in search.emitters],
        "bootstrap_turns": search.bootstrap_choice.turns,
        "emitter_turns": search.emitter_choice.turns,
        "course": [dataclasses.astuple(chunk) for chunk in search.course],
        "random": {role: generator.bit_generator.state for role, generator in vars(search.random).items()},
        "metrics": search.metrics,
        "seconds": search.stopwatch.seconds,
        "space": search.space.numbers(),
    }
    return State(arrays, numbers)


def _emitters(emitters: Sequence[Emitter], like: PolicySet) -> Arrays:
    arrays: Arrays = {
        f"emitters.{name}": np.array([getattr(emitter, name) for emitter in emitters], kind)
        for name, kind in _EMITTER_NUMBERS.items()
    }
    history = [rewards for emitter in emitters for rewards in emitter.history]
    arrays["emitters.generations"] = np.array([len(emitter.history) for emitter in emitters], np.int64)
    arrays["emitters.members"] = np.array([len(emitter.population) for emitter in emitters], np.int64)
    arrays["emitters.waiting"] = np.array([len(emitter.novelty_candidates) for emitter in emitters], np.int64)
    arrays["emitters.history"] = np.concatenate([np.empty(0), *history])
    arrays["emitters.history_sizes"] = np.array([len(rewards) for rewards in history], np.int64)
    for name in _OF_EMITTERS:
        held = [getattr(emitter, name) for emitter in emitters]
        parts = [part if isinstance(part, PolicySet) else part.policies for part in held]
        joined = PolicySet.concat([like.take(slice(0, 0)), *parts])
        arrays |= {f"emitters.{name}.{column}": values for column, values in joined.columns().items()}
    return arrays


def _shapes(emitter: Emitter) -> list[tuple[str, tuple[int, ...]]]:
    """What an emitter remembers: every name and the shape of its array."""
    return [(name, array.shape) for name, array in emitter.memory.items()]


def _memories(search: Search) -> Arrays:
    """What emitters remember, a row each: the arrays one behind the other, zeros after the end. Kinds apart, since some remember much."""
    arrays: Arrays = {}
    for number, kind in enumerate(search.kinds):
        rows = [
            np.concatenate([np.empty(0), *map(np.ravel, emitter.memory.values())])
            for emitter in search.emitters
            if emitter.kind == kind
        ]
        table = np.zeros((len(rows), max(map(len, rows), default=0)))
        for row, remembered in zip(table, rows, strict=True):
            row[: len(remembered)] = remembered
        arrays[f"memories.{number}"] = table
    return arrays


def restore(search: Search, state: State) -> None:
    """Puts a newly made search, of the same task, method, parameters, budget and seed, into the state."""
    try:
        _restore(search, state.arrays, state.numbers)
    except InvalidInputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = shortened(f"{type(error).__name__}: {error}")
        raise InvalidInputError(f"This is not the state of such a search ({words}).") from None
    search.restart()


def _restore(search: Search, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> None:
    evaluations = _integer(numbers, "evaluations")
    if not 0 < evaluations <= search.budget:
        raise InvalidInputError(f"The state has {shown(evaluations)} evaluations of a budget of {search.budget}.")
    sets = {name: _policies(search, arrays, name, evaluations) for name in _SETS}
    for name, policies in sets.items():
        _check_described(policies, name)
    search.make_collections(sets["population"])
    search.population, search.offspring = sets["population"], sets["offspring"]
    search.novelty_archive.append(sets["novelty_archive"])
    search.reward_archive.append(sets["reward_archive"])
    search.emitters = _restored_emitters(search, arrays, [str(kind) for kind in numbers["emitter_kinds"]], evaluations)
    if not search.method.emitters and (search.emitters or len(sets["candidates"])):
        raise InvalidInputError(f"The state has emitters or their candidates, but {search.method.name} has no emitters.")
    _restore_memories(search, arrays, numbers["emitter_memories"])
    search.space.restore(_within(arrays, "space"), numbers["space"])
    search.ledger.restore(_within(arrays, "ledger"), evaluations)

    search.evaluations = evaluations
    search.chunks = _count(numbers, "chunks", evaluations)
    search.max_reward = _numbers(numbers, "max_reward", len(search.max_reward))
    search.training_interval = _count(numbers, "training_interval", evaluations)
    search.chunks_since_training = _count(numbers, "chunks_since_training", evaluations)
    search.emitters_made = _count(numbers, "emitters_made", evaluations)
    search.retired = [_record(record, search, evaluations) for record in numbers["retired"]]
    search.bootstrap_choice.restore(numbers["bootstrap_turns"], list(search.kinds))
    search.emitter_choice.restore(numbers["emitter_turns"], list(search.kinds))
    search.course = _course(numbers["course"])
    if sum(chunk.evaluations for chunk in search.course) != evaluations:
        raise InvalidInputError(f"The state's chunks do not have its {evaluations} evaluations together.")
    search.metrics = _metrics(search, numbers["metrics"])
    search.stopwatch.seconds.update(_seconds(search, numbers["seconds"]))
    for role, generator in vars(search.random).items():
        generator.bit_generator.state = numbers["random"][role]

    search.candidates.append(sets["candidates"], search.reward_archive.policies)
    search.index_archives()
    search.count_coverage()


def _count(numbers: Mapping[str, Any], name: str, evaluations: int) -> int:
    """How often something has happened, which takes an evaluation each time at least."""
    count = _integer(numbers, name)
    if not 0 <= count <= evaluations:
        raise InvalidInputError(f"The state's {name} are {shown(count)}, after {evaluations} evaluations.")
    return count


def _integer(table: Mapping[str, Any], name: str) -> int:
    value = table[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(f"The state's {name} must be an integer, not {shown(value)}.")
    return value


def _is_number(value: Any) -> bool:
    """Tell whether this can be a number of a state: finite, as all numbers are that a search writes."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def _numbers(table: Mapping[str, Any], name: str, count: int) -> list[float]:
    values = table[name]
    if not isinstance(values, list) or len(values) != count or not all(_is_number(value) for value in values):
        raise InvalidInputError(f"The state's {name} must be {count} finite numbers, not {shown(values)}.")
    return [float(value) for value in values]


def _record(given: Any, search: Search, evaluations: int) -> EmitterRecord:
    """The record of an emitter that has ended."""
    types = {"ended_by": str, "kind": str, "sigma": float, "improvement": float, "first_reward": float, "best_reward": float}
    for name, value in dict(given).items():
        expected = types.get(name, int)
        fits = isinstance(value, str) if expected is str else _is_number(value)
        if not fits or (expected is int and not (isinstance(value, int) and -1 <= value <= evaluations)):
            raise InvalidInputError(f"The state has a record of an emitter whose {name} is {shown(value)}.")
    record = EmitterRecord(**given)
    if record.kind not in search.kinds:
        raise InvalidInputError(
            f"The state has a record of an emitter of the kind {shown(record.kind)}, which the search lacks."
        )
    return record


def _course(given: Any) -> list[Chunk]:
    """The chunks of the budget so far, of which the first is the initial population."""
    course: list[Chunk] = []
    for phase, evaluations, novelty, gain in given:
        right = phase in (_PHASES if course else (Phase.INITIAL_POPULATION,))
        counted = isinstance(evaluations, int) and not isinstance(evaluations, bool) and evaluations >= 0
        if not (right and counted and _is_number(novelty) and _is_number(gain)):
            raise InvalidInputError(f"The state has a chunk {shown((phase, evaluations, novelty, gain))} that there cannot be.")
        course.append(Chunk(Phase(phase), evaluations, float(novelty), float(gain)))
    if not course:
        raise InvalidInputError("The state has no chunk, not even the initial population.")
    return course


def _metrics(search: Search, given: Any) -> list[dict[str, Any]]:
    """The rows of metrics, which all have the columns that the search writes."""
    columns = search.metrics_columns
    rows = [dict(row) for row in given]
    if len(rows) != search.chunks:
        raise InvalidInputError(f"The state has {len(rows)} rows of metrics after {search.chunks} chunks.")
    for number, row in enumerate(rows):
        for name in columns:
            if name not in row:
                raise InvalidInputError(f"Row {number} of the state's metrics has no {name}.")
        if len(row) != len(columns):
            extra = next(name for name in row if name not in columns)
            raise InvalidInputError(f"Row {number} of the state's metrics has {shown(extra)}, which is no metric.")
        for name, value in row.items():
            fits = value in _PHASES if name == "phase" else value is None or _is_number(value)
            if not fits:
                raise InvalidInputError(f"Row {number} of the state's metrics has the {name} {shown(value)}.")
    if rows and rows[-1]["evaluations"] != search.evaluations:
        raise InvalidInputError(
            f"The last row of the state's metrics has {shown(rows[-1]['evaluations'])} evaluations, not {search.evaluations}."
        )
    return [{name: row[name] for name in columns} for row in rows]


def _seconds(search: Search, given: Any) -> dict[str, float]:
    """Seconds by activity."""
    for name, value in given.items():
        if name not in search.stopwatch.seconds or not _is_number(value) or value < 0:
            raise InvalidInputError(f"The state's seconds of {shown(name)} are {shown(value)}.")
    return {name: float(given[name]) for name in search.stopwatch.seconds}


def _within(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    return {name.removeprefix(f"{prefix}."): array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


def _policies(search: Search, arrays: Mapping[str, NDArray[Any]], name: str, evaluations: int) -> PolicySet:
    """One set, checked against what the search holds: a state may come from anywhere."""
    size = search.space.size
    what = f"The state's {name}"
    return PolicySet.checked(_within(arrays, name), what, search.task, descriptor_size=size, evaluations=evaluations)


def _check_described(policies: PolicySet, name: str) -> None:
    """Refuse policies without a descriptor where descriptors are compared."""
    if not np.isfinite(policies.descriptor).all():
        raise InvalidInputError(f"The state's {name} has a policy with nan or infinity in its descriptor.")


def _restore_memories(search: Search, arrays: Mapping[str, NDArray[Any]], shapes: Sequence[Sequence[Any]]) -> None:
    tables = {kind: arrays[f"memories.{number}"] for number, kind in enumerate(search.kinds)}
    rows = dict.fromkeys(tables, 0)
    for emitter, remembered in zip(search.emitters, shapes, strict=True):
        row, start = tables[emitter.kind][rows[emitter.kind]], 0
        rows[emitter.kind] += 1
        for name, shape in remembered:
            size = math.prod(shape)
            emitter.memory[str(name)] = row[start : start + size].reshape(shape)
            start += size
        search.kinds[emitter.kind].check(emitter)


def _restored_emitters(
    search: Search, arrays: Mapping[str, NDArray[Any]], kinds: Sequence[str], evaluations: int
) -> list[Emitter]:
    numbers = {name: arrays[f"emitters.{name}"] for name in (*_EMITTER_NUMBERS, *_EMITTER_SIZES)}
    count = len(numbers["id"])
    if any(len(column) != count for column in (*numbers.values(), kinds)) or not set(kinds) <= set(search.kinds):
        raise InvalidInputError("The state's emitters do not fit together.")
    sets = {name: _policies(search, arrays, f"emitters.{name}", evaluations) for name in _OF_EMITTERS}
    for name in ("ancestor", "most_novel", "novelty_candidates"):
        _check_described(sets[name], name)
    amounts = [numbers["sigma"], numbers["best_reward"], numbers["improvement"], arrays["emitters.history"]]
    if any(not (np.abs(amount) <= LARGEST_NUMBER).all() for amount in amounts) or not (numbers["sigma"] > 0).all():
        raise InvalidInputError("The state's emitters have a sigma, a reward or an improvement that there cannot be.")
    sizes = arrays["emitters.history_sizes"]
    if any((column < 0).any() for column in (sizes, *(numbers[name] for name in _EMITTER_SIZES))):
        raise InvalidInputError("The state's emitters do not fit together.")
    whole = (len(sizes), len(arrays["emitters.history"]), *(len(sets[name]) for name in _OF_EMITTERS))
    if whole != (
        *(numbers["generations"].sum(), sizes.sum()),
        *(count, count, numbers["members"].sum(), numbers["waiting"].sum()),
    ):
        raise InvalidInputError("The state's emitters do not fit together.")
    history = np.split(arrays["emitters.history"], np.cumsum(sizes)[:-1]) if len(sizes) else []
    emitters = []
    generation = member = waiting = 0
    for row in range(count):
        sized = {name: int(numbers[name][row]) for name in _EMITTER_SIZES}
        novelty_candidates = GrowingSet(sets["ancestor"])
        novelty_candidates.append(sets["novelty_candidates"].take(slice(waiting, waiting + sized["waiting"])))
        emitters.append(
            Emitter(
                **{name: numbers[name][row].item() for name in _EMITTER_NUMBERS},
                kind=kinds[row],
                parameters=search.parameters,
                ancestor=sets["ancestor"].take([row]),
                most_novel=sets["most_novel"].take([row]),
                population=sets["population"].take(np.arange(member, member + sized["members"])),
                novelty_candidates=novelty_candidates,
                history=list(history[generation : generation + sized["generations"]]),
            )
        )
        generation += sized["generations"]
        member += sized["members"]
        waiting += sized["waiting"]
    return emitters
