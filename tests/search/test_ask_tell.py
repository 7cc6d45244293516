"""The conversation: ask for genomes, tell their rollouts."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from searches import METHODS, finish, one_torch_thread, quick_search

from stax import InvalidInputError, Rollouts, UndescribedError
from toy_tasks import NoTruthTask, SquareTask


def test_asking_twice_gives_the_same_batch():
    search = quick_search("serene", budget=200)
    while not search.done:
        first = search.ask()
        np.testing.assert_array_equal(search.ask(), first)
        kept = first.copy()
        first[:] = 99  # whose array it is does not matter
        np.testing.assert_array_equal(search.ask(), kept)
        search.tell(search.task.evaluate(kept))


def broken(rollouts: Rollouts, **columns) -> Rollouts:
    return replace(rollouts, **columns)


def with_value(array: np.ndarray, row: int, value) -> np.ndarray:
    changed = array.copy()
    changed[row] = value
    return changed


REFUSED = {
    "too few": (lambda r: r.take(slice(1, None)), "{n} genomes were asked for, but {less} rollouts came back."),
    "too many": (lambda r: Rollouts.concat([r, r]), "{n} genomes were asked for, but {twice} rollouts came back."),
    "no rollouts": (lambda r: r.reward, "tell takes stax.Rollouts, not ndarray."),
    "reward is not a number": (
        lambda r: broken(r, reward=with_value(r.reward, 3, np.nan)),
        "Task 'square' returned a reward of nan for policy 3 of {n}; rewards must be finite and not negative.",
    ),
    "reward is infinite": (
        lambda r: broken(r, reward=with_value(r.reward, 2, np.inf)),
        "Task 'square' returned a reward of inf for policy 2 of {n}; rewards must be finite and not negative.",
    ),
    "reward is negative": (
        lambda r: broken(r, reward=with_value(r.reward, 1, -0.5)),
        "Task 'square' returned a reward of -0.5 for policy 1 of {n}; rewards must be finite and not negative.",
    ),
    "reward without an area": (
        lambda r: broken(r, reward=with_value(r.reward, 1, 0.5), reward_area=with_value(r.reward_area, 1, -1)),
        "Task 'square' returned a reward of 0.5 for policy 1 of {n} without a reward area; rewarded policies must have one.",
    ),
    "reward in columns": (
        lambda r: broken(r, reward=r.reward[:, None]),
        "Task 'square' must return reward as a 1-D array of numbers, not of shape ({n}, 1) and dtype float64.",
    ),
    "area too high": (
        lambda r: broken(r, reward_area=with_value(r.reward_area, 1, 2)),
        "Task 'square' returned reward area 2 for policy 1 of {n}; it has the areas 0 to 1, and -1 stands for none.",
    ),
    "area too low": (
        lambda r: broken(r, reward_area=with_value(r.reward_area, 0, -2)),
        "Task 'square' returned reward area -2 for policy 0 of {n};",
    ),
    "area not whole": (
        lambda r: broken(r, reward_area=r.reward_area + 0.5),
        "Task 'square' must return reward_area as a 1-D array of whole numbers, not of shape ({n},) and dtype float64.",
    ),
    "no ground truth": (
        lambda r: broken(r, ground_truth=None),
        "Task 'square' has ground-truth bounds, but its rollouts have no ground_truth.",
    ),
    "ground truth of another width": (
        lambda r: broken(r, ground_truth=r.ground_truth[:, :1]),
        "must return a ground_truth of shape ({n}, 2) with finite numbers, not of shape ({n}, 1).",
    ),
    "ground truth is not a number": (
        lambda r: broken(r, ground_truth=r.ground_truth * np.nan),
        "not of shape ({n}, 2) with nan or infinity in it: policy",
    ),
    "too few observations": (
        lambda r: broken(r, snapshots=r.snapshots[:, 1:]),
        "must return snapshots whose shape begins with ({n}, 3) (policies, observation samples), not ({n}, 2, 4).",
    ),
}


@pytest.mark.parametrize("algo", ["stax", "ns"])
@pytest.mark.parametrize("wrong", REFUSED)
@one_torch_thread()
def test_a_refused_tell_leaves_the_search_as_it_was(algo, wrong):
    spoil, sentence = REFUSED[wrong]
    search, undisturbed = quick_search(algo, budget=130), quick_search(algo, budget=130)
    finish(undisturbed)
    tried = 0
    while not search.done:
        genomes = search.ask()
        rollouts = search.task.evaluate(genomes)
        if len(genomes) > 4 and tried < 3:
            words = sentence.format(n=len(genomes), less=len(genomes) - 1, twice=2 * len(genomes))
            with pytest.raises(InvalidInputError, match=re.escape(words)):
                search.tell(spoil(rollouts))
            assert not search.done
            np.testing.assert_array_equal(search.ask(), genomes)
            tried += 1
        search.tell(rollouts)
    assert tried == 3
    np.testing.assert_array_equal(search.ledger.columns()["reward"], undisturbed.ledger.columns()["reward"])
    np.testing.assert_array_equal(search.novelty_archive.policies.genome, undisturbed.novelty_archive.policies.genome)


def test_snapshots_must_stay_of_one_shape():
    search = quick_search("ns")
    search.tell(search.task.evaluate(search.ask()))
    rollouts = search.task.evaluate(search.ask())
    with pytest.raises(InvalidInputError, match=re.escape("returned snapshots of shape (3, 1) a policy, but (3, 4) before.")):
        search.tell(broken(rollouts, snapshots=rollouts.snapshots[:, :, :1]))
    search.tell(rollouts)


def test_a_search_that_is_done_says_so():
    search = quick_search("ns", budget=50)
    rollouts = search.task.evaluate(search.ask())
    finish(search)
    sentence = re.escape("The search is done: its budget of 50 evaluations is spent.")
    with pytest.raises(InvalidInputError, match=sentence):
        search.tell(rollouts)
    with pytest.raises(InvalidInputError, match=sentence):
        search.ask()
    assert search.evaluations == 50


@pytest.mark.parametrize("algo", ["stax", "stax-single", "taxons"])
def test_a_task_without_ground_truth(algo):
    search = quick_search(algo, NoTruthTask(), budget=400, chunk_size=60)
    finish(search)
    assert search.coverage is None
    assert search.ledger.columns()["ground_truth"].shape == (400, 0)
    assert search.training_episodes >= 2
    assert len(search.novelty_archive) > 0
    assert max(search.max_reward) > 0
    # It makes no difference to the search.
    other = quick_search(algo, SquareTask(), budget=400, chunk_size=60)
    finish(other)
    np.testing.assert_array_equal(search.ledger.columns()["reward"], other.ledger.columns()["reward"])


def test_ground_truth_that_the_task_did_not_announce():
    search = quick_search("stax", NoTruthTask())
    with pytest.raises(InvalidInputError, match="has no ground-truth bounds, but its rollouts have a ground_truth"):
        search.tell(SquareTask().evaluate(search.ask()))
    search.tell(search.task.evaluate(search.ask()))


@pytest.mark.parametrize("algo", METHODS)
@one_torch_thread()
def test_whoever_evaluates_may_use_its_arrays_again(algo):
    """A robot's driver may return the same arrays every time."""
    search, undisturbed = (quick_search(algo, budget=150, chunk_size=20) for _ in range(2))
    finish(undisturbed)
    while not search.done:
        rollouts = search.task.evaluate(search.ask())
        search.tell(rollouts)
        for name in ("reward", "reward_area", "steps", "snapshots", "ground_truth"):
            getattr(rollouts, name)[:] = 0
    for name, column in undisturbed.ledger.columns().items():
        np.testing.assert_array_equal(search.ledger.columns()[name], column, err_msg=name)
    kept = undisturbed.novelty_archive.policies
    np.testing.assert_array_equal(search.novelty_archive.policies.descriptor, kept.descriptor)


