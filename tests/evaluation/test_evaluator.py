"""Where evaluations run makes no difference to what they are."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from moody_tasks import MoodyTask, PlaceTask, some_genomes
from ways import WITH_WORKERS, alive, assert_same, cluster_for, ends_soon, evaluator, in_settings, source

import stax
from stax import InvalidInputError
from stax.evaluation import TaskSource, make_evaluator
from stax.run_settings import RunSettings

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("own process", "MoodyTask"),
        ("processes", "MoodyTask"),
        ("processes", "hard-maze"),
        pytest.param("ray", "hard-maze", marks=pytest.mark.ray),
    ],
)
def test_the_bits_are_the_same_everywhere(way, name, request):
    cluster_for(way, request)
    task = source(name, threads=1) if name == "hard-maze" else source(name)
    genomes = np.random.default_rng(0).normal(size=(41, task.task.genome_size))
    with evaluator(way, task) as evaluates:
        for count in (41, 1, 3):
            rollouts = evaluates.evaluate(genomes[:count])
            assert_same(rollouts, task.task.evaluate(genomes[:count]))
            # Whoever gets them may change them.
            rollouts.reward[:] = 5
        assert evaluates.counts() == {"evaluations": 45, "failures": {}}


@pytest.mark.parametrize("way", WITH_WORKERS)
def test_a_worker_killed_in_the_middle_is_replaced(way, request, tmp_path):
    cluster_for(way, request)
    genomes = some_genomes(20, at_7="kill once")
    with evaluator(way, source("MoodyTask", marker=str(tmp_path / "killed"))) as evaluates:
        rollouts = evaluates.evaluate(genomes)
        assert evaluates.workers_replaced == 1
    assert (tmp_path / "killed").exists()
    assert_same(rollouts, MoodyTask(marker=str(tmp_path / "killed")).evaluate(genomes))


def pids(evaluates) -> set[int]:
    """The workers that evaluated a batch. They are given the time to start, so that all take part."""
    deadline = time.monotonic() + 60
    found: set[int] = set()
    while len(found) < 2 and time.monotonic() < deadline:
        found = set(evaluates.evaluate(some_genomes(200)).steps.tolist())
    return found


def test_workers_stay_survive_ctrl_c_and_are_replaced_when_killed():
    with evaluator("processes", source("PlaceTask")) as evaluates:
        before = pids(evaluates)
        assert len(before) == 2
        assert os.getpid() not in before
        for worker in before:
            os.kill(worker, signal.SIGINT)
        assert pids(evaluates) == before
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        rollouts = evaluates.evaluate(some_genomes(20))
        assert killed not in rollouts.steps
        np.testing.assert_array_equal(rollouts.ground_truth, MoodyTask().evaluate(some_genomes(20)).ground_truth)
        assert evaluates.workers_replaced == 1
        left = pids(evaluates)
    for worker in left:
        assert not alive(worker)


@pytest.mark.parametrize("way", WITH_WORKERS)
def test_workers_use_one_thread(way, request):
    cluster_for(way, request)
    before = dict(os.environ)
    with evaluator(way, source("PlaceTask")) as evaluates:
        assert evaluates.evaluate(some_genomes(4)).reward.tolist() == [4.0] * 4
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("task", "options", "here"),
    [
        ("named", {}, False),
        ("named", {"isolation": "none"}, True),
        ("object", {}, True),
        ("object", {"isolation": "process"}, False),
        ("object", {"time_limit": 60}, False),
    ],
)
def test_who_evaluates(task, options, here):
    """A class of one's own runs apart if it can be made again by name."""
    given = source("PlaceTask") if task == "named" else TaskSource(PlaceTask())
    with make_evaluator(given, workers=1, settings=RunSettings(**options)) as evaluates:
        assert (evaluates.evaluate(some_genomes(3)).steps == os.getpid()).all() == here


def test_a_built_in_task_is_evaluated_here():
    """It has its own threads."""
    given = source("hard-maze", threads=1)
    called = []
    given.task.evaluate = lambda genomes: called.append(len(genomes)) or type(given.task).evaluate(given.task, genomes)
    with make_evaluator(given, workers=1) as evaluates:
        evaluates.evaluate(np.zeros((3, given.task.genome_size)))
    assert called == [3]


