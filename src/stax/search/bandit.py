"""The rule of the bandits: UCB1 over a sliding window (Auer et al. 2002; Garivier and Moulines 2011)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np


def most_promising(yields: Mapping[str, Sequence[float]], exploration: float) -> str:
    """Return the option with the highest upper confidence bound: its mean yield plus `exploration` times sqrt(ln N / n), with n of
    the N yields its own. An option without yields comes first; of equal options, the first in order."""
    everything = sum(len(known) for known in yields.values())

    def bound(option: str) -> float:
        known = yields[option]
        if not known:
            return math.inf
        return float(np.mean(known)) + exploration * math.sqrt(math.log(everything) / len(known))

    return max(yields, key=bound)
