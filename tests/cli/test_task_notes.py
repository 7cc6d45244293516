"""What the commands say about a task that is not built in: luck, rewards, rollouts that do not repeat; checks, progress, suggestions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gymnasium_worlds  # noqa: F401 (registers its environments)
import stax
from run_folders import EXACT, QUICK, as_options
from stax.cli.main import main
from stax.evaluation import TaskSource, make_evaluator
from stax.run_settings import RunSettings
from stax.runs.archived_policies import find_policies
from stax.runs.task_trial import TaskWarning

WORLDS = "gym:gymnasium_worlds:"
TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch):
    """The worlds are found where the command is called, as a user's own module is; what it adds to the path is taken back."""
    monkeypatch.chdir(TESTS)
    monkeypatch.setattr(sys, "path", list(sys.path))


def ran(capsys, out: Path, name: str, *more: str) -> str:
    """What a short run prints to stderr."""
    capsys.readouterr()
    assert main(["run", name, "--budget", "48", "--out", str(out), *as_options(QUICK), *more]) == 0
    return capsys.readouterr().err


def notes(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("stax: note: ")]


def test_luck_is_told_from_skill(capsys, tmp_path):
    said = ran(capsys, tmp_path / "run", "gym:FrozenLake-v1")
    assert len([note for note in notes(said) if "is stochastic" in note]) == 1
    assert re.search(r"best reward +goal +1\.000", said)
    fresh = re.search(r"on fresh seeds +goal +(0\.\d+) +by policy (\d+), recorded with 1\.000, in 20 episodes", said)
    assert fresh, said
    result = stax.load(tmp_path / "run")
    best = result.validation.of_area(0)[0]
    assert (best.id, best.recorded, f"{best.fresh:.3f}") == (int(fresh[2]), 1.0, fresh[1])
    # What it is worth is the mean of episodes with those seeds.
    task = stax.make_task("gym:FrozenLake-v1", seed=result.validation.first_seed, episodes=20)
    kept = find_policies(result, [best.id])
    assert task.evaluate(kept.genome).reward[0] == best.fresh
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "best policies on fresh seeds" in page
    assert "recorded with 1.000, in 20 episodes" in page


def test_a_validation_changes_nothing_else(capsys, tmp_path):
    said = ran(capsys, tmp_path / "with", "gym:FrozenLake-v1")
    assert "on fresh seeds   goal" in said
    assert (tmp_path / "with" / "validation.json").exists()
    said = ran(capsys, tmp_path / "without", "gym:FrozenLake-v1", "--set", "validation_episodes=0")
    assert "on fresh seeds   goal" not in said
    assert not (tmp_path / "without" / "validation.json").exists()
    for name in EXACT:
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes(), name


def test_a_world_without_luck_is_not_validated(capsys, tmp_path):
    said = ran(capsys, tmp_path / "run", WORLDS + "Still-v0", "--set", "task.reward_offset=1")
    assert "stochastic" not in said
    assert stax.load(tmp_path / "run", trust=True).validation is None


def test_a_damaged_validation_is_refused(capsys, tmp_path):
    ran(capsys, tmp_path / "run", WORLDS + "Walk-v0", "--set", "task.reward_offset=1")
    file = tmp_path / "run" / "validation.json"
    sound = json.loads(file.read_text())
    for damage in ({"episodes": "many"}, {"policies": [{"id": 0}]}, {"policies": [{**sound["policies"][0], "area": 7}]}):
        file.write_text(json.dumps({**sound, **damage}))
        with pytest.raises(stax.InvalidInputError, match=r"The validation .* is damaged"):
            stax.load(tmp_path / "run", trust=True)


def test_rewards_that_are_never_positive_and_dense_ones(capsys, tmp_path):
    said = ran(capsys, tmp_path / "never", "gym:Pendulum-v1", "--set", "task.horizon=20")
    assert re.search(r"all returns lie between -[\d.]+ and -[\d.]+; set task\.reward_offset=\d+", said), said
    said = ran(capsys, tmp_path / "dense", "gym:CartPole-v1")
    assert re.search(r"has dense rewards: 12 of 12 policies .* task\.reward_offset=-\d+", said), said
    said = ran(capsys, tmp_path / "blind", WORLDS + "Lesson-v0", "--set", "task.make.sees=false")
    assert "has constant observations" in said
    assert notes(ran(capsys, tmp_path / "quiet", "gym:CartPole-v1", "--quiet")) == []


def test_python_warns_too(tmp_path):
    with pytest.warns(TaskWarning, match="has dense rewards"):
        stax.run("gym:CartPole-v1", budget=24, **{**QUICK, "population_size": 24})


def test_rollouts_that_do_not_repeat(capsys, tmp_path):
    unseeded = WORLDS + "Unseeded-v0"
    said = ran(capsys, tmp_path / "run", unseeded, "--quiet")
    assert said.count("warning: ") == 1
    assert re.search(r"warning: Task .* is not repeatable: 3 of 3 policies", said), said
    film = ["replay", str(tmp_path / "run"), "--random", "1", "--trust", "--size", "96", "--out", str(tmp_path / "a.gif")]
    assert main(film) == 0
    said = capsys.readouterr().err
    assert "something else whenever it is evaluated, so nobody can tell" in said
    assert "equals the recording" not in said


