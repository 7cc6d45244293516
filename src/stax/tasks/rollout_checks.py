"""Checks of rollouts, done for every batch that a task, or a user's own evaluation, returns.

Every array must hold truth values, integers or floating-point numbers of at most 64 bits. These can be written to a run's folder and
read back; text, complex numbers, dates, structures and objects cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER
from stax.tasks.task import Rollouts, Task


def check_rollouts(rollouts: Rollouts, count: int, task: Task) -> None:
    """Raise an error for rollouts that cannot be used. Values of failed evaluations are not checked."""
    if not isinstance(rollouts, Rollouts):
        raise InvalidInputError(f"tell takes stax.Rollouts, not {type(rollouts).__name__}.")
    check_arrays(rollouts, count, task)
    _check_values(rollouts, count, task)


def array_problem(name: str, given: Any) -> str:
    """Return why an array of rollouts cannot be stored, or empty text if it can be or is None."""
    if given is None:
        return ""
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        return f"{name} must be an array of numbers, not rows of different lengths"
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return f"{name} must be truth values, integers or floating-point numbers of at most 64 bits, not of dtype {array.dtype}"
    return ""


def usable_rewards(reward: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (n,) which rewards a search can use: finite, not negative, and not so large that sums of them overflow."""
    return np.asarray((reward >= 0) & (reward <= LARGEST_NUMBER))


def usable_ground_truth(ground_truth: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (n,) which ground-truth descriptors (n, d) a search can use: finite, with distances that do not overflow."""
    return np.asarray((np.abs(ground_truth) <= LARGEST_NUMBER).all(axis=1))


def check_arrays(rollouts: Rollouts, count: int, task: Task) -> None:
    """Raise an error for rollouts whose arrays have the wrong shape or dtype, or are missing."""
    if len(rollouts) != count:
        raise InvalidInputError(f"{count} genomes were asked for, but {len(rollouts)} rollouts came back.")
    for name in ("reward", "reward_area", "steps", "snapshots", "ground_truth", "failed"):
        problem = array_problem(name, getattr(rollouts, name))
        if problem:
            raise InvalidInputError(f"Task {task.name!r} returned arrays that cannot be kept: {problem}.")
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
    wrong = np.flatnonzero(counts & ~usable_rewards(reward))
    if len(wrong):
        too_large = LARGEST_NUMBER < reward[wrong[0]] < np.inf
        allowed = f"at most {LARGEST_NUMBER:g}" if too_large else "finite and not negative"
        raise InvalidInputError(
            f"Task {task.name!r} returned a reward of {reward[wrong[0]]} for policy {wrong[0]} of {count};"
            f" rewards must be {allowed}."
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
    if rollouts.ground_truth is None:
        return
    ground_truth = np.asarray(rollouts.ground_truth)
    wrong = np.flatnonzero(counts & ~usable_ground_truth(ground_truth))
    if len(wrong):
        shape, finite = ground_truth.shape, np.isfinite(ground_truth[wrong[0]]).all()
        found = f"numbers beyond {LARGEST_NUMBER:g}" if finite else "nan or infinity"
        raise InvalidInputError(
            f"Task {task.name!r} must return a ground_truth of shape {shape} with finite numbers, not of shape {shape} with {found} in"
            f" it: policy {wrong[0]} of {count} has {shown(ground_truth[wrong[0]].tolist())}."
        )
