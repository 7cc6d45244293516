"""Schedulers: what the next chunk of the budget is for, once there is something to exploit. `AlternatingScheduler` is the paper's.

A scheduler decides by the course of the run alone. It remembers nothing, so runs resume exactly whatever it is. One of one's own is a
subclass of `Scheduler` with one method; docs/emitters.md shows how to write it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stax.errors import InvalidInputError, in_one_line
from stax.search.bandit import most_promising

INITIAL_POPULATION, EXPLORATION, EXPLOITATION = "initial population", "exploration", "exploitation"


@dataclass(frozen=True)
class Chunk:
    """What a chunk of the budget was for, and what it yielded."""

    phase: str
    """initial population (the first one alone), exploration or exploitation."""
    evaluations: int
    """That it took."""
    novelty: float = 0.0
    """Of exploration: mean novelty of the last offspring, over the root mean square distance of population and offspring from
    their centre. So it means the same in any descriptor space, and whatever a training has made of that."""
    gain: float = 0.0
    """Of exploitation: by how much emitters raised their best rewards, all together."""


class Scheduler(ABC):
    """Decides what the next chunk of the budget is for."""

    @abstractmethod
    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        """exploration or exploitation; asked only when there are emitters or candidates, since one can always explore.

        Args:
            course: all chunks so far, the initial population first.
            rng: for random decisions, if there are any.
        """


class AlternatingScheduler(Scheduler):
    """Algorithm 1: by turns."""

    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        return EXPLOITATION if course[-1].phase == EXPLORATION else EXPLORATION


class FixedRatioScheduler(Scheduler):
    """Exploration gets a fixed share of the evaluations, counted from the first chunk of exploitation on.

    Args:
        exploration_share: 0 to 1.
    """

    def __init__(self, exploration_share: float) -> None:
        self.exploration_share = exploration_share

    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        if course[-1].phase == INITIAL_POPULATION:
            # A population that nobody selected yet is no start for emitters: sigma_i is measured on it.
            return EXPLORATION
        spent = {EXPLORATION: 0, EXPLOITATION: 0}
        for chunk in course:
            if chunk.phase == EXPLOITATION or spent[EXPLOITATION]:
                spent[chunk.phase] += chunk.evaluations
        if self.exploration_share >= 1:
            return EXPLORATION
        wanted = self.exploration_share * sum(spent.values())
        return EXPLORATION if spent[EXPLORATION] < wanted else EXPLOITATION


class AdaptiveScheduler(Scheduler):
    """The phase that promises more, by what the last chunks of each yielded compared with what that phase yields on average.

    Exploration yields novelty, exploitation gains of reward per evaluation, both as multiples of their mean over the run so far: a phase
    whose returns fall gets fewer chunks. Which phase comes next is decided by UCB over the last `window` chunks.

    Args:
        window: chunks that it looks back on.
        exploration: how much it values chunks of a phase that had few.
    """

    def __init__(self, *, window: int, exploration: float) -> None:
        self.window, self.exploration = window, exploration

    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        returns: dict[str, list[float]] = {EXPLORATION: [], EXPLOITATION: []}
        recent: dict[str, list[float]] = {EXPLORATION: [], EXPLOITATION: []}
        for number, chunk in enumerate(course[1:], 1):
            value = chunk.novelty if chunk.phase == EXPLORATION else chunk.gain / max(chunk.evaluations, 1)
            returns[chunk.phase].append(value)
            if number >= len(course) - self.window:
                recent[chunk.phase].append(value)
        for phase, values in recent.items():
            mean = float(np.mean(returns[phase])) if values else 0.0
            # A phase that never yielded anything yields what it always did.
            recent[phase] = [value / mean if mean > 0 else 1.0 for value in values]
        return most_promising(recent, self.exploration)


def chosen_phase(name: str, scheduler: Scheduler, course: Sequence[Chunk], rng: np.random.Generator) -> str:
    """What a scheduler chooses, which may be anybody's code."""
    try:
        phase = scheduler.choose(course, rng)
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"The scheduler {name!r} failed in choose: {in_one_line(error)}.") from error
    if phase not in (EXPLORATION, EXPLOITATION):
        raise InvalidInputError(f"The scheduler {name!r} must choose 'exploration' or 'exploitation', not {phase!r}.")
    return str(phase)