def test_a_replay_compares_what_was_observed(capsys, tmp_path):
    """The recording is of another seed, and nothing but the observations shows it."""
    ran(capsys, tmp_path / "run", WORLDS + "Walk-v0", "--set", "task.reward=far", "--set", "task.reward_offset=-100")
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace("reward_offset = -100", "reward_offset = -100\nseed = 4"))
    film = ["replay", str(tmp_path / "run"), "--random", "1", "--trust", "--size", "96", "--out", str(tmp_path / "a.gif")]
    assert main(film) == 0
    assert "differs from the recording: what was observed" in capsys.readouterr().err


SCRIPT = """
import stax
result = stax.run("gym:CartPole-v1", budget=40, workers=2, population_size=20, algo="random")
print(result.evaluations)
"""


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for command, given in (([sys.executable, str(script)], None), ([sys.executable, "-"], SCRIPT)):
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (done.stdout, done.returncode) == ("40\n", 0), done.stderr
        assert "Traceback" not in done.stderr


OWN = """
import numpy as np, stax
def pushes(genomes):
    return np.maximum(genomes[:, 0], 0), genomes[:, None, :2].astype(np.float32)
stax.run(stax.FunctionTask(pushes, genome_size=3), budget=40, population_size=20, isolation="process", algo="random")
"""


def test_a_script_whose_task_is_its_own_is_refused_in_one_sentence(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(OWN)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert 'must do its work under if __name__ == "__main__":.' in done.stderr.splitlines()[-1]


def test_rollouts_are_counted_as_they_finish():
    task = stax.make_task(WORLDS + "Walk-v0")
    source, counts = TaskSource(task, WORLDS + "Walk-v0", {}), []
    genomes = np.zeros((16, task.genome_size))
    with make_evaluator(source, workers=1, settings=RunSettings(isolation="none")) as evaluator:
        # The first batch and a quick task are evaluated in one go, a slow one in parts of a second.
        evaluator.evaluate(genomes, counts.append)
        evaluator.evaluate(genomes, counts.append)
        assert counts == [16, 16]
        evaluator._seconds_per_policy = 0.5
        evaluator.evaluate(genomes, counts.append)
        assert counts[2:] == [2, 4, 6, 8, 10, 12, 14, 16]


def test_evaluations_outside_the_budget_are_not_counted():
    source = TaskSource(
        stax.make_task(WORLDS + "Walk-v0", make={"trouble": "raise", "where": 0.5}, hidden=None), WORLDS + "Walk-v0", {}
    )
    genomes = np.zeros((2, source.task.genome_size))
    with make_evaluator(source, workers=1, settings=RunSettings(isolation="none")) as evaluator:
        assert len(evaluator.attempt(genomes)) == 2
        assert len(evaluator.attempt(genomes, seed=3)) == 2
        genomes[1, -1] = 5.0
        assert evaluator.attempt(genomes) is None
        assert evaluator.attempt(genomes[:1], colour="red") is None
        assert (evaluator.evaluations, evaluator.failures) == (0, {})


def test_check_task_says_what_a_run_would_say(capsys, tmp_path, monkeypatch):
    (tmp_path / "small_pictures.py").write_text(PICTURES)
    monkeypatch.chdir(tmp_path)
    assert main(["check-task", "small_pictures:Small"]) == 1
    assert "WRONG  a search by stax: Pictures must have the shape (height, width, channels)" in capsys.readouterr().out
    assert main(["check-task", "small_pictures:Small", "--algo", "ns"]) == 1
    assert "WRONG  a search by ns: Task" in capsys.readouterr().out
    assert main(["check-task", "small_pictures:Small", "--algo", "random"]) == 0
    assert main(["check-task", "small_pictures:Slow", "--time-limit", "1"]) == 1
    said = capsys.readouterr().out
    assert "the check that follows 'attributes' was not done within the time limit of 1 s." in said


PICTURES = """
import time
import numpy as np, stax

class Small(stax.Task):
    genome_size = 3
    observation_shape = (50, 50, 3)
    observation_samples = 1
    reward_areas = (stax.RewardArea("a"),)

    def evaluate(self, genomes):
        genomes = stax.check_genomes(genomes, 3)
        seen = (20 * np.abs(genomes)).astype(np.uint8)[:, None, None, None, :] + np.zeros((1, 1, 50, 50, 3), np.uint8)
        reward = np.maximum(genomes[:, 0] - 1, 0)
        return stax.Rollouts(reward, np.where(reward > 0, 0, -1), np.ones(len(genomes), np.int64), seen)

class Slow(Small):
    def evaluate(self, genomes):
        time.sleep(30)
"""

SUGGESTIONS = [
    (["check-task", "Acrobot-v1"], r"the Gymnasium environment of that name is gym:Acrobot-v1"),
    (
        ["run", "gym:CartPole-v1", "--algo", "ns", "--budget", "100"],
        r"--set task\.ground_truth=0,1, or .*--set descriptor=learned",
    ),
    (["run", "gym:CartPole-v1", "--algo", "map-elites", "--budget", "100"], r"for instance --set task\.ground_truth=0,1\."),
    (["new-task", "numpy"], r"the module 'numpy' is installed here"),
]


@pytest.mark.parametrize(("arguments", "told"), SUGGESTIONS)
def test_refusals_name_the_remedy(arguments, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert re.search(told, said), said
    assert list(tmp_path.iterdir()) == []
