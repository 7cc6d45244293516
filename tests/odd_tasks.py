"""Tasks with odd options and odd outcomes, for the tests of what is refused before a run begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stax import RewardArea
from toy_tasks import SquareTask, strewn


class OptionsTask(SquareTask):
    """Takes any options."""

    name = "options"

    def __init__(self, **options) -> None:
        self.options = options


class WideTask(OptionsTask):
    """Has a description of hundreds of kilobytes."""

    name = "wide"
    reward_areas = tuple(RewardArea(f"area {number:04d} {'x' * 180}", (0.3, 0.3), 0.5) for number in range(1000))


SNAPSHOTS = {
    "complex": lambda seen: seen.astype(np.complex128),
    "text": lambda seen: seen.astype("U8"),
    "bytes": lambda seen: seen.astype("S8"),
    "dates": lambda seen: (seen * 1000).astype("datetime64[s]"),
    "durations": lambda seen: (seen * 1000).astype("timedelta64[s]"),
    "objects": lambda seen: seen.astype(object),
    "structures": lambda seen: np.zeros(seen.shape, [("a", "f8"), ("b", "i4")]),
    "longdouble": lambda seen: seen.astype(np.longdouble),
    "bool": lambda seen: seen > 0,
    "int8": lambda seen: (seen * 100).astype(np.int8),
    "float16": lambda seen: seen.astype(np.float16),
    "float64": lambda seen: seen.astype(np.float64),
}


class SnapshotsTask(SquareTask):
    """Keeps snapshots of another type, and turns them into observations where that can be done."""

    name = "snapshots"

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        return replace(rollouts, snapshots=SNAPSHOTS[self.kind](rollouts.snapshots))

    def observe(self, rollouts):
        kept = rollouts.snapshots
        return kept.astype(np.float32) if kept.dtype.kind in "biuf" else np.zeros(kept.shape, np.float32)


class LoudTask(SquareTask):
    """Fails with a text of megabytes."""

    name = "loud"

    def evaluate(self, genomes):
        raise RuntimeError("no " * 7_000_000)


class SometimesLoudTask(SquareTask):
    """Fails so at a few policies."""

    name = "sometimes loud"

    def evaluate(self, genomes):
        if strewn(genomes, 0.02).any():
            raise RuntimeError("no " * 7_000_000)
        return super().evaluate(genomes)


class FarTask(SquareTask):
    """Ends so far away that squared distances overflow."""

    name = "far"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        return replace(rollouts, ground_truth=rollouts.ground_truth * 1e200)
