"""Tasks that go wrong in every way there is; the first number of a genome says in which."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from stax import RewardArea, Rollouts, Task

TROUBLES = (
    "raise",
    "nan",
    "negative",
    "infinite truth",
    "reported",
    "hang",
    "segfault",
    "leave",
    "kill once",
    "other length",
    "other shape",
    "no rollouts",
    "other snapshots",
    "name a number",
)


class MoodyTask(Task):
    """A point that ends where its genome says, unless its first number is above 9."""

    name = "moody"
    genome_size = 3
    observation_samples = 2
    observation_shape = (4,)
    observation_dtype = "float32"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("anywhere"),)

    def __init__(self, marker: str = "") -> None:
        self.marker = marker
        """A file that remembers, beyond a worker's death, that it has been killed."""

    def evaluate(self, genomes):
        genomes = np.array(genomes)
        wrong = {trouble: genomes[:, 0] == code(trouble) for trouble in TROUBLES}
        self._go_wrong({trouble: rows for trouble, rows in wrong.items() if rows.any()}, genomes)
        truth = np.tanh(genomes[:, 1:])
        reward = np.maximum(truth[:, 0], 0.0)
        seen = np.stack([genomes[:, [0, 1, 2, 0]], genomes[:, [2, 1, 0, 1]]], axis=1).astype(np.float32)
        rollouts = Rollouts(reward, np.where(reward > 0, 0, -1), np.full(len(genomes), 7), seen, truth)
        rollouts.reward[wrong["nan"]] = np.nan
        rollouts.reward[wrong["negative"]] = -1
        rollouts.ground_truth[wrong["infinite truth"]] = np.inf
        if wrong["other length"].any():
            rollouts = rollouts.take(slice(1, None))
        if wrong["other shape"].any():
            rollouts = replace(rollouts, ground_truth=rollouts.ground_truth[:, :1])
        if wrong["no rollouts"].any():
            return rollouts.reward
        if wrong["other snapshots"].any():
            rollouts = replace(rollouts, snapshots=rollouts.snapshots[:, :, :1])
        return replace(rollouts, failed=wrong["reported"]) if wrong["reported"].any() else rollouts

    def _go_wrong(self, wrong, genomes):
        if "raise" in wrong:
            raise ValueError("the arm\nfell off")
        if "name a number" in wrong:
            raise ValueError(f"no place for {genomes[wrong['name a number']][0, 1]}")
        if "hang" in wrong:
            if self.marker:
                Path(self.marker).write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
            while True:
                time.sleep(0.01)
        if "segfault" in wrong:
            ctypes.string_at(0)
        if "leave" in wrong:
            os._exit(3)
        if "kill once" in wrong and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)


class PlaceTask(MoodyTask):
    """Tells where it is evaluated: the process is the number of its steps, the threads are the reward."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.steps[:] = os.getpid()
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        rollouts.reward[:] = sum(int(os.environ.get(name, 100)) for name in names)
        rollouts.reward_area[:] = 0
        return rollouts


class SlowToMakeTask(MoodyTask):
    """As one that loads a large simulator."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        if multiprocessing.parent_process():
            time.sleep(seconds)


class TalkingTask(MoodyTask):
    def evaluate(self, genomes):
        print("hello from the simulator")
        os.system("echo hello from a shell")
        return super().evaluate(genomes)


class AtHomeTask(MoodyTask):
    """Can only be made in the process that it was first made in."""

    def __init__(self) -> None:
        super().__init__()
        if "pytest" not in sys.modules or os.getpid() != int(os.environ.setdefault("STAX_TEST_HOME", str(os.getpid()))):
            raise RuntimeError("far from home")


class SuicidalTask(MoodyTask):
    """Kills every process that makes it but the first."""

    def __init__(self) -> None:
        super().__init__()
        if os.getpid() != int(os.environ.setdefault("STAX_TEST_HOME", str(os.getpid()))):
            os.kill(os.getpid(), signal.SIGKILL)


def code(trouble: str) -> float:
    return 10.0 + TROUBLES.index(trouble)


def some_genomes(count: int, **troubled: str) -> np.ndarray:
    """Sound genomes, but for those at the places given as `at_<place>=trouble`."""
    genomes = np.random.default_rng(count).normal(size=(count, 3))
    for place, trouble in troubled.items():
        genomes[int(place.removeprefix("at_")), 0] = code(trouble)
    return genomes


class FragileTask(MoodyTask):
    """Raises for a fifth of all genomes, and returns nonsense for some more."""

    def evaluate(self, genomes):
        last_digits = np.abs(np.asarray(genomes)[:, 1]) * 1000 % 1
        if (last_digits < 0.15).any():
            raise ArithmeticError("it broke")
        rollouts = super().evaluate(genomes)
        rollouts.reward[last_digits > 0.95] = np.nan
        return rollouts
