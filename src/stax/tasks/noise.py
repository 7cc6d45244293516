"""Noise on what a policy of a built-in task senses and does.

Rollouts stay pure: the numbers are drawn by a generator (SplitMix64, whose state is one number of 64 bits) that starts from a hash
of the genome and the task's seed. The noise of a policy therefore depends neither on the other policies of a batch nor on threads,
and another seed gives another episode.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.compiling import inner
from stax.tasks.task import Genomes

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_UNUSED_BITS = np.uint64(11)
_UNIT = 2.0**-53
NO_STATES = np.empty(0, np.uint64)
"""States of generators for rollouts without noise."""


def noise_states(genomes: Genomes, seed: int) -> NDArray[np.uint64]:
    """Return the state of each genome's generator (n,), for an episode with this seed."""
    # The sum turns -0.0 into 0.0, which is the same genome.
    bits = np.ascontiguousarray(genomes + 0.0).view(np.uint64)
    states = _mixed(np.full(len(genomes), seed, np.uint64) + _GOLDEN)
    for column in range(bits.shape[1]):
        states = _mixed((states ^ bits[:, column]) + _GOLDEN)
    return states


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> _SHIFTS[0])) * _FIRST_FACTOR
    values = (values ^ (values >> _SHIFTS[1])) * _SECOND_FACTOR
    mixed: NDArray[Any] = values ^ (values >> _SHIFTS[2])
    return mixed


@inner
def _uniform(states, row):
    """Draw a number in (0, 1) from the generator of a row."""
    states[row] += _GOLDEN
    bits = states[row]
    bits = (bits ^ (bits >> _SHIFTS[0])) * _FIRST_FACTOR
    bits = (bits ^ (bits >> _SHIFTS[1])) * _SECOND_FACTOR
    bits = bits ^ (bits >> _SHIFTS[2])
    return (np.float64(bits >> _UNUSED_BITS) + 0.5) * _UNIT


@inner
def _normal(states, row):
    """Draw from N(0, 1), by the method of Box and Muller."""
    length = math.sqrt(-2.0 * math.log(_uniform(states, row)))
    return length * math.cos(2.0 * math.pi * _uniform(states, row))


@inner
def disturb_sensors(values, count, sigma, states, row):
    """Add noise to the first `count` values, which a policy is about to see."""
    if sigma > 0.0:
        for i in range(count):
            values[i] += sigma * _normal(states, row)


@inner
def disturb_actions(values, count, sigma, states, row):
    """Add noise to the first `count` values, which a policy has answered, within the [-1, 1] that policies answer in."""
    if sigma > 0.0:
        for i in range(count):
            values[i] = min(max(values[i] + sigma * _normal(states, row), -1.0), 1.0)
