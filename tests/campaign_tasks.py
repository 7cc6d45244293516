"""Tasks for the tests of campaigns: cheap, quick to import, and held up or broken while a file is there."""

from __future__ import annotations

import os
import time
from pathlib import Path

from stax import Task
from toy_tasks import SquareTask


class PointTask(SquareTask):
    """The toy task. All batches of a process but the first wait while there is a file at the path HOLD."""

    name = "point"

    def evaluate(self, genomes):
        self.wait()
        return super().evaluate(genomes)

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
