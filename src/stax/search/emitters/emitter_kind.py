"""The base class of all kinds of emitters: how an emitter makes policies, and how it selects among them.

A kind is a subclass of `EmitterKind` with at least the method `ask`; docs/emitters.md shows how to write your own.
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
    from stax.search.emitters.emitter import Emitter
    from stax.search.parameters import Parameters


class EmitterKind(ABC):
    """A kind of emitter. One object serves all emitters of its kind, one after the other.

    What an emitter must remember from one generation to the next belongs into its `memory`, which is kept in checkpoints, and
    every random number comes from the generator given: then runs repeat, and resume, bit for bit. Genomes are clipped to the
    bounds by the search.
    """

    name: str = ""
    """Name in the parameter `emitter_kinds`; only built-in kinds need one."""
    about: str = ""
    """Description in `stax algos`; only built-in kinds need one."""

    uses_novelty: bool = False
    """Whether it compares policies by novelty: then descriptors and novelty of its offspring and its population are known.

    Otherwise they are nan in all sets of policies that its methods are given, except for the ancestor's. An emitter's `most_novel`,
    `highest_novelty`, `novelty_candidates` and `kept` are then brought up to date at the end of its turn at the latest.
    """

    portable: bool = True
    """Whether its arithmetic has the same bits on all processors. NumPy's linear algebra and exponentials do not: see
    `stax.numerics`."""

    def fits(self, parameters: Parameters, genome_size: int) -> None:
        """Raise `stax.InvalidInputError` if the kind does not work with these parameters or this size of genomes."""
        return

    def start(self, emitter: Emitter, rng: np.random.Generator) -> Genomes:
        """Return the genomes of the first population P_0: M_E mutated copies of the ancestor."""
        size = (emitter.parameters.emitter_population, emitter.ancestor.genome.shape[1])
        return emitter.ancestor.genome + emitter.sigma * rng.normal(size=size)

    @abstractmethod
    def ask(self, emitter: Emitter, rng: np.random.Generator) -> tuple[Genomes, NDArray[np.int64]]:
        """Return the genomes (n, genome_size) of the next generation, and the ids (n,) of the policies they were made from."""

    def tell(self, emitter: Emitter, offspring: PolicySet) -> PolicySet:
        """Return the emitter's new population once the offspring are evaluated: the M_E best of both.

        Offspring whose evaluation failed are missing, and at the end of the budget those that were not evaluated. The first
        time, the population is still empty. The reward of the offspring is known; their novelty only if `uses_novelty`.
        """
        both = PolicySet.concat([emitter.population, offspring])
        return both.take(select(both.reward[:, None], emitter.parameters.emitter_population))

    def keeps(self, emitter: Emitter, offspring: PolicySet) -> NDArray[np.bool_]:
        """Return which offspring (n,) enter the reward archive: those better than all earlier policies of the emitter.

        Their novelty is known only if `uses_novelty`.
        """
        return offspring.reward > emitter.best_reward

    def progress(self, emitter: Emitter, population: PolicySet) -> NDArray[np.float64]:
        """Return the quantity the emitter climbs, one number (n,) per policy, which improvement and stagnation are measured on: the reward."""
        return population.reward

    def ended_by(self, emitter: Emitter) -> str:
        """Return in a word or two why the emitter ends after this generation without stagnation; empty if it continues."""
        return ""

    def check(self, emitter: Emitter) -> None:
        """Raise `stax.InvalidInputError` if an emitter from a checkpoint has a memory that this kind cannot have written."""
        return
