"""Runs: a search from its start to its result, kept in a folder from which it can be resumed and loaded."""

from __future__ import annotations

from stax.runs.result import Result, load
from stax.runs.run import RunInterrupted, resume, run

__all__ = ["Result", "RunInterrupted", "load", "resume", "run"]
