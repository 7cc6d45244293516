"""A task that costs nothing and, while a file says so, goes wrong: for the tests of runs that survive."""

from __future__ import annotations

import ctypes
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from stax import RewardArea, Rollouts, Task
from stax.tasks.task import check_genomes

VARIABLE = "STAX_TEST_TROUBLE"
"""Names the file that says what goes wrong: as long as there is none, nothing does."""


class SquareTask(Task):
    """A point in a square, moved by six numbers; two areas of reward that are easy to find."""

    name = "square"
    genome_size = 6
    observation_samples = 3
    observation_shape = (4,)
    observation_dtype = "float32"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("near", (0.3, 0.3), 0.5), RewardArea("far", (-0.6, -0.2), 0.4))

    def evaluate(self, genomes):
        g = check_genomes(genomes, self.genome_size)
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
    """The same without a ground-truth descriptor."""

    name = "no truth"
    ground_truth_bounds = None

    def evaluate(self, genomes):
        return replace(super().evaluate(genomes), ground_truth=None)


def guilty(genomes, share: float):
    """Which policies go wrong: always the same ones, strewn over the space."""
    return np.abs(genomes[:, 0]) * 1000 % 1 < share


class TroubledTask(SquareTask):
    """Goes wrong as the file says: {"trouble": "raise", "share": 0.01} for some policies, {"pause": 0.1} for all.

    It makes a file named by "mark" when it begins to pause.
    """

    def evaluate(self, genomes):
        file = Path(os.environ.get(VARIABLE, ""))
        said = json.loads(file.read_text()) if file.is_file() else {}
        if "mark" in said:
            Path(said["mark"]).touch()
        time.sleep(said.get("pause", 0.0))
        rollouts = super().evaluate(genomes)
        wrong = guilty(np.asarray(genomes), said.get("share", 0.0))
        return getattr(self, f"_{said['trouble']}")(rollouts, wrong) if wrong.any() else rollouts

    def _raise(self, rollouts, wrong):
        raise RuntimeError("the arm fell off")

    def _hang(self, rollouts, wrong):
        time.sleep(1000)

    def _nan(self, rollouts, wrong):
        rollouts.reward[wrong] = np.nan
        return rollouts

    def _shape(self, rollouts, wrong):
        return replace(rollouts, ground_truth=rollouts.ground_truth[:, :1])

    def _crash(self, rollouts, wrong):
        ctypes.string_at(0)
