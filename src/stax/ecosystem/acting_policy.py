"""A policy as a function from an observation to an action, ready for `env.step`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.compiling import announcing
from stax.ecosystem.policy_layers import checked_policy
from stax.errors import InvalidInputError
from stax.policies import act_each
from stax.tasks.gymnasium_task import GymnasiumTask
from stax.tasks.task import Task


def acting_policy(task: Task, genome: ArrayLike) -> Callable[[Any], Any]:
    """Return a policy as a function from an observation to an action.

    For a task `gym:ID` observations and actions are those of the environment; inputs are scaled and discrete actions chosen as in the
    search. For a built-in task they are those of `gymnasium.make("stax/HardMaze-v0")` and its siblings. The environments of
    `stax.envs` work, too, but round observations to 32 bits, so an episode may end slightly elsewhere. For any other task with
    `policy_sizes` they are the inputs and outputs of the network.

    Args:
        task: a task whose policies are networks.
        genome: the policy's genome, (genome_size,).
    """
    if isinstance(task, GymnasiumTask):
        return task.actor(genome)
    sizes, checked = checked_policy(task, genome)
    layers, row = np.array(sizes, np.int64), np.zeros(1, np.int64)

    def act(observation: ArrayLike) -> NDArray[np.float64]:
        inputs = np.asarray(observation, np.float64)
        if inputs.shape != (sizes[0],):
            raise InvalidInputError(
                f"A policy of task {task.name!r} takes an observation of {sizes[0]} numbers, not of shape {inputs.shape}."
            )
        outputs: NDArray[np.float64] = np.empty((1, sizes[-1]))
        with announcing("the policy network"):
            act_each(checked[None], row, layers, inputs[None], outputs)
        return outputs.reshape(-1)

    return act
