"""A scheduler that gives a fixed share of the budget to exploration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from stax.search.schedulers.scheduler import Chunk, Scheduler
from stax.search.vocabulary import Phase

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
        if course[-1].phase == Phase.INITIAL_POPULATION:
            # Emitters measure sigma_i on the population, which is not selected yet.
            return Phase.EXPLORATION
        spent = {Phase.EXPLORATION: 0, Phase.EXPLOITATION: 0}
        for chunk in course:
            if chunk.phase == Phase.EXPLOITATION or spent[Phase.EXPLOITATION]:
                spent[chunk.phase] += chunk.evaluations
        if self.exploration_share >= 1:
            return Phase.EXPLORATION
        wanted = self.exploration_share * sum(spent.values())
        return Phase.EXPLORATION if spent[Phase.EXPLORATION] < wanted else Phase.EXPLOITATION
