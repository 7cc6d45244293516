"""The choice among several kinds of emitters: which kind gets the next turn.

The bandit counts turns, not emitters, and counts bootstraps and emitter steps separately: a new emitter yields more than an old
one, whatever its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stax.errors import InvalidInputError
from stax.search.bandit import most_promising
from stax.search.parameters import Parameters


class KindChoice:
    """The choice of the kind of emitter that gets the next turn, by what the last turns of each kind yielded.

    Args:
        rule: bandit, uniform or round-robin.
        window: number of turns that the bandit looks back on.
        exploration: how much the bandit values turns of a kind that had few.
    """

    def __init__(self, rule: str, *, window: int, exploration: float) -> None:
        self.rule, self.window, self.exploration = rule, window, exploration
        self.turns: list[tuple[str, float]] = []
        """The last turns: the kind of emitter, and the share of the evaluations that was kept."""

    @staticmethod
    def of(parameters: Parameters) -> KindChoice:
        """Make the choice that the parameters describe."""
        window, exploration = parameters.bandit_window, parameters.bandit_exploration
        return KindChoice(parameters.emitter_choice, window=window, exploration=exploration)

    def choose(self, kinds: Sequence[str], rng: np.random.Generator) -> str:
        """Choose one of these kinds, which are in the order of the parameter."""
        if len(kinds) == 1:
            return kinds[0]
        if self.rule == "uniform":
            return kinds[int(rng.integers(len(kinds)))]
        if self.rule == "round-robin":
            return self._longest_idle(kinds)
        yields = {kind: [share for turn, share in self.turns if turn == kind] for kind in kinds}
        # As multiples of the best kind's mean, since the share that can be kept differs between tasks.
        best = max((float(np.mean(known)) for known in yields.values() if known), default=0.0) or 1.0
        return most_promising({kind: [share / best for share in known] for kind, known in yields.items()}, self.exploration)

    def _longest_idle(self, kinds: Sequence[str]) -> str:
        last = {kind: number for number, (kind, _) in enumerate(self.turns)}
        return min(kinds, key=lambda kind: last.get(kind, -1))

    def record(self, kind: str, *, kept: int, evaluations: int) -> None:
        """Record the end of a turn, and how many of its evaluations were kept."""
        if evaluations:
            self.turns = [*self.turns, (kind, kept / evaluations)][-self.window :]

    def restore(self, turns: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Restore the turns from a saved state."""
        self.turns = [(str(kind), float(share)) for kind, share in turns]
        for kind, share in self.turns:
            if kind not in kinds or not 0 <= share <= 1:
                raise InvalidInputError(f"The state has a turn of an emitter of the kind {kind!r} that yielded {share!r}.")
