"""Tasks that cost nothing, for runs that are measured."""

from __future__ import annotations

import numpy as np

from stax import RewardArea, Rollouts, Task
from stax.tasks.task import area_rewards, check_genomes


class SquareTask(Task):
    """A point in a square, with two areas of reward."""

    name = "square"
    genome_size = 4
    observation_samples = 2
    observation_shape = (3,)
    observation_dtype = "float32"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("near", (0.3, 0.3), 0.5), RewardArea("far", (-0.7, -0.7), 0.3))

    def evaluate(self, genomes):
        genes = check_genomes(genomes, self.genome_size)
        truth = np.tanh(0.4 * genes[:, :2] + 0.2 * genes[:, 2:])
        reward, area = area_rewards(truth, self.reward_areas)
        seen = np.stack([truth, 0.5 * truth], axis=1)
        seen = np.concatenate([seen, np.sin(3 * seen[:, :, :1])], axis=2).astype(np.float32)
        return Rollouts(reward, area, np.full(len(genes), 3), seen, truth)


class FallibleTask(SquareTask):
    """One evaluation in a few fails, and says that it earned and reached what nobody else did."""

    name = "fallible"

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        failed = np.asarray(genomes)[:, 3] > 0.9
        truth = np.where(failed[:, None], 0.999, rollouts.ground_truth)
        reward, area = np.where(failed, 50.0, rollouts.reward), np.where(failed, 0, rollouts.reward_area)
        return Rollouts(reward, area, rollouts.steps, rollouts.snapshots, truth, failed)


class NowhereTask(SquareTask):
    """Without a ground truth."""

    name = "nowhere"
    ground_truth_bounds = None

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        return Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, rollouts.snapshots)
