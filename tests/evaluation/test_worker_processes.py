"""Workers are noticed when they die or hang, and none of their processes remain."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from moody_tasks import some_genomes
from ways import WITH_WORKERS, alive, cluster_for, ends_soon, evaluator

import stax
from stax.cli.main import main
from stax.evaluation import TaskSource, crew

HERE = Path(__file__).parent


def source(name: str, **options: str | int) -> TaskSource:
    name = f"process_tasks:{name}"
    return TaskSource(stax.make_task(name, **options), name, options)


def processes() -> dict[int, tuple[int, int, str]]:
    """Parent, process group and name of every living process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and alive(int(folder.name)):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_text()
            except OSError:
                continue
            found[int(folder.name)] = int(fields[1]), int(fields[2]), command
    return found


def in_group(group: int) -> list[int]:
    return [pid for pid, (_, other, _) in processes().items() if other == group]


def group_ends_soon(group: int) -> bool:
    """Processes that were killed take a moment to disappear."""
    deadline = time.monotonic() + 30
    while in_group(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not in_group(group)


def watchdogs_of(parent: int) -> list[int]:
    return [pid for pid, (other, _, command) in processes().items() if other == parent and "stax-watchdog" in command]


@pytest.mark.parametrize("fork", ["python", "c"])
def test_a_worker_that_dies_is_noticed_although_a_fork_of_it_lives(fork, tmp_path):
    began = time.monotonic()
    task = source("ForkingTask", pids=str(tmp_path / "pids"), fork=fork)
    with (
        evaluator("processes", task, workers=1) as evaluates,
        pytest.raises(RuntimeError, match=r"failed to evaluate 1 policy: the worker died 3 times in a row \(exit code 3\)"),
    ):
        evaluates.evaluate(some_genomes(1))
    assert time.monotonic() - began < 40, "the forks sleep for a minute"
    forks = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(forks) == 3
    assert all(ends_soon(fork) for fork in forks)


@pytest.mark.parametrize("way", WITH_WORKERS)
def test_a_task_that_hangs_while_it_is_made_in_workers(way, request, monkeypatch):
    cluster_for(way, request)
    monkeypatch.setattr(crew, "LEAST_SECONDS_TO_MAKE", 1.5)
    sentence = "Task 'moody' cannot be made in a worker process: making it took longer than 1.5 s, 3 times in a row"
    with (
        evaluator(way, source("HangingToMakeTask", home=os.getpid()), workers=2, time_limit=0.5) as evaluates,
        pytest.raises(RuntimeError, match=f"^{re.escape(sentence)}$"),
    ):
        evaluates.evaluate(some_genomes(3))


def test_a_time_limit_holds_for_making_the_task_of_a_run(monkeypatch, tmp_path, capsys):
    """In the parent process, too, it would hang: it is tried in a worker first."""
    monkeypatch.setattr(crew, "LEAST_SECONDS_TO_MAKE", 1.5)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hanging_task.py").write_text("import time\nimport stax\n\nclass Hangs(stax.Task):\n    def __init__(self):\n")
    with (tmp_path / "hanging_task.py").open("a") as file:
        file.write("        time.sleep(1000)\n\n    def evaluate(self, genomes):\n        pass\n")
    folder = tmp_path / "run"
    code = main(["run", "hanging_task:Hangs", "--algo", "ns", "--set", "time_limit=1", "--out", str(folder), "--quiet"])
    assert code == 1
    assert capsys.readouterr().err == (
        "stax: Task 'hanging_task:Hangs' cannot be made in a worker process: making it took longer than 1.5 s\n"
    )
    assert not folder.exists()


SCRIPT = """
import os, sys, time
import stax
from moody_tasks import some_genomes
from stax.evaluation import TaskSource, make_evaluator

if __name__ == "__main__":
    name, options = "process_tasks:{task}", {options}
    evaluates = make_evaluator(TaskSource(stax.make_task(name, **options), name, options), workers=1)
    {then}
"""


def script(folder: Path, task: str, then: str, **options: str) -> subprocess.Popen[str]:
    """Run a script that has an evaluator, in a session of its own."""
    (folder / "script.py").write_text(SCRIPT.format(task=task, options=options, then=then.replace("\n", "\n    ")))
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(folder / "script.py")],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("fork", [False, True])
def test_a_worker_that_holds_the_lock_dies_with_its_parent_and_so_do_its_children(fork, tmp_path):
    """Also if a fork of the parent lives on."""
    pids = tmp_path / "pids"
    then = "evaluates.evaluate(some_genomes(1))"
    if fork:
        # The worker is started by the first call, and busy in it when the parent forks.
        then = (
            "import threading\n"
            f"def fork():\n    while not os.path.exists({str(pids)!r}):\n        time.sleep(0.05)\n"
            f"    if os.fork() == 0:\n        open({str(tmp_path / 'forked')!r}, 'w').close()\n        time.sleep(20)\n        os._exit(0)\n"
            f"threading.Thread(target=fork).start()\n{then}"
        )
    with script(tmp_path, "LockHoldingTask", then, pids=str(pids)) as parent:
        deadline = time.monotonic() + 60
        awaited = tmp_path / "forked" if fork else pids
        while not awaited.exists() and parent.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        worker, child = map(int, pids.read_text().split())
        assert alive(worker)
        assert alive(child)
        killed = time.monotonic()
        os.killpg(parent.pid, 9) if not fork else parent.kill()
        assert ends_soon(worker)
        assert ends_soon(child)
        assert time.monotonic() - killed < 15, "the fork sleeps for 20 seconds"
        if fork:
            os.killpg(parent.pid, 9)


