"""Tells Gymnasium of the three environments, without importing what they need.

Installed as an entry point of the group `gymnasium.envs` under the name `stax`, which becomes their namespace: Gymnasium calls
this when it is imported, and `gymnasium.make("stax/HardMaze-v0")` works without importing stax.
"""

from __future__ import annotations


def register() -> None:
    from gymnasium.envs.registration import register as register_one

    for name in ("Curling", "HardMaze", "RedundantArm"):
        register_one(id=f"{name}-v0", entry_point=f"stax.tasks.gymnasium_envs:{name}Env")
