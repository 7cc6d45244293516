"""Tasks: the built-in ones, Gymnasium environments, and the protocol for tasks of your own.

| module | holds |
|---|---|
| `task` | the protocol: `Task`, `Rollouts`, `RewardArea`, the check of genomes, which steps are observed |
| `compiled` | the base class of the built-in tasks: rollouts on threads, observations and pictures from one scene |
| `drawing` | shapes in world units, painted anti-aliased in compiled code |
| `curling`, `hard_maze`, `redundant_arm` | a task each: kernels, descriptor, scene |
| `curling_physics`, `hard_maze_physics`, `redundant_arm_physics` | the simulators |
| `gymnasium_envs`, `gymnasium_registration` | the three built-in tasks as Gymnasium environments |
| `gymnasium_task`, `gymnasium_options` | any Gymnasium environment as a task, and its options |
| `gymnasium_finding`, `gymnasium_spaces` | an environment by its id; its spaces and the numbers of a policy |
| `gymnasium_networks`, `gymnasium_rollouts` | networks of vectors and of pictures; episodes of many policies in a few environments |
| `picture_scaling` | renderings of other packages, scaled to the size of observations |
| `function_task`, `external_task` | a function as a task; the description of a task that is evaluated elsewhere |
| `contract`, `task_checks`, `rollout_checks` | `check_task`; checks of attributes and rollouts, which every search does too |
| `first_look`, `variants` | what the first rollouts show about a task, in sentences; a task with some options changed |
| `starting_point`, `starting_points/` | what `stax new-task` writes |

The protocol has what the search needs and little more: attributes, `evaluate` and `observe`, and for people `trajectory`,
`render`, `film`, `scene` and `picture_place`. Decisions:

- A row of a rollout depends on its genome and the task's options alone. The built-in tasks use no random numbers.
- Observations and pictures for people are drawn from one description of the scene, at different sizes. `scene` is that picture
  without any moving part, and `picture_place` says where in it descriptors lie; pictures of results are drawn on both.
- Gymnasium environments and classes of a user's own run in worker processes, because most simulators hold the GIL and some
  crash.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from stax.errors import InvalidInputError, in_one_line
from stax.own_code import find_code
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
"""Prefix of the names of tasks that are Gymnasium environments."""


def task_maker(name: str) -> Callable[..., Task]:
    """Return what makes the task of this name: a built-in class, or your own by `module:Class` or `module:function`."""
    if name.startswith(GYMNASIUM):
        # Imported here, because Gymnasium's vector environments and the compiler take a while to import.
        from stax.tasks.gymnasium_task import GymnasiumTask

        return partial(GymnasiumTask, name.removeprefix(GYMNASIUM))
    target = BUILT_IN.get(name, name)
    module_name, colon, class_name = target.partition(":")
    if not colon or not module_name or not class_name:
        from gymnasium.envs.registration import registry

        environment = f"; the Gymnasium environment of that name is {GYMNASIUM}{name}" if name in registry else ""
        raise InvalidInputError(
            f"There is no task {name!r}{environment}; there are {', '.join(BUILT_IN)}, gym:ID for a Gymnasium environment, and your own as"
            " 'module:Class' or 'module:function'."
        )
    found = find_code(target, f"Task {name!r}")
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
    """Return a task's options and their defaults (`inspect.Parameter.empty` for an option without one)."""
    parameters = inspect.signature(maker).parameters.values()
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {parameter.name: parameter.default for parameter in parameters if parameter.kind in kinds}


def in_tables(options: Mapping[str, Any]) -> dict[str, Any]:
    """Put options with a dot in their name into tables: `make.gravity` becomes an entry of the table `make`."""
    tables: dict[str, Any] = {}
    # Complete tables first, so that an entry given separately changes it.
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
    """Make a task by name, with its options as keywords: `make_task("hard-maze", sensors="published-code")`."""
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
    with suppress(AttributeError):  # for a class with slots
        task._made_from = (name, options)  # type: ignore[attr-defined]
    return task


def made_from(task: Task) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the options from which `make_task` made this task; None if it was made in another way."""
    found: tuple[str, dict[str, Any]] | None = getattr(task, "_made_from", None)
    return found


def is_built_in(task: Task) -> bool:
    """Return whether this is a built-in task itself; a class derived from one may do something else."""
    return f"{type(task).__module__}:{type(task).__qualname__}" in BUILT_IN.values()
