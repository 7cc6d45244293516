"""A scheduler that gives a fixed share of the budget to exploration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from stax.search.schedulers.scheduler import EXPLOITATION, EXPLORATION, INITIAL_POPULATION, Chunk, Scheduler

if TYPE_CHECKING:
    from stax.search.parameters import Parameters


class FixedRatioScheduler(Scheduler):
    """A fixed share of the evaluations for exploration, counted from the first chunk of exploitation on.

    Args:
        exploration_share: 0 to 1.
    """

    name = "fixed-ratio"
    about = "exploration_share of the evaluations to exploration"

    def __init__(self, exploration_share: float) -> None:
        self.exploration_share = exploration_share

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        return cls(parameters.exploration_share)

    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        if course[-1].phase == INITIAL_POPULATION:
            # Emitters measure sigma_i on the population, which is not selected yet.
            return EXPLORATION
        spent = {EXPLORATION: 0, EXPLOITATION: 0}
        for chunk in course:
            if chunk.phase == EXPLOITATION or spent[EXPLOITATION]:
                spent[chunk.phase] += chunk.evaluations
        if self.exploration_share >= 1:
            return EXPLORATION
        wanted = self.exploration_share * sum(spent.values())
        return EXPLORATION if spent[EXPLORATION] < wanted else EXPLOITATION
