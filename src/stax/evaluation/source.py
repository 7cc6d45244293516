"""A task, and how workers get the same task.

A worker makes the task again from its name. A task given as an object is pickled (for Ray, by Ray's cloudpickle). Pickle is
used for our own workers only, never for files.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from stax.errors import InvalidInputError, in_one_line
from stax.tasks import BUILT_IN, make_task
from stax.tasks.task import Task


@dataclass(frozen=True, eq=False)
class TaskSource:
    """The task of this process and, if it was given by name, the name and options it can be made from again."""

    task: Task
    name: str | None = None
    """Name for `make_task`; None if the task was given as an object."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options for `make_task`."""

    @property
    def is_own_class(self) -> bool:
        """Whether the task was given by name and is not built in: `module:Class`, or a Gymnasium environment."""
        return self.name is not None and self.name not in BUILT_IN

    def packed(self, dumps: Callable[[Any], bytes]) -> bytes:
        """Return what a worker makes the task from, as bytes: its name and options, or else the task itself."""
        content = self.task if self.name is None else (self.name, self.options)
        return _packed(content, self.task.name, dumps)


def _packed(content: Any, task_name: str, dumps: Callable[[Any], bytes]) -> bytes:
    try:
        return dumps(content)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pickling runs the code of the task's parts
        raise InvalidInputError(
            f"Task {task_name!r} cannot be sent to workers ({in_one_line(error)}); give it by name as 'module:Class', or make it of"
            " parts that can be pickled."
        ) from error


def make_source(name: str, options: dict[str, Any], *, time_limit: float | None) -> TaskSource:
    """Make the task of this name, and remember how workers can make it.

    With a time limit, a task of the user's own is made in a worker process first, which can be ended if it hangs. See `Workers` for
    how long that may take.
    """
    if time_limit is not None and name not in BUILT_IN:
        # Here, because processes need this module.
        from stax.evaluation.processes import Processes

        with closing(Processes(name, _packed((name, options), name, pickle.dumps), size=1, time_limit=time_limit)) as trial:
            trial.try_making()
    return TaskSource(make_task(name, **options), name, options)


def unpacked(packed: bytes) -> Task:
    """Return the task in a worker, on one thread, since there is a worker for every core."""
    try:
        content = pickle.loads(packed)
        task: Task = content if isinstance(content, Task) else make_task(content[0], **content[1])
    except InvalidInputError:
        raise
    except BaseException as error:  # also sys.exit, and a KeyboardInterrupt of its own: Ctrl-C is ignored here
        raise InvalidInputError(
            f"The task cannot be made in a worker ({in_one_line(error)}); give it by name as 'module:Class', with a module that"
            " workers can import."
        ) from error
    if getattr(task, "threads", None) is not None:
        task.threads = 1  # type: ignore[attr-defined]
    return task