class FailingTask(SquareTask):
    """Cannot draw its observations once."""

    calls = 0

    def observe(self, rollouts):
        self.calls += 1
        if self.calls == 4:
            raise OSError("the camera is gone")
        return rollouts.snapshots


def test_rollouts_that_cannot_be_observed_can_be_told_again():
    search = quick_search("stax", FailingTask())
    with pytest.raises(UndescribedError, match="the camera is gone"):
        finish(search)
    spent = search.evaluations
    assert 0 < spent < search.budget
    finish(search)
    undisturbed = quick_search("stax")
    finish(undisturbed)
    np.testing.assert_array_equal(search.ledger.columns()["reward"], undisturbed.ledger.columns()["reward"])


def test_a_search_that_broke_off_does_not_pretend_to_be_done(monkeypatch):
    search = quick_search("stax")

    def train(*_):
        raise OSError("there is no memory to train with")

    monkeypatch.setattr(search.space, "train", train)
    with pytest.raises(OSError, match="no memory to train with"):
        finish(search)
    spent = search.evaluations
    assert spent < search.budget
    assert not search.done
    with pytest.raises(RuntimeError, match="broke off with an error in an earlier call"):
        search.tell(search.task.evaluate(search.ask()))
    assert not search.done


def test_rollouts_given_as_lists():
    search = quick_search("ns")
    made = search.task.evaluate(search.ask())
    search.tell(
        Rollouts(
            made.reward.tolist(), made.reward_area.tolist(), made.steps.tolist(), made.snapshots, made.ground_truth.tolist()
        )
    )
    assert search.evaluations == 12


def test_a_search_is_at_rest_after_every_chunk_and_continues_when_asked():
    search, rests = quick_search("stax", budget=200, chunk_size=24), []
    assert not search.at_rest
    assert not search.done
    finish(search, lambda search: rests.append((search.phase, len(search.metrics), search.training_episodes)))
    assert search.done
    assert search.at_rest
    assert rests[:3] == [("initial population", 1, 0), ("training", 2, 1), ("emitters", 3, 1)]
    assert [rows for _, rows, _ in rests] == list(range(1, len(search.metrics) + 1))
    assert rests[-1][2] == search.training_episodes == 1


def test_asking_ends_the_rest_and_telling_without_asking_is_the_same():
    search, silent = quick_search("serene", budget=200, chunk_size=24), quick_search("serene", budget=200, chunk_size=24)
    while not search.done:
        genomes = search.ask()
        assert not search.at_rest
        np.testing.assert_array_equal(search.ask(), genomes)
        search.tell(search.task.evaluate(genomes))
        silent.tell(silent.task.evaluate(genomes))
        assert silent.at_rest == search.at_rest
    assert silent.done
    np.testing.assert_array_equal(search.ledger.columns()["reward"], silent.ledger.columns()["reward"])


def test_a_state_is_refused_unless_the_search_is_at_rest():
    search = quick_search("ns", budget=200, chunk_size=48)
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="only at rest"):
            search.state()
        search.ask()
    search.tell(search.task.evaluate(search.ask()))
    assert search.state().numbers["evaluations"] == 12


def test_rows_of_chunks_without_evaluations_are_not_lost():
    """Without a bootstrap step there is nothing to exploit, and two rests follow each other without an evaluation between them."""
    search = quick_search("serene", budget=400, chunk_size=24, bootstrap_share=0.0)
    finish(search)
    assert [row["phase"] for row in search.metrics].count("exploitation") > 1
    assert sum(chunk.evaluations for chunk in search.record.course) == 400
