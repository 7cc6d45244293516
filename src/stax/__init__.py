"""STAX: discover and exploit sparse rewards in a learned behaviour space."""

from __future__ import annotations

from stax.errors import InvalidInputError
from stax.tasks import RewardArea, Rollouts, Task, make_task

__version__ = "0.1.0"

__all__ = ["InvalidInputError", "RewardArea", "Rollouts", "Task", "__version__", "make_task"]
