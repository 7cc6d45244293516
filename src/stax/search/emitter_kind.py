"""What kinds of emitters there are: how one makes policies, and what it makes of their outcome.

The paper's emitter is `ElitistEmitter`. A kind of one's own is a subclass of `EmitterKind` with one method, `ask`; docs/emitters.md
shows how to write one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.policy_set import PolicySet
from stax.search.selection import select
from stax.tasks.task import Genomes

if TYPE_CHECKING:
    from stax.search.emitter import Emitter
    from stax.search.parameters import Parameters


class EmitterKind(ABC):
    """A kind of emitter. One object serves all emitters of its kind, one after the other.

    What an emitter must remember from one generation to the next belongs into its `memory`, which is kept in checkpoints, and
    every random number comes from the generator given: then runs repeat, and resume, bit for bit. Genomes are clipped to the
    bounds by the search.
    """

    uses_novelty: bool = False
    """Whether it compares policies by novelty: then descriptors and novelty of its offspring and its population are known.

    Otherwise they are nan in all sets of policies that its methods are given, except for the ancestor's. An emitter's `most_novel`,
    `highest_novelty`, `novelty_candidates` and `kept` are then brought up to date at the end of its turn at the latest.
    """

    portable: bool = True
    """Whether its arithmetic has the same bits on all processors. NumPy's linear algebra and exponentials do not: see
    `stax.numerics`."""

    def fits(self, parameters: Parameters, genome_size: int) -> None:
        """Raises `stax.InvalidInputError` if the kind cannot do with these."""
        return

    def start(self, emitter: Emitter, rng: np.random.Generator) -> Genomes:
        """The genomes of the first population P_0: M_E mutated copies of the ancestor."""
        size = (emitter.parameters.emitter_population, emitter.ancestor.genome.shape[1])
        return emitter.ancestor.genome + emitter.sigma * rng.normal(size=size)

    @abstractmethod
    def ask(self, emitter: Emitter, rng: np.random.Generator) -> tuple[Genomes, NDArray[np.int64]]:
        """The genomes (n, genome_size) of the next generation, and the ids (n,) of the policies they were made from."""

    def tell(self, emitter: Emitter, offspring: PolicySet) -> PolicySet:
        """The emitter's new population, now that the offspring are evaluated: the M_E best of both.

        Offspring whose evaluation failed are missing, and at the end of the budget those that were not evaluated. The first
        time, the population is still empty. The reward of the offspring is known; their novelty only if `uses_novelty`.
        """
        both = PolicySet.concat([emitter.population, offspring])
        return both.take(select(both.reward[:, None], emitter.parameters.emitter_population))

    def keeps(self, emitter: Emitter, offspring: PolicySet) -> NDArray[np.bool_]:
        """Which offspring (n,) enter the reward archive: those better than all the emitter's before them.

        Their novelty is known only if `uses_novelty`.
        """
        return offspring.reward > emitter.best_reward

    def progress(self, emitter: Emitter, population: PolicySet) -> NDArray[np.float64]:
        """What the emitter climbs, of each of its population: the reward. Improvement and stagnation are measured on it."""
        return population.reward

    def ended_by(self, emitter: Emitter) -> str:
        """Why the emitter ends after this generation, in a word or two, although it does not stagnate; empty if it goes on."""
        return ""

    def check(self, emitter: Emitter) -> None:
        """Raises `stax.InvalidInputError` if the memory of an emitter that comes from a checkpoint is not one of this kind."""
        return


class ElitistEmitter(EmitterKind):
    """The paper's: m mutated copies of each member of the population, and the best of both survive."""

    def ask(self, emitter: Emitter, rng: np.random.Generator) -> tuple[Genomes, NDArray[np.int64]]:
        each = np.repeat(np.arange(len(emitter.population)), emitter.parameters.offspring_per_parent)
        parents = emitter.population.take(each)
        return parents.genome + emitter.sigma * rng.normal(size=parents.genome.shape), parents.id


class NoveltyEmitter(ElitistEmitter):
    """Looks for other ways to be rewarded: among policies that are rewarded the most novel survive, whatever their reward.

    Policies without reward survive only where there are too few with. Its progress is the novelty of its rewarded policies as a
    multiple of its ancestor's, so that it means the same after a training of the autoencoder, which changes all distances.
    """

    uses_novelty = True

    def tell(self, emitter: Emitter, offspring: PolicySet) -> PolicySet:
        both = PolicySet.concat([emitter.population, offspring])
        rewarded_first = np.lexsort((-both.novelty, both.reward <= 0))
        return both.take(rewarded_first[: emitter.parameters.emitter_population])

    def keeps(self, emitter: Emitter, offspring: PolicySet) -> NDArray[np.bool_]:
        """Those better than all before them, and rewarded ones more novel than all before them."""
        novel = (offspring.reward > 0) & (offspring.novelty > emitter.highest_novelty)
        return novel | (offspring.reward > emitter.best_reward)

    def progress(self, emitter: Emitter, population: PolicySet) -> NDArray[np.float64]:
        unit = float(emitter.ancestor.novelty[0])
        return np.where(population.reward > 0, population.novelty, 0.0) / (unit if 0 < unit < np.inf else 1.0)
