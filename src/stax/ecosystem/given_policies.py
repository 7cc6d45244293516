"""Policies from tables and archives of other libraries, checked and completed with the columns that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.search.policy_set import PolicySet
from stax.tasks.task import Task, area_rewards

_UNKNOWN = {"parent": -1, "born": 0, "origin": 0, "emitter": -1, "steps": 0}
"""Values for unknown integers."""
_MOST_EVALUATIONS = 2**62
"""Limit on ids. No run has so many evaluations; ids from other runs are accepted."""


def given_policies(columns: Mapping[str, NDArray[Any]], task: Task, what: str) -> PolicySet:
    """Make a set of policies of a task from some of its columns, or raise an error that says what is wrong.

    `genome` and `reward` are required, and `ground_truth` if the task has one. Other missing columns are filled in: ids are counted
    from 0, `parent` and `emitter` are -1, `novelty` and `surprise` are nan, `descriptor` and `snapshots` have no numbers.

    Args:
        columns: arrays by the names of the columns of `PolicySet`.
        task: the task of the policies.
        what: the source of the policies, for error messages.
    """
    needed = ["genome", "reward"] + ([] if task.ground_truth_bounds is None else ["ground_truth"])
    missing = [name for name in needed if name not in columns]
    if missing:
        raise InvalidInputError(f"{what} has no {' and no '.join(missing)}, which policies of task {task.name!r} must have.")
    rows = len(columns["reward"])
    for name in needed:
        _check_numbers(name, columns[name], what)
    if rows and columns["reward"].min() < 0:
        raise InvalidInputError(f"{what} has the reward {columns['reward'].min()}; rewards must not be negative.")
    unknown: dict[str, NDArray[Any]] = {
        "id": np.arange(rows),
        **{name: np.full(rows, value) for name, value in _UNKNOWN.items()},
        "ground_truth": np.empty((rows, 0)),
        "descriptor": np.empty((rows, 0)),
        "snapshots": np.empty((rows, task.observation_samples, 0)),
        "novelty": np.full(rows, np.nan),
        "surprise": np.full(rows, np.nan),
    }
    known = {**unknown, **columns}
    if "reward_area" not in known:
        known["reward_area"] = _reward_areas(known["reward"], known["ground_truth"], task, what)
    numbers, counts = np.unique(known["id"], return_counts=True)
    if rows and counts.max() > 1:
        raise InvalidInputError(f"{what} has the id {numbers[counts.argmax()]} {counts.max()} times; each policy has its own.")
    return PolicySet.checked(known, what, task, descriptor_size=known["descriptor"].shape[1], evaluations=_MOST_EVALUATIONS)


def _check_numbers(name: str, values: NDArray[Any], what: str) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        value = values[tuple(wrong[0])]
        raise InvalidInputError(f"{what} has {value} as {name} of the policy in row {wrong[0][0]}; it must be finite.")


def _reward_areas(reward: NDArray[Any], ground_truth: NDArray[Any], task: Task, what: str) -> NDArray[np.int64]:
    """Return the areas in which rewards were paid, where the ground truth or the task determines them."""
    rewarded = reward > 0
    if len(task.reward_areas) == 1:
        return np.where(rewarded, 0, -1).astype(np.int64)
    if ground_truth.shape[1] and all(area.center is not None and area.radius is not None for area in task.reward_areas):
        area = area_rewards(ground_truth, task.reward_areas)[1]
        outside = np.flatnonzero(rewarded & (area < 0))
        if len(outside):
            raise InvalidInputError(
                f"{what} has the reward {reward[outside[0]]} for a policy that ended at {ground_truth[outside[0]].tolist()}, which is in"
                f" no reward area of task {task.name!r}; give reward_area."
            )
        return np.where(rewarded, area, -1).astype(np.int64)
    if rewarded.any():
        raise InvalidInputError(
            f"{what} must have reward_area: it cannot be computed for task {task.name!r} with its {len(task.reward_areas)} reward areas."
        )
    return np.full(len(reward), -1, np.int64)
