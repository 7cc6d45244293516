"""Tasks that start processes, hold Python's global lock, or hang while they are made."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import time
from pathlib import Path

import numpy as np
from moody_tasks import MoodyTask


class ForkingTask(MoodyTask):
    """Forks a process that stays, and dies itself.

    Args:
        pids: file that gets the ids of the forked processes, one a line.
        fork: how to fork: by "python", which calls the functions registered for forks, or by "c", which does not.
    """

    def __init__(self, pids: str, fork: str = "python") -> None:
        super().__init__()
        self.pids, self.fork = pids, fork

    def evaluate(self, genomes):
        pid = os.fork() if self.fork == "python" else ctypes.PyDLL(None).fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        with Path(self.pids).open("a") as file:
            file.write(f"{pid}\n")
        os._exit(3)


class HangingToMakeTask(MoodyTask):
    """Hangs while it is made, except in the process of this id."""

    def __init__(self, home: int) -> None:
        super().__init__()
        if os.getpid() != home:
            time.sleep(1000)


class LockHoldingTask(MoodyTask):
    """Starts a process, writes its own id and that of the process to a file, and then holds Python's global lock for ever."""

    def __init__(self, pids: str) -> None:
        super().__init__()
        self.pids = pids

    def evaluate(self, genomes):
        child = subprocess.Popen(["sleep", "1000"])
        part = Path(f"{self.pids}.part")
        part.write_text(f"{os.getpid()} {child.pid}")
        part.rename(self.pids)
        ctypes.PyDLL(None).sleep(1000)


class ParallelTask(MoodyTask):
    """Computes its rewards in processes of its own; its steps are the id of the worker."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            rollouts.reward[:] = pool.map(abs, np.asarray(genomes)[:, 1].tolist())
        rollouts.reward_area[:] = 0
        rollouts.steps[:] = os.getpid()
        return rollouts


class LeavingProcessesTask(MoodyTask):
    """Starts a process that is never ended; its steps are the id of the worker."""

    def evaluate(self, genomes):
        subprocess.Popen(["sleep", "1000"])
        rollouts = super().evaluate(genomes)
        rollouts.steps[:] = os.getpid()
        return rollouts


class ForkLeavingTask(MoodyTask):
    """Forks a process that stays, and writes its id to a file."""

    def __init__(self, pids: str) -> None:
        super().__init__()
        self.pids = pids

    def evaluate(self, genomes):
        if not Path(self.pids).exists():
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            Path(self.pids).write_text(str(pid))
        return super().evaluate(genomes)
