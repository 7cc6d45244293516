"""Recorded runs done again, and compared with their records by digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stax.analysis.records.record import DIGESTS, Record
from stax.compiling import available_threads
from stax.runs.config import RunConfig
from stax.runs.digests import result_digests
from stax.runs.run import begin
from stax.tasks import BUILT_IN


@dataclass(frozen=True)
class Verified:
    """A recorded run that was done again."""

    record: Record
    differing: list[str]
    """Names of `DIGESTS` in which the run differs from its record."""
    failure: str = ""
    """Why the run could not be done again."""
    otherwise: str = ""
    """Sentence on how this installation computes differently from the one of the record; empty if it does not."""

    @property
    def agrees(self) -> bool:
        return not self.differing and not self.failure


def can_be_verified(record: Record) -> bool:
    """Return whether a run can be done again from its record alone, without code that is not ours."""
    return record.config.task in BUILT_IN and not record.config.code and not record.config.objects


def chosen_records(records: Sequence[Record], count: int, seed: int) -> list[Record]:
    """Draw some of the records that can be verified, all if there are no more; the same seed draws the same."""
    possible = sorted((record for record in records if can_be_verified(record)), key=lambda record: record.path.name)
    if count >= len(possible):
        return possible
    rows = np.random.default_rng(seed).choice(len(possible), count, replace=False, shuffle=False)
    return [possible[row] for row in sorted(rows)]


def verify(records: Sequence[Record]) -> Iterator[Verified]:
    """Do the runs of these records again, in memory and one after the other, and compare what they find."""
    for record in records:
        # The number of cores does not change results, and the cluster of a record may not be ours.
        config = replace(record.config, workers=available_threads(), backend="local", address=None)
        try:
            result = begin(config)
        except (RuntimeError, MemoryError) as error:
            yield Verified(record, [], failure=str(error) or type(error).__name__)
            continue
        found = result_digests(result)
        differing = [name for name in DIGESTS if found[name] != record.digests[name]]
        yield Verified(record, differing, otherwise=_otherwise(record, result.config))


def _otherwise(record: Record, now: RunConfig) -> str:
    """Say in what this installation computes otherwise than the one that the record is of."""
    was, words = record.config, []
    if was.results_version is not None and now.results_version != was.results_version:
        words.append(f"results version {was.results_version}, and this version of stax computes {now.results_version}")
    if was.numerics is not None and now.numerics != was.numerics:
        words.append(f"{was.numerics} numerics, and here they are {now.numerics}")
    return f"The record is of {'; it has '.join(words)}." if words else ""
