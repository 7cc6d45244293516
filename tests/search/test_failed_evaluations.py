"""Evaluations that failed: they cost budget and stand in the ledger, and nobody meets them again."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from searches import METHODS, WITH_EMITTERS, finish, one_torch_thread, quick_search, watch

from stax import InvalidInputError, Rollouts
from stax.search.emitters.emitter import emitter_improvement, stagnates
from stax.search.explorers.population import PopulationExplorer
from toy_tasks import NoTruthTask, SquareTask


class FailingTask(SquareTask):
    """Fails for a share of the genomes, always the same ones, and then leaves nonsense behind."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def fails(self, genomes):
        return np.abs(genomes[:, 0]) * 1000 % 1 < self.share

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        failed = self.fails(np.asarray(genomes))
        rollouts.reward[failed] = np.nan
        rollouts.reward_area[failed] = 77
        rollouts.ground_truth[failed] = np.inf
        rollouts.snapshots[failed] = np.nan
        return replace(rollouts, failed=failed)


def everyone(search) -> set[int]:
    """All whom the search could still choose."""
    if not search.evaluations:
        return set()
    held = [
        *search.containers.held(),
        search.containers.around,
        *(emitter.population for emitter in search.containers.emitters),
    ]
    return {int(number) for part in held for number in part.id}


@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize("algo", METHODS)
def test_nobody_meets_a_failed_policy_again(algo, share):
    task, known = FailingTask(share), []
    settings = {"budget": 700, "chunk_size": 60, "emitter_population": 3}
    search = quick_search(algo, task, **settings)
    steps = watch(search, lambda search: known.append(everyone(search)))
    genomes, ledger = np.concatenate([step.genomes for step in steps]), search.ledger.columns()
    failed = task.fails(genomes)
    assert 0.8 * share < failed.mean() < 1.2 * share
    assert len(genomes) == search.evaluations == 700

    np.testing.assert_array_equal(ledger["failed"], failed)
    assert (ledger["reward"][failed] == 0).all()
    assert (ledger["reward_area"][failed] == -1).all()
    assert np.isnan(ledger["ground_truth"][failed]).all()
    sound = SquareTask().evaluate(genomes).take(~failed)
    for name in ("reward", "reward_area", "ground_truth"):
        np.testing.assert_array_equal(ledger[name][~failed], getattr(sound, name))
    assert search.max_reward == [sound.reward[sound.reward_area == area].max() for area in range(2)]
    cells = np.clip(np.floor((sound.ground_truth + 1) / 2 * 50), 0, 49)
    assert search.coverage == len(np.unique(cells, axis=0)) / 50**2

    ids = set(np.flatnonzero(failed).tolist())
    met = set().union(*known, everyone(search), ledger["parent"].tolist())
    assert met
    assert not met & ids
    for record in search.emitter_records():
        assert record.evaluations == np.count_nonzero(ledger["emitter"] == record.id)
    assert all(len(step.after["population"]) <= 12 for step in steps)
    assert len(search.containers.population) == 12 or not isinstance(search.method.explorer, PopulationExplorer)


@pytest.mark.parametrize("algo", WITH_EMITTERS)
def test_emitters_without_a_population_are_retired(algo):
    search = quick_search(algo, FailingTask(0.8), budget=1500, chunk_size=60, emitter_population=2)
    finish(search)
    records = {record.id: record for record in search.emitter_records()}
    ledger = search.ledger.columns()
    ended = {record.ended_by for record in records.values()}
    assert "evaluations failed" in ended
    assert len(ended) > 1
    for record in records.values():
        first = ledger["failed"][ledger["emitter"] == record.id][:2]
        assert (record.ended_by == "evaluations failed") == first.all()
        if first.all():
            assert (record.generations, record.evaluations, record.improvement) == (0, len(first), 0.0)


def test_an_emitter_fills_up_what_failed_of_its_first_population():
    sizes = []

    def look(search):
        sizes.extend([len(rewards) for rewards in emitter.history] for emitter in search.containers.emitters)

    search = quick_search("serene", FailingTask(0.4), budget=900, chunk_size=60, emitter_population=4)
    finish(search, look)
    ragged = [history for history in sizes if len(set(history)) > 1]
    assert ragged
    for history in sizes:
        assert history == sorted(history)
        assert 1 <= history[0] <= history[-1] <= 4


