"""STAX: discover and exploit sparse rewards in a learned behaviour space."""

from __future__ import annotations

from stax.errors import InvalidInputError
from stax.tasks import RewardArea, Rollouts, Task, make_task
from stax.tasks.gymnasium_registration import register_environments
from stax.tasks.task import check_genomes

__version__ = "0.1.0"

__all__ = ["InvalidInputError", "RewardArea", "Rollouts", "Task", "__version__", "check_genomes", "make_task"]

# `import stax` is all that gymnasium.make("stax/HardMaze-v0") needs.
register_environments()
