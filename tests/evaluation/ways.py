"""What the tests of evaluation share: the ways to evaluate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stax
from stax import Rollouts
from stax.evaluation import Evaluator, TaskSource, make_evaluator

WAYS = ("own process", "processes", pytest.param("ray", marks=pytest.mark.ray))
WITH_WORKERS = WAYS[1:]
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "own process": {"isolation": "none"},
    "processes": {"isolation": "process"},
    "ray": {"backend": "ray"},
}


def source(name: str, **options: Any) -> TaskSource:
    """A task by name; those of `moody_tasks` by their class alone."""
    name = f"moody_tasks:{name}" if name[0].isupper() else name
    return TaskSource(stax.make_task(name, **options), name, options)


def evaluator(way: str, task: TaskSource | None = None, **options: Any) -> Evaluator:
    defaults = {"workers": 2, "max_failed_share": 1.0}
    return make_evaluator(task or source("MoodyTask"), **{**defaults, **_ARGUMENTS[way], **options})


def cluster_for(way: str, request: pytest.FixtureRequest) -> None:
    """Has the tests' Ray cluster started if it is needed."""
    if way == "ray":
        request.getfixturevalue("ray_cluster")


def assert_same(ours: Rollouts, theirs: Rollouts) -> None:
    assert (ours.failed is None) == (theirs.failed is None)
    for name, column in theirs._columns():
        assert getattr(ours, name).dtype == column.dtype, name
        np.testing.assert_array_equal(getattr(ours, name), column, err_msg=name)


def alive(pid: int) -> bool:
    """Whether there is such a process; one that only waits to be buried is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends_soon(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)
