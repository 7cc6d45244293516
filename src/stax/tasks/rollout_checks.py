"""What a task, or a user's own evaluation, must not return."""

from __future__ import annotations

import numpy as np

from stax.errors import InvalidInputError
from stax.tasks.task import Rollouts, Task


def check_rollouts(rollouts: Rollouts, count: int, task: Task) -> None:
    """Refuses what a task or a user's own evaluation must not return. Values of failed evaluations are not looked at."""
    if not isinstance(rollouts, Rollouts):
        raise InvalidInputError(f"tell takes stax.Rollouts, not {type(rollouts).__name__}.")
    check_arrays(rollouts, count, task)
    _check_values(rollouts, count, task)


def check_arrays(rollouts: Rollouts, count: int, task: Task) -> None:
    """Refuses rollouts whose arrays have the wrong shape or type, or are missing."""
    if len(rollouts) != count:
        raise InvalidInputError(f"{count} genomes were asked for, but {len(rollouts)} rollouts came back.")
    columns = [("reward", "fiu", "numbers"), ("reward_area", "iu", "whole numbers"), ("steps", "iu", "whole numbers")]
    if rollouts.failed is not None:
        columns.append(("failed", "b", "truth values"))
    for name, kinds, content in columns:
        column = np.asarray(getattr(rollouts, name))
        if column.ndim != 1 or column.dtype.kind not in kinds:
            raise InvalidInputError(
                f"Task {task.name!r} must return {name} as a 1-D array of {content}, not of shape {column.shape} and dtype {column.dtype}."
            )
    snapshots = np.shape(rollouts.snapshots)
    if snapshots[:2] != (count, task.observation_samples):
        raise InvalidInputError(
            f"Task {task.name!r} must return snapshots whose shape begins with {(count, task.observation_samples)}"
            f" (policies, observation samples), not {snapshots}."
        )
    if task.ground_truth_bounds is None:
        if rollouts.ground_truth is not None:
            raise InvalidInputError(f"Task {task.name!r} has no ground-truth bounds, but its rollouts have a ground_truth.")
        return
    if rollouts.ground_truth is None:
        raise InvalidInputError(f"Task {task.name!r} has ground-truth bounds, but its rollouts have no ground_truth.")
    shape, ground_truth = (count, len(task.ground_truth_bounds)), np.asarray(rollouts.ground_truth)
    if ground_truth.shape != shape:
        raise InvalidInputError(
            f"Task {task.name!r} must return a ground_truth of shape {shape} with finite numbers, not of shape {ground_truth.shape}."
        )
    if ground_truth.dtype.kind not in "fiu":
        raise InvalidInputError(
            f"Task {task.name!r} must return a ground_truth of finite numbers, not of dtype {ground_truth.dtype}."
        )


def _check_values(rollouts: Rollouts, count: int, task: Task) -> None:
    counts = ~rollouts.failures()
    reward, area = np.asarray(rollouts.reward), np.asarray(rollouts.reward_area)
    wrong = np.flatnonzero(counts & (~np.isfinite(reward) | (reward < 0)))
    if len(wrong):
        raise InvalidInputError(
            f"Task {task.name!r} returned a reward of {reward[wrong[0]]} for policy {wrong[0]} of {count};"
            " rewards must be finite and not negative."
        )
    wrong = np.flatnonzero(counts & ((area < -1) | (area >= len(task.reward_areas))))
    if len(wrong):
        raise InvalidInputError(
            f"Task {task.name!r} returned reward area {area[wrong[0]]} for policy {wrong[0]} of {count};"
            f" it has the areas 0 to {len(task.reward_areas) - 1}, and -1 stands for none."
        )
    wrong = np.flatnonzero(counts & (reward > 0) & (area == -1))
    if len(wrong):
        raise InvalidInputError(
            f"Task {task.name!r} returned a reward of {reward[wrong[0]]} for policy {wrong[0]} of {count} without a reward area;"
            " rewarded policies must have one."
        )
    if rollouts.ground_truth is not None and not np.isfinite(np.asarray(rollouts.ground_truth)[counts]).all():
        shape = np.shape(rollouts.ground_truth)
        raise InvalidInputError(
            f"Task {task.name!r} must return a ground_truth of shape {shape} with finite numbers,"
            f" not of shape {shape} with nan or infinity in it."
        )
