"""Runs with the parameter `reevaluations`: in folders, with workers, interrupted, extended, seeded and refused."""

from __future__ import annotations

import dataclasses
import json
import shutil

import numpy as np
import pytest

import stax
from noisy_tasks import FACTORS
from run_folders import QUICK, Stop, contents, same_run
from stax import InvalidInputError
from stax.analysis.records.making import write_record
from stax.analysis.records.record import read_record
from stax.analysis.replay import play
from stax.cli.main import main
from stax.runs.reader import RunReader
from stax.search.vocabulary import Origin

TASK = "noisy_tasks:DiceTask"
GIVEN = {**QUICK, "seed": 1, "workers": 1, "reevaluations": 3}
MEAN = np.mean(FACTORS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Folders of runs that were not interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    for algo in ("serene", "map-elites"):
        stax.run(TASK, algo=algo, budget=260, out=folder / algo, **GIVEN)
    return folder


@pytest.mark.parametrize("algo", ["serene", "map-elites"])
@pytest.mark.parametrize("rests", [1, 4])
def test_an_interrupted_run_is_resumed_bit_for_bit(algo, rests, whole, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        stax.run(TASK, algo=algo, budget=260, out=tmp_path / "run", stop=Stop(rests), **GIVEN)
    stax.resume(tmp_path / "run", trust=True)
    same_run(tmp_path / "run", whole / algo)


@pytest.mark.parametrize("algo", ["serene", "map-elites"])
@pytest.mark.parametrize("budget", [100, 101, 102, 121])
def test_a_longer_budget_gives_the_same_wherever_the_shorter_one_ended(algo, budget, whole, tmp_path):
    stax.run(TASK, algo=algo, budget=budget, out=tmp_path / "run", **GIVEN)
    stax.resume(tmp_path / "run", budget=260, trust=True)
    same_run(tmp_path / "run", whole / algo)


def test_worker_processes_give_the_same_bits(whole, tmp_path):
    stax.run(TASK, algo="serene", budget=260, out=tmp_path / "run", **{**GIVEN, "isolation": "process", "workers": 2})
    same_run(tmp_path / "run", whole / "serene")


def test_the_folder_has_the_spread_and_the_origin(whole, capsys):
    run, result = RunReader(whole / "serene"), stax.load(whole / "serene")
    origin = run.ledger("origin")["origin"]
    assert np.count_nonzero(origin == Origin.REEVALUATION) > 50
    for archive in (run.novelty_archive, result.reward_archive):
        assert archive.reward == pytest.approx(MEAN * result.ledger["reward"][archive.id])
        assert np.isfinite(archive.reward_spread).all()
    assert main(["reevaluate", str(whole / "serene"), "--episodes", "2", "--trust", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["policies"]
    rewards = {policy["id"]: policy["recorded"] for policy in found}
    assert rewards[int(result.reward_archive.id[0])] == result.reward_archive.reward[0]


def test_the_report_lists_the_origin(whole, tmp_path, capsys):
    assert main(["report", str(whole / "serene"), "--out", str(tmp_path / "page.html"), "--quiet"]) == 0
    assert "reevaluation" in (tmp_path / "page.html").read_text()


def test_its_record_can_be_read_again(whole, tmp_path):
    record = read_record(write_record(whole / "serene", tmp_path, trust=True))
    spent = {part.origin: part.evaluations for part in record.spent}
    ledger = RunReader(whole / "serene").ledger("origin")["origin"]
    assert spent["reevaluation"] == np.count_nonzero(ledger == Origin.REEVALUATION)
    assert sum(spent.values()) == 260


def test_a_replay_does_not_compare_one_episode_with_the_mean_of_several(tmp_path):
    given = {**GIVEN, "task.action_noise": 0.3, "population_size": 20}
    result = stax.run("redundant-arm", algo="map-elites", budget=600, validation_episodes=0, **given)
    kept = result.novelty_archive
    assert (kept.reward_spread > 0).any()
    assert not [shown.differences for shown in play(result.task, kept.take(slice(0, 5))) if shown.differences]
    ones = kept.take(np.argsort(-kept.reward)[:1])
    assert not play(result.task, ones)[0].differences
    assert play(result.task, dataclasses.replace(ones, reward_spread=None))[0].differences


def test_an_archive_without_its_spread_is_refused(whole, tmp_path, capsys):
    run = shutil.copytree(whole / "serene", tmp_path / "run")
    path = run / "archives" / "reward.npz"
    with np.load(path) as arrays:
        np.savez(path, **{name: array for name, array in arrays.items() if name != "reward_spread"})
    assert main(["reevaluate", str(run), "--trust"]) == 2
    assert "reward_spread exactly if the run has reevaluations" in capsys.readouterr().err


def test_seeds_are_reevaluated_before_they_enter_archives(whole, tmp_path):
    result = stax.run(TASK, algo="serene", budget=400, start_from=str(whole / "serene"), out=tmp_path / "run", **GIVEN)
    kept = result.novelty_archive
    seeded = kept.take(kept.origin == Origin.INITIAL)
    assert len(seeded) > 3
    assert seeded.reward == pytest.approx(MEAN * result.ledger["reward"][seeded.id])
    assert np.isfinite(seeded.reward_spread).all()


def test_a_task_whose_seed_changes_nothing_is_refused(tmp_path, capsys):
    given = ["run", "noisy_tasks:BlindDiceTask", "--algo", "ns", "--budget", "200", "--set", "reevaluations=2"]
    assert main([*given, "--set", "isolation=none", "--out", str(tmp_path / "run"), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "reevaluations must be 0 for task 'blind', not 2" in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()
    with pytest.raises(InvalidInputError, match="16 random policies did the same"):
        stax.run("noisy_tasks:BlindDiceTask", algo="ns", budget=200, reevaluations=2, isolation="none")


@pytest.mark.parametrize("value", ["-1", "1.5", "many", "1001"])
def test_the_command_refuses_other_values(value, tmp_path, capsys):
    given = ["run", TASK, "--algo", "ns", "--budget", "200", "--set", f"reevaluations={value}"]
    assert main([*given, "--out", str(tmp_path / "run"), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "reevaluations" in said
    assert value in said
    assert not contents(tmp_path)
