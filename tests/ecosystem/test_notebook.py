"""What a Python session and a notebook show, and what results offer there."""

from __future__ import annotations

import re
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import stax
from run_folders import QUICK
from stax.cli.main import main
from toy_tasks import SquareTask

HOSTILE = "<script>alert(1)</script> \x1b[31m"


def searched(task=None, algo="ns", budget=60):
    parameters = {name: value for name, value in QUICK.items() if name not in ("isolation", "checkpoint_seconds")}
    search = stax.make_search(algo, task or SquareTask(), budget=budget, seed=1, **parameters)
    while not search.done:
        search.tell(search.task.evaluate(search.ask()))
    return search


def test_values_are_shown_in_one_short_line(result):
    search = searched()
    for value in (result, result.novelty_archive, result.task, search, stax.make_search("ns", SquareTask(), budget=100)):
        text = repr(value)
        assert len(text) < 300
        assert "\n" not in text
    assert f"coverage {100 * result.coverage:.1f} %" in repr(result)
    assert f"{len(result.novelty_archive)} policies" in repr(result.novelty_archive)
    assert "60 of 60, done" in repr(search)
    assert "none rewarded" in repr(result.novelty_archive.take(result.novelty_archive.reward == 0))
    assert "0 policies" in repr(result.novelty_archive.take([False] * len(result.novelty_archive)))


def test_pages_show_numbers_and_a_picture(result):
    search = searched()
    page = result._repr_html_()
    assert "data:image/png;base64," in page
    assert f"{100 * result.coverage:.1f} %" in page
    for value in (result.novelty_archive, search):
        assert "<svg" in value._repr_html_()
    assert "data:image/png" in stax.make_task("redundant-arm")._repr_html_()
    assert "<table>" in result.task._repr_html_()


def test_names_are_escaped():
    task = SquareTask()
    task.name = HOSTILE
    task.reward_areas = tuple(replace(area, name=HOSTILE) for area in task.reward_areas)
    assert "\x1b" not in repr(task)
    assert "<script" not in task._repr_html_()


def test_a_task_without_its_attributes_is_shown():
    class Unfinished(stax.Task):
        def evaluate(self, genomes):
            raise NotImplementedError

        def scene(self, size=512):
            raise RuntimeError("no scene")

    assert "Unfinished" in repr(Unfinished())
    assert "Unfinished" in Unfinished()._repr_html_()


def test_public_names_are_listed():
    assert dir(stax) == sorted(stax.__all__)


def test_the_best_policy(result):
    archive = result.reward_archive
    best = archive.best()
    assert best.reward[0] == archive.reward.max()
    area = int(best.reward_area[0])
    assert archive.best(area).id[0] == best.id[0]
    assert result.best(result.task.reward_areas[area].name).reward[0] == max(result.max_reward)
    with pytest.raises(stax.InvalidInputError, match="reward area 99"):
        archive.best(99)
    with pytest.raises(stax.InvalidInputError, match="was rewarded"):
        archive.take(archive.reward < 0).best()
    with pytest.raises(stax.InvalidInputError, match="nowhere"):
        result.best("nowhere")


def test_the_picture_of_a_result_is_a_figure(result):
    assert result.plot().axes


@pytest.mark.parametrize("environment", ["stax/RedundantArm-v0", "stax/HardMaze-v0"])
def test_a_policy_acts_as_in_the_search(environment):
    name = {"stax/RedundantArm-v0": "redundant-arm", "stax/HardMaze-v0": "hard-maze"}[environment]
    result = stax.run(name, algo="ns", budget=40, workers=1, **QUICK)
    archive = result.novelty_archive
    policy = result.policy(int(archive.id[0]))
    env = gymnasium.make(environment)
    observation, _ = env.reset()
    ended = False
    while not ended:
        observation, reward, ended, _, info = env.step(policy(observation))
    assert info["ground_truth"] == pytest.approx(archive.ground_truth[0], abs=1e-6)
    assert info["steps"] == archive.steps[0]
    assert reward == pytest.approx(archive.reward[0], abs=1e-6)
    with pytest.raises(stax.InvalidInputError, match="shape"):
        policy(np.zeros((64, 64, 3)))
    with pytest.raises(stax.InvalidInputError, match="There is no policy"):
        result.policy(10**6)


@pytest.mark.parametrize("options", [{}, {"task.inputs": "scaled"}])
@pytest.mark.parametrize("environment", ["CartPole-v1", "MountainCarContinuous-v0"])
def test_a_policy_acts_in_a_gymnasium_environment(environment, options):
    result = stax.run(f"gym:{environment}", algo="random", budget=20, workers=1, **{**QUICK, **options})
    archive = result.novelty_archive
    policy = result.policy(int(archive.id[0]))
    env = gymnasium.make(environment)
    observation, _ = env.reset(seed=0)
    total, steps, ended = 0.0, 0, False
    while not ended:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total, steps, ended = total + float(reward), steps + 1, terminated or truncated
    assert steps == archive.steps[0]
    assert max(total, 0.0) == pytest.approx(archive.reward[0])


def test_progress_is_shown_when_asked_for(capsys, tmp_path):
    stax.run(SquareTask(), algo="ns", budget=60, workers=1, out=tmp_path / "run", progress=True, **QUICK)
    said = capsys.readouterr()
    assert "100 %" in said.err
    assert "60 of 60" in said.err
    assert said.err.endswith("\n")
    assert not said.out
    stax.run(SquareTask(), algo="ns", budget=60, workers=1, **QUICK)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("algo", ["ns", "stax"])
def test_a_search_by_ask_and_tell_becomes_a_run_folder(algo, tmp_path, capsys):
    search = searched(algo=algo, budget=100)
    folder = search.save(tmp_path / "run")
    result = stax.load(folder, task=search.task)
    assert result.status == "finished"
    assert result.coverage == search.coverage
    np.testing.assert_array_equal(result.novelty_archive.genome, search.novelty_archive.policies.genome)
    done = stax.run(search.task, algo=algo, budget=100, seed=1, workers=1, out=tmp_path / "same", **QUICK)
    np.testing.assert_array_equal(done.novelty_archive.genome, result.novelty_archive.genome)
    for words in (["show", str(folder)], ["report", str(folder)], ["compare", str(folder)]):
        assert main(words) == 0, capsys.readouterr().err
    with pytest.raises(stax.InvalidInputError, match="not empty"):
        search.save(folder)


def test_a_search_of_a_named_task_can_be_done_again(tmp_path):
    search = searched(stax.make_task("redundant-arm", threads=1))
    search.save(tmp_path / "run")
    text = (tmp_path / "run" / "config.toml").read_text()
    assert 'task = "redundant-arm"' in text
    assert "task_given" not in text
    assert stax.load(tmp_path / "run").task.evaluate(np.zeros((1, 228))).reward.shape == (1,)


def test_a_search_that_is_not_done_is_not_saved(tmp_path):
    search = stax.make_search("ns", SquareTask(), budget=100, population_size=12)
    with pytest.raises(stax.InvalidInputError, match=re.escape("0 of 100")):
        search.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_failed_evaluations_are_counted(tmp_path):
    search = stax.make_search("ns", SquareTask(), budget=24, population_size=12, chunk_size=24)
    while not search.done:
        rollouts = search.task.evaluate(search.ask())
        search.tell(replace(rollouts, failed=np.arange(len(rollouts)) == 0))
    result = stax.load(search.save(tmp_path / "run"), task=search.task)
    assert sum(result.failures.values()) == int(result.ledger["failed"].sum()) > 0
