"""Fronts, crowding distance and who survives."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stax.search.selection import crowding_distance, fronts, select

OBJECTIVES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 6), min_size=width, max_size=width), min_size=1, max_size=40)
)


def fronts_by_definition(objectives: np.ndarray) -> list[int]:
    """The first front is what nobody dominates; the next one what nobody of the rest does."""
    left, front, number = set(range(len(objectives))), [0] * len(objectives), 0
    while left:
        best = {
            i
            for i in left
            if not any((objectives[j] >= objectives[i]).all() and (objectives[j] > objectives[i]).any() for j in left)
        }
        for i in best:
            front[i] = number
        left -= best
        number += 1
    return front


def test_fronts_of_a_few_points():
    points = np.array([[1, 5], [5, 1], [3, 3], [1, 1], [2, 2], [3, 3], [1, 4]], float)
    assert fronts(points).tolist() == [0, 0, 0, 2, 1, 0, 1]
    assert fronts(np.empty((0, 2))).tolist() == []


def test_an_objective_beats_nothing_when_equal():
    assert fronts(np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]])).tolist() == [2, 1, 0]


@settings(max_examples=150, deadline=None)
@given(OBJECTIVES)
def test_fronts_equal_the_definition(rows):
    objectives = np.array(rows, float)
    before = objectives.copy()
    assert fronts(objectives).tolist() == fronts_by_definition(objectives)
    np.testing.assert_array_equal(objectives, before)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 3))
def test_fronts_of_many_different_points(seed, width):
    objectives = np.random.default_rng(seed).normal(size=(80, width))
    assert fronts(objectives).tolist() == fronts_by_definition(objectives)


def test_crowding_distance_of_a_front():
    front = np.array([[0, 10], [4, 4], [10, 0], [1, 8], [5, 2]], float)
    # By the first objective: 0, 1, 4, 5, 10; by the second: 0, 2, 4, 8, 10. Both spans are 10.
    expected = [np.inf, (5 - 1) / 10 + (8 - 2) / 10, np.inf, (4 - 0) / 10 + (10 - 4) / 10, (10 - 4) / 10 + (4 - 0) / 10]
    np.testing.assert_allclose(crowding_distance(front), expected)


def test_crowding_distance_uses_each_objective_by_its_own_range():
    front = np.array([[0, 3000], [1, 2000], [3, 0]], float)
    np.testing.assert_allclose(crowding_distance(front), [np.inf, 3 / 3 + 3000 / 3000, np.inf])


def test_an_objective_without_range_gives_no_room_between_its_ends():
    front = np.array([[0, 7], [1, 7], [2, 7], [6, 7]], float)
    np.testing.assert_allclose(crowding_distance(front), [np.inf, 2 / 6, 5 / 6, np.inf])
    assert crowding_distance(np.array([[1.0, 2.0]])).tolist() == [np.inf]
    assert crowding_distance(np.array([[1.0, 2.0], [2.0, 1.0]])).tolist() == [np.inf, np.inf]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(0, 1000),
    st.floats(0.25, 8),
    st.floats(-5, 5),
)
def test_crowding_does_not_depend_on_order_units_or_origin(count, seed, scale, shift):
    rng = np.random.default_rng(seed)
    front = rng.normal(size=(count, 2))
    room = crowding_distance(front)
    order = rng.permutation(count)
    np.testing.assert_allclose(crowding_distance(front[order]), room[order])
    np.testing.assert_allclose(crowding_distance(front * [scale, 1] + [shift, 0]), room, rtol=1e-6)
    np.testing.assert_allclose(crowding_distance(front[:, ::-1]), room)
    np.testing.assert_allclose(crowding_distance(-front), room)
    ends = set(front.argmin(axis=0)) | set(front.argmax(axis=0))
    assert set(np.flatnonzero(np.isinf(room))) == ends


def test_the_front_that_fits_in_part_is_cut_by_room():
    best = [[10, 10]]
    second = [[0, 9], [1, 8], [2, 7], [7, 2], [9, 0]]
    worst = [[0, 0]]
    objectives = np.array(second + worst + best, float)
    # Within the second front the ends are infinitely free, then [7, 2] and [2, 7] with 7/9 + 7/9 and 6/9 + 6/9, then [1, 8].
    assert sorted(select(objectives, 3).tolist()) == [0, 4, 6]
    assert sorted(select(objectives, 4).tolist()) == [0, 3, 4, 6]
    assert sorted(select(objectives, 5).tolist()) == [0, 2, 3, 4, 6]
    assert sorted(select(objectives, 6).tolist()) == [0, 1, 2, 3, 4, 6]
    assert sorted(select(objectives, 7).tolist()) == list(range(7))


def test_room_is_measured_within_the_front_alone():
    """A crowd of the better front around [5, 5.5] does not make that place of the second front crowded."""
    first = [[0, 20], [5.1, 5.6], [5.2, 5.59], [20, 0.5]]
    second = [[0, 10], [5, 5.5], [9, 0.4], [9.5, 0.2], [10, 0]]
    objectives = np.array(first + second, float)
    assert fronts(objectives).tolist() == [0] * 4 + [1] * 5
    assert sorted(select(objectives, 7).tolist()) == [0, 1, 2, 3, 4, 5, 8]


def test_one_objective_keeps_the_best_and_among_equals_the_first():
    objectives = np.array([[1], [3], [2], [3], [2], [2]], float)
    assert select(objectives, 4).tolist() == [1, 3, 2, 4]
    assert select(objectives, 20).tolist() == [1, 3, 2, 4, 5, 0]


@settings(max_examples=120, deadline=None)
@given(OBJECTIVES, st.integers(1, 45))
def test_survivors_are_different_and_never_of_a_worse_front(rows, count):
    objectives = np.array(rows, float)
    survivors = select(objectives, count)
    assert len(survivors) == len(set(survivors.tolist())) == min(count, len(objectives))
    front = np.array(fronts_by_definition(objectives))
    lost = np.setdiff1d(np.arange(len(objectives)), survivors)
    if len(lost):
        assert front[survivors].max() <= front[lost].min()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 59))
def test_of_the_cut_front_the_most_free_survive(seed, count):
    objectives = np.random.default_rng(seed).normal(size=(60, 2))
    survivors = select(objectives, count)
    front = np.array(fronts_by_definition(objectives))
    last = front[survivors].max()
    rows = np.flatnonzero(front == last)
    kept = np.isin(rows, survivors)
    assume(not kept.all())
    room = crowding_distance(objectives[rows])
    assert room[kept].min() >= room[~kept].max()
