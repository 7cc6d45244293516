"""The grid, coverage, and MAP-Elites' elites."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import policies

from stax import InvalidInputError
from stax.search.grid import Coverage, Elites, Grid

SQUARE = ((0.0, 1.0), (-2.0, 2.0))


def test_cells_of_a_grid():
    grid = Grid(SQUARE, 4)
    assert grid.size == 16
    points = np.array([[0.1, -1.9], [0.1, -0.9], [0.3, -1.9], [0.9, 1.9], [0.5, 0.0]])
    # Along the first number cells are 0.25 wide, along the second 1; the first counts by four.
    assert grid.cell(points).tolist() == [0, 1, 4, 15, 2 * 4 + 2]


def test_edges_and_what_lies_outside_belong_to_the_outermost_cells():
    grid = Grid(SQUARE, 4)
    points = np.array([[0, -2], [1, 2], [-7, -9], [8, 9], [-1, 9], [1e300, -1e300], [0.25, -1], [np.nextafter(0.25, 0), -1]])
    assert grid.cell(points).tolist() == [0, 15, 0, 15, 3, 12, 4 + 1, 1]


def test_a_grid_that_is_too_large():
    with pytest.raises(InvalidInputError, match="9 ground-truth numbers is too large; at most 8"):
        Grid(((0.0, 1.0),) * 9, 2)
    with pytest.raises(InvalidInputError, match="1000 cells along each of 8 ground-truth numbers has too many cells"):
        Grid(((0.0, 1.0),) * 8, 1000)


def test_no_two_cells_of_a_large_grid_share_a_number():
    grid = Grid(((0.0, 1.0),) * 6, 1000)
    points = np.full((12, 6), 0.0005)
    points[np.arange(6), np.arange(6)] = 0.9995
    points[6:] = 1 - points[:6]
    assert len(set(grid.cell(points).tolist())) == 12
    assert grid.cell(np.ones((1, 6))).tolist() == [10**18 - 1]


def test_coverage_counts_cells_once():
    coverage = Coverage(Grid(SQUARE, 4))
    assert coverage.share == 0
    coverage.add(np.array([[0.1, 0.1], [0.11, 0.12], [0.9, 0.1]]), np.zeros(3))
    assert coverage.share == 2 / 16
    coverage.add(np.array([[0.1, 0.1], [5, 0.1], [0.1, -2]]), np.zeros(3))
    assert coverage.share == 3 / 16
    everywhere = np.stack(np.meshgrid(np.linspace(0, 1, 40), np.linspace(-2, 2, 40)), axis=-1).reshape(-1, 2)
    coverage.add(everywhere, np.zeros(len(everywhere)))
    assert coverage.share == 1


def test_qd_score_and_profile_on_a_case_computed_by_hand():
    """Three cells with the best rewards 0.75, 0 and 0.5; a worse policy in a cell changes nothing."""
    coverage = Coverage(Grid(SQUARE, 4))
    assert (coverage.qd_score, coverage.profile(0.0)) == (0, 0)
    coverage.add(np.array([[0.1, 0.1], [0.11, 0.12], [0.9, 0.1]]), np.array([0.25, 0.75, 0.0]))
    coverage.add(np.array([[0.1, 0.1], [0.1, -2]]), np.array([0.5, 0.5]))
    assert coverage.qd_score == 1.25
    assert [coverage.profile(level) for level in (0.0, 0.5, 0.51, 0.75, 0.76)] == [3 / 16, 2 / 16, 1 / 16, 1 / 16, 0]
    assert coverage.share == coverage.profile(0.0)


def elites_of(grid: Grid, *, equals_replace: bool = False) -> Elites:
    return Elites(policies([], ground_truth=np.empty((0, 2))), grid, equals_replace=equals_replace)


def batch(ids, cells, rewards):
    """Policies that end in the middle of these cells, four along each number from 0 to 1."""
    places = [((cell // 4 + 0.5) / 4, (cell % 4 + 0.5) / 4) for cell in cells]
    return policies(ids, reward=rewards, ground_truth=np.reshape(places, (-1, 2)), genome=np.reshape(ids, (-1, 1)))


def kept(elites: Elites) -> dict[int, tuple[int, float, float]]:
    grid, found = Grid(((0, 1), (0, 1)), 4), elites.policies
    cells = grid.cell(found.ground_truth).tolist()
    assert len(set(cells)) == len(cells) == len(elites)
    columns = zip(found.id.tolist(), found.reward.tolist(), found.genome[:, 0].tolist(), strict=True)
    return dict(zip(cells, columns, strict=True))


def test_who_becomes_an_elite():
    elites = elites_of(Grid(((0, 1), (0, 1)), 4))
    elites.append(batch([0, 1, 2], [5, 5, 9], [1, 3, 0]))
    assert kept(elites) == {5: (1, 3, 1), 9: (2, 0, 2)}
    elites.append(batch([3, 4], [5, 9], [3, 0]))
    assert kept(elites) == {5: (1, 3, 1), 9: (2, 0, 2)}, "equals do not replace"
    elites.append(batch([5, 6, 7, 8], [5, 5, 5, 0], [4, 6, 5, 0]))
    assert kept(elites) == {5: (6, 6, 6), 9: (2, 0, 2), 0: (8, 0, 8)}
    elites.append(batch([9, 10], [2, 2], [1, 1]))
    assert kept(elites)[2] == (9, 1, 9), "of two equals in one batch the first stays"
    elites.append(batch([11], [5], [2]))
    elites.append(batch([], [], []))
    assert kept(elites)[5] == (6, 6, 6)


def test_an_equal_newcomer_may_replace_the_elite():
    elites = elites_of(Grid(((0, 1), (0, 1)), 4), equals_replace=True)
    elites.append(batch([0, 1, 2], [5, 5, 9], [1, 3, 0]))
    elites.append(batch([3, 4], [5, 9], [3, 0]))
    assert kept(elites) == {5: (3, 3, 3), 9: (4, 0, 4)}
    elites.append(batch([5, 6, 7], [9, 9, 5], [0, 0, 2]))
    assert kept(elites) == {5: (3, 3, 3), 9: (6, 0, 6)}, "of two equals in one batch the last stays"


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 4)), max_size=12), max_size=8), st.booleans())
def test_elites_are_like_a_dictionary(batches, equals_replace):
    elites, model, number = elites_of(Grid(((0, 1), (0, 1)), 4), equals_replace=equals_replace), {}, 0
    for rows in batches:
        ids = list(range(number, number + len(rows)))
        number += len(rows)
        elites.append(batch(ids, [cell for cell, _ in rows], [float(reward) for _, reward in rows]))
        for own, (cell, reward) in zip(ids, rows, strict=True):
            if cell not in model or reward > model[cell][1] or (equals_replace and reward == model[cell][1]):
                model[cell] = (own, float(reward), float(own))
        assert kept(elites) == model
