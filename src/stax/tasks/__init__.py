"""The tasks: worlds to search in, and the one protocol to bring your own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from stax.errors import InvalidInputError, in_one_line
from stax.own_code import import_named
from stax.tasks.external_task import ExternalTask
from stax.tasks.function_task import FunctionTask
from stax.tasks.task import RewardArea, Rollouts, Task

__all__ = [
    "BUILT_IN",
    "ExternalTask",
    "FunctionTask",
    "RewardArea",
    "Rollouts",
    "Task",
    "in_tables",
    "is_built_in",
    "made_from",
    "make_task",
    "task_maker",
    "task_options",
]

BUILT_IN = {
    "curling": "stax.tasks.curling:Curling",
    "hard-maze": "stax.tasks.hard_maze:HardMaze",
    "redundant-arm": "stax.tasks.redundant_arm:RedundantArm",
}

GYMNASIUM = "gym:"
"""How the names of tasks begin that are Gymnasium environments."""


def task_maker(name: str) -> Callable[..., Task]:
    """What makes the task of this name from its options: a built-in class, or your own by `module:Class` or `module:function`."""
    if name.startswith(GYMNASIUM):
        # Here, because Gymnasium's vector environments and the compiler take a while to import.
        from stax.tasks.gymnasium_task import GymnasiumTask

        return partial(GymnasiumTask, name.removeprefix(GYMNASIUM))
    target = BUILT_IN.get(name, name)
    module_name, colon, class_name = target.partition(":")
    if not colon or not module_name or not class_name:
        raise InvalidInputError(
            f"There is no task {name!r}; there are {', '.join(BUILT_IN)}, and your own as 'module:Class' or 'module:function'."
        )
    found = import_named(target, f"Task {name!r}")
    if inspect.isfunction(found):
        return partial(FunctionTask, found, name=name)
    if not inspect.isclass(found):
        raise InvalidInputError(
            f"Task {name!r} names {class_name!r}, which is not a class or a function of the module {module_name!r}."
        )
    if not issubclass(found, Task):
        raise InvalidInputError(f"Task {name!r} names a class that is not a subclass of stax.Task.")
    return found


def task_options(maker: Callable[..., Task]) -> dict[str, Any]:
    """A task's options and their defaults (`inspect.Parameter.empty` if there is none)."""
    parameters = inspect.signature(maker).parameters.values()
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {parameter.name: parameter.default for parameter in parameters if parameter.kind in kinds}


def in_tables(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a task, those with a point in their name put into tables: `make.gravity` is an entry of the table `make`."""
    tables: dict[str, Any] = {}
    # Whole tables first, so that an entry given beside one changes it.
    for name, value in sorted(options.items(), key=lambda option: option[0].count(".")):
        *path, last = name.split(".")
        table = tables
        for step in path:
            inner = table.get(step, {})
            if not isinstance(inner, Mapping):
                raise InvalidInputError(f"task.{name} is an entry of a table, but {step} was given as {inner!r}.")
            table[step] = dict(inner)
            table = table[step]
        table[last] = value
    return tables


def make_task(name: str, /, **options: Any) -> Task:
    """A task by name, its options as keywords: `make_task("hard-maze", sensors="published-code")`."""
    if not isinstance(name, str):
        raise InvalidInputError(f"A task's name must be text, not {name!r}.")
    maker = task_maker(name)
    known = task_options(maker)
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(maker).parameters.values())
    for option in options:
        if option not in known and not takes_any:
            allowed = f"it has {', '.join(known)}" if known else "it has none"
            raise InvalidInputError(f"Task {name!r} has no option {option!r}; {allowed}.")
    for option, default in known.items():
        if default is inspect.Parameter.empty and option not in options:
            raise InvalidInputError(f"Task {name!r} needs the option {option!r}, which was not given.")
    try:
        task = maker(**options)
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise InvalidInputError(f"Task {name!r} cannot be made: {in_one_line(error)}.") from error
    if name not in BUILT_IN and not hasattr(task, "name"):
        task.name = name
    with suppress(AttributeError):  # of a class with slots
        task._made_from = (name, options)  # type: ignore[attr-defined]
    return task


def made_from(task: Task) -> tuple[str, dict[str, Any]] | None:
    """The name and the options that `make_task` was given for this task; None if it was made otherwise."""
    found: tuple[str, dict[str, Any]] | None = getattr(task, "_made_from", None)
    return found


def is_built_in(task: Task) -> bool:
    """Tell whether this is one of the built-in tasks itself; a class derived from one may do something else."""
    return f"{type(task).__module__}:{type(task).__qualname__}" in BUILT_IN.values()