def test_the_improvement_of_a_population_that_began_smaller():
    """Those missing count as the mean of those there, so filling up alone is no improvement."""
    history = [np.array([2.0]), np.array([2.0, 2.0]), np.array([2.0, 2.0]), np.array([2.0, 2.0])]
    assert emitter_improvement(history, 4) == 0
    history = [np.array([1.0]), np.array([3.0, 2.0]), np.array([4.0, 3.0]), np.array([4.0, 4.0])]
    assert emitter_improvement(history, 4) == pytest.approx((15 - 4 * (6 / 3)) / (4 * 2))
    assert not stagnates([np.array([1.0])] * 20 + [np.array([1.0, 2.0])] * 20 + [np.array([3.0, 3.0])] * 20, 60)


@pytest.mark.parametrize("algo", METHODS)
@one_torch_thread()
def test_whole_batches_may_fail(algo):
    """Every third batch: then there are no offspring at all, and their snapshots need no shape."""
    search = quick_search(algo, budget=400, emitter_population=3)
    batch = 0
    while not search.done:
        rollouts = search.task.evaluate(search.ask())
        if batch % 3 == 2:
            count, before = len(rollouts), (search.evaluations, everyone(search))
            search.tell(
                replace(rollouts, failed=np.ones(count, bool), snapshots=np.zeros((count, 3, 9)), reward=np.full(count, np.nan))
            )
            assert search.evaluations == before[0] + count
        else:
            search.tell(rollouts)
        batch += 1
    assert search.evaluations == 400
    assert not everyone(search) & set(np.flatnonzero(search.ledger.columns()["failed"]).tolist())
    assert search.novelty_archive.policies.snapshots.dtype == search.containers.population.snapshots.dtype == np.float32


@pytest.mark.parametrize("algo", ["stax", "ns", "map-elites"])
def test_nobody_to_search_with(algo):
    search = quick_search(algo, FailingTask(1.0))
    sentence = "All 12 evaluations of the initial population failed on task 'square', so there is no policy to search with."
    with pytest.raises(RuntimeError, match=re.escape(sentence)):
        finish(search)


@pytest.mark.parametrize("algo", ["stax", "serene", "map-elites"])
def test_no_failures_are_the_same_as_none_told(algo):
    class TellingTask(SquareTask):
        def evaluate(self, genomes):
            return replace(super().evaluate(genomes), failed=np.zeros(len(genomes), bool))

    one, two = quick_search(algo), quick_search(algo, TellingTask())
    finish(one)
    finish(two)
    for name, column in one.ledger.columns().items():
        np.testing.assert_array_equal(column, two.ledger.columns()[name])
    for ours, theirs in zip(one.containers.held(), two.containers.held(), strict=True):
        for name, column in ours.columns().items():
            np.testing.assert_array_equal(column, theirs.columns()[name], err_msg=name)


def test_failed_must_be_truth_values():
    search = quick_search("ns")
    rollouts = search.task.evaluate(search.ask())
    sentence = "Task 'square' must return failed as a 1-D array of truth values, not of shape (12,) and dtype int64."
    with pytest.raises(InvalidInputError, match=re.escape(sentence)):
        search.tell(replace(rollouts, failed=np.zeros(12, int)))
    with pytest.raises(InvalidInputError, match=re.escape("Rollouts hold 12 rewards but 3 rows of failed")):
        replace(rollouts, failed=np.zeros(3, bool))


def test_values_that_count_are_still_looked_at():
    search = quick_search("ns")
    rollouts = search.task.evaluate(search.ask())
    rollouts.reward[[2, 5]] = np.nan
    failed = np.arange(12) == 2
    with pytest.raises(InvalidInputError, match="returned a reward of nan for policy 5 of 12"):
        search.tell(replace(rollouts, failed=failed))
    rollouts.ground_truth[7] = np.inf
    failed[5] = True
    with pytest.raises(InvalidInputError, match="with nan or infinity in it"):
        search.tell(replace(rollouts, failed=failed))


def test_a_task_without_ground_truth_may_fail_too():
    search = quick_search("stax", NoTruthTask())
    failed = np.arange(12) < 5
    search.tell(replace(search.task.evaluate(search.ask()), failed=failed))
    finish(search)
    assert search.ledger.columns()["failed"].sum() == 5


def test_taking_and_joining_rollouts():
    rollouts = SquareTask().evaluate(np.zeros((4, 6)))
    failed = np.array([False, True, False, True])
    some = replace(rollouts, failed=failed)
    assert some.take([1, 2]).failed.tolist() == [True, False]
    assert rollouts.take([1, 2]).failed is None
    assert Rollouts.concat([rollouts, rollouts]).failed is None
    assert Rollouts.concat([rollouts, some]).failed.tolist() == [False] * 4 + failed.tolist()
    assert Rollouts.concat([some, rollouts]).failed.tolist() == failed.tolist() + [False] * 4
    assert rollouts.failures().tolist() == [False] * 4
