"""Where evaluations run, and what happens when one fails."""

from __future__ import annotations

from stax.evaluation.evaluator import Evaluator, make_evaluator
from stax.evaluation.source import TaskSource

__all__ = ["Evaluator", "TaskSource", "make_evaluator"]