def test_what_workers_print_is_no_result(capfd):
    with evaluator("processes", source("TalkingTask"), workers=1) as evaluates:
        evaluates.evaluate(some_genomes(1))
    out, err = capfd.readouterr()
    assert out == ""
    assert sorted(err.splitlines()) == ["hello from a shell", "hello from the simulator"]


SCRIPT = """
import os, sys
import numpy as np
import stax
from moody_tasks import some_genomes
from stax.evaluation import TaskSource, make_evaluator

def main():
    options = {{"marker": {marker!r}}}
    name = "moody_tasks:MoodyTask"
    with make_evaluator(TaskSource(stax.make_task(name, **options), name, options), workers=1) as evaluates:
        evaluates.evaluate(some_genomes(1, at_0="hang"))

{call}
"""


def script(folder: Path, call: str) -> list[str]:
    path = folder / "script.py"
    path.write_text(SCRIPT.format(marker=str(folder / "marker"), call=call))
    return [sys.executable, str(path)]


def test_workers_end_with_their_parent_and_take_their_children_along(tmp_path):
    """Even if it is killed while they are busy."""
    command = script(tmp_path, 'if __name__ == "__main__":\n    main()')
    marker = tmp_path / "marker"
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(HERE)}) as parent:
        deadline = time.monotonic() + 60
        while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        simulator = int(marker.read_text())
        worker = int(Path(f"/proc/{simulator}/stat").read_text().rpartition(")")[2].split()[1])
        assert alive(worker)
        assert worker != parent.pid
        parent.kill()
    assert ends_soon(worker)
    assert ends_soon(simulator)


class LocalTask(MoodyTask):
    """Holds what plain pickle cannot take."""

    def __init__(self) -> None:
        super().__init__()
        self.shape = lambda values: values

    def evaluate(self, genomes):
        return super().evaluate(self.shape(genomes))


def test_a_task_that_cannot_be_pickled():
    sentence = "Task 'moody' cannot be sent to workers ("
    with pytest.raises(InvalidInputError, match=re.escape(sentence)) as told:
        make_evaluator(TaskSource(LocalTask()), workers=1, settings=RunSettings(isolation="process"))
    assert "); give it by name as 'module:Class', or make it of parts that can be pickled." in str(told.value)
    with make_evaluator(TaskSource(LocalTask()), workers=1) as evaluates:
        assert len(evaluates.evaluate(some_genomes(3))) == 3


@pytest.mark.ray
def test_ray_takes_more_than_plain_pickle(ray_cluster):
    class NestedTask(LocalTask):
        pass

    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(NestedTask())
    with make_evaluator(TaskSource(NestedTask()), workers=1, backend="ray") as evaluates:
        assert_same(evaluates.evaluate(some_genomes(3)), MoodyTask().evaluate(some_genomes(3)))
    assert ray_cluster.is_initialized(), "it was running before"


OWN_CLUSTER = """
import os
import signal
import tempfile
from pathlib import Path
import ray
import stax
from moody_tasks import some_genomes
from stax.evaluation import TaskSource, make_evaluator
from ways import listening

name = "moody_tasks:TalkingTask"
try:
    with make_evaluator(TaskSource(stax.make_task(name), name), workers=1, backend="ray", address="127.0.0.1:1") as evaluates:
        evaluates.evaluate(some_genomes(3))
except stax.InvalidInputError as error:
    print(error)
before, environment = signal.getsignal(signal.SIGTERM), dict(os.environ)
with make_evaluator(TaskSource(stax.make_task(name), name), workers=1, backend="ray") as evaluates:
    print(ray.is_initialized(), len(evaluates.evaluate(some_genomes(3))))
    print(ray.is_initialized(), signal.getsignal(signal.SIGTERM) == before)
    addresses = listening(os.getpid())
    print(len(addresses) >= 4, [address for address in addresses if address not in ("127.0.0.1", "::ffff:127.0.0.1", "::1")])
    (folder,) = Path(tempfile.gettempdir()).iterdir()
    print(folder.name.startswith("stax-ray-"), oct(folder.stat().st_mode & 0o777))
print(ray.is_initialized())
print([path.name for path in Path(tempfile.gettempdir()).iterdir()], [path.name for path in Path.home().iterdir()])
print({name for name in os.environ if name.startswith("RAY_") and os.environ[name] != environment.get(name)})
"""


