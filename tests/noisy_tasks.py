"""A toy task whose rewards depend on a seed in a way that can be computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from toy_tasks import SquareTask, strewn

FACTORS = (1.0, 0.25, 0.0, 0.5)
"""What the reward of the square is multiplied by with the seeds 0, 1, 2 and 3, and so on in turn."""


class DiceTask(SquareTask):
    """The square whose seed decides the reward; with odd seeds, policies are rewarded in the other area.

    Args:
        seed: seed of the first episode.
        episodes: episodes of a policy, of whose rewards it gets the mean.
        failing: share of the policies that fail with the seed 2.
    """

    name = "dice"

    def __init__(self, seed: int = 0, episodes: int = 1, failing: float = 0.0) -> None:
        self.seed, self.episodes, self.failing = seed, episodes, failing

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        factor = np.mean([FACTORS[(self.seed + number) % 4] for number in range(self.episodes)])
        area = np.where((rollouts.reward_area >= 0) & (self.seed % 2 == 1), 1 - rollouts.reward_area, rollouts.reward_area)
        failed = strewn(genomes, self.failing) & (self.seed == 2)
        return replace(rollouts, reward=rollouts.reward * factor, reward_area=area, failed=failed)


class BlindDiceTask(DiceTask):
    """The same task, whose seed changes nothing."""

    name = "blind"

    def evaluate(self, genomes):
        return SquareTask.evaluate(self, genomes)
