"""Shared by the tests: the tasks, made once, and a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path

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


TESTS = Path(__file__).parent
LONGEST_GROUPS = (
    "explorer",
    "test_tutorials.py",
    "ray",
    "analysis",
    "test_hostile_folders.py",
    "test_resume.py",
    "test_terminal.py",
    "test_digests.py",
    "test_cli.py",
    "test_faults.py",
    "test_autoencoder_runs.py",
    "test_working_folder.py",
    "test_numerics.py",
    "test_reproduction_records.py",
    "test_reproduction.py",
)
"""Groups of tests that take longest, the longest first: they begin first, so that no core is idle in the end."""


def group_of(path: Path) -> str:
    """Return the group of the tests of a file. The tests of a group run in one process, one after the other, and share what they set up.

    A folder with fixtures of its own is one group, and so are the files that need the Ray cluster. Any other file is a group.
    """
    if path.name in ("test_campaign.py", "test_evaluator.py", "test_failures.py", "test_worker_processes.py"):
        return "ray"
    return path.parent.name if path.parent != TESTS and (path.parent / "conftest.py").exists() else path.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: number for number, name in enumerate(LONGEST_GROUPS)}
    items.sort(key=lambda item: place.get(group_of(item.path), len(place)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Return what gives groups of tests to processes. The marks of pytest-xdist 3.8 have no effect with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(config.rootpath / nodeid.partition("::")[0])

    return GroupScheduling(config, log)


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
