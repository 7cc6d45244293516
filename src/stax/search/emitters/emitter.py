"""The state of an emitter, a small evolution around one rewarding policy, and its formulas (the paper's Section 3, "Emitters")."""

from __future__ import annotations

import math
from collections import UserDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from stax.errors import InvalidInputError
from stax.search.policy_set import GrowingSet, PolicySet

if TYPE_CHECKING:
    from stax.search.parameters import Parameters

COMPARED_GENERATIONS = 20
"""Number of generations at either end of the history that the stagnation rule compares."""


class Memory(UserDict[str, NDArray[np.float64]]):
    """The memory of an emitter: numbers and arrays of numbers by name, each kept as an array of float64.

    They are converted when they are put in, so that they are the same when they are read back from a file.
    """

    def __setitem__(self, name: str, value: Any) -> None:
        try:
            array = np.asarray(value)
        except ValueError:  # lists of different lengths
            array = np.empty(0, object)
        if array.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"The memory of an emitter must be numbers or arrays of numbers, but {name!r} is {type(value).__name__}."
            )
        self.data[name] = np.array(array, np.float64)


@dataclass(eq=False)
class Emitter:
    """The state of one emitter."""

    id: int
    kind: str
    """Name of its kind, as in the parameter `emitter_kinds`."""
    parameters: Parameters
    """Parameters of the search."""
    ancestor: PolicySet
    """The rewarding policy it was made from; its novelty is the emitter's."""
    sigma: float
    """Standard deviation of its mutations."""
    born: int
    """Evaluations the run had done when it was made."""
    best_reward: float
    """R: the highest reward found so far."""
    most_novel: PolicySet
    """The most novel policy found so far, with its novelty."""
    novelty_candidates: GrowingSet
    """Policies that were more novel than all the emitter's before them."""
    population: PolicySet
    """P: the best so far. Their descriptors and novelty are kept only if the kind uses novelty."""
    history: list[NDArray[np.float64]] = field(default_factory=list)
    """Progress of the population after each generation, the initial one first: its rewards, unless the kind climbs something else."""
    evaluations: int = 0
    kept: int = 0
    """Number of these that entered the reward archive or became novelty candidates."""
    improvement: float = 0.0
    memory: Memory = field(default_factory=Memory)
    """Numbers and arrays that its kind needs from one generation to the next."""

    @property
    def generations(self) -> int:
        return len(self.history)

    @property
    def highest_novelty(self) -> float:
        return float(self.most_novel.novelty[0])


@dataclass(frozen=True)
class EmitterRecord:
    """The record of an emitter."""

    id: int
    ancestor: int
    """Id of the policy it was made from."""
    reward_area: int
    """Reward area of that policy."""
    born: int
    sigma: float
    generations: int
    evaluations: int
    improvement: float
    first_reward: float
    """Reward of the ancestor."""
    best_reward: float
    ended_by: str
    """Why it ended: "no improvement" after its bootstrap, "stagnation", "evaluations failed" if none of its first population could be
    evaluated, a reason of its kind ("convergence" of CMA-ES); empty while it may still run."""
    kind: str = "elitist"
    """Name of its kind; earlier versions had this one only."""

    @staticmethod
    def of(emitter: Emitter, ended_by: str = "") -> EmitterRecord:
        return EmitterRecord(
            id=emitter.id,
            ancestor=int(emitter.ancestor.id[0]),
            reward_area=int(emitter.ancestor.reward_area[0]),
            born=emitter.born,
            sigma=emitter.sigma,
            generations=emitter.generations,
            evaluations=emitter.evaluations,
            improvement=emitter.improvement,
            first_reward=float(emitter.ancestor.reward[0]),
            best_reward=emitter.best_reward,
            ended_by=ended_by,
            kind=emitter.kind,
        )


def emitter_sigma(ancestor: PolicySet, around: PolicySet, *, otherwise: float, rule: str = "distance") -> float:
    """Return sigma_i: a third of the distance to the nearest other policy; `otherwise` if there is none or it is the same.

    With that standard deviation in every gene, a mutation of n genes is sqrt(n) times as long as sigma_i, and lands far beyond
    the nearest policy. The rule "length" divides by sqrt(n): mutations then have a third of that distance as their length.
    """
    others = around.genome[around.id != ancestor.id[0]]
    if len(others) == 0:
        return otherwise
    nearest = float(cdist(ancestor.genome, others).min())
    if nearest == 0:
        return otherwise
    return nearest / 3 if rule == "distance" else nearest / (3 * math.sqrt(ancestor.genome.shape[1]))


def emitter_improvement(history: list[NDArray[np.float64]], generations: int) -> float:
    """Return I: progress (rewards) of the last `generations`/2 generations minus that of the first, over generations times population.

    A population with failed evaluations may begin smaller than it becomes: those missing count as the mean of those there.
    """
    half = generations // 2
    population = max(len(rewards) for rewards in history)
    first, last = np.concatenate(history[:half]), np.concatenate(history[-half:])
    whole = min(half, len(history)) * population
    gain = last.sum() * (whole / len(last)) - first.sum() * (whole / len(first))
    return float(gain / (generations * population))


def history_window(genome_size: int, population: int) -> int:
    """Return the number of generations that the stagnation rule looks back on."""
    return 120 + 20 * genome_size // population


def stagnates(history: list[NDArray[np.float64]], window: int) -> bool:
    """Return whether, over a full window, the maximum or the median of the last 20 generations is not higher than that of the
    first 20."""
    if len(history) < window:
        return False
    first = np.concatenate(history[-window:][:COMPARED_GENERATIONS])
    last = np.concatenate(history[-COMPARED_GENERATIONS:])
    return bool(last.max() <= first.max() or np.median(last) <= np.median(first))
