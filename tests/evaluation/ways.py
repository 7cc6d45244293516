"""What the tests of evaluation share: the ways to evaluate."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stax
from stax import Rollouts
from stax.evaluation import Evaluator, TaskSource, make_evaluator
from stax.run_settings import RunSettings

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
    """Return an evaluator; options are those of `make_evaluator` and settings of the run together."""
    defaults = {"workers": 2, "max_failed_share": 1.0}
    return make_evaluator(task or source("MoodyTask"), **in_settings({**defaults, **_ARGUMENTS[way], **options}))


def in_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with those that are settings of the run as one object."""
    settings = {name: value for name, value in options.items() if name in RunSettings.described()}
    return {name: value for name, value in options.items() if name not in settings} | {"settings": RunSettings(**settings)}


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


def listening(pid: int) -> list[str]:
    """Addresses that the process and its descendants accept connections at."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and alive(int(folder.name)):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    family = {pid}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    sockets = set()
    for member in family:
        for entry in Path(f"/proc/{member}/fd").iterdir():
            try:
                sockets.add(str(entry.readlink()).removeprefix("socket:[").removesuffix("]"))
            except FileNotFoundError:
                continue
    return [
        _address(fields[1].partition(":")[0])
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[3] == "0A" and fields[9] in sockets
    ]


def _address(digits: str) -> str:
    """An address as Linux writes it: hexadecimal, every four bytes in reverse order."""
    groups = [bytes.fromhex(digits[first : first + 8])[::-1] for first in range(0, len(digits), 8)]
    return socket.inet_ntop(socket.AF_INET if len(groups) == 1 else socket.AF_INET6, b"".join(groups))
