"""A search that was put away at rest goes on with the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from searches import METHODS, ends_the_same_from_any, one_torch_thread, quick_search, spoilt, states_of

from stax.errors import InvalidInputError
from stax.search.state import State


@pytest.mark.parametrize("algo", METHODS)
@one_torch_thread()
def test_a_restored_search_ends_with_the_same_bits(algo):
    options = {"budget": 700, "chunk_size": 60, "seed": 3}
    states, expected = states_of(algo, **options)
    assert len(states) > 4
    ends_the_same_from_any(states, expected, algo, **options)


@one_torch_thread()
def test_emitters_are_alive_in_a_state_that_is_restored():
    """Or the test above would not say much of them."""
    states, _ = states_of("stax", budget=700, chunk_size=60, seed=3)
    assert max(len(state.arrays["emitters.id"]) for state in states) >= 2
    assert max(len(state.arrays["emitters.novelty_candidates.id"]) for state in states) >= 2
    assert max(len(state.arrays["candidates.id"]) for state in states) >= 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("population.genome", lambda a: a[:, :-1]),
        ("population.genome", lambda a: a.astype(np.float32)),
        ("population.id", lambda a: a + 100_000),
        ("novelty_archive.descriptor", lambda a: a[:-1]),
        ("candidates.snapshots", lambda a: a[:, :1]),
        ("ledger.reward", lambda a: a[:-1]),
        ("emitters.history_sizes", lambda a: a[:-1]),
        ("emitters.sigma", lambda a: a[:-1]),
        ("emitters.members", lambda a: a + 1),
    ],
)
def test_a_state_that_does_not_fit_is_refused(name, change):
    states, _ = states_of("serene", budget=500, chunk_size=60, seed=3)
    state = max(states, key=lambda state: len(state.arrays["emitters.id"]))
    search = quick_search("serene", budget=500, chunk_size=60, seed=3)
    with pytest.raises(InvalidInputError):
        search.restore(spoilt(state, name, change(state.arrays[name])))


def test_a_state_without_a_part_is_refused_by_name():
    states, _ = states_of("serene", budget=300, chunk_size=60, seed=3)
    arrays = {name: array for name, array in states[-1].arrays.items() if name != "reward_archive.genome"}
    with pytest.raises(InvalidInputError, match="reward_archive has the columns"):
        quick_search("serene", budget=300, chunk_size=60, seed=3).restore(State(arrays, states[-1].numbers))
    with pytest.raises(InvalidInputError, match="500 evaluations of a budget of 300"):
        quick_search("serene", budget=300, chunk_size=60, seed=3).restore(
            State(states[-1].arrays, {**states[-1].numbers, "evaluations": 500})
        )
