"""`stax reevaluate`: the archives of a run on fresh seeds."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import stax
from run_folders import contents
from stax.cli.main import main
from stax.runs.reevaluation import reevaluate
from stax.search.grid import Grid
from stax.search.policy_set import PolicySet

SMALL = {"population_size": 20, "workers": 1, "seed": 2, "isolation": "none"}
EPISODES = 3


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """The folder of a short run on a noisy task."""
    folder = tmp_path_factory.mktemp("noisy") / "run"
    stax.run("redundant-arm", algo="serene", budget=1500, out=folder, **SMALL, **{"task.action_noise": 0.3})
    return folder


def test_the_figures_are_those_of_the_task_with_other_seeds(noisy):
    found = reevaluate(noisy, episodes=EPISODES, seed=50)
    result = stax.load(noisy)
    policies = PolicySet.union([result.novelty_archive, result.reward_archive])
    tasks = [stax.make_task("redundant-arm", action_noise=0.3, seed=seed) for seed in (50, 51, 52)]
    rollouts = [task.evaluate(policies.genome) for task in tasks]
    rewards = np.stack([outcome.reward for outcome in rollouts])
    assert [policy.id for policy in found.policies] == policies.id.tolist()
    np.testing.assert_allclose([policy.mean for policy in found.policies], rewards.mean(axis=0))
    np.testing.assert_allclose([policy.spread for policy in found.policies], rewards.std(axis=0, ddof=1))
    assert [policy.recorded for policy in found.policies] == policies.reward.tolist()
    grid = Grid(result.task.ground_truth_bounds, 50)
    own = grid.cell(policies.ground_truth)
    same = np.mean([grid.cell(outcome.ground_truth) == own for outcome in rollouts], axis=0)
    assert [policy.same_cell for policy in found.policies] == same.tolist()
    assert found.cells == len(set(own.tolist()))
    assert found.surviving_cells == len({cell for cell, share in zip(own.tolist(), same, strict=True) if share >= 0.5})
    assert found.surviving_cells < found.cells
    for row, policy in enumerate(found.policies):
        areas = [int(outcome.reward_area[row]) if outcome.reward[row] > 0 else -1 for outcome in rollouts]
        assert policy.survives == (areas.count(policy.area) >= EPISODES / 2)


def test_the_command_prints_a_table_and_writes_only_what_is_asked_for(noisy, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = contents(noisy)
    given = ["reevaluate", str(noisy), "--episodes", str(EPISODES)]
    assert main(given) == 0
    table = capsys.readouterr().out
    assert "3 episodes each" in table
    for name in ("lower left", "upper right", "upper left", "cells of the grid"):
        assert name in table
    assert not list(tmp_path.iterdir())
    assert main([*given, "--json", "--out", "rewards.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    with Path("rewards.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["id"]) for row in rows] == [policy["id"] for policy in found["policies"]]
    assert [float(row["mean"]) for row in rows] == [policy["mean"] for policy in found["policies"]]
    assert contents(noisy) == before
    # The best policies of a noisy built-in task are validated at the end of the run, too.
    assert (noisy / "validation.json").exists() == any(policy["area"] >= 0 for policy in found["policies"])


def test_without_noise_everything_survives(tmp_path):
    stax.run("redundant-arm", algo="ns", budget=200, out=tmp_path / "run", **SMALL)
    found = reevaluate(tmp_path / "run", episodes=2)
    assert all(policy.survives and policy.same_cell == 1 and policy.mean == policy.recorded for policy in found.policies)
    assert found.cells == found.surviving_cells > 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--episodes", "1"], "--episodes: must be a whole number of at least 2"),
        (["--episodes", "many"], "--episodes: must be a whole number"),
        (["--out", "nowhere/file.csv"], "'nowhere/file.csv' cannot be written"),
        (["--workers", "0"], "--workers: must be"),
    ],
)
def test_bad_input_is_one_line(more, words, noisy, capsys):
    try:
        code = main(["reevaluate", str(noisy), *more])
    except SystemExit as ended:
        code = int(ended.code)
    assert code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert words in said


def test_tasks_without_seeds_and_folders_without_results_are_refused(tmp_path, capsys):
    stax.run("toy_tasks:SquareTask", algo="ns", budget=60, out=tmp_path / "run", **SMALL)
    assert main(["reevaluate", str(tmp_path / "run")]) == 2
    assert "--trust" in capsys.readouterr().err
    assert main(["reevaluate", str(tmp_path / "run"), "--trust"]) == 2
    assert "has no options seed and episodes" in capsys.readouterr().err
    assert main(["reevaluate", str(tmp_path / "none")]) == 2
