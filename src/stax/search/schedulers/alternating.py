"""The paper's scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stax.search.schedulers.scheduler import Chunk, Scheduler
from stax.search.vocabulary import Phase


class AlternatingScheduler(Scheduler):
    """The paper's scheduler (Algorithm 1): exploration and exploitation by turns."""

    name = "alternating"
    about = "exploration and exploitation by turns, as in the paper"

    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        return Phase.EXPLOITATION if course[-1].phase == Phase.EXPLORATION else Phase.EXPLORATION