@pytest.mark.parametrize("ending", ["", "raise SystemExit(5)", "raise ValueError('a mistake')"])
def test_a_script_that_forgets_to_close_ends_and_leaves_nothing(ending, tmp_path):
    then = f"print(evaluates.evaluate(some_genomes(1)).steps[0], flush=True)\n{ending}"
    with script(tmp_path, "LeavingProcessesTask", then) as parent:
        out, err = parent.communicate(timeout=60)
        assert parent.returncode == {"": 0, "raise SystemExit(5)": 5}.get(ending, 1), err
        worker = int(out)
        assert ends_soon(worker)
        assert group_ends_soon(worker)
        assert group_ends_soon(parent.pid)


def test_a_task_by_name_may_use_multiprocessing():
    genomes = some_genomes(3)
    with evaluator("processes", source("ParallelTask"), workers=1) as evaluates:
        rollouts = evaluates.evaluate(genomes)
        np.testing.assert_array_equal(rollouts.reward, np.abs(genomes[:, 1]))
    assert group_ends_soon(rollouts.steps[0])


def test_nothing_remains_after_an_ordinary_end():
    with evaluator("processes", source("LeavingProcessesTask"), workers=1) as evaluates:
        worker = int(evaluates.evaluate(some_genomes(1)).steps[0])
        assert len(in_group(worker)) >= 2
        assert len(watchdogs_of(os.getpid())) == 1
    assert group_ends_soon(worker)
    assert watchdogs_of(os.getpid()) == []


CAMPAIGN = """
tasks = ["process_tasks:ForkLeavingTask"]
algos = ["ns"]
seeds = [0]
budget = 100
out = {out!r}
[parameters]
isolation = "none"
"task.pids" = {pids!r}
"""


def test_a_campaign_does_not_wait_for_what_a_run_leaves_behind(tmp_path):
    file, pids = tmp_path / "campaign.toml", tmp_path / "pids"
    file.write_text(CAMPAIGN.format(out=str(tmp_path / "out"), pids=str(pids)))
    began = time.monotonic()
    assert main(["campaign", str(file), "--quiet"]) == 0
    assert time.monotonic() - began < 40, "the fork sleeps for a minute"
    assert ends_soon(int(pids.read_text()))


def test_a_folder_is_removed_after_a_kill(tmp_path):
    folder = tmp_path / "it's $(a) folder"
    (folder / "inner").mkdir(parents=True)
    code = f"import os; from stax.evaluation.watchdog import *; dog = Watchdog(REMOVE_FOLDER, {str(folder)!r}); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    deadline = time.monotonic() + 30
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not folder.exists()
