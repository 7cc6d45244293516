"""Dominated novelty: its formula by hand and by brute force, and the selection that it makes in several methods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from searches import (
    dominated_novelty_by_definition,
    ends_the_same_from_any,
    finish,
    novelty_by_definition,
    one_torch_thread,
    policies,
    quick_search,
    states_of,
    watch,
)

import stax.search.selection
from stax.search.policy_set import PolicySet
from stax.search.selection import dominated_novelty
from stax.search.vocabulary import Origin
from toy_tasks import SquareTask


def test_a_case_computed_by_hand():
    """Five policies on a line, at 0, 1, 3, 7 and 15, with two neighbours."""
    places = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
    rewards = np.array([0.0, 0.0, 1.0, 2.0, 1.0])
    # 0: nearest of all others, at 1 and 3. 1: at 0 and 3. 3: those at 7 and 15 are as good. 7: nobody. 15: those at 7 and 3.
    expected = [(1 + 3) / 2, (1 + 2) / 2, (4 + 12) / 2, np.inf, (8 + 12) / 2]
    np.testing.assert_allclose(dominated_novelty(places, rewards, 2), expected)


def test_the_mean_is_over_all_that_there_are_if_they_are_fewer():
    places, rewards = np.array([[0.0], [4.0], [6.0]]), np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(dominated_novelty(places, rewards, 10), [5.0, 2.0, np.inf])
    np.testing.assert_array_equal(dominated_novelty(np.zeros((1, 2)), np.zeros(1), 3), [np.inf])
    assert dominated_novelty(np.zeros((0, 2)), np.zeros(0), 3).shape == (0,)


def test_equal_rewards_dominate_each_other():
    """With > instead of >=, both would score infinity."""
    np.testing.assert_allclose(dominated_novelty(np.array([[0.0], [2.0]]), np.array([1.0, 1.0]), 3), [2.0, 2.0])


@st.composite
def rows(draw):
    count = draw(st.integers(1, 12))
    places = draw(arrays(float, (count, 2), elements=st.integers(-4, 4).map(float)))
    rewards = draw(arrays(float, count, elements=st.sampled_from([0.0, 0.0, 0.5, 1.0])))
    return policies(range(count), descriptor=places, reward=rewards)


@given(of=rows(), neighbors=st.integers(1, 5), block=st.sampled_from([1, 7, 4_000_000]))
def test_scores_are_those_of_brute_force(of, neighbors, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stax.search.selection, "_BLOCK", block)
        scores = dominated_novelty(of.descriptor, of.reward, neighbors)
    np.testing.assert_allclose(scores, dominated_novelty_by_definition(of, neighbors), rtol=1e-12)
    if len(of) > 1:
        best = of.reward == of.reward.max()
        assert np.isinf(scores[best]).all() == (best.sum() == 1)


@given(of=rows(), neighbors=st.integers(1, 5), reward=st.sampled_from([0.0, 1.0]))
def test_without_differences_of_reward_it_is_novelty(of, neighbors, reward):
    of.reward[:] = reward
    np.testing.assert_allclose(
        dominated_novelty(of.descriptor, of.reward, neighbors), novelty_by_definition(of, [of], neighbors), rtol=1e-12
    )


@given(of=rows(), neighbors=st.integers(1, 5), seed=st.integers(0, 99))
def test_scores_do_not_depend_on_the_order_of_the_rows(of, neighbors, seed):
    order = np.random.default_rng(seed).permutation(len(of))
    scores = dominated_novelty(of.descriptor, of.reward, neighbors)
    np.testing.assert_array_equal(dominated_novelty(of.descriptor[order], of.reward[order], neighbors), scores[order])


class NeverRewarded(SquareTask):
    """A task without any reward."""

    name = "never-rewarded"

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[:], rollouts.reward_area[:] = 0.0, -1
        return rollouts


def test_without_any_reward_dns_is_novelty_search_without_an_archive():
    search, checked = quick_search("dns", NeverRewarded(), budget=200, novelty_neighbors=3), 0
    for step in watch(search):
        if step.phase == "exploration":
            family = PolicySet.concat([step.population, step.after["offspring"]])
            novelty = novelty_by_definition(family, [family], 3)
            kept = family.id[np.argsort(-novelty, kind="stable")[:12]]
            assert set(kept.tolist()) == set(step.after["population"].id.tolist())
            checked += 1
    assert checked >= 5


@pytest.mark.parametrize("algo", ["stax", "stax-nt", "serene", "ns", "moo-nr"])
@one_torch_thread()
def test_other_methods_may_select_by_dominated_novelty(algo):
    """They keep their archives and emitters, and need no surprise."""
    search = quick_search(algo, budget=500, chunk_size=60, selection="dominated-novelty")
    assert not search.uses_surprise
    checked = 0
    for step in watch(search):
        if step.phase == "exploration" and step.trainings_after == step.trainings:
            family = PolicySet.concat([step.population, step.after["offspring"]])
            scores = dominated_novelty_by_definition(family, 3)
            kept = family.id[np.argsort(-scores, kind="stable")[:12]]
            assert set(kept.tolist()) == set(step.after["population"].id.tolist())
            checked += 1
    assert checked >= 2
    assert len(search.novelty_archive) >= 3
    origins = set(search.ledger.columns()["origin"].tolist())
    assert (Origin.EMITTER in origins) == search.method.emitters
    assert np.isnan(search.containers.population.surprise).all()


@one_torch_thread()
def test_a_restored_stax_with_dominated_novelty_ends_with_the_same_bits():
    options = {"budget": 500, "chunk_size": 60, "seed": 3, "selection": "dominated-novelty", "parents_per_generation": 5}
    states, expected = states_of("stax", **options)
    ends_the_same_from_any(states, expected, "stax", **options)


@pytest.mark.parametrize("algo", ["ns", "map-elites", "dns"])
def test_parents_are_drawn_uniformly_as_many_as_asked_for(algo):
    search = quick_search(algo, budget=3012, chunk_size=500, parents_per_generation=500, offspring_per_parent=2)
    steps = [step for step in watch(search) if step.phase == "exploration"]
    assert {len(step.genomes) for step in steps} == {1000}
    pool = steps[0].population.id if algo != "map-elites" else steps[0].novelty_archive.id
    parents = search.ledger.columns()["parent"][steps[0].ids]
    # The offspring of one draw follow each other.
    np.testing.assert_array_equal(parents[::2], parents[1::2])
    drawn = np.bincount(np.searchsorted(np.sort(pool), parents[::2]), minlength=len(pool))
    assert drawn.sum() == 500
    # Between 42 expected of each of 12, five standard deviations of a binomial.
    assert np.abs(drawn - 500 / len(pool)).max() < 5 * np.sqrt(500 / len(pool))


def test_the_population_of_dns_is_its_result():
    search = quick_search("dns", budget=150)
    finish(search)
    assert search.novelty_archive.policies.id.tolist() == search.containers.population.id.tolist()
    assert len(search.novelty_archive) == 12
    best = search.ledger.columns()["reward"].max()
    assert search.novelty_archive.policies.reward.max() == best
