"""A turn of an emitter: its bootstrap, or its part of an emitter step.

Unless an emitter selects by novelty, nothing within its turn needs the descriptors of its offspring. Where the descriptor space
allows it, they are therefore computed together: 72 policies at once take 13 to 21 % fewer core-seconds than 12 at a time (the
three tasks). The novelty of a generation depends on what earlier generations added to the reward archive, so generations are
stored in order: the outcome is the same, bit for bit, as if each had been described and stored at once.

The space allows it if it is `deferrable`: the pictures of a built-in task, encoded by compiled code. Elsewhere a policy may
have no descriptor, and `tell` must find out before anything changes. A turn ends before Algorithm 1 rests, so no saved state
holds offspring without descriptors.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.emitters.emitter import emitter_improvement
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import Origin
from stax.tasks.task import Genomes

if TYPE_CHECKING:
    from stax.search.emitters.emitter import Emitter
    from stax.search.explorers.explorer import Asking
    from stax.search.search import Answer, Batch, Search

MOST_UNSTORED = 256
"""Largest number of offspring that wait for their descriptors: more at once are not quicker, and take memory."""


class EmitterTurn:
    """The generations of one turn of an emitter.

    Args:
        search: the search.
        emitter: the emitter whose turn it is.
        origin: `Origin.BOOTSTRAP` or `Origin.EMITTER`.
    """

    def __init__(self, search: Search, emitter: Emitter, origin: Origin) -> None:
        self._search, self._emitter, self._origin = search, emitter, origin
        self._kind = search.containers.emitters.kind_of(emitter)
        self._kept, self._evaluations = emitter.kept, emitter.evaluations
        self._unstored: list[tuple[PolicySet, NDArray[np.bool_]]] = []
        """Generations that are not stored yet, and which of their policies enter the reward archive."""

    def first_generation(self) -> Asking:
        """Draw and evaluate the first population P_0."""
        genomes = self._kind.start(self._emitter, self._search.random.emitters)
        yield from self._evaluate(genomes, np.repeat(self._emitter.ancestor.id, len(genomes)))

    def generation(self) -> Asking:
        """Generate offspring of P and evaluate them; the best of both become the new P."""
        genomes, parents = self._kind.ask(self._emitter, self._search.random.emitters)
        yield from self._evaluate(genomes, parents)

    def end(self) -> None:
        """Store the generations that are left, and record the yield of the turn for the choice among kinds of emitters."""
        self._store()
        emitter, choice = self._emitter, self._search.containers.emitters.choices[self._origin]
        choice.record(emitter.kind, kept=emitter.kept - self._kept, evaluations=emitter.evaluations - self._evaluations)

    def _evaluate(self, genomes: Genomes, parents: NDArray[np.int64]) -> Asking:
        """Evaluate policies, store the rewarding and the novel ones, and let the best survive."""
        search, emitter, kind, before = self._search, self._emitter, self._kind, self._search.evaluations
        measure_novelty = search.containers.measure_novelty
        at_once = kind.uses_novelty or not search.space.deferrable
        genomes = np.clip(genomes, *search.bounds)
        offspring = yield from search.evaluate(genomes, parents, self._origin, emitter.id, described=at_once)
        emitter.evaluations += search.evaluations - before
        if kind.uses_novelty:
            measure_novelty(offspring)
        if search.parameters.reevaluations:
            offspring = yield from self._reevaluated(offspring)
        seen = self._seen(offspring)

        # Store high rewarding policies, and novel ones as novelty candidates
        rewarding = kind.keeps(emitter, seen)
        if offspring.reward_spread is not None:
            rewarding &= ~np.isnan(offspring.reward_spread)
        self._unstored.append((offspring, rewarding))
        if at_once or sum(len(waiting) for waiting, _ in self._unstored) >= MOST_UNSTORED:
            self._store()

        # Generate P_{gamma+1}
        if kind.uses_novelty:
            measure_novelty(emitter.population)
        emitter.population = kind.tell(emitter, seen)
        if not len(emitter.population):
            # All of the first evaluations failed
            return

        # Update I and R
        emitter.history.append(kind.progress(emitter, emitter.population))
        best_reward = float(offspring.reward.max(initial=emitter.best_reward))
        search.record.gain += best_reward - emitter.best_reward
        emitter.best_reward = best_reward
        emitter.improvement = emitter_improvement(emitter.history, search.parameters.bootstrap_generations)

    def _seen(self, offspring: PolicySet) -> PolicySet:
        """Return what the kind of emitter sees of its offspring."""
        return offspring if self._kind.uses_novelty else offspring.undescribed()

    def _reevaluated(self, offspring: PolicySet) -> Generator[Batch | None, Answer | None, PolicySet]:
        """Reevaluate the offspring that would enter the reward archive, and leave out those for which that was not possible."""
        entering = np.flatnonzero(self._kind.keeps(self._emitter, self._seen(offspring)))
        stored = yield from self._search.reevaluate(offspring, entering)
        return offspring.take(np.setdiff1d(np.arange(len(offspring)), np.setdiff1d(entering, stored)))

    def _store(self) -> None:
        """Describe the offspring that have no descriptors, and store all waiting generations in order.

        Rewarding policies enter A_Rew, and those more novel than all the emitter's before them Q_Cand_Nov.
        """
        containers, emitter = self._search.containers, self._emitter
        generations, self._unstored = self._unstored, []
        self._describe([offspring for offspring, _ in generations if np.isnan(offspring.descriptor).any()])
        for offspring, rewarding in generations:
            if not self._kind.uses_novelty:
                containers.measure_novelty(offspring)
            novel = offspring.novelty > emitter.highest_novelty
            containers.store_rewarding(offspring.take(rewarding))
            emitter.novelty_candidates.append(offspring.take(novel))
            emitter.kept += int(np.count_nonzero(rewarding | novel))
            if novel.any():
                emitter.most_novel = offspring.take([int(np.argmax(offspring.novelty))])

    def _describe(self, generations: list[PolicySet]) -> None:
        if not generations:
            return
        together = PolicySet.concat(generations)
        self._search.containers.describe(together)
        ends = np.cumsum([len(offspring) for offspring in generations])
        for offspring, descriptor in zip(generations, np.split(together.descriptor, ends[:-1]), strict=True):
            offspring.descriptor[:] = descriptor
