"""Runs: a search with evaluations on this machine, from its start to its result."""

from __future__ import annotations

from stax.runs.result import Result
from stax.runs.run import run

__all__ = ["Result", "run"]
