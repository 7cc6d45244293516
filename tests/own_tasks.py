"""Tasks as users write them, sound and unsound, for the tests of `check-task`."""

from __future__ import annotations

import numpy as np

from stax import RewardArea, Rollouts, Task
from stax.tasks.task import check_genomes


class PointTask(Task):
    """Vector observations, kept because they cannot be redrawn, and no ground truth."""

    name = "point"
    genome_size = 3
    observation_samples = 2
    observation_shape = (4,)
    observation_dtype = "float32"
    reward_areas = (RewardArea("anywhere"),)

    def evaluate(self, genomes):
        genomes = check_genomes(genomes, self.genome_size)
        reward = np.maximum(genomes[:, 0], 0.0)
        seen = np.tanh(np.stack([genomes[:, [0, 1, 2, 0]], genomes[:, [2, 1, 0, 1]]], axis=1)).astype(np.float32)
        return Rollouts(
            reward=reward,
            reward_area=np.where(reward > 0, 0, -1),
            steps=np.full(len(genomes), 7),
            snapshots=seen,
        )


class OptionTask(PointTask):
    def __init__(self, *, scale: float) -> None:
        self.scale = float(scale)


class AnyOptionTask(PointTask):
    def __init__(self, **options) -> None:
        self.options = options


class NamedAreaTask(PointTask):
    reward_areas = ("goal",)


class AreaWithoutRewardTask(PointTask):
    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward_area[:] = 0
        return rollouts


class FlatSnapshotsTask(PointTask):
    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        flat = rollouts.snapshots[:, 0, 0]
        return Rollouts(reward=rollouts.reward, reward_area=rollouts.reward_area, steps=rollouts.steps, snapshots=flat)


class NeverTask(PointTask):
    """Sound, but too hard for the policies tried."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[:] = 0
        rollouts.reward_area[:] = -1
        return rollouts


class TwinAreasTask(PointTask):
    reward_areas = (RewardArea("goal"), RewardArea("goal"))


class NumberNameTask(PointTask):
    name = 7


class OutsideTask(PointTask):
    ground_truth_bounds = ((0.0, 1.0),)

    def evaluate(self, genomes):
        r = super().evaluate(genomes)
        return Rollouts(r.reward, r.reward_area, r.steps, r.snapshots, np.full((len(r), 1), -3.0))


class FragileTask(PointTask):
    """Breaks towards the bounds."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[np.abs(genomes).max(axis=1) > 4] = np.nan
        return rollouts


class OverwritingTask(PointTask):
    def observe(self, rollouts):
        rollouts.snapshots[:] = 0
        return rollouts.snapshots


class WanderingTask(PointTask):
    def trajectory(self, genome):
        return np.random.default_rng().normal(size=(8, 2))


class NoisyTask(PointTask):
    """Not deterministic."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[:] += np.random.default_rng().uniform(size=len(rollouts))
        rollouts.reward_area[:] = 0
        return rollouts


class CountingTask(PointTask):
    """Depends on the place in the batch."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.steps[:] = 1 + np.arange(len(rollouts))
        return rollouts


class BatchTask(PointTask):
    """Normalises over the batch: a single policy looks different."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[:] /= max(rollouts.reward.max(), 1e-9)
        return rollouts


class NanRewardTask(PointTask):
    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[0] = np.nan
        return rollouts


class WrongAreaTask(PointTask):
    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward_area[:] = 5
        return rollouts


class WrongObservationTask(PointTask):
    observation_shape = (5,)


class WrongTypeTask(PointTask):
    observation_dtype = "uint8"


class MissingTruthTask(PointTask):
    ground_truth_bounds = ((0.0, 1.0), (0.0, 1.0))


class CarelessTask(PointTask):
    """Takes any genome, broken ones too."""

    def evaluate(self, genomes):
        return super().evaluate(np.nan_to_num(np.asarray(genomes)[:, :3]))


class MeddlingTask(PointTask):
    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        genomes[:] = 0
        return rollouts


class CrashingTask(PointTask):
    def evaluate(self, genomes):
        raise RuntimeError("the simulator is not connected")


class NothingTask(PointTask):
    def evaluate(self, genomes):
        return [1, 2, 3]


class NamelessTask(Task):
    genome_size = 0

    def evaluate(self, genomes):
        raise NotImplementedError


class TalkingTask(PointTask):
    """Prints to stdout, as simulators do."""

    def evaluate(self, genomes):
        print("hello from the simulator")
        return super().evaluate(genomes)
