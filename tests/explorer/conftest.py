"""Shared by the tests of the explorer: small runs, and servers that are started with the real command."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from explorer_server import Server

import stax
from optional_packages import need
from stax.runs.run_in_progress import RunInterrupted

LEARNED = {"population_size": 40, "chunk_size": 80, "max_images_per_episode": 200, "max_epochs": 1, "code_size": 4}
TINY = {"population_size": 12, "chunk_size": 24, "isolation": "none"}
RUNS = {
    # First what no other test compiles in the first minute.
    "curling": ("curling", "serene", 200, 0, {"population_size": 20, "chunk_size": 40}),
    "arm": (
        "redundant-arm",
        "stax",
        900,
        9,
        {**LEARNED, "descriptor_samples": 1, "task.view": "end-effector", "keep_autoencoders": True},
    ),
    "arm-ns": ("redundant-arm", "ns", 300, 0, {"population_size": 20}),
    "noisy": ("redundant-arm", "ns", 300, 0, {"population_size": 20, "task.action_noise": 0.1, "reevaluations": 2}),
    "maze": ("hard-maze", "stax", 400, 1, LEARNED),
    "gym": ("gym:MountainCarContinuous-v0", "stax", 200, 0, {**TINY, "max_epochs": 2, "code_size": 2}),
    "evil": ("explored_tasks:EvilTask", "serene", 600, 1, TINY),
    "crashing": ("explored_tasks:CrashingTask", "serene", 100, 1, TINY),
}


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Small runs, none of which is to be changed."""
    need("starlette")
    need("uvicorn")
    parent = tmp_path_factory.mktemp("explored")
    for name, (task, algo, budget, seed, more) in RUNS.items():
        stax.run(task, algo=algo, budget=budget, seed=seed, workers=1, out=parent / name, **more)
    rests = iter(range(100))
    with suppress(RunInterrupted):
        stax.run(
            "redundant-arm", algo="ns", budget=900, workers=1, out=parent / "stopped", stop=lambda: next(rests) > 2, **TINY
        )
    return {path.name: path for path in parent.iterdir()}


@pytest.fixture
def copied(folders, tmp_path):
    """Copies of runs, to change."""
    return lambda name: Path(shutil.copytree(folders[name], tmp_path / name))


@pytest.fixture(scope="session")
def servers(folders):
    """Servers by the names of their runs, each started once."""
    started: dict[tuple[str, ...], Server] = {}

    def server(*names: str, trust: bool = False) -> Server:
        key = (*names, "--trust") if trust else names
        if key not in started:
            started[key] = Server(*(folders[name] for name in names), *(["--trust"] if trust else []))
        return started[key]

    yield server
    for one in started.values():
        one.end()
