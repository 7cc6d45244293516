"""The built-in tasks for reinforcement learning with Stable-Baselines3 and its kind.

    import stax.envs
    from stable_baselines3 import PPO

    PPO("MlpPolicy", stax.envs.make("hard-maze")).learn(100_000)

`gymnasium.make("stax/HardMaze-v0")` gives the environments as they are, with the 64-bit actions that a search's trajectories need. Learners
want 32 bits everywhere, pictures as an option, and to be told in `info` whether an episode was a success. The reward stays as sparse as the
task's: once, at the end of an episode that ends in a reward area.
"""

from __future__ import annotations

from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stax.constraints import check_choice
from stax.errors import InvalidInputError, in_one_line
from stax.tasks.gymnasium_envs import TaskEnv
from stax.tasks.gymnasium_registration import ENVIRONMENTS

OBSERVATIONS = ("vector", "pictures")

Env = gymnasium.Env[NDArray[Any], NDArray[Any]]


class TrainingEnv(gymnasium.Wrapper[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]):
    """One of the built-in environments as learners want it.

    Actions are float32 in [-1, 1]. Observations are the environment's numbers as float32, or what the search's autoencoder sees: 64 x 64
    pictures as uint8, channels last. At the end of an episode `info["is_success"]` tells whether it was rewarded; `info` also has
    `ground_truth`, `reward_area` and `steps`.

    Args:
        env: one of `stax/Curling-v0`, `stax/HardMaze-v0` and `stax/RedundantArm-v0`.
        observations: "vector" or "pictures".
    """

    def __init__(self, env: Env, *, observations: str = "vector") -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, TaskEnv):
            raise InvalidInputError(f"TrainingEnv is for {', '.join(ENVIRONMENTS.values())}, not for {env}.")
        self._task_env = env.unwrapped
        self._pictures = check_choice("observations", observations, OBSERVATIONS) == "pictures"
        actions, observed = cast(spaces.Box, env.action_space), cast(spaces.Box, env.observation_space)
        self.action_space = _in_32_bits(actions)
        shape = self._task_env.task.observation_shape
        self.observation_space = spaces.Box(0, 255, shape, np.uint8) if self._pictures else _in_32_bits(observed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observed(observation), info

    def step(self, action: NDArray[Any]) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(np.asarray(action, np.float64))
        if terminated or truncated:
            info = {**info, "is_success": float(reward) > 0}
        return self._observed(observation), float(reward), terminated, truncated, info

    def _observed(self, observation: NDArray[Any]) -> NDArray[Any]:
        return self._task_env.picture() if self._pictures else observation.astype(np.float32)


def _in_32_bits(box: spaces.Box) -> spaces.Box:
    return spaces.Box(box.low.astype(np.float32), box.high.astype(np.float32), dtype=np.float32)


def make(task: str, *, observations: str = "vector", **options: Any) -> TrainingEnv:
    """Make a built-in task as an environment to train on.

    Args:
        task: "curling", "hard-maze" or "redundant-arm".
        observations: "vector", or "pictures" of 64 x 64 pixels.
        options: of the environment: `sensors` of HardMaze, `render_mode`, `render_size`.
    """
    check_choice("task", task, tuple(ENVIRONMENTS))
    try:
        env = gymnasium.make(ENVIRONMENTS[task], **options)
    except TypeError as error:
        raise InvalidInputError(f"The environment of {task} cannot be made: {in_one_line(error)}.") from None
    return TrainingEnv(env, observations=observations)
