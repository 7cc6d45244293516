"""Registration of the three environments with Gymnasium, without importing what they need.

`import stax` calls it. It therefore imports Gymnasium, but neither Numba nor torch, so that `stax --help` answers in a quarter
of a second.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

ENVIRONMENTS = {
    "curling": "stax/Curling-v0",
    "hard-maze": "stax/HardMaze-v0",
    "redundant-arm": "stax/RedundantArm-v0",
}
"""The Gymnasium id of each built-in task."""

_CLASSES = {"stax/Curling-v0": "CurlingEnv", "stax/HardMaze-v0": "HardMazeEnv", "stax/RedundantArm-v0": "RedundantArmEnv"}


def register_environments() -> None:
    """Register the three environments, so that `gymnasium.make` finds them; a second call does nothing."""
    for environment, class_name in _CLASSES.items():
        if environment not in registry:
            register(id=environment, entry_point=f"stax.tasks.gymnasium_envs:{class_name}")
