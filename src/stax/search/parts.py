"""Parts of a search that one can choose by name or bring oneself: kinds of emitters, and the scheduler.

A part is named as one of those built in, or as `module:Class`. In Python it may also be the class or an object; an object, and a class that
cannot be found by its name, is called `given:Class` in configurations.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, in_one_line
from stax.own_code import import_named
from stax.search.emitter import Emitter
from stax.search.emitter_cma import CmaEmitter, SeparableCmaEmitter
from stax.search.emitter_kind import ElitistEmitter, EmitterKind, NoveltyEmitter
from stax.search.parameters import OWN_PARTS, Parameters
from stax.search.policy_set import PolicySet
from stax.search.scheduler import AdaptiveScheduler, AlternatingScheduler, FixedRatioScheduler, Scheduler
from stax.tasks.task import Genomes

EMITTER_KINDS: dict[str, Callable[[], EmitterKind]] = {
    "elitist": ElitistEmitter,
    "cma-es": CmaEmitter,
    "sep-cma-es": SeparableCmaEmitter,
    "novelty": NoveltyEmitter,
}
SCHEDULERS: dict[str, Callable[[Parameters], Scheduler]] = {
    "alternating": lambda parameters: AlternatingScheduler(),
    "fixed-ratio": lambda parameters: FixedRatioScheduler(parameters.exploration_share),
    "adaptive": lambda parameters: AdaptiveScheduler(
        window=parameters.bandit_window, exploration=parameters.bandit_exploration
    ),
}
ABOUT_KINDS = {
    "elitist": "the paper's: mutated copies of its best policies, of which the best survive",
    "cma-es": "draws around a mean, and adapts that, its step and the covariance of genes; for genomes of up to 1,000 numbers",
    "sep-cma-es": "the same with a step for each gene instead of a covariance; for any genome",
    "novelty": "climbs novelty among rewarded policies: other ways to be rewarded",
}
ABOUT_SCHEDULERS = {
    "alternating": "the paper's: exploration and exploitation by turns",
    "fixed-ratio": "exploration_share of the evaluations to exploration",
    "adaptive": "to the phase that promises more, by what each yielded recently",
}
GIVEN = "given:"
_KINDS, _SCHEDULER = "emitter_kinds", "scheduler"
WORDS = {_KINDS: "emitter kind", _SCHEDULER: "scheduler"}
"""What the part is called that a parameter names."""

Part = TypeVar("Part", EmitterKind, Scheduler)


@dataclass(frozen=True)
class Parts:
    """The parts of one search."""

    kinds: dict[str, EmitterKind] = field(default_factory=lambda: {"elitist": ElitistEmitter()})
    """By name, in the order of the parameter."""
    scheduler: Scheduler = field(default_factory=AlternatingScheduler)


# Names


def name_parts(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, object]]:
    """The parameters with a name for every part that was given as a class or an object, and these by their names."""
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
    """All parts by the parameter that names them."""
    return [*((_KINDS, name) for name in parameters.emitter_kinds), (_SCHEDULER, parameters.scheduler)]


# Making


def make_parts(parameters: Parameters, given: Mapping[str, object], genome_size: int) -> Parts:
    """The parts that the parameters name, those of one's own imported or taken from what was given."""
    kinds: dict[str, EmitterKind] = {}
    for name in parameters.emitter_kinds:
        if name in EMITTER_KINDS:
            kinds[name] = EMITTER_KINDS[name]()
        else:
            kinds[name] = OwnKind(name, _own(name, _KINDS, given, EmitterKind))  # type: ignore[type-abstract]
        kinds[name].fits(parameters, genome_size)
    if parameters.scheduler in SCHEDULERS:
        return Parts(kinds, SCHEDULERS[parameters.scheduler](parameters))
    return Parts(kinds, _own(parameters.scheduler, _SCHEDULER, given, Scheduler))  # type: ignore[type-abstract]


def check_built_in(parameters: Parameters, genome_size: int) -> None:
    """Refuses kinds of emitters that cannot do with these parameters; those of one's own are not imported for that."""
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


