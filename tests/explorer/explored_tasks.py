"""Tasks as strangers write them, for the tests of `stax explore`."""

from __future__ import annotations

import os

import numpy as np

from stax import RewardArea
from toy_tasks import SquareTask

EVIL = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>"


class EvilTask(SquareTask):
    """Names that would be code in a page that trusted them, and a film."""

    name = EVIL
    reward_areas = (RewardArea(EVIL, (0.3, 0.3), 0.5), RewardArea("<b>far</b>", (-0.6, -0.2), 0.4))

    def trajectory(self, genome):
        return np.linspace(0, 1, 10)[:, None]

    def render(self, state, size=512, *, trail=None):
        return np.full((size, size, 3), round(255 * (1 - state[0])), np.uint8)


class CrashingTask(EvilTask):
    """Ends its process when it is drawn."""

    name = "crashing"

    def render(self, state, size=512, *, trail=None):
        os._exit(3)
