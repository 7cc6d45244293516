"""The parameter `reevaluations`: what the archives keep of policies that were evaluated several times."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from searches import QUICK, one_torch_thread

import stax
from noisy_tasks import FACTORS
from stax import InvalidInputError, Rollouts
from stax.analysis.measures import measure
from stax.evaluation.evaluator import TaskSource, make_evaluator
from stax.run_settings import RunSettings
from stax.search.policy_set import PolicySet
from stax.search.repeated_rewards import sum_up_rewards
from stax.search.state import State
from stax.search.vocabulary import Origin
from stax.tasks.variants import repeated
from toy_tasks import SquareTask

TIMES = 3
MEAN, SPREAD = 0.4375, np.sqrt((0.5625**2 + 0.1875**2 + 0.4375**2 + 0.0625**2) / 3)
"""Of the factors 1, 1/4, 0 and 1/2."""
METHODS = ("stax", "serene", "ns", "taxons", "moo-nr", "map-elites", "dns", "aurora", "random")


def dice_search(algo="serene", *, budget=400, failing=0.0, **parameters):
    task = stax.make_task("noisy_tasks:DiceTask", failing=failing)
    given = {**QUICK, "chunk_size": 30, "emitter_population": 3, "bootstrap_generations": 2, "reevaluations": TIMES}
    if algo == "aurora":
        given |= {"descriptor": "ground-truth", "container_size": 20, "container_refill": 2}
    return stax.make_search(algo, task, budget=budget, seed=1, device="cpu", **{**given, **parameters})


def evaluated(search):
    """Evaluate what the search asks for, as its documentation says."""
    genomes, numbers = search.ask(), search.asked_repetitions
    assert (np.diff(numbers) >= 0).all()
    parts = [repeated(search.task, number).evaluate(genomes[numbers == number]) for number in np.unique(numbers).tolist()]
    return Rollouts.concat(parts)


def finished(search):
    with one_torch_thread():
        while not search.done:
            search.tell(evaluated(search))
    return search


def archived(search):
    return PolicySet.concat([search.novelty_archive.policies, search.reward_archive.policies])


def test_rewards_are_summed_up_as_by_hand():
    rewards = np.array([[1.0, 0.0, 0.5, 0.2], [0.0, 0.0, 0.5, 0.4], [0.5, 0.0, 0.2, 0.0], [0.5, 0.0, 0.4, 0.6]])
    areas = np.array([[2, -1, 0, 1], [-1, 3, 1, 0], [1, -1, 1, -1], [1, -1, 0, 2]])
    means, spreads, chosen = sum_up_rewards(rewards, areas)
    assert means == pytest.approx([0.5, 0, 0.4, 0.3])
    assert spreads == pytest.approx([np.sqrt(0.5 / 3), 0, np.sqrt(0.06 / 3), np.sqrt(0.2 / 3)])
    # Most often; not rewarded at all; as often as the other, but earlier; three different ones
    assert chosen.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize("algo", METHODS)
def test_archives_hold_means_and_spreads_and_the_ledger_every_evaluation(algo):
    search = finished(dice_search(algo))
    ledger, kept = search.ledger.columns(), archived(search)
    first, area = ledger["reward"][kept.id], ledger["reward_area"][kept.id]
    assert kept.reward == pytest.approx(MEAN * first)
    assert kept.reward_spread == pytest.approx(SPREAD * first)
    # Two of the three rewarded evaluations have odd seeds.
    assert kept.reward_area.tolist() == np.where(first > 0, 1 - area, area).tolist()
    assert algo == "random" or (first > 0).any()

    again = ledger["origin"] == Origin.REEVALUATION
    assert len(ledger["id"]) == search.evaluations == search.budget
    assert (ledger["emitter"][again] == -1).all()
    assert not again[ledger["parent"][again]].any()
    for policy, reward in zip(kept.id.tolist(), first, strict=True):
        rows = np.flatnonzero(again & (ledger["parent"] == policy))
        assert ledger["reward"][rows].tolist() == [reward * factor for factor in FACTORS[1:]]
        assert (ledger["ground_truth"][rows] == ledger["ground_truth"][policy]).all()
    assert sum(emitter.evaluations for emitter in search.emitter_records()) == np.count_nonzero(ledger["emitter"] >= 0)


def test_emitters_climb_the_mean():
    search = finished(dice_search("serene"))
    records = search.emitter_records()
    assert records
    first = search.ledger.columns()["reward"]
    for record in records:
        assert record.first_reward == pytest.approx(MEAN * first[record.ancestor])
        own = first[search.ledger.columns()["emitter"] == record.id]
        assert record.best_reward == pytest.approx(max(record.first_reward, MEAN * own.max(initial=0)))


def test_reports_say_what_the_archives_hold():
    search = finished(dice_search("serene"))
    kept = archived(search)
    measured = measure(search.task, search.ledger.columns(), grid_cells=50, archived_ids=kept.id)
    for number, curve in enumerate(measured.archived_reward):
        assert curve.last == kept.reward[kept.reward_area == number].max(initial=0)
    assert [curve.last for curve in measured.max_reward] == search.max_reward


def test_without_them_nothing_is_new():
    search = dice_search("serene", reevaluations=0)
    while not search.done:
        assert not search.asked_repetitions.any()
        search.tell(search.task.evaluate(search.ask()))
        if search.at_rest:
            assert not [name for name in search.state().arrays if "spread" in name]
    assert archived(search).reward_spread is None
    assert "reward_spread" not in archived(search).columns()
    assert Origin.REEVALUATION not in search.ledger.columns()["origin"]


@pytest.mark.parametrize("algo", ["serene", "ns", "map-elites", "dns", "aurora", "random"])
def test_the_end_of_the_budget_leaves_only_complete_policies_in_the_archives(algo):
    cut = 0
    for budget in range(131, 164, 2):
        search = finished(dice_search(algo, budget=budget))
        ledger = search.ledger.columns()
        again = ledger["parent"][ledger["origin"] == Origin.REEVALUATION]
        policies, counts = np.unique(again, return_counts=True)
        assert search.evaluations == budget
        assert np.isin(archived(search).id, policies[counts == TIMES]).all()
        assert np.isfinite(archived(search).reward_spread).all()
        assert np.count_nonzero(counts < TIMES) <= 1
        cut += np.count_nonzero(counts < TIMES)
    assert cut


@pytest.mark.parametrize("algo", ["serene", "map-elites", "dns", "aurora"])
def test_a_policy_of_which_a_further_evaluation_failed_is_not_stored(algo):
    search = finished(dice_search(algo, failing=0.3))
    ledger = search.ledger.columns()
    failed = ledger["parent"][ledger["failed"]]
    assert len(failed)
    assert not np.isin(archived(search).id, failed).any()
    assert archived(search).reward == pytest.approx(MEAN * ledger["reward"][archived(search).id])


def test_a_first_population_of_which_none_can_be_stored_is_reported():
    with pytest.raises(RuntimeError, match=r"3 more times on task 'dice'"):
        finished(dice_search("map-elites", failing=1.0))


@pytest.mark.parametrize("algo", ["stax", "serene", "map-elites", "dns", "aurora"])
def test_a_restored_search_continues_with_the_same_bits(algo):
    whole, rests = dice_search(algo), []
    with one_torch_thread():
        while not whole.done:
            whole.tell(evaluated(whole))
            if whole.at_rest and not whole.done and len(rests) < 6:
                rests.append(copy.deepcopy(whole.state()))
    for state in rests[1::2]:
        search = dice_search(algo)
        search.restore(state)
        finished(search)
        for name, column in archived(whole).columns().items():
            np.testing.assert_array_equal(getattr(archived(search), name), column, name)
        for name, column in whole.ledger.columns().items():
            np.testing.assert_array_equal(search.ledger.columns()[name], column, name)


def test_a_forged_state_is_refused():
    search = dice_search("serene")
    while not search.at_rest:
        search.tell(evaluated(search))
    state = search.state()

    def refused(words, reevaluations=TIMES, **arrays):
        changed = {**state.arrays, **arrays}
        with pytest.raises(InvalidInputError, match=words):
            dice_search("serene", reevaluations=reevaluations).restore(
                State({name: array for name, array in changed.items() if array is not None}, state.numbers)
            )

    refused("population has a reward_spread", reevaluations=0)
    refused("candidates has no reward_spread", **{"candidates.reward_spread": None})
    refused("emitters.ancestor has no reward_spread", **{"emitters.ancestor.reward_spread": None})
    refused("negative reward_spread", **{"population.reward_spread": np.full(12, -1.0)})
    refused("reward_spread is beyond", **{"population.reward_spread": np.full(12, np.inf)})
    refused("column reward_spread of shape", **{"population.reward_spread": np.zeros(5)})
    refused("impossible origin", **{"population.origin": np.full(12, int(Origin.REEVALUATION))})


@pytest.mark.parametrize("algo", ["map-elites", "aurora"])
def test_those_that_would_enter_are_those_that_enter(algo):
    """Offered altogether, and one batch after the other."""
    search = dice_search(algo, reevaluations=0, budget=200)
    while not search.done:
        search.tell(search.task.evaluate(search.ask()))
    policies, container = archived(search), search.novelty_archive
    newcomers = replace(policies.take(np.arange(len(policies))[::-1]), id=policies.id + 1000)
    newcomers = replace(newcomers, reward=np.linspace(0, 1, len(newcomers)), descriptor=newcomers.descriptor + 0.05)
    expected = container.entering(newcomers)
    assert not np.isin(newcomers.id, container.policies.id).any()
    (container.append if algo == "map-elites" else container.offer)(newcomers)
    assert 0 < len(expected) < len(newcomers)
    assert set(newcomers.id[expected]) == set(newcomers.id) & set(container.policies.id)


def test_an_evaluator_gives_every_policy_its_seed():
    task = stax.make_task("noisy_tasks:DiceTask", episodes=2)
    genomes = np.random.default_rng(0).normal(size=(9, 6))
    numbers = np.array([0, 0, 1, 1, 1, 2, 3, 3, 0])
    source = TaskSource(task, "noisy_tasks:DiceTask", {"episodes": 2})
    with make_evaluator(source, workers=1, settings=RunSettings(isolation="none")) as evaluator:
        rollouts = evaluator.evaluate(genomes, None, numbers)
    plain = SquareTask().evaluate(genomes).reward
    pairs = np.array([0.625, 0.25, 0.625, 0.25])  # the seeds 0 and 1, 2 and 3, and so on
    assert rollouts.reward == pytest.approx(plain * pairs[numbers])
    assert evaluator.evaluations == 9


def test_frames_have_the_spread(tmp_path):
    kept = archived(finished(dice_search("ns", budget=120)))
    frame = kept.to_pandas()
    assert frame["reward_spread"].tolist() == kept.reward_spread.tolist()
    back = PolicySet.from_pandas(frame, SquareTask())
    assert back.reward_spread.tolist() == kept.reward_spread.tolist()


@pytest.mark.parametrize(
    ("words", "algo", "task", "parameters"),
    [
        ("'square', which has no options seed and episodes .* not 2", "ns", SquareTask(), {}),
        ("'redundant-arm', which has no noise, .* not 2", "ns", "redundant-arm", {}),
        ("reevaluations must be .* from 0 to 1,?000, not -1", "ns", "noisy_tasks:DiceTask", {"reevaluations": -1}),
        ("reevaluations must be .* from 0 to 1,?000, not 1001", "ns", "noisy_tasks:DiceTask", {"reevaluations": 1001}),
        ("budget must be at least 36 evaluations for dns, .* not 35", "dns", "noisy_tasks:DiceTask", {"budget": 35}),
    ],
)
def test_what_makes_no_sense_is_refused(words, algo, task, parameters):
    made = stax.make_task(task) if isinstance(task, str) else task
    given = {**QUICK, "budget": 100, "reevaluations": 2, **parameters}
    with pytest.raises(InvalidInputError, match=words):
        stax.make_search(algo, made, **given)
