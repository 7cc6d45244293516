"""A task, and how workers come to have it too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stax.errors import InvalidInputError, in_one_line
from stax.tasks import BUILT_IN, make_task
from stax.tasks.task import Task


@dataclass(frozen=True, eq=False)
class TaskSource:
    """The task as this process has it and, if it was given by name, what it can be made from again."""

    task: Task
    name: str | None = None
    """As `make_task` takes it; None if the task was given as an object."""
    options: dict[str, Any] = field(default_factory=dict)
    """As `make_task` takes them beside the name."""

    @property
    def is_own_class(self) -> bool:
        """Whether the task was given by name and is none of ours: `module:Class`, or a Gymnasium environment."""
        return self.name is not None and self.name not in BUILT_IN

    def packed(self, dumps: Callable[[Any], bytes]) -> bytes:
        """What a worker makes the task from: its name and options, or else the task itself."""
        try:
            return dumps(self.task if self.name is None else (self.name, self.options))
        except Exception as error:  # pickling runs anybody's code
            raise InvalidInputError(
                f"Task {self.task.name!r} cannot be sent to workers ({in_one_line(error)}); give it by name as 'module:Class', or"
                " make it of parts that can be pickled."
            ) from error


def unpacked(packed: bytes) -> Task:
    """The task in a worker, on one thread: there is a worker for every core."""
    try:
        content = pickle.loads(packed)
        task: Task = content if isinstance(content, Task) else make_task(content[0], **content[1])
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"The task cannot be made in a worker ({in_one_line(error)}); give it by name as 'module:Class', with a module that"
            " workers can import."
        ) from error
    if getattr(task, "threads", None) is not None:
        task.threads = 1  # type: ignore[attr-defined]
    return task
