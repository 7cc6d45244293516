"""What the first rollouts say about a task, by real environments and by tasks whose rewards are known beforehand."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gymnasium_worlds  # noqa: F401 (registers its environments)
import own_tasks
import stax
from stax.tasks.contract import check_task
from stax.tasks.first_look import BASE_OFFSET, differing, impurity_note, observation_note, reward_note
from stax.tasks.variants import has_options, make_variant

WORLDS = "gym:gymnasium_worlds:"


def notes(name: str, **options) -> dict[str, str]:
    return {finding.what: finding.note for finding in check_task(stax.make_task(name, **options)) if finding.note}


def genomes_for(task: stax.Task, count: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, task.genome_size))


@pytest.mark.parametrize("name", ["gym:FrozenLake-v1", "gym:CartPole-v1", WORLDS + "Walk-v0"])
def test_environments_that_depend_on_the_seed_are_stochastic(name):
    note = notes(name)["seeds"]
    assert re.search(r"is stochastic: 12 of 12 policies .* with seed 0 alone, .*task\.episodes=5", note), note


@pytest.mark.parametrize("name", [WORLDS + "Still-v0", WORLDS + "Lesson-v0", "own_tasks:PointTask"])
def test_environments_that_do_not_are_not(name):
    assert "seeds" not in notes(name)


@pytest.mark.parametrize(
    ("name", "options"),
    [("gym:Acrobot-v1", {"hidden": None}), ("gym:Pendulum-v1", {}), (WORLDS + "Lesson-v0", {"make": {"pays": "never"}})],
)
def test_the_offset_suggested_for_rewards_that_are_never_positive_works(name, options):
    task = stax.make_task(name, **options)
    genomes = genomes_for(task, 24)
    assert not task.evaluate(genomes).reward.any()
    returns = make_variant(task, {"reward_offset": BASE_OFFSET}).evaluate(genomes).reward - BASE_OFFSET
    note = reward_note(task, np.zeros(24), returns)
    said = re.search(r"all returns lie between (-[\d.]+) and (-[\d.]+); set task.reward_offset=([\d.]+)", note)
    assert said, note
    low, high, offset = map(float, said.groups())
    assert np.allclose([low, high], [returns.min(), returns.max()], rtol=1e-3)
    rewarded = make_variant(task, {"reward_offset": offset}).evaluate(genomes).reward > 0
    assert 0 < rewarded.sum() < 12


def test_returns_that_are_all_the_same():
    task = stax.make_task("gym:MountainCar-v0")
    assert "all returns are -200; set task.reward_offset=200 unless" in reward_note(task, np.zeros(3), np.full(3, -200.0))
    # Rewards of 0 are what a task with rare ones pays.
    assert reward_note(task, np.zeros(3), np.zeros(3)) == ""


def test_the_offset_suggested_for_dense_rewards_makes_them_rare():
    task = stax.make_task(WORLDS + "Lesson-v0", make={"pays": "dense"})
    genomes = genomes_for(task, 50)
    note = reward_note(task, task.evaluate(genomes).reward, None)
    assert "has dense rewards: 50 of 50 policies drawn at random are rewarded" in note
    offset = float(re.search(r"task.reward_offset=(-[\d.]+)", note)[1])
    assert 0 < (make_variant(task, {"reward_offset": offset}).evaluate(genomes).reward > 0).mean() <= 0.2
    own = own_tasks.PointTask()
    assert "let the task pay 0 below a level worth reaching" in reward_note(own, np.ones(4), None)
    assert reward_note(own, np.array([0.0, 0.0, 1.0]), None) == ""


def test_constant_observations():
    blind = stax.make_task(WORLDS + "Lesson-v0", make={"sees": False})
    assert "has constant observations" in notes(WORLDS + "Lesson-v0", make={"sees": False})["differences observed"]
    assert observation_note(blind, np.zeros((1, 5, 2))) == ""
    assert "differences observed" not in notes(WORLDS + "Lesson-v0")


def test_rollouts_that_do_not_repeat():
    task = stax.make_task(WORLDS + "Unseeded-v0")
    genomes = genomes_for(task, 5)
    first, again = task.evaluate(genomes), task.evaluate(genomes)
    assert re.search(r"is not repeatable: 5 of 5 policies had another .*observations when", impurity_note(task, first, again))
    assert impurity_note(task, first, first) == ""


def test_what_differs_is_found_by_row_and_nan_equals_nan():
    def rollouts(reward, seen):
        count = len(reward)
        return stax.Rollouts(np.array(reward), np.full(count, -1), np.ones(count, np.int64), np.array(seen))

    seen = [[[np.nan]], [[1.0]]]
    assert differing(rollouts([0.0, 1.0], seen), rollouts([0.0, 1.0], seen)) == {}
    found = differing(rollouts([0.0, 1.0], seen), rollouts([0.0, 2.0], [[[np.nan]], [[1.0]]]))
    assert {name: rows.tolist() for name, rows in found.items()} == {"reward": [False, True]}
    assert differing(rollouts([0.0], [[[1.0]]]), rollouts([0.0], [[[1.0, 2.0]]]))["snapshots"].all()


def test_variants():
    task = stax.make_task(WORLDS + "Walk-v0", ground_truth=(0, 1))
    genomes = genomes_for(task, 3)
    other = make_variant(task, {"seed": 5})
    assert not differing(
        other.evaluate(genomes), stax.make_task(WORLDS + "Walk-v0", ground_truth=(0, 1), seed=5).evaluate(genomes)
    )
    assert not has_options(own_tasks.PointTask(), "seed")
    with pytest.raises(stax.InvalidInputError, match="cannot be made again with another seed"):
        make_variant(own_tasks.PointTask(), {"seed": 1})
