"""A run repeats bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from searches import METHODS, finish, one_torch_thread, outcome, quick_search, same

import stax
from toy_tasks import SquareTask


@pytest.mark.parametrize("algo", METHODS)
@one_torch_thread()
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(algo):
    searches = [quick_search(algo, budget=400, chunk_size=60, seed=seed) for seed in (5, 5, 6)]
    first, again, other = ([], [], [])
    # Two of them at the same time, so that they could disturb each other; torch's own numbers move on meanwhile.
    while not all(search.done for search in searches):
        torch.rand(3)
        np.random.default_rng().random()
        for search, asked in zip(searches, (first, again, other), strict=True):
            if not search.done:
                asked.append(search.ask())
                search.tell(search.task.evaluate(asked[-1]))
    same(outcome(searches[0]), outcome(searches[1]))
    np.testing.assert_array_equal(np.concatenate(first), np.concatenate(again))
    assert not {tuple(row) for row in np.concatenate(first)} & {tuple(row) for row in np.concatenate(other)}


def test_a_search_does_not_touch_the_random_numbers_of_others():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    finish(quick_search("stax", budget=150, chunk_size=20))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_taking_the_state_changes_nothing():
    quiet, watched = quick_search("stax", budget=200), quick_search("stax", budget=200)
    finish(quiet)
    finish(watched, lambda search: search.state())
    same(outcome(quiet), outcome(watched))


def test_the_length_of_a_run_does_not_change_its_beginning():
    short, long = quick_search("stax", budget=150, chunk_size=30), quick_search("stax", budget=300, chunk_size=30)
    finish(short)
    finish(long)
    for name in ("reward", "ground_truth", "parent", "emitter"):
        np.testing.assert_array_equal(short.ledger.columns()[name], long.ledger.columns()[name][:150])


@pytest.mark.parametrize(
    ("algo", "options"),
    [("ns", {}), ("serene", {}), ("moo-nr", {}), ("map-elites", {}), ("serene", {"descriptor": "states"}), ("stax", {})],
    ids=lambda value: value if isinstance(value, str) else "-".join(value.values()),
)
def test_any_number_of_workers_gives_the_same_bits(algo, options):
    def result(workers):
        return stax.run("redundant-arm", algo=algo, budget=1500, seed=2, workers=workers, **options)

    # More than there are cores is allowed, and as good as any.
    one, two = result(1), result(3)
    same(one.ledger, two.ledger)
    same(one.novelty_archive.columns(), two.novelty_archive.columns())
    same(one.reward_archive.columns(), two.reward_archive.columns())
    assert one.emitters == two.emitters
    for row, other in zip(one.metrics, two.metrics, strict=True):
        names = [name for name in row if not name.startswith("seconds")]
        assert [row[name] for name in names] == [other[name] for name in names]
    assert (one.coverage, one.max_reward, one.evaluations) == (two.coverage, two.max_reward, 1500)
    if algo != "map-elites" and options:
        assert one.novelty_archive.descriptor.shape[1] > 20


def test_a_run_equals_a_conversation():
    """`stax.run` does nothing that ask and tell do not."""
    result = stax.run(SquareTask(), algo="serene", budget=300, seed=4, workers=1, population_size=12, chunk_size=60)
    search = stax.make_search("serene", SquareTask(), budget=300, seed=4, population_size=12, chunk_size=60)
    finish(search)
    same(result.ledger, search.ledger.columns())
    same(result.novelty_archive.columns(), search.novelty_archive.policies.columns())
    same(result.reward_archive.columns(), search.reward_archive.policies.columns())
