"""An emitter's formulas, and where genomes come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import policies

from stax.search.emitters.emitter import emitter_improvement, emitter_sigma, history_window, stagnates
from stax.search.variation import mutate, random_genomes, sample


def test_sigma_is_a_third_of_the_distance_to_the_nearest_other():
    ancestor = policies([7], genome=[[0, 0]])
    around = policies([3, 7, 8], genome=[[6, 8], [0, 0], [-3, 4]])
    assert emitter_sigma(ancestor, around, otherwise=0.5) == pytest.approx(5 / 3)
    assert emitter_sigma(ancestor, around.take([0, 1]), otherwise=0.5) == pytest.approx(10 / 3)


def test_sigma_of_the_rule_length_makes_mutations_a_third_of_the_distance_long():
    ancestor = policies([7], genome=[[0, 0, 0, 0]])
    around = policies([3, 8], genome=[[6, 8, 0, 0], [-3, 4, 0, 0]])
    assert emitter_sigma(ancestor, around, otherwise=0.5, rule="length") == pytest.approx(5 / 3 / 2)


def test_sigma_without_a_distance_is_the_search_s_own():
    ancestor = policies([7], genome=[[1, 2]])
    twin = policies([8, 9], genome=[[1, 2], [5, 5]])
    assert emitter_sigma(ancestor, twin, otherwise=0.5) == 0.5
    assert emitter_sigma(ancestor, policies([7], genome=[[1, 2]]), otherwise=0.25) == 0.25
    assert emitter_sigma(ancestor, policies([], genome=np.empty((0, 2))), otherwise=0.25) == 0.25


def history(*rows):
    return [np.array(row, float) for row in rows]


def test_improvement_is_the_last_half_minus_the_first():
    rewards = history([1, 2], [3, 2], [4, 4], [5, 4])
    # (4 + 4 + 5 + 4) - (1 + 2 + 3 + 2) = 9, over 4 generations of 2.
    assert emitter_improvement(rewards, 4) == pytest.approx(9 / 8)


def test_improvement_leaves_out_what_lies_between():
    rewards = history([1, 1, 1], [2, 2, 2], [100, 100, 100], [200, 0, 0], [3, 3, 3], [5, 4, 6])
    # (9 + 15) - (3 + 6) = 15, over 4 generations of 3.
    assert emitter_improvement(rewards, 4) == pytest.approx(15 / 12)
    # With six generations of bootstrap: (200 + 9 + 15) - (3 + 6 + 300) = -85, over 6 x 3.
    assert emitter_improvement(rewards, 6) == pytest.approx(-85 / 18)


def test_no_improvement_of_what_stays_the_same():
    assert emitter_improvement(history(*[[2, 3]] * 6), 6) == 0
    assert emitter_improvement(history([2, 3]), 6) == 0, "an emitter that the end of the budget cut short"


@pytest.mark.parametrize(
    ("genome_size", "population", "window"), [(6, 6, 140), (1, 6, 123), (94, 6, 433), (100, 100, 140), (1, 50, 120)]
)
def test_history_window(genome_size, population, window):
    assert history_window(genome_size, population) == window


def risen(first, last, *, between=1, window=60):
    """A history of a full window: twenty generations like the first, twenty like the last, and some between."""
    return history(*[first] * 20, *[[between] * len(first)] * (window - 40), *[last] * 20)


def test_stagnation_needs_a_full_window():
    still = history(*[[1, 1]] * 59)
    assert not stagnates(still, 60)
    assert stagnates(still + history([1, 1]), 60)


def test_both_maximum_and_median_must_have_risen():
    assert not stagnates(risen([1, 2, 3], [2, 3, 4]), 60)
    assert stagnates(risen([1, 2, 3], [2, 3, 3]), 60), "the maximum has not"
    assert stagnates(risen([1, 2, 3], [2, 2, 4]), 60), "the median has not"
    assert stagnates(risen([1, 2, 3], [1, 2, 3]), 60)
    assert stagnates(risen([1, 2, 9], [4, 5, 6]), 60), "the maximum has fallen"


def test_only_the_window_counts():
    """What was long ago, and what lies between the first and the last twenty, does not matter."""
    assert not stagnates(history(*[[50, 50, 50]] * 10) + risen([1, 2, 3], [2, 3, 4]), 60)
    assert not stagnates(risen([1, 2, 3], [2, 3, 4], between=99), 60)
    assert stagnates(history([0, 0, 0]) + risen([1, 2, 3], [1, 2, 3]), 60)


def test_exactly_twenty_generations_are_compared_at_either_end():
    flat = history(*[[1, 1]] * 60)
    risen_last = [*flat[:40], *history(*[[2, 2]] * 20)]
    assert not stagnates(risen_last, 60)
    nineteenth_alone = list(flat)
    nineteenth_alone[19] = np.array([2.0, 1.0])
    assert stagnates([*nineteenth_alone[:40], *risen_last[40:]], 60), "the twentieth generation belongs to the first"
    twenty_first = list(flat)
    twenty_first[20] = np.array([2.0, 1.0])
    assert not stagnates([*twenty_first[:40], *risen_last[40:]], 60), "the twenty-first does not"
    last_but_nineteen = list(flat)
    last_but_nineteen[40:] = history([9, 9], *[[2, 2]] * 19)
    assert not stagnates(last_but_nineteen, 60)
    # A maximum reached only before the last twenty is no rise of these.
    too_early = list(flat)
    too_early[39] = np.array([9.0, 9.0])
    assert stagnates(too_early, 60)


# Variation


def test_mutations_are_normal_with_the_standard_deviation_given():
    rng = np.random.default_rng(0)
    moved = mutate(np.full((4000, 3), 2.0), 0.5, rng, (-100, 100)) - 2.0
    assert abs(moved.mean()) < 0.02
    assert moved.std() == pytest.approx(0.5, rel=0.03)
    assert np.abs(np.corrcoef(moved.T) - np.eye(3)).max() < 0.06, "each number moves on its own"


def test_mutations_are_clipped_to_the_bounds():
    parents = np.array([[-1.0, 0.0, 1.0]] * 400)
    before = parents.copy()
    children = mutate(parents, 2.0, np.random.default_rng(1), (-1, 1))
    free = parents + 2.0 * np.random.default_rng(1).normal(size=parents.shape)
    np.testing.assert_array_equal(children, np.clip(free, -1, 1))
    assert (children == -1).any()
    assert (children == 1).any()
    np.testing.assert_array_equal(parents, before)


def test_first_genomes_are_standard_normal_within_the_bounds():
    genomes = random_genomes(np.random.default_rng(2), 3000, 4, (-5, 5))
    assert genomes.shape == (3000, 4)
    assert abs(genomes.mean()) < 0.03
    assert genomes.std() == pytest.approx(1, rel=0.03)
    narrow = random_genomes(np.random.default_rng(2), 300, 4, (-0.5, 0.25))
    assert (narrow.min(), narrow.max()) == (-0.5, 0.25)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 1000))
def test_a_sample_has_different_rows_in_order(available, wanted, seed):
    rows = sample(np.random.default_rng(seed), available, wanted).tolist()
    assert rows == sorted(set(rows))
    assert len(rows) == min(available, wanted)
    assert all(0 <= row < available for row in rows)


def test_samples_are_uniform():
    rng = np.random.default_rng(3)
    counts = np.bincount(np.concatenate([sample(rng, 10, 3) for _ in range(4000)]), minlength=10)
    # Each row is drawn with a chance of 0.3; 100 is more than three standard deviations.
    assert np.abs(counts - 1200).max() < 100
