"""Checks before a run is resumed: everything it needs is given and trusted, and it is still the same run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError
from stax.runs.config import RunConfig
from stax.runs.described_task import describe_task
from stax.runs.options import as_text, writable_options
from stax.tasks import made_from
from stax.tasks.task import Task
from stax.tasks.task_checks import check_attributes


def check_given(config: RunConfig, given: Mapping[str, object], path: str | Path, *, trust: bool) -> None:
    """Refuse to resume a run without the objects it was given, or with code that is not trusted."""
    missing = [what for what in config.objects if given.get(what) is None]
    if missing:
        again = ", ".join(f"{what}=..." for what in missing)
        raise InvalidInputError(
            f"The {missing[0]} {config.objects[missing[0]]!r} of {str(path)!r} was given as an object: resume it in Python, with"
            f" stax.resume({str(path)!r}, {again})."
        )
    code = [f"its {what}, {name!r}" for what, name in config.code.items() if given.get(what) is None]
    if code and not trust:
        raise InvalidInputError(
            f"The run in {str(path)!r} names code as {' and '.join(code)}. If you trust it, say so: --trust, or trust=True in Python."
        )


def check_same_task(config: RunConfig, description: Mapping[str, Any], task: Task, path: str | Path) -> None:
    """Refuse a task that differs from the task of the run, as described in `config.toml`."""
    check_attributes(task)
    described = describe_task(task)
    differing = [name for name in {**described, **description} if _differs(described.get(name), description.get(name))]
    found = made_from(task)
    if found and found[0] == config.task:
        options = writable_options(found[1])
        names = [
            name for name in {**options, **config.task_options} if _differs(options.get(name), config.task_options.get(name))
        ]
        differing += [f"task.{name}" for name in names]
    if differing:
        raise InvalidInputError(
            f"The task given for the run in {str(path)!r} is another than the run's own: they differ in {', '.join(differing)}."
        )


def _differs(one: Any, other: Any) -> bool:
    return as_text(one) != as_text(other)


def same_text(was: Any, now: Any) -> bool:
    """Return whether two JSON texts are equal; those of earlier versions keep the order in which a table was given."""
    if was is None or now is None:
        return was is now
    return bool(was == now) or as_text(json.loads(was)) == now
