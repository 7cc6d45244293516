"""The same task with some of its options changed: with other seeds, for instance, or with another reward offset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stax.errors import InvalidInputError
from stax.tasks import made_from, make_task, task_maker, task_options
from stax.tasks.task import Task

SEEDS = ("seed", "episodes")
"""Options of a task whose episodes depend on a seed: the seed of the first one, and how many a policy is evaluated in."""
OFFSET = "reward_offset"
"""Option of a task that adds a number to the reward before it is compared with 0."""


def has_options(task: Task, *names: str) -> bool:
    """Tell whether the task was made by name and has all these options, so that `make_variant` can change them."""
    found = made_from(task)
    return found is not None and set(names) <= set(task_options(task_maker(found[0])))


def option(task: Task, name: str) -> Any:
    """Return the value of an option, as given or its default; the task has it, see `has_options`."""
    found = made_from(task)
    assert found is not None
    made_by, given = found
    return given.get(name, task_options(task_maker(made_by)).get(name))


def repetition(task: Task, number: int) -> dict[str, Any]:
    """Return the options for the further evaluation of this number, from 1: its episodes have the seeds after those before.

    Nothing changes for number 0. The task has the options `SEEDS`.
    """
    seed, episodes = SEEDS
    return {seed: int(option(task, seed)) + number * int(option(task, episodes))} if number else {}


def repeated(task: Task, number: int) -> Task:
    """Return the task with the seed of its further evaluation of this number; the task itself for 0."""
    return make_variant(task, repetition(task, number)) if number else task


def make_variant(task: Task, changes: Mapping[str, Any]) -> Task:
    """Make the task again with some options changed."""
    found = made_from(task)
    if found is None or not has_options(task, *changes):
        raise InvalidInputError(f"Task {task.name!r} cannot be made again with another {', another '.join(changes)}.")
    name, given = found
    return make_task(name, **{**given, **changes})
