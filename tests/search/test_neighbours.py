"""The index of nearest neighbours equals looking at every point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stax.search.neighbours import TREE_DIMENSIONS, NeighbourIndex


def by_looking_at_all(points: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Sorted distances of the k nearest."""
    difference = queries[:, None, :] - points[None]
    return np.sort(np.sqrt((difference**2).sum(axis=2)), axis=1)[:, :k]


def agrees(index: NeighbourIndex, points: np.ndarray, queries: np.ndarray, k: int, *, absolute: float = 0.0) -> None:
    distances, found = index.nearest(queries, k)
    expected = by_looking_at_all(points, queries, k)
    assert distances.shape == found.shape == expected.shape
    assert all(len(set(row)) == len(row) for row in found.tolist()), "a point was found twice"
    np.testing.assert_allclose(np.sort(distances, axis=1), expected, rtol=1e-12, atol=absolute)
    # The numbers belong to the distances.
    own = np.sqrt(((queries[:, None, :] - points[found]) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, own, rtol=1e-12, atol=absolute)


def test_three_points_on_a_line():
    index = NeighbourIndex(1)
    index.add(np.array([[0.0], [3.0], [10.0]]))
    distances, found = index.nearest(np.array([[4.0]]), 2)
    assert sorted(zip(distances[0].tolist(), found[0].tolist(), strict=True)) == [(1.0, 1), (4.0, 0)]


@pytest.mark.parametrize("dimensions", [2, 20])
def test_fewer_points_than_asked_for(dimensions):
    index = NeighbourIndex(dimensions)
    queries = np.ones((4, dimensions))
    for array in index.nearest(queries, 3):
        assert array.shape == (4, 0)
    index.add(np.zeros((2, dimensions)))
    distances, found = index.nearest(queries, 3)
    np.testing.assert_allclose(distances, np.full((4, 2), np.sqrt(dimensions)))
    assert np.sort(found, axis=1).tolist() == [[0, 1]] * 4
    assert index.nearest(queries[:0], 3)[0].shape == (0, 2)


@settings(max_examples=120, deadline=None)
@given(
    dimensions=st.one_of(st.integers(1, 12), st.integers(13, 60)),
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=6),
    k=st.integers(1, 40),
    scattered=st.sampled_from(["normal", "lattice", "one point", "line", "huge and tiny"]),
    asking=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_the_index_equals_looking_at_every_point(dimensions, sizes, k, scattered, asking, seed):
    rng = np.random.default_rng(seed)
    index = NeighbourIndex(dimensions)
    points = np.empty((0, dimensions))
    for size in sizes:
        part = rng.normal(size=(size, dimensions))
        if scattered == "lattice":
            part = rng.integers(0, 2, size=(size, dimensions)).astype(float)
        elif scattered == "one point":
            part[:] = 0.7
        elif scattered == "line":
            part[:] = rng.integers(0, 4, size=(size, 1)) / 3
        elif scattered == "huge and tiny":
            part *= 10.0 ** rng.integers(-6, 7, size=(size, 1))
        index.add(part)
        points = np.concatenate([points, part])
        if asking:
            agrees(index, points, part[:3], k)
    assert len(index) == len(points)
    np.testing.assert_array_equal(index.points, points)
    queries = np.concatenate([points[::3], rng.normal(size=(5, dimensions))])
    agrees(index, points, queries, k)


@settings(max_examples=40, deadline=None)
@given(
    dimensions=st.integers(1, 60),
    offset=st.sampled_from([1e3, 1e6, 1e8]),
    k=st.integers(1, 20),
    seed=st.integers(0, 10_000),
)
def test_clusters_far_from_the_origin(dimensions, offset, k, seed):
    """A matrix product alone would lose all digits here."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(3, dimensions)) + offset
    points = places[rng.integers(3, size=120)] + 1e-3 * rng.normal(size=(120, dimensions))
    index = NeighbourIndex(dimensions)
    index.add(points)
    agrees(index, points, points[:20] + 1e-4, k)


@settings(max_examples=40, deadline=None)
@given(
    dimensions=st.sampled_from([1, 2, 8, 9, 50]), cuts=st.lists(st.integers(0, 700), max_size=5), seed=st.integers(0, 10_000)
)
def test_how_points_came_does_not_matter(dimensions, cuts, seed):
    """Some parts reach the tree, others are looked through one by one; distances are the same bits."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(700, dimensions)) * 0.1
    queries = rng.normal(size=(10, dimensions)) * 0.1
    at_once, in_parts = NeighbourIndex(dimensions), NeighbourIndex(dimensions)
    at_once.add(points)
    for part in np.split(points, sorted(cuts)):
        in_parts.add(part)
        in_parts.nearest(queries[:1], 3)
    wanted, given_parts = at_once.nearest(queries, 15), in_parts.nearest(queries, 15)
    np.testing.assert_array_equal(np.sort(wanted[0], axis=1), np.sort(given_parts[0], axis=1))
    np.testing.assert_array_equal(np.sort(wanted[1], axis=1), np.sort(given_parts[1], axis=1))


@pytest.mark.parametrize("dimensions", [TREE_DIMENSIONS, TREE_DIMENSIONS + 1])
def test_many_points_and_queries_one_after_the_other(dimensions):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, dimensions))
    index = NeighbourIndex(dimensions)
    for part in np.split(points, 10):
        index.add(part)
        agrees(index, index.points, part[:10], 16)
    agrees(index, points, rng.normal(size=(200, dimensions)), 16)


def test_more_numbers_than_one_block_of_the_distance_matrix():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(9000, 10))
    index = NeighbourIndex(10)
    index.add(points)
    queries = rng.normal(size=(1000, 10))  # 9 million distances, in blocks of 4 million
    distances, _ = index.nearest(queries, 5)
    rows = np.arange(0, 1000, 37)
    np.testing.assert_allclose(np.sort(distances[rows], axis=1), by_looking_at_all(points, queries[rows], 5), rtol=1e-12)
