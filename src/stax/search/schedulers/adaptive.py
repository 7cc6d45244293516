"""A scheduler that follows the recent yields of the two phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from stax.search.bandit import most_promising
from stax.search.schedulers.scheduler import Chunk, Scheduler
from stax.search.vocabulary import Phase

if TYPE_CHECKING:
    from stax.search.parameters import Parameters


class AdaptiveScheduler(Scheduler):
    """A choice by what the last chunks of each phase yielded, compared with what that phase yields on average.

    Exploration yields novelty, and exploitation gains of reward per evaluation, both as multiples of their mean over the run so far: a
    phase whose yield falls gets fewer chunks. UCB over the last `window` chunks decides which phase comes next.

    Args:
        window: number of chunks to look back on.
        exploration: how much chunks of a phase that had few are valued.
    """

    name = "adaptive"
    about = "the phase that promises more, by what each yielded recently"

    def __init__(self, *, window: int, exploration: float) -> None:
        self.window, self.exploration = window, exploration

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        return cls(window=parameters.bandit_window, exploration=parameters.bandit_exploration)

    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        returns: dict[str, list[float]] = {Phase.EXPLORATION: [], Phase.EXPLOITATION: []}
        recent: dict[str, list[float]] = {Phase.EXPLORATION: [], Phase.EXPLOITATION: []}
        for number, chunk in enumerate(course[1:], 1):
            value = chunk.novelty if chunk.phase == Phase.EXPLORATION else chunk.gain / max(chunk.evaluations, 1)
            returns[chunk.phase].append(value)
            if number >= len(course) - self.window:
                recent[chunk.phase].append(value)
        for phase, values in recent.items():
            mean = float(np.mean(returns[phase])) if values else 0.0
            # A phase that never yielded anything has its usual yield.
            recent[phase] = [value / mean if mean > 0 else 1.0 for value in values]
        return most_promising(recent, self.exploration)
