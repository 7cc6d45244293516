"""Tasks for the tests of campaigns: cheap, quick to import, and held up or broken while a file is there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from stax import RewardArea, Rollouts, Task
from stax.tasks.task import check_genomes


class PointTask(Task):
    """A point in a square. All batches of a process but the first wait while there is a file at the path HOLD."""

    name = "point"
    genome_size = 4
    observation_samples = 2
    observation_shape = (3,)
    observation_dtype = "float32"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("corner", (0.8, 0.8), 0.4), RewardArea("edge", (-0.9, 0.0), 0.2))

    def evaluate(self, genomes):
        genomes = check_genomes(genomes, self.genome_size)
        self.wait()
        truth = np.tanh(genomes[:, :2] - 0.3 * genomes[:, 2:])
        distance = np.stack([np.hypot(*(truth - area.center).T) / area.radius for area in self.reward_areas], axis=1)
        area = distance.argmin(axis=1)
        reward = np.maximum(1 - distance.min(axis=1), 0.0)
        seen = np.stack([np.tanh(genomes[:, :3]), np.tanh(genomes[:, 1:])], axis=1).astype(np.float32)
        return Rollouts(reward, np.where(reward > 0, area, -1), np.full(len(genomes), 5), seen, truth)

    def wait(self) -> None:
        _wait(self, os.environ.get("HOLD", ""))


def _wait(task: Task, hold: str) -> None:
    batches = getattr(task, "batches_seen", 0)
    deadline = time.monotonic() + 120
    while hold and batches and Path(hold).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    task.batches_seen = batches + 1


class HeldTask(PointTask):
    """The same with the file as an option, for workers that do not have our environment."""

    def __init__(self, *, hold: str) -> None:
        self.hold = hold

    def wait(self) -> None:
        _wait(self, self.hold)


class BrokenTask(PointTask):
    """Raises from the beginning or after some batches, while the file named by BROKEN_WHILE exists."""

    def __init__(self, *, batches: int = 0) -> None:
        self.batches = int(batches)
        self._done = 0

    def evaluate(self, genomes):
        if self._done >= self.batches and Path(os.environ.get("BROKEN_WHILE", "/")).exists():
            print("oh dear")
            raise ArithmeticError("the arm has come off")
        self._done += 1
        return super().evaluate(genomes)


class AbsentTask(PointTask):
    def __init__(self) -> None:
        raise OSError("no such robot")
