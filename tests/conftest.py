"""Shared by the tests: the tasks, made once, and recorded rollouts."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import stax

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Tests started in the background inherit that Ctrl-C is ignored, and so would the commands that they interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).parent / "data"
NAMES = ("curling", "hard-maze", "redundant-arm")


@pytest.fixture(scope="session")
def tasks() -> dict[str, stax.Task]:
    return {name: stax.make_task(name) for name in NAMES}


@pytest.fixture(scope="session")
def ray_cluster():
    """One small cluster for all tests, running already as one may be."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    on_sigterm = signal.getsignal(signal.SIGTERM)
    ray.init(
        address="local",
        num_cpus=3,
        object_store_memory=80 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    signal.signal(signal.SIGTERM, on_sigterm)
    yield ray
    ray.shutdown()


@pytest.fixture(params=NAMES)
def task(request, tasks):
    return tasks[request.param]


def random_genomes(task: stax.Task, count: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=(count, task.genome_size))


def recorded(name: str) -> dict[str, np.ndarray]:
    """Twenty rollouts recorded from the original environment."""
    with np.load(DATA / f"{name.replace('-', '_')}.npz") as data:
        return {key: data[key] for key in data.files}
