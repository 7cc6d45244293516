"""The emitter buffer Q_Em: the emitters that may still run, which of them runs next, and the records of those that ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from stax.search.emitters.choice import KindChoice
from stax.search.emitters.emitter import Emitter, EmitterRecord
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.novelty import References
from stax.search.parameters import Parameters
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.selection import fronts
from stax.search.vocabulary import Origin


class EmitterBuffer:
    """Q_Em.

    Args:
        kinds: kinds of emitters by name, in the order of the parameter `emitter_kinds`.
        parameters: those of the search.
    """

    def __init__(self, kinds: Mapping[str, EmitterKind], parameters: Parameters) -> None:
        self.kinds, self.parameters = dict(kinds), parameters
        self.made = 0
        """Number of emitters ever made."""
        self.retired: list[EmitterRecord] = []
        """Records of the emitters that ended."""
        self.choices = {step: KindChoice.of(parameters) for step in (Origin.BOOTSTRAP, Origin.EMITTER)}
        """Choice of the kind of the next emitter to be made (bootstrap step) and to run (emitter step)."""
        self._running: list[Emitter] = []

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Emitter]:
        return iter(self._running)

    def append(self, emitter: Emitter) -> None:
        """Store an emitter that may run."""
        self._running.append(emitter)

    def kind_of(self, emitter: Emitter) -> EmitterKind:
        """Return the kind of an emitter."""
        return self.kinds[emitter.kind]

    def initialize(self, ancestor: PolicySet, sigma: float, born: int, rng: np.random.Generator) -> Emitter:
        """Make an emitter E_i around its ancestor, with empty Q_Cand_Nov and P; it is not in the buffer yet."""
        self.made += 1
        return Emitter(
            id=self.made - 1,
            kind=self.choices[Origin.BOOTSTRAP].choose(list(self.kinds), rng),
            parameters=self.parameters,
            ancestor=ancestor,
            sigma=sigma,
            born=born,
            best_reward=float(ancestor.reward[0]),
            most_novel=ancestor,
            novelty_candidates=GrowingSet(ancestor),
            population=ancestor.take(slice(0, 0)),
        )

    def sample_non_dominated(self, references: References, rng: np.random.Generator) -> Emitter:
        """Draw one of the emitters that no other of its kind dominates in improvement and novelty of the ancestor."""
        alive = {emitter.kind for emitter in self}
        kind = self.choices[Origin.EMITTER].choose([name for name in self.kinds if name in alive], rng)
        emitters = [emitter for emitter in self if emitter.kind == kind]
        ids = np.concatenate([emitter.ancestor.id for emitter in emitters])
        novelty = references.novelty(ids, np.concatenate([emitter.ancestor.descriptor for emitter in emitters]))
        improvement = np.array([emitter.improvement for emitter in emitters])
        front = np.flatnonzero(fronts(np.stack([improvement, novelty], axis=1)) == 0)
        return emitters[int(rng.choice(front))]

    def discard(self, emitter: Emitter, ended_by: str) -> None:
        """Discard an emitter, and keep a record of what became of it."""
        if emitter in self._running:
            self._running.remove(emitter)
        self.retired.append(EmitterRecord.of(emitter, ended_by))

    def records(self) -> list[EmitterRecord]:
        """Return what became of every emitter ever made, in that order."""
        return sorted(self.retired + [EmitterRecord.of(emitter) for emitter in self], key=lambda record: record.id)
