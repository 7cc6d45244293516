"""Searches by ask and tell, kept in a file and taken up again."""

from __future__ import annotations

import numpy as np
import pytest

import stax


def begin(algo="stax", budget=900, seed=2, **parameters):
    task = stax.FunctionTask(lambda genomes: (np.maximum(0.0, genomes[:, 0] - 1), np.tanh(genomes)), genome_size=3, name="tanh")
    return stax.make_search(algo, task, budget=budget, seed=seed, **parameters), task


def go_on(search, task, path=None, until=None):
    """Continue a search and save it whenever it is at rest; return when it was saved."""
    kept = []
    while not search.done and (until is None or search.evaluations < until):
        search.tell(task.evaluate(search.ask()))
        if path and search.at_rest:
            stax.save_search(search, path)
            kept.append(search.evaluations)
    return kept


def test_a_kept_search_goes_on_with_the_same_bits(tmp_path):
    whole, task = begin()
    go_on(whole, task)
    cut, task = begin()
    kept = go_on(cut, task, tmp_path / "kept.npz", until=500)
    again, task = begin()
    stax.restore_search(again, tmp_path / "kept.npz")
    assert again.evaluations == kept[-1]
    assert again.at_rest
    assert not again.done
    go_on(again, task, tmp_path / "later.npz")
    for name, column in whole.ledger.columns().items():
        assert np.array_equal(column, again.ledger.columns()[name], equal_nan=column.dtype.kind == "f")
    assert np.array_equal(whole.reward_archive.policies.genome, again.reward_archive.policies.genome)
    assert np.array_equal(whole.novelty_archive.policies.descriptor, again.novelty_archive.policies.descriptor)
    stax.save_search(again, tmp_path / "kept.npz")
    done, _ = begin()
    stax.restore_search(done, tmp_path / "kept.npz")
    assert done.done


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"algo": "stax-nt"}, "is the state of a search with method 'stax', not 'stax-nt'."),
        ({"budget": 901}, "is the state of a search with budget 900, not 901."),
        ({"seed": 3}, "is the state of a search with seed 2, not 3."),
        ({"mutation_sigma": 0.4}, "is the state of a search with mutation_sigma 0.5, not 0.4."),
        ({"genome_bounds": (-1, 2)}, "is the state of a search with genome_bounds [-5.0, 5.0], not [-1.0, 2.0]."),
    ],
)
def test_the_state_of_another_search_is_refused(other, words, tmp_path):
    search, task = begin()
    go_on(search, task, tmp_path / "kept.npz", until=300)
    with pytest.raises(stax.InvalidInputError) as error:
        stax.restore_search(begin(**other)[0], tmp_path / "kept.npz")
    assert str(error.value) == f"{str(tmp_path / 'kept.npz')!r} {words}"


def test_missing_and_damaged_files_are_told(tmp_path):
    search, task = begin()
    go_on(search, task, tmp_path / "kept.npz", until=300)
    fresh = begin()[0]
    with pytest.raises(stax.InvalidInputError, match=r"^There is no file '.*nothing.npz' to restore a search from\.$"):
        stax.restore_search(fresh, tmp_path / "nothing.npz")
    content = (tmp_path / "kept.npz").read_bytes()
    for damaged in (content[: len(content) // 2], b"no zip", b""):
        (tmp_path / "bad.npz").write_bytes(damaged)
        with pytest.raises(stax.InvalidInputError, match=r"bad\.npz"):
            stax.restore_search(fresh, tmp_path / "bad.npz")
    stax.restore_search(fresh, tmp_path / "kept.npz")
    assert fresh.evaluations <= 300
