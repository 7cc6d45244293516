"""Shared by the tests: the tasks, made once, and a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal

import pytest

import stax_command

# Before NumPy is loaded, as the command does it: tests go on in this process with runs that they began with the command.
stax_command.limit_libraries()

import stax  # noqa: E402
from rollout_samples import NAMES  # noqa: E402
from run_folders import Commands  # noqa: E402

# Tests started in the background, or by nohup, inherit that these signals are ignored, and so would the commands that they start.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


LONGEST_FILES = (
    "test_tutorials.py",
    "test_page.py",
    "test_server.py",
    "test_digests.py",
    "test_terminal.py",
    "test_hostile_records.py",
    "test_cli.py",
    "test_run_command.py",
    "test_campaign.py",
    "test_resume.py",
    "test_compare_command.py",
    "test_failures.py",
    "test_evaluator.py",
    "test_reproduction_records.py",
    "test_faults.py",
)
"""Files that take longest, the longest first: they begin first, so that no core is idle in the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(autouse=True)
def announced_compiling():
    """A command with --quiet in one test must not silence the commands of later tests."""
    yield
    os.environ.pop("STAX_COMPILE_QUIETLY", None)


@pytest.fixture(scope="session")
def tasks() -> dict[str, stax.Task]:
    return {name: stax.make_task(name) for name in NAMES}


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """Starts `stax` commands in processes of their own, quickly."""
    started = Commands(tmp_path_factory.mktemp("said"))
    yield started
    started.close()


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
