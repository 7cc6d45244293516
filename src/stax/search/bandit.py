"""Choosing by what was yielded recently: UCB1 over a sliding window (Auer et al. 2002; Garivier and Moulines 2011)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stax.errors import InvalidInputError
from stax.search.parameters import Parameters


def most_promising(yields: Mapping[str, Sequence[float]], exploration: float) -> str:
    """The option with the highest upper confidence bound: its mean yield, plus `exploration` times sqrt(ln N / n) for n of
    altogether N yields. One without any comes first; of equal ones, the first."""
    everything = sum(len(known) for known in yields.values())

    def bound(option: str) -> float:
        known = yields[option]
        if not known:
            return math.inf
        return float(np.mean(known)) + exploration * math.sqrt(math.log(everything) / len(known))

    return max(yields, key=bound)


class KindChoice:
    """Which kind of emitter gets the next turn, by what the last turns of each kind yielded.

    Args:
        rule: bandit, uniform or round-robin.
        window: turns that the bandit looks back on.
        exploration: how much the bandit values turns of a kind that had few.
    """

    def __init__(self, rule: str, *, window: int, exploration: float) -> None:
        self.rule, self.window, self.exploration = rule, window, exploration
        self.turns: list[tuple[str, float]] = []
        """The last ones: which kind, and the share of its evaluations that were kept."""

    @staticmethod
    def of(parameters: Parameters) -> KindChoice:
        window, exploration = parameters.bandit_window, parameters.bandit_exploration
        return KindChoice(parameters.emitter_choice, window=window, exploration=exploration)

    def choose(self, kinds: Sequence[str], rng: np.random.Generator) -> str:
        """One of the kinds that there is something to do for, in the order of the parameter."""
        if len(kinds) == 1:
            return kinds[0]
        if self.rule == "uniform":
            return kinds[int(rng.integers(len(kinds)))]
        if self.rule == "round-robin":
            return self._longest_idle(kinds)
        yields = {kind: [share for turn, share in self.turns if turn == kind] for kind in kinds}
        # As multiples of the best kind's mean: what can be kept of a hundred policies is a few in one task and most in another.
        best = max((float(np.mean(known)) for known in yields.values() if known), default=0.0) or 1.0
        return most_promising({kind: [share / best for share in known] for kind, known in yields.items()}, self.exploration)

    def _longest_idle(self, kinds: Sequence[str]) -> str:
        last = {kind: number for number, (kind, _) in enumerate(self.turns)}
        return min(kinds, key=lambda kind: last.get(kind, -1))

    def record(self, kind: str, *, kept: int, evaluations: int) -> None:
        """A turn has ended: so many of its evaluations were kept."""
        if evaluations:
            self.turns = [*self.turns, (kind, kept / evaluations)][-self.window :]

    def restore(self, turns: Sequence[Sequence[Any]], kinds: Sequence[str]) -> None:
        """Takes over the turns of another one."""
        self.turns = [(str(kind), float(share)) for kind, share in turns]
        for kind, share in self.turns:
            if kind not in kinds or not 0 <= share <= 1:
                raise InvalidInputError(f"The state has a turn of an emitter of the kind {kind!r} that yielded {share!r}.")
