"""Tasks some of whose policies cannot be described, and tasks that try to end the program."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from toy_tasks import SquareTask, strewn

SHARE = 0.1


class WildTask(SquareTask):
    """Some policies have an observation of this value; the observations have 64 bits."""

    def __init__(self, value: float = float("nan")) -> None:
        self.value = value

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        snapshots = rollouts.snapshots.astype(np.float64)
        snapshots[strewn(np.asarray(genomes), SHARE), 1, 2] = self.value
        return replace(rollouts, snapshots=snapshots)


class NoObservationsTask(SquareTask):
    """Fails to draw the observations of some policies."""

    def __init__(self, how: str = "raise") -> None:
        self.how = how

    def observe(self, rollouts):
        # The last number of the first observation is the first one of the genome, in 32 bits.
        if strewn(rollouts.snapshots[:, 0, 3:], SHARE).any():
            if self.how == "exit":
                sys.exit(0)
            raise ArithmeticError("the camera broke")
        return rollouts.snapshots


class OwnExit(BaseException):
    """An exception that is no `Exception`."""


EXITS = {"SystemExit": SystemExit, "GeneratorExit": GeneratorExit, "OwnExit": OwnExit}


class ExitingTask(SquareTask):
    """Tries to end the program.

    Args:
        where: the method that does so.
        how: what is raised.
    """

    def __init__(self, where: str = "evaluate", how: str = "SystemExit") -> None:
        self.where, self.how = where, how
        self._exit("make")

    def _exit(self, where: str) -> None:
        if self.where == where:
            raise EXITS[self.how](0)

    def evaluate(self, genomes):
        self._exit("evaluate")
        return super().evaluate(genomes)

    def scene(self, size=512):
        self._exit("scene")
        return

    def picture_place(self, ground_truth):
        self._exit("scene")
        return
