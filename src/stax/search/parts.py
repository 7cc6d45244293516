"""From names to objects: the kinds of emitters and the scheduler that the parameters of a search name, built in or a user's own.

A name is that of a built-in class (`stax.search.emitters`, `stax.search.schedulers`) or `module:Class`. In Python you may also give the
class or an object; an object, and a class that cannot be found by its name, is called `given:Class` in configurations.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stax.errors import InvalidInputError, in_one_line
from stax.own_code import import_named
from stax.search.emitters import EMITTER_KINDS, EmitterKind
from stax.search.emitters.elitist import ElitistEmitter
from stax.search.emitters.own_kind import OwnEmitterKind
from stax.search.parameters import OWN_PARTS, Parameters
from stax.search.schedulers import SCHEDULERS, Scheduler
from stax.search.schedulers.alternating import AlternatingScheduler

GIVEN = "given:"
_KINDS, _SCHEDULER = "emitter_kinds", "scheduler"
WORDS = {_KINDS: "emitter kind", _SCHEDULER: "scheduler"}
"""Nouns for what a parameter names, for messages."""

Part = TypeVar("Part", EmitterKind, Scheduler)


@dataclass(frozen=True)
class Parts:
    """The kinds of emitters and the scheduler of one search; those of the paper by default."""

    kinds: dict[str, EmitterKind] = field(default_factory=lambda: {"elitist": ElitistEmitter()})
    """Kinds of emitters by name, in the order of the parameter."""
    scheduler: Scheduler = field(default_factory=AlternatingScheduler)


# Names


def name_parts(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, object]]:
    """Replace classes and objects among the parameters by their names; return the parameters, and the objects by name."""
    named = dict(parameters)
    given: dict[str, object] = {}

    def name(part: object) -> object:
        if part is None or isinstance(part, str):
            return part
        found = _name_of(part)
        if given.get(found, part) is not part:
            raise InvalidInputError(f"Two of the parts given are called {found!r}; they need classes of different names.")
        given[found] = part
        return found

    if isinstance(named.get(_KINDS), Sequence) and not isinstance(named[_KINDS], str):
        named[_KINDS] = tuple(name(part) for part in named[_KINDS])
    for parameter in (_KINDS, _SCHEDULER):
        if parameter in named and not isinstance(named[parameter], (tuple, str)):
            named[parameter] = name(named[parameter])
    return named, {name: part for name, part in given.items() if name.startswith(GIVEN)}


def _name_of(part: object) -> str:
    owner = part if inspect.isclass(part) else type(part)
    name = f"{owner.__module__}:{owner.__qualname__}"
    module = sys.modules.get(owner.__module__)
    by_name = owner.__module__ != "__main__" and getattr(module, owner.__qualname__, None) is part
    return name if by_name else f"{GIVEN}{owner.__qualname__}"


def parts_named(parameters: Parameters) -> list[tuple[str, str]]:
    """List the kinds of emitters and the scheduler as pairs of a parameter and a name."""
    return [*((_KINDS, name) for name in parameters.emitter_kinds), (_SCHEDULER, parameters.scheduler)]


# Making


def make_parts(parameters: Parameters, given: Mapping[str, object], genome_size: int) -> Parts:
    """Make what the parameters name; a user's own code is imported or taken from the objects given."""
    kinds: dict[str, EmitterKind] = {}
    for name in parameters.emitter_kinds:
        if name in EMITTER_KINDS:
            kinds[name] = EMITTER_KINDS[name]()
        else:
            kinds[name] = OwnEmitterKind(name, _own(name, _KINDS, given, EmitterKind))  # type: ignore[type-abstract]
        kinds[name].fits(parameters, genome_size)
    if parameters.scheduler in SCHEDULERS:
        return Parts(kinds, SCHEDULERS[parameters.scheduler].of(parameters))
    return Parts(kinds, _own(parameters.scheduler, _SCHEDULER, given, Scheduler))  # type: ignore[type-abstract]


def check_built_in(parameters: Parameters, genome_size: int) -> None:
    """Refuse built-in kinds of emitters that do not work with these parameters; no user's code is imported."""
    for name in parameters.emitter_kinds:
        if name in EMITTER_KINDS:
            EMITTER_KINDS[name]().fits(parameters, genome_size)


def _own(name: str, parameter: str, given: Mapping[str, object], wanted: type[Part]) -> Part:
    what = WORDS[parameter]
    if name in given:
        found: object = given[name]
    elif name.startswith(GIVEN):
        raise InvalidInputError(f"The {what} {name!r} was given as an object; give it again, as parameter {parameter}.")
    else:
        found = import_named(name, f"The {what} {name!r}")
    if inspect.isclass(found) and issubclass(found, wanted):
        try:
            found = found()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise InvalidInputError(f"The {what} {name!r} cannot be made: {in_one_line(error)}.") from error
    if not isinstance(found, wanted):
        raise InvalidInputError(f"The {what} {name!r} must be a subclass of stax.{wanted.__name__}, not {found!r}.")
    return found


def is_own(name: str) -> bool:
    """Return whether this names a user's own code, which has to be imported."""
    return bool(OWN_PARTS.fullmatch(name)) and not is_given(name)


def is_given(name: str) -> bool:
    """Return whether this names something that was given as an object."""
    return name.startswith(GIVEN)
