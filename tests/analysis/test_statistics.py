"""Statistics: published examples, plain definitions to compare with, and samples that are too small or all alike."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from stax import InvalidInputError
from stax.analysis.measures import Curve
from stax.analysis.statistics import (
    aligned,
    band,
    compare_with,
    effect_size,
    evaluation_grid,
    holm,
    mann_whitney_p,
    median_interval,
    shift,
    shift_interval,
    sign_test_p,
    smallest_p,
    spread,
    superiority,
)

samples = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=5)


# One sample


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_spread_is_numpys(values):
    found = spread(values)
    expected = [len(values), np.median(values), min(values), max(values), *np.percentile(values, [10, 90])]
    got = [found.count, found.median, found.lowest, found.highest, found.tenth, found.ninetieth]
    assert got == pytest.approx(expected, abs=1e-6)


def test_spread_with_what_was_never_reached():
    never = math.inf
    assert spread([5.0, never, 3.0]).median == 5
    assert spread([5.0, never, 3.0, never]).median == never
    assert spread([never, never]).lowest == never
    assert spread([1.0, never]).tenth == never
    with pytest.raises(InvalidInputError, match="At least one value"):
        spread([])
    with pytest.raises(InvalidInputError, match="one is nan"):
        spread([1.0, math.nan])


def test_interval_of_the_median():
    values = [0.61, 0.58, 0.7, 0.66, 0.59, 0.63, 0.64, 0.6]
    low, high = median_interval(values)
    assert min(values) <= low < np.median(values) < high <= max(values)
    assert median_interval(values) == (low, high), "the same every time"
    assert median_interval(values, seed=1) is not None
    narrow = median_interval(values, confidence=0.5)
    assert low <= narrow[0] <= narrow[1] <= high
    assert median_interval([0.5]) is None
    assert median_interval([0.5, 0.5, 0.5]) == (0.5, 0.5)
    assert median_interval([0.5, math.inf]) is None
    # Of three values the median is the lowest with probability 7/27, so 95 % hold the extremes.
    assert median_interval([1.0, 2.0, 4.0]) == (1.0, 4.0)


def test_the_sign_test_counts_tosses_of_a_coin():
    assert sign_test_p(5, 5) == 1 / 32
    assert sign_test_p(4, 5) == 6 / 32
    assert sign_test_p(0, 5) == 1
    # 15 tosses: 1 + 15 + 105 + 455 ways to have at least 12 heads.
    assert sign_test_p(12, 15) == 576 / 2**15
    assert sign_test_p(12, 15) < 0.05 < sign_test_p(11, 15)


# Two samples


def by_enumeration(first, second):
    """Both tails over all splits of the ranks, the smaller one doubled."""
    ranks = rankdata([*first, *second])
    sums = [sum(chosen) for chosen in combinations(ranks, len(first))]
    seen = sum(ranks[: len(first)])
    lower, upper = np.mean([one <= seen + 1e-9 for one in sums]), np.mean([one >= seen - 1e-9 for one in sums])
    return min(1.0, 2 * min(lower, upper))


def test_published_examples_of_mann_whitney():
    # Ages at the diagnosis of diabetes, by sex, as in SciPy's documentation: exact, U = 17.
    assert mann_whitney_p([19, 22, 16, 29, 24], [20, 11, 17, 12]) == pytest.approx(1 / 9)
    # All of one above all of the other: 2 of 252 splits are as extreme.
    assert mann_whitney_p([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]) == pytest.approx(2 / 252)
    # Mann and Whitney's own table for n = m = 4: U = 1 has probability 0.029 on one side.
    assert mann_whitney_p([1, 2, 3, 5], [4, 6, 7, 8]) == pytest.approx(2 * 0.0286, abs=1e-4)


@settings(deadline=None)
@given(samples, samples)
def test_small_samples_are_tested_exactly_also_with_ties(first, second):
    assert mann_whitney_p(first, second) == pytest.approx(by_enumeration(first, second))
    assert mann_whitney_p(first, second) == pytest.approx(mann_whitney_p(second, first))


def test_many_seeds_and_no_difference():
    random = np.random.default_rng(0)
    first, second = random.normal(size=15), random.normal(loc=3, size=15)
    assert mann_whitney_p(first, second) < 1e-5
    assert mann_whitney_p(first, first) == pytest.approx(1, abs=0.02)
    assert mann_whitney_p([0.0] * 15, [0.0] * 15) == 1
    assert mann_whitney_p([1.0], [2.0]) == 1
    tied = [0.0] * 10 + [1.0] * 5
    assert 0.05 < mann_whitney_p(tied, [0.0] * 7 + [1.0] * 8) < 0.5
    assert mann_whitney_p([math.inf] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 252)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 15), (2, 3), (3, 3), (4, 4), (5, 5), (6, 3)])
def test_the_smallest_p(sizes):
    one, other = sizes
    apart = mann_whitney_p(list(range(one)), list(range(10, 10 + other)))
    assert smallest_p(one, other) == pytest.approx(apart)


@given(samples, samples)
def test_superiority_counts_pairs(first, second):
    pairs = [(a > b) + 0.5 * (a == b) for a in first for b in second]
    assert superiority(first, second) == pytest.approx(np.mean(pairs))
    assert superiority(first, second) + superiority(second, first) == pytest.approx(1)


def test_the_interval_of_a_shift_by_hand():
    # Of 5 and 5 values 1 + 1 + 2 + 3 + 5 = 12 of 252 orders have U of at most 4, 19 at most 5: 4.8 % and 7.5 %.
    # So 90 % is from the 5th smallest to the 5th largest of the 25 differences -4 -3 -3 -2 -2 -2 -1 ... shifted by 10.
    low = [1.0, 2, 3, 4, 5]
    assert shift_interval([value + 10 for value in low], low) == (8, 12)
    assert shift([value + 10 for value in low], low) == 10
    # 1 + 1 + 2 of 252 orders have U of at most 2, 1.6 %, and 7 of 252 at most 3, 2.8 %: 95 % is from the 3rd to the 3rd.
    assert shift_interval([value + 10 for value in low], low, confidence=0.95) == (7, 13)
    # Each of 3 above each of 3 is one of 20 orders: 5 %. Of 2 and 3 values it is one of 10.
    assert shift_interval([1.0, 2, 4], [0.0, 0, 0]) == (1, 4)
    assert shift_interval([1.0, 2], [0.0, 0, 0]) is None
    assert shift_interval([0.5] * 5, [0.5] * 5) == (0, 0)
    # The tables of Mann and Whitney for 15 and 15 values: U of at most 72 is significant on one side at 5 %.
    values = np.arange(15.0)
    differences = sorted(a - b for a in values for b in values)
    assert shift_interval(values, values) == (differences[72], differences[-73])


@pytest.mark.parametrize("sizes", [(4, 4), (5, 5), (4, 7), (6, 5), (15, 5)])
def test_the_interval_of_a_shift_is_what_the_two_sided_test_does_not_reject(sizes):
    random = np.random.default_rng(sizes)
    first, second = random.normal(size=sizes[0]), random.normal(loc=1, size=sizes[1])
    low, high = shift_interval(first, second)
    assert shift_interval(second, first) == pytest.approx((-high, -low))
    for shifted, rejected in ((low - 1e-9, True), (low + 1e-9, False), (high - 1e-9, False), (high + 1e-9, True)):
        assert (mann_whitney_p(first, second + shifted) <= 0.1) == rejected


def test_words_for_effects():
    sizes = {0.5: "negligible", 0.559: "negligible", 0.56: "small", 0.639: "small", 0.64: "medium", 0.709: "medium"}
    for value, word in {**sizes, 0.71: "large", 1.0: "large", 0.0: "large", 0.45: "negligible", 0.3: "medium"}.items():
        assert effect_size(value) == word


# Families


def test_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # Holm's procedure stops at the first that is too large: what comes after is no smaller.
    assert holm([0.02, 0.9, 0.021]) == pytest.approx([0.06, 0.9, 0.06])
    assert holm([0.7]) == [0.7]
    assert holm([]) == []
    assert holm([0.6, 0.9]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(p):
    order = np.argsort(p)
    expected = np.empty(len(p))
    expected[order] = np.minimum(1, np.maximum.accumulate([p[k] * (len(p) - place) for place, k in enumerate(order)]))
    assert holm(p) == pytest.approx(expected.tolist())


HIGH, LOW = [6.0, 7, 8, 9, 10], [1.0, 2, 3, 4, 5]


def test_a_family_of_comparisons():
    compared = compare_with(LOW, {"high": HIGH, "same": LOW, "mixed": [1.5, 2.5, 3.5, 6, 7]})
    high, same, mixed = compared.values()
    assert (high.p, high.p_holm) == pytest.approx((2 / 252, 6 / 252))
    assert high.superiority == 1
    assert high.significant
    assert high.verdict() == "higher, large effect"
    assert high.verdict("later", "sooner") == "later, large effect"
    assert (same.p, same.p_holm, same.superiority, same.effect) == (1, 1, 0.5, "negligible")
    assert same.verdict() == "not significant"
    assert not mixed.significant
    assert mixed.p_holm == pytest.approx(min(1, 2 * mixed.p))
    (low,) = compare_with(HIGH, {"low": LOW}).values()
    assert low.verdict() == "lower, large effect"


def test_too_few_seeds_are_told_in_words():
    (three,) = compare_with([1.0, 2, 3], {"a": [4.0, 5, 6]}).values()
    assert (three.p, three.p_holm, three.significant) == (None, None, False)
    assert (three.superiority, three.effect) == (1, "large")
    assert three.verdict() == "too few seeds (3 and 3; p at best 0.1)"
    (four,) = compare_with([1.0, 2, 3, 4], {"a": [5.0, 6, 7, 8]}).values()
    assert four.p_holm == pytest.approx(2 / 70)
    # The same seeds are too few for a family of two.
    for comparison in compare_with([1.0, 2, 3, 4], {"a": [5.0, 6, 7, 8], "b": [5.0, 6, 7, 8]}).values():
        assert comparison.verdict() == "too few seeds (4 and 4; p at best 0.057)"
    (single,) = compare_with([1.0], {"a": [2.0]}).values()
    assert single.verdict() == "too few seeds (1 and 1; p at best 1)"
    assert compare_with([1.0], {}) == {}


def test_few_seeds_beside_many_may_be_enough():
    many = [float(value) for value in range(15)]
    compared = compare_with(many, {"three": [20.0, 21, 22], "many": [value + 100 for value in many]})
    assert smallest_p(3, 15) * 2 < 0.05
    assert compared["three"].significant
    compared = compare_with(many, {"two": [20.0, 21], "many": [value + 100 for value in many]})
    # 2 x 0.0147 at best: enough, and found.
    assert compared["two"].p_holm == pytest.approx(2 / 136)


def test_a_difference_that_is_significant_is_told_though_not_all_could_be():
    reference = [float(value) for value in range(6)]
    clear = [value + 100 for value in reference]
    families = {"few": [200.0, 201, 202], "a": clear, "b": clear, "c": clear}
    compared = compare_with(reference, families)
    # 2/84 for three against six: four such comparisons could not be significant, the last of four is.
    assert compared["few"].smallest_p_holm == pytest.approx(4 * 2 / 84)
    assert compared["few"].p_holm == pytest.approx(2 / 84)
    assert compared["few"].significant
    compared = compare_with(reference, {**families, "a": reference, "b": reference, "c": reference})
    assert compared["few"].verdict() == "too few seeds (3 and 6; p at best 0.095)"


# Many curves


def test_curves_are_aligned_by_evaluations():
    steep = Curve(np.array([0, 10, 30]), np.array([0.0, 0.5, 0.7]))
    flat = Curve(np.array([0, 25]), np.array([0.0, 0.1]))
    grid = np.array([0, 9, 10, 25, 40])
    assert aligned([steep, flat], grid).tolist() == [[0, 0, 0.5, 0.5, 0.7], [0, 0, 0, 0.1, 0.1]]
    found = band([steep, flat], grid)
    assert found.median == pytest.approx([0, 0, 0.25, 0.3, 0.4])
    assert found.tenth == pytest.approx([0, 0, 0.05, 0.14, 0.16])
    assert found.ninetieth == pytest.approx([0, 0, 0.45, 0.46, 0.64])
    alone = band([steep], grid)
    assert alone.tenth.tolist() == alone.median.tolist() == alone.ninetieth.tolist()


def test_the_grid_of_evaluations():
    assert evaluation_grid(1000, 4).tolist() == [0, 250, 500, 750, 1000]
    assert evaluation_grid(3, 200).tolist() == [0, 1, 2, 3]
    assert len(evaluation_grid(500_000)) == 201
