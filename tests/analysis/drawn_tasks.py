"""Tasks as users write them that can be replayed, or nearly."""

from __future__ import annotations

import numpy as np

from own_tasks import PointTask


class SlidingTask(PointTask):
    """A grey level that slides from white to black."""

    name = "sliding"

    def trajectory(self, genome):
        return np.linspace(0, 1, 8)[:, None]

    def render(self, state, size=512, *, trail=None):
        return np.full((size, size, 3), round(255 * (1 - state[0])), np.uint8)


class TalkingSlidingTask(SlidingTask):
    """Prints, as simulators do."""

    def trajectory(self, genome):
        print("hello from the simulator")
        return super().trajectory(genome)


class PaperTask(SlidingTask):
    """Draws a picture of another size than it was asked for."""

    def render(self, state, size=512, *, trail=None):
        return np.zeros((size, size + 1, 3), np.uint8)


class BrokenPenTask(SlidingTask):
    def render(self, state, size=512, *, trail=None):
        raise OSError("the pen is broken")


class FlatTask(SlidingTask):
    def trajectory(self, genome):
        return np.zeros(8)
