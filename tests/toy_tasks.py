"""The toy task that most tests share: it costs nothing, and its rewards are easy to find."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stax import RewardArea, Rollouts, Task
from stax.tasks.task import check_genomes


class SquareTask(Task):
    """A point in a square, moved by six numbers, with two reward areas."""

    name = "square"
    genome_size = 6
    observation_samples = 3
    observation_shape = (4,)
    observation_dtype = "float32"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("near", (0.3, 0.3), 0.5), RewardArea("far", (-0.6, -0.2), 0.4))

    def evaluate(self, genomes):
        g = check_genomes(genomes, self.genome_size)
        # Sums written out: a matrix product rounds differently for another number of rows.
        x = np.tanh(0.5 * g[:, 0] - 0.3 * g[:, 1] + 0.2 * g[:, 2])
        y = np.tanh(0.4 * g[:, 3] + 0.3 * g[:, 4] * g[:, 5])
        reward, area = np.zeros(len(g)), np.full(len(g), -1)
        for number, place in enumerate(self.reward_areas):
            value = 1 - np.sqrt((x - place.center[0]) ** 2 + (y - place.center[1]) ** 2) / place.radius
            inside = (value > 0) & (area < 0)
            reward[inside], area[inside] = value[inside], number
        times = np.arange(1, 4) / 3
        seen = np.stack([np.sin(x[:, None] * times), y[:, None] * times, (x * y)[:, None] * times, g[:, :3]], axis=2)
        return Rollouts(reward, area, np.full(len(g), 9), seen.astype(np.float32), np.stack([x, y], axis=1))


class NoTruthTask(SquareTask):
    """The same task without a ground-truth descriptor."""

    name = "no-truth"
    ground_truth_bounds = None

    def evaluate(self, genomes):
        return replace(super().evaluate(genomes), ground_truth=None)


class LevelsTask(SquareTask):
    """The same task with rewards cut to a number of levels, so that emitters come to a standstill."""

    def __init__(self, levels: int) -> None:
        self.levels = levels

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        return replace(rollouts, reward=np.ceil(rollouts.reward * self.levels) / self.levels)


def strewn(genomes: np.ndarray, share: float) -> np.ndarray:
    """Select about this share of the policies: always the same ones, spread over the genome space."""
    return np.abs(genomes[:, 0]) * 1000 % 1 < share
