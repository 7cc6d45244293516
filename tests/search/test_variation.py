"""Iso+line variation: its formula, its laws, and that every method with parents can use and resume it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import METHODS, ends_the_same_from_any, finish, one_torch_thread, quick_search, states_of, watch

import stax
from stax.cli.main import main
from stax.search.variation import iso_line

WITH_PARENTS = tuple(algo for algo in METHODS if algo != "random")
WIDE = (-1e9, 1e9)


class Drawn:
    """Stands for a generator of random numbers, and returns the numbers given, in order."""

    def __init__(self, *draws):
        self.draws = [np.asarray(draw, float) for draw in draws]

    def normal(self, size):
        draw = self.draws.pop(0)
        assert draw.shape == tuple(size)
        return draw


def test_a_case_computed_by_hand():
    """x1 + 0.5 e + 0.25 (x2 - x1) z, with one z per child."""
    parents, others = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[3.0, -2.0], [4.0, 8.0]])
    rng = Drawn([[2.0, 0.0], [0.0, -1.0]], [[1.0], [-2.0]])
    children = iso_line(parents, others, 0.5, 0.25, rng, WIDE)
    np.testing.assert_allclose(children, [[1 + 1 + 0.5, 2 + 0 - 1], [0 + 0 - 2, 0 - 0.5 - 4]])
    assert not rng.draws


def test_spread_is_wide_along_the_line_and_narrow_across_it():
    parents, others = np.zeros((20_000, 2)), np.tile([10.0, 0.0], (20_000, 1))
    children = iso_line(parents, others, 0.01, 0.2, np.random.default_rng(0), WIDE)
    assert np.abs(children.mean(axis=0)).max() < 0.05
    np.testing.assert_allclose(children.std(axis=0), [np.hypot(2.0, 0.01), 0.01], rtol=0.02)


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(0, 5),
    size=st.integers(1, 4),
    bound=st.floats(0.01, 10),
    iso=st.floats(1e-6, 10),
    line=st.floats(0, 10),
)
def test_children_are_within_bounds_and_leave_their_parents_alone(seed, rows, size, bound, iso, line):
    rng = np.random.default_rng(seed)
    parents, others = rng.uniform(-bound, bound, (2, rows, size))
    before = parents.copy(), others.copy()
    children = iso_line(parents, others, iso, line, rng, (-bound, bound))
    assert children.shape == (rows, size)
    assert (np.abs(children) <= bound).all()
    np.testing.assert_array_equal(parents, before[0])
    np.testing.assert_array_equal(others, before[1])


@given(seed=st.integers(0, 2**32), line=st.floats(0, 10))
def test_equal_parents_leave_isotropic_noise_alone(seed, line):
    parents = np.random.default_rng(seed).normal(size=(3, 4))
    noise = np.random.default_rng(seed).normal(size=(3, 4))
    children = iso_line(parents, parents, 0.1, line, np.random.default_rng(seed), WIDE)
    np.testing.assert_allclose(children, parents + 0.1 * noise)


@pytest.mark.parametrize("algo", WITH_PARENTS)
@one_torch_thread()
def test_offspring_lie_on_lines_between_parents_of_the_method(algo):
    """With hardly any isotropic noise, each child is on a line from its parent to another policy that the method may choose."""
    search = quick_search(
        algo, budget=200, chunk_size=40, variation="iso-line", iso_sigma=1e-12, line_sigma=0.3, genome_bounds=(-100.0, 100.0)
    )
    checked = 0
    for step in watch(search):
        if step.phase != "exploration":
            continue
        pool = step.novelty_archive if algo in ("map-elites", "aurora") else step.population
        rows = {number: row for row, number in enumerate(pool.id.tolist())}
        for genome, parent in zip(step.genomes, search.ledger.columns()["parent"][step.ids].tolist(), strict=True):
            own = pool.genome[rows[parent]]
            directions, moved = pool.genome - own, genome - own
            squares = (directions**2).sum(axis=1)
            along = directions @ moved / np.where(squares > 0, squares, 1.0)
            assert np.linalg.norm(along[:, None] * directions - moved, axis=1).min() < 1e-9
            checked += np.linalg.norm(moved) > 1e-6
    assert checked > 50


@pytest.mark.parametrize("algo", ["stax", "ns", "map-elites"])
@one_torch_thread()
def test_a_restored_search_with_iso_line_variation_ends_with_the_same_bits(algo):
    options = {"budget": 400, "chunk_size": 60, "seed": 3, "variation": "iso-line", "iso_sigma": 0.1}
    states, expected = states_of(algo, **options)
    ends_the_same_from_any(states, expected, algo, **options)


def test_the_choice_changes_offspring_but_not_the_initial_population():
    searches = [quick_search("ns", budget=60, variation=variation) for variation in ("gaussian", "iso-line")]
    for search in searches:
        finish(search)
    first, second = (search.ledger.columns()["ground_truth"] for search in searches)
    np.testing.assert_array_equal(first[:12], second[:12])
    assert (first[12:] != second[12:]).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"variation": "line"}, "variation.*'line'"),
        ({"iso_sigma": 0.0}, "iso_sigma.*above 0"),
        ({"line_sigma": -0.1}, "line_sigma.*from 0"),
    ],
)
def test_odd_values_are_refused(given, words):
    with pytest.raises(stax.InvalidInputError, match=words):
        quick_search("ns", **given)


def test_random_search_has_no_parents_to_vary(tmp_path, capsys):
    out = tmp_path / "run"
    command = ["run", "redundant-arm", "--algo", "random", "--budget", "200", "--set", "variation=iso-line", "--out", str(out)]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "Parameter variation must be 'gaussian' for random, which has no parents, not 'iso-line'." in said
    assert len(said.splitlines()) == 1
    assert not out.exists()
