"""CMA-ES with a diagonal covariance matrix (the package `cmaes`, after Hansen), and what both forms of CMA-ES share.

The emitter's memory holds the state of the optimiser: the seven attributes of it that change, as a test makes sure. When
another emitter gets its turn, an optimiser is made from that state. What else it computes, the axes of its covariance, depends
on the state alone, so it continues with the same bits after a checkpoint. Its random numbers are seeded anew from those of the
search in each generation. Its linear algebra runs on one thread, because sums on two round differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from stax.errors import InvalidInputError
from stax.input_limits import LARGEST_NUMBER
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.policy_set import PolicySet
from stax.tasks.task import Genomes

if TYPE_CHECKING:
    from stax.search.emitters.emitter import Emitter
    from stax.search.parameters import Parameters

LEAST_POPULATION = 4
"""Smallest number of draws a generation that a covariance can be adapted to."""
STATE = {
    "mean": "_mean",
    "step": "_sigma",
    "step_path": "_p_sigma",
    "covariance_path": "_pc",
    "covariance": "_C",
    "values": "_funhist_values",
    "generation": "_g",
}
"""Attributes of the package's optimiser that change from one generation to the next, by their names in the emitter's memory."""


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit BLAS to one thread: matrix products round differently for other numbers of threads."""
    with _libraries().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        yield


class SeparableCmaEmitter(EmitterKind):
    """CMA-ES that adapts a step size for each gene, and no correlations: for large genomes."""

    name = "sep-cma-es"
    about = "CMA-ES with a step size for each gene instead of a covariance matrix, for genomes of any size"
    portable = False

    def __init__(self) -> None:
        self._at_work: tuple[Emitter, Any] | None = None
        """The emitter that ran last and its optimiser, whose axes are computed already."""

    def fits(self, parameters: Parameters, genome_size: int) -> None:
        if genome_size < 2:
            raise InvalidInputError(f"Emitters of the kind {self.name} need genomes of at least 2 numbers, not {genome_size}.")
        if population_size(parameters, genome_size) < LEAST_POPULATION:
            raise InvalidInputError(
                f"Parameter emitter_population must be at least {LEAST_POPULATION} for emitters of the kind {self.name},"
                f" not {parameters.emitter_population}."
            )

    def start(self, emitter: Emitter, rng: np.random.Generator) -> Genomes:
        with _one_thread():
            self._remember(emitter, self._new(emitter))
            return self._drawn(self._optimizer(emitter), rng)

    def ask(self, emitter: Emitter, rng: np.random.Generator) -> tuple[Genomes, NDArray[np.int64]]:
        with _one_thread():
            genomes = self._drawn(self._optimizer(emitter), rng)
        # The mean that they are drawn around is no policy, so their parent is the ancestor.
        return genomes, np.repeat(emitter.ancestor.id, len(genomes))

    def tell(self, emitter: Emitter, offspring: PolicySet) -> PolicySet:
        if not len(offspring):
            return emitter.population
        with _one_thread():
            optimizer = self._optimizer(emitter)
            told = [(genome, -reward) for genome, reward in zip(offspring.genome, offspring.reward.tolist(), strict=True)]
            # Missing policies count as the worst of the generation, at the mean, where they move nothing.
            missing = optimizer.population_size - len(told)
            worst = float(-offspring.reward.min())
            optimizer.tell(told + [(optimizer.mean.copy(), worst)] * missing)
            if self._remember(emitter, optimizer):
                emitter.memory["converged"] = optimizer.should_stop()
            else:
                emitter.memory["converged"], self._at_work = True, None
        return offspring

    def ended_by(self, emitter: Emitter) -> str:
        return "convergence" if emitter.memory["converged"] else ""

    def check(self, emitter: Emitter) -> None:
        fresh = self._new(emitter)
        for name in STATE:
            known, wanted = emitter.memory.get(name), np.shape(self._compact(name, getattr(fresh, STATE[name])))
            if known is None or known.shape != wanted:
                found = "missing" if known is None else f"of shape {known.shape}"
                raise InvalidInputError(f"The state's emitter {emitter.id} is no {self.name}: its {name} is {found}.")
        finite = all((np.abs(known) <= LARGEST_NUMBER).all() for known in emitter.memory.values())
        if "converged" not in emitter.memory or not finite or not _sound(emitter.memory):
            raise InvalidInputError(f"The state's emitter {emitter.id} is no {self.name}: its numbers are damaged.")

    # The optimiser and its state

    def _new(self, emitter: Emitter) -> Any:
        """Make the optimiser of a new emitter."""
        genes = emitter.ancestor.genome.shape[1]
        optimizer = self._make(
            mean=emitter.ancestor.genome[0].copy(),
            sigma=emitter.sigma,
            population_size=population_size(emitter.parameters, genes),
        )
        # The package leaves this array uninitialised.
        optimizer._funhist_values[:] = 0.0
        return optimizer

    def _make(self, **options: Any) -> Any:
        from cmaes import SepCMA

        return SepCMA(**options)

    def _optimizer(self, emitter: Emitter) -> Any:
        """Return the optimiser in the state that the emitter remembers."""
        if self._at_work and self._at_work[0] is emitter:
            return self._at_work[1]
        optimizer = self._new(emitter)
        for name, attribute in STATE.items():
            known = emitter.memory[name]
            setattr(optimizer, attribute, self._expanded(name, known) if known.ndim else known.item())
        optimizer._g = int(optimizer._g)
        self._at_work = emitter, optimizer
        return optimizer

    def _remember(self, emitter: Emitter, optimizer: Any) -> bool:
        """Store the state in the memory, unless its step size is no longer finite and positive; return whether it was stored."""
        state = {name: self._compact(name, getattr(optimizer, attribute)) for name, attribute in STATE.items()}
        if not _sound(state):
            return False
        emitter.memory.update(state)
        emitter.memory["converged"] = False
        return True

    def _compact(self, name: str, value: Any) -> Any:
        return value

    def _expanded(self, name: str, known: NDArray[np.float64]) -> NDArray[np.float64]:
        return known.copy()

    def _drawn(self, optimizer: Any, rng: np.random.Generator) -> Genomes:
        # Seeding it from our generator every time leaves no random state to store.
        optimizer.reseed_rng(int(rng.integers(2**32)))
        return np.stack([optimizer.ask() for _ in range(optimizer.population_size)])


def _sound(state: Mapping[str, Any]) -> bool:
    return all(np.isfinite(state[name]).all() for name in STATE) and state["step"] > 0 and state["generation"] >= 0


def population_size(parameters: Parameters, genome_size: int) -> int:
    """Return the number of policies drawn per generation: M_E, or by the rule of CMA-ES for this number of genes."""
    if parameters.cma_population == "emitter":
        return parameters.emitter_population
    return 4 + math.floor(3 * math.log(genome_size))
