"""Tasks with pictures and with vectors as observations, and learned spaces for them."""

from __future__ import annotations

import numpy as np

from stax.representation.learned import LearnedSpace
from stax.search.making import learning_options
from stax.search.parameters import make_parameters
from stax.tasks.task import RewardArea, Rollouts, Task

SEED = np.random.SeedSequence(7)


class Pictures(Task):
    """A bright square on a grey ground; the first two numbers of a genome say where it goes."""

    name = "pictures"
    genome_size = 2
    observation_samples = 3
    observation_shape = (16, 16, 3)
    ground_truth_bounds = ((0.0, 12.0), (0.0, 12.0))
    reward_areas = (RewardArea("any"),)

    def evaluate(self, genomes):
        array = np.clip(np.asarray(genomes, float) + 5, 0, 10)
        parts = np.arange(1, self.observation_samples + 1) / self.observation_samples
        snapshots = (array[:, None] * parts[None, :, None]).astype(np.float32)
        count = len(array)
        return Rollouts(
            reward=np.zeros(count),
            reward_area=np.full(count, -1),
            steps=np.ones(count, np.int64),
            snapshots=snapshots,
            ground_truth=snapshots[:, -1].astype(float),
        )

    def observe(self, rollouts):
        corners = rollouts.snapshots.reshape(-1, 2).astype(int)
        pictures = np.full((len(corners), *self.observation_shape), 60, np.uint8)
        for picture, (row, column) in zip(pictures, corners, strict=True):
            picture[row : row + 4, column : column + 4] = 250
        return pictures.reshape(len(rollouts), self.observation_samples, *self.observation_shape)


class Vectors(Pictures):
    """Observes its snapshots, in units of very different size."""

    name = "vectors"
    observation_shape = (4,)
    observation_dtype = "float32"
    ground_truth_bounds = None

    def observe(self, rollouts):
        first, second = rollouts.snapshots[..., 0], rollouts.snapshots[..., 1]
        return np.stack([first, 1000 * second, first - second, np.ones_like(first)], axis=-1).astype(np.float32)


def rollouts_of(task, count=12, seed=0):
    return task.evaluate(np.random.default_rng(seed).uniform(-5, 5, (count, task.genome_size)))


PAPER = make_parameters("paper", {}, {})


def learned(task=None, **options):
    options = learning_options(PAPER) | {"max_epochs": 2, "samples": 3, "seed": SEED, "device": "cpu"} | options
    return LearnedSpace(task=task or Pictures(), **options)
