"""Checks of a user's own kind of emitter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, in_one_line
from stax.search.emitters.emitter import Emitter
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.parameters import Parameters
from stax.search.policy_set import PolicySet
from stax.tasks.task import Genomes


class OwnEmitterKind(EmitterKind):
    """A wrapper that checks what a user's own kind of emitter returns, and names the kind in errors."""

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