class OwnKind(EmitterKind):
    """A kind of a user's own, whose answers are looked at before they are used."""

    def __init__(self, name: str, kind: EmitterKind) -> None:
        self.name, self.kind = name, kind
        self.uses_novelty = bool(kind.uses_novelty)
        self.portable = bool(kind.portable)

    def fits(self, parameters: Parameters, genome_size: int) -> None:
        self._answer("fits", parameters, genome_size)

    def start(self, emitter: Emitter, rng: np.random.Generator) -> Genomes:
        genomes = self._answer("start", emitter, rng)
        return self._genomes("start", emitter, genomes)

    def ask(self, emitter: Emitter, rng: np.random.Generator) -> tuple[Genomes, NDArray[np.int64]]:
        answer = self._answer("ask", emitter, rng)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise self._wrong("ask", "genomes and the ids of their parents", answer)
        genomes, parents = self._genomes("ask", emitter, answer[0]), np.asarray(answer[1])
        if parents.shape != (len(genomes),) or parents.dtype.kind not in "iu":
            raise self._wrong("ask", f"{len(genomes)} ids of parents beside its genomes", answer[1])
        return genomes, parents.astype(np.int64)

    def tell(self, emitter: Emitter, offspring: PolicySet) -> PolicySet:
        population = self._answer("tell", emitter, offspring)
        if not isinstance(population, PolicySet) or (not len(population) and len(offspring)):
            raise self._wrong("tell", "the new population, a PolicySet with a policy at least", population)
        return population

    def keeps(self, emitter: Emitter, offspring: PolicySet) -> NDArray[np.bool_]:
        kept = np.asarray(self._answer("keeps", emitter, offspring))
        if kept.shape != (len(offspring),) or kept.dtype != np.bool_:
            raise self._wrong("keeps", f"an array of {len(offspring)} truth values", kept)
        return kept

    def progress(self, emitter: Emitter, population: PolicySet) -> NDArray[np.float64]:
        progress = np.asarray(self._answer("progress", emitter, population))
        if progress.shape != (len(population),) or progress.dtype.kind not in "iuf" or not np.isfinite(progress).all():
            raise self._wrong("progress", f"an array of {len(population)} finite numbers", progress)
        return progress.astype(np.float64)

    def ended_by(self, emitter: Emitter) -> str:
        reason = self._answer("ended_by", emitter)
        if not isinstance(reason, str):
            raise self._wrong("ended_by", "a text, empty if the emitter goes on", reason)
        return reason

    def check(self, emitter: Emitter) -> None:
        self._answer("check", emitter)

    def _answer(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self.kind, method)(*arguments)
        except (InvalidInputError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise RuntimeError(f"The emitter kind {self.name!r} failed in {method}: {in_one_line(error)}.") from error

    def _genomes(self, method: str, emitter: Emitter, given: Any) -> Genomes:
        size = emitter.ancestor.genome.shape[1]
        try:
            genomes = np.array(given, np.float64)
        except (TypeError, ValueError):
            raise self._wrong(method, f"genomes (n, {size})", given) from None
        if genomes.ndim != 2 or genomes.shape[1] != size or not len(genomes) or not np.isfinite(genomes).all():
            shape = f"an array of shape {genomes.shape}" if np.isfinite(genomes).all() else "an array with nan or infinity"
            raise InvalidInputError(
                f"The emitter kind {self.name!r} must return finite genomes (n, {size}) from {method}, not {shape}."
            )
        return genomes

    def _wrong(self, method: str, wanted: str, given: object) -> InvalidInputError:
        words = f"an array of shape {given.shape} and type {given.dtype}" if isinstance(given, np.ndarray) else repr(given)
        return InvalidInputError(f"The emitter kind {self.name!r} must return {wanted} from {method}, not {words[:200]}.")


def is_own(name: str) -> bool:
    """Whether this names a part of a user's own that would have to be imported."""
    return bool(OWN_PARTS.fullmatch(name)) and not is_given(name)


def is_given(name: str) -> bool:
    """Whether this names a part that was given as an object."""
    return name.startswith(GIVEN)
