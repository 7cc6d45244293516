"""MiniGrid's DoorKey as an environment that also reports where the agent is.

`gym:door_key:DoorKey-v0` is the task; run it in this folder, or with this folder on PYTHONPATH. It needs `pip install minigrid`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import minigrid  # noqa: F401 (registers its environments)
import numpy as np
from gymnasium import spaces


class DoorKey(gymnasium.Wrapper[Any, Any, Any, Any]):
    """DoorKey without the text of the mission, and with the agent's column and row in `info`.

    Args:
        size: cells of each side of the room, walls included; MiniGrid has 5, 6, 8 and 16.
    """

    def __init__(self, size: int = 6, **options: Any) -> None:
        super().__init__(gymnasium.make(f"MiniGrid-DoorKey-{size}x{size}-v0", **options))
        parts = self.env.observation_space
        assert isinstance(parts, spaces.Dict)
        # MiniGrid declares values up to 255, but its codes of objects, colours and states end at 10. With these bounds,
        # `task.inputs = "scaled"` tells them apart.
        image = spaces.Box(0, 10, parts["image"].shape, np.uint8)
        self.observation_space = spaces.Dict({"image": image, "direction": parts["direction"]})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._seen(observation), {**info, **self._place()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._seen(observation), reward, terminated, truncated, {**info, **self._place()}

    def _seen(self, observation: Any) -> dict[str, Any]:
        return {name: observation[name] for name in ("image", "direction")}

    def _place(self) -> dict[str, float]:
        column, row = getattr(self.env.unwrapped, "agent_pos")  # noqa: B009 (MiniGrid's environments have it, Gymnasium's type does not)
        return {"column": float(column), "row": float(row)}


gymnasium.register("DoorKey-v0", entry_point=DoorKey)
