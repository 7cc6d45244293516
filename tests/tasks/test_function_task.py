"""Tasks that are just a function, and the starting points that `stax new-task` writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stax
from stax.cli.main import main
from stax.tasks.starting_point import write_task


def reach(genomes):
    """A vector seen three times, and where it ends."""
    path = np.stack([genomes[:, :2] * share for share in (0.25, 0.5, 1.0)], axis=1)
    return np.maximum(0.0, genomes[:, 0] - 1), path, np.tanh(genomes[:, :2])


def glance(genomes):
    return np.zeros(len(genomes)), genomes


def picture(genomes):
    shade = np.clip(genomes[:, :1] * 20 + 128, 0, 255).astype(np.uint8)
    return np.maximum(0.0, genomes[:, 0]), np.broadcast_to(shade[:, :, None, None], (len(genomes), 16, 16, 3))


def one(genome):
    return max(0.0, genome[0]), np.outer([1, 2], genome), np.tanh(genome[:1])


def problems(task):
    return [f"{finding.what}: {finding.problem}" for finding in stax.check_task(task) if finding.problem]


@pytest.mark.parametrize(
    ("function", "options", "samples", "shape", "dtype"),
    [
        (reach, {"ground_truth_bounds": ((-1, 1), (-1, 1))}, 3, (2,), "float32"),
        (glance, {}, 1, (4,), "float32"),
        (picture, {}, 1, (16, 16, 3), "uint8"),
        (one, {"batch": False, "ground_truth_bounds": (-1, 1)}, 2, (4,), "float32"),
    ],
)
def test_what_a_function_returns_tells_what_the_task_is(function, options, samples, shape, dtype):
    task = stax.FunctionTask(function, genome_size=4, **options)
    assert (task.observation_samples, task.observation_shape, task.observation_dtype) == (samples, shape, dtype)
    assert task.name == function.__name__
    assert problems(task) == []
    genomes = np.random.default_rng(0).normal(size=(7, 4))
    rollouts = task.evaluate(genomes)
    alone = [function(genome) for genome in genomes] if not options.get("batch", True) else None
    expected = [outcome[0] for outcome in alone] if alone else function(genomes)[0]
    assert rollouts.reward.tolist() == list(expected)
    assert ((rollouts.reward_area == 0) == (rollouts.reward > 0)).all()


def test_a_function_can_tell_everything_by_rollouts():
    arm = stax.make_task("redundant-arm")

    def states(genomes):
        rollouts = arm.evaluate(genomes)
        return stax.Rollouts(
            reward=np.where(rollouts.reward > 0, 0.5, 0.0),
            reward_area=np.where(rollouts.reward > 0, 0, -1),
            steps=rollouts.steps,
            snapshots=rollouts.snapshots.reshape(len(genomes), 5, -1).astype(np.float32),
        )

    task = stax.FunctionTask(states, genome_size=arm.genome_size)
    assert problems(task) == []
    genomes = np.random.default_rng(0).normal(size=(7, arm.genome_size))
    assert (task.evaluate(genomes).steps == arm.evaluate(genomes).steps).all()


def test_a_function_is_searched_by_name_and_as_an_object(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "lever.py").write_text(
        "import numpy as np\n"
        "def lever(genomes):\n"
        "    return np.maximum(0.0, genomes[:, 0] - 2), np.tanh(genomes)\n"
        "lever.genome_size = 3\n"
    )
    by_name = stax.run("lever:lever", algo="stax", budget=600, seed=3, workers=2, out=tmp_path / "run")
    import lever

    as_object = stax.run(stax.FunctionTask(lever.lever), algo="stax", budget=600, seed=3, workers=1)
    assert by_name.max_reward[0] > 0
    assert np.array_equal(by_name.novelty_archive.genome, as_object.novelty_archive.genome)
    assert np.array_equal(by_name.ledger["reward"], as_object.ledger["reward"])
    assert stax.load(tmp_path / "run", trust=True).task.genome_size == 3


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (3, {"genome_size": 2}, "A FunctionTask takes a function, not 3."),
        (glance, {}, "Task 'glance' needs the option 'genome_size'"),
        (glance, {"genome_size": 0}, "genome_size must be a whole number from 1 to 10,000,000, not 0."),
        (glance, {"genome_size": 2, "genome_bounds": (1, 1)}, "genome_bounds must be a finite lowest and a higher highest value, not (1, 1)."),
        (glance, {"genome_size": 2, "genome_bounds": "wide"}, "genome_bounds must be pairs of a lowest and a highest value, not 'wide'."),
        (glance, {"genome_size": 2, "ground_truth_bounds": (0, 1)}, "Task 'glance' has ground_truth_bounds, but no ground truth: give both or neither."),
        (reach, {"genome_size": 2}, "Task 'reach' has a ground truth, but no ground_truth_bounds: give both or neither."),
        (lambda genomes: 1.0, {"genome_size": 2, "name": "f"}, "Task 'f' must return rewards and observations, and a ground truth if it has one, not float."),
        (lambda genomes: (1.0, genomes), {"genome_size": 2, "name": "f"}, "Task 'f' must return rewards as numbers of shape (1,), one a policy, not float64 of shape ()."),
        (lambda genomes: (genomes[:, 0], ["a"]), {"genome_size": 2, "name": "f"}, "Task 'f' must return observations as numbers of shape (1, d) or (1, samples, d) for vectors, (1, height, width, 3) or (1, samples, height, width, 3) for pictures, not <U1 of shape (1,)."),
        (lambda genomes: (genomes[:, 0], np.zeros((1, 16, 16, 3))), {"genome_size": 2, "name": "f"}, "Task 'f' must return pictures as uint8, not float64."),
        (lambda genome: 1.0, {"genome_size": 2, "name": "f", "batch": False}, "Task 'f' must return a reward and observations of one shape for every policy, and a ground truth if it has one."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_function_is_said(function, options, words):
    with pytest.raises(stax.InvalidInputError) as error:
        stax.FunctionTask(function, **options)
    assert words in str(error.value)


def test_observations_that_change_their_shape_are_refused():
    task = stax.FunctionTask(lambda genomes: (genomes[:, 0], np.zeros((len(genomes), len(genomes)))), genome_size=1, name="f")
    with pytest.raises(stax.InvalidInputError) as error:
        task.evaluate(np.zeros((3, 1)))
    assert re.search(r"Task 'f' must return observations.*\(1, 1\).*not \(1, 3\)", str(error.value))


def test_a_task_that_is_evaluated_elsewhere():
    task = stax.ExternalTask(
        "robot", genome_size=4, observation_shape=(2,), observation_samples=3, ground_truth_bounds=((-1, 1), (-1, 1))
    )
    here = stax.FunctionTask(reach, genome_size=4, ground_truth_bounds=((-1, 1), (-1, 1)))
    searches = [stax.make_search("stax", world, budget=700, seed=1) for world in (task, here)]
    for search in searches:
        while not search.done:
            search.tell(here.evaluate(search.ask()))
    assert np.array_equal(searches[0].novelty_archive.policies.genome, searches[1].novelty_archive.policies.genome)
    assert searches[0].max_reward[0] > 0
    with pytest.raises(
        stax.InvalidInputError, match=r"^Policies of task 'robot' are evaluated elsewhere: take them from Search\.ask"
    ):
        task.evaluate(np.zeros((1, 4)))
    with pytest.raises(stax.InvalidInputError, match=r"^Policies of task 'robot' are evaluated elsewhere"):
        stax.run(task, algo="ns", budget=200)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"genome_size": 1.5}, "Task 'robot' cannot be used: genome_size must be a whole number of at least 1 and at most 10,000,000, not 1.5."),
        ({"observation_shape": (2, 2)}, "observation_shape must be (d,) for vectors or (height, width, 3) for pictures, not (2, 2)."),
        ({"observation_shape": (0,)}, "Task 'robot' cannot be used: each side in observation_shape must be a whole number of at least 1 and at most 4,194,304, not 0."),
        ({"observation_dtype": "int8"}, "observation_dtype must be one of 'float32', 'uint8', not 'int8'."),
        ({"reward_areas": "here"}, "reward_areas must be a list of at least one name or RewardArea, not 'here'."),
        ({"ground_truth_names": "xy"}, "ground_truth_names must be a list of names, not 'xy'."),
        ({"ground_truth_bounds": [3]}, "ground_truth_bounds must be pairs of a lowest and a highest value, not 3."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_description_is_said(options, words):
    with pytest.raises(stax.InvalidInputError) as error:
        stax.ExternalTask("robot", **{"genome_size": 4, "observation_shape": (2,), **options})
    assert words in str(error.value)


@pytest.mark.parametrize("flags", [[], ["--function"]])
def test_a_new_task_works_and_passes_its_own_test(flags, tmp_path, capsys):
    assert main(["new-task", "my-robot", "--out", str(tmp_path / "robots"), *flags]) == 0
    target = "my_robot:my_robot" if flags else "my_robot:MyRobot"
    assert capsys.readouterr().out == (
        f"cd {tmp_path / 'robots'}\n"
        f"stax check-task {target}\nstax run {target} --budget 5000\npython -m pytest test_my_robot.py\n"
    )
    commands = [["-m", "stax", "check-task", target], ["-m", "pytest", "-p", "no:cacheprovider", "test_my_robot.py"]]
    for command in commands:
        done = subprocess.run([sys.executable, *command], cwd=tmp_path / "robots", capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_nothing_is_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("test_maze.py").write_text("mine")
    assert main(["new-task", "maze"]) == 2
    assert capsys.readouterr().err.startswith("stax: 'test_maze.py' exists already")
    assert [path.name for path in tmp_path.iterdir()] == ["test_maze.py"]
    assert Path("test_maze.py").read_text() == "mine"
    assert main(["new-task", "robot", "--out", "test_maze.py"]) == 2
    assert capsys.readouterr().err == "stax: 'test_maze.py' cannot be a folder: there is a file in its place.\n"


@pytest.mark.parametrize("name", ["", "1st", "a b", "../up", "class", "json", "stax", "-x", "x-", "näh"])
def test_names_that_cannot_be_are_refused(name, tmp_path):
    with pytest.raises(stax.InvalidInputError, match="A task"):
        write_task(name, tmp_path)
    assert not list(tmp_path.iterdir())