@pytest.mark.ray
def test_a_cluster_of_its_own(tmp_path):
    """Started with the first batch, quiet, for this process alone, and gone at the end; nobody is at the other address."""
    # Not pytest's folder, whose path is too long for Ray's sockets.
    with tempfile.TemporaryDirectory(prefix="stax-", dir="/tmp") as temporary:
        done = subprocess.run(
            [sys.executable, "-c", OWN_CLUSTER],
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
                "HOME": str(tmp_path),
                "TMPDIR": temporary,
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "There is no Ray cluster at '127.0.0.1:1' (ConnectionRefusedError: [Errno 111] Connection refused).",
        "False 3",
        "True True",
        "True []",
        "True 0o700",
        "False",
        "[] []",
        "set()",
    ]


@pytest.mark.parametrize("way", WITH_WORKERS)
def test_a_task_that_workers_cannot_make(way, request, monkeypatch):
    cluster_for(way, request)
    monkeypatch.setenv("STAX_TEST_HOME", str(os.getpid()))
    with (
        evaluator(way, source("AtHomeTask")) as evaluates,
        pytest.raises(InvalidInputError, match=r"Task 'moody_tasks:AtHomeTask' cannot be made: RuntimeError: far from home"),
    ):
        evaluates.evaluate(some_genomes(3))


def test_workers_that_always_die_before_they_begin(monkeypatch):
    monkeypatch.setenv("STAX_TEST_HOME", str(os.getpid()))
    sentence = r"Task 'moody' cannot be made in a worker process: the worker died \(SIGKILL\), 3 times in a row"
    with evaluator("processes", source("SuicidalTask"), workers=1) as evaluates, pytest.raises(RuntimeError, match=sentence):
        evaluates.evaluate(some_genomes(3))


REFUSED = [
    ({"backend": "slurm"}, "backend must .*'local', 'ray', not 'slurm'"),
    ({"isolation": "thread"}, "isolation must .*'auto', 'process', 'none', not 'thread'"),
    ({"on_failure": "ignore"}, "on_failure must .*'abort', 'discard', not 'ignore'"),
    ({"workers": 0}, "workers must .* at least 1, not 0"),
    ({"workers": 1.5}, r"workers must .* at least 1, not 1\.5"),
    ({"time_limit": 0}, "time_limit must .* above 0 .*or none.*, not 0"),
    ({"time_limit": float("inf")}, "time_limit must .* above 0 .*or none.*, not inf"),
    ({"time_limit": "1 h"}, "time_limit must .* above 0 .*or none.*, not '1 h'"),
    ({"max_failed_share": 1.1}, r"max_failed_share must .* from 0 to 1, not 1\.1"),
    ({"max_failed_share": float("nan")}, "max_failed_share must .* from 0 to 1, not nan"),
    ({"max_failed_share": True}, "max_failed_share must .* from 0 to 1, not True"),
    ({"address": "auto"}, "address must be None with the backend 'local', not 'auto'"),
    ({"backend": "ray", "address": 7}, "address must be text.*, or None.*, not 7"),
    ({"backend": "ray", "isolation": "none"}, "isolation must be 'auto' or 'process' with the backend 'ray'.*not 'none'"),
    ({"isolation": "none", "time_limit": 3}, "isolation must be 'auto' or 'process' with a time_limit, not 'none'"),
]


@pytest.mark.parametrize(("arguments", "pattern"), REFUSED)
def test_wrong_arguments(arguments, pattern):
    with pytest.raises(InvalidInputError, match=f"^(Parameter )?{pattern}"):
        make_evaluator(source("MoodyTask"), **{"workers": 1, **in_settings(arguments)})


def test_counts_go_through_json():
    with evaluator("own process", on_failure="discard") as evaluates:
        evaluates.evaluate(some_genomes(10, at_3="nan"))
        kept = json.loads(json.dumps(evaluates.counts()))
    with evaluator("own process", on_failure="discard") as other:
        other.restore_counts(kept)
        other.evaluate(some_genomes(10, at_4="nan", at_5="raise"))
        assert other.counts()["evaluations"] == 20
        assert list(other.failures.values()) == [2, 1]
        assert other.failures is not kept["failures"]


def test_stax_needs_no_ray_to_be_imported():
    command = "import sys, stax.evaluation; sys.exit('ray' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command]).returncode == 0
    assert stax.__version__
