"""The toy task, going wrong while a file says so: for tests of runs that survive failures."""

from __future__ import annotations

import ctypes
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from toy_tasks import SquareTask, strewn

VARIABLE = "STAX_TEST_TROUBLE"
"""Names the file that says what goes wrong: as long as there is none, nothing does."""


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
        wrong = strewn(np.asarray(genomes), said.get("share", 0.0))
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


class BusyTask(SquareTask):
    """Takes 0.02 s of a processor for each policy."""

    def evaluate(self, genomes):
        end = time.process_time() + 0.02 * len(genomes)
        while time.process_time() < end:
            pass
        return super().evaluate(genomes)
