"""The states of a run."""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    """The state of a run. `summary.json` holds one of `WRITTEN_STATUSES`; the others are concluded from the folder."""

    NOT_BEGUN = "not begun"
    """There is no summary yet."""
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """Stopped on request, with everything saved."""
    FAILED = "failed"
    FINISHED = "finished"
    KILLED = "killed"
    """The summary says that the run is running, but its process is gone."""
    ELSEWHERE = "elsewhere"
    """In a campaign: a process that is not the campaign's works on the run."""


WRITTEN_STATUSES = (RunStatus.RUNNING, RunStatus.INTERRUPTED, RunStatus.FAILED, RunStatus.FINISHED)
"""Statuses that a summary may hold."""
WITH_RESULTS = (RunStatus.FINISHED, RunStatus.INTERRUPTED)
"""Statuses of runs that have written archives, ledger and emitters."""
