"""Descriptors of an emitter's offspring are computed for a whole turn at once, with the outcome of one generation at a time."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
import torch
from searches import finish, one_torch_thread, outcome, quick_search, reloaded, same

import stax
from stax.representation.autoencoder import ConvolutionalAutoencoder
from stax.representation.learned import LearnedSpace
from stax.representation.space import GroundTruthSpace, StatesSpace, UndescribedError
from stax.search.emitters.turn import MOST_UNSTORED
from stax.search.vocabulary import Origin
from stax.tasks.redundant_arm import RedundantArm
from toy_tasks import SquareTask

SMALL = {"population_size": 12, "max_epochs": 1, "max_images_per_episode": 100, "batch_size": 16, "archive_additions": 3}
SMALL |= {"code_size": 3, "descriptor_samples": 2, "novelty_neighbors": 4, "emitter_population": 4}
SMALL |= {"chunk_size": 60, "bootstrap_generations": 3, "seed": 3}
KINDS = {
    "elitist": "elitist",
    "cma-es": "cma-es",
    "sep-cma-es": "sep-cma-es",
    "novelty": "novelty",
    "all": ("elitist", "cma-es", "sep-cma-es", "novelty"),
}


def arm() -> RedundantArm:
    """A built-in task with an area of reward that is easy to find."""
    task = RedundantArm(threads=1)
    task.reward_areas = (stax.RewardArea("wide", (0.5, 0.8), 0.4),)
    return task


def arm_search(**options) -> stax.search.search.Search:
    return stax.make_search("stax", arm(), device="cpu", **{"budget": 500, **SMALL, **options})


@contextmanager
def one_generation_at_a_time() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LearnedSpace, "deferrable", False)
        yield


@contextmanager
def described_at_once() -> Iterator[list[int]]:
    """Yields how many policies were described together each time, without surprise."""
    sizes: list[int] = []
    describe = LearnedSpace.describe

    def counted(space, rollouts):
        sizes.append(len(rollouts))
        return describe(space, rollouts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LearnedSpace, "describe", counted)
        yield sizes


def everything(search) -> dict[str, np.ndarray]:
    """The outcome of a search and all arrays of its state, with the turns that the bandit decides by."""
    turns = [
        *search.containers.emitters.choices[Origin.BOOTSTRAP].turns,
        *search.containers.emitters.choices[Origin.EMITTER].turns,
    ]
    state = {name: np.array(array) for name, array in search.state().arrays.items()}
    return {
        **outcome(search),
        **state,
        "turns": np.array(turns, object),
        "gains": np.array([c.gain for c in search.record.course]),
    }


@one_torch_thread()
def both_ways(tell=None, **options) -> tuple[stax.search.search.Search, list[int], list[int]]:
    """Does a search with deferred descriptors and one without, compares everything, and returns the first and both sizes."""
    searches, sizes = [], []
    for deferred in (True, False):
        search = arm_search(**options)
        assert search.space.deferrable
        with described_at_once() as counted:
            if deferred:
                _finish(search, tell)
            else:
                with one_generation_at_a_time():
                    _finish(search, tell)
        searches.append(search)
        sizes.append(counted)
    same(everything(searches[0]), everything(searches[1]))
    return searches[0], *sizes


def _finish(search, tell=None) -> None:
    while not search.done:
        rollouts = search.task.evaluate(search.ask())
        search.tell(tell(rollouts) if tell else rollouts)


@pytest.mark.parametrize("kinds", KINDS)
def test_the_outcome_is_that_of_one_generation_at_a_time(kinds):
    search, deferred, at_once = both_ways(emitter_kinds=KINDS[kinds], budget=900 if kinds == "all" else 500)
    assert search.containers.emitters.made > (4 if kinds == "all" else 1)
    assert sum(record.evaluations for record in search.emitter_records()) > 60
    assert sum(deferred) == sum(at_once)
    if kinds == "novelty":
        assert deferred == at_once, "what is selected by novelty is described at once"
    else:
        assert len(deferred) < len(at_once)
        assert len(search.novelty_archive) + len(search.reward_archive) > 20
    assert any(emitter.kept for emitter in search.containers.emitters)


def test_a_kind_of_the_users_own_defers_too():
    search, deferred, at_once = both_ways(emitter_kinds=("own_parts:Widening", "own_parts:Stubborn"), budget=700)
    assert {record.kind for record in search.emitter_records()} == {"own_parts:Widening", "own_parts:Stubborn"}
    assert len(deferred) < len(at_once)


def test_not_more_than_a_bound_wait(monkeypatch):
    monkeypatch.setattr("stax.search.emitters.turn.MOST_UNSTORED", 20)
    _, deferred, at_once = both_ways(chunk_size=200)
    # Without the sets that are described anew after training, which both searches have.
    assert 20 <= max(set(deferred) - set(at_once)) < 20 + 8
    assert MOST_UNSTORED > 72, "a usual turn is described at once"


def test_failed_evaluations_are_left_out():
    def fail_some(rollouts):
        failed = np.modf(1000 * rollouts.ground_truth[:, 0])[0] < 0.3
        return stax.Rollouts(**{**vars(rollouts), "failed": failed})

    search, _, _ = both_ways(fail_some, emitter_kinds=KINDS["all"])
    failed, origin = search.ledger.columns()["failed"], search.ledger.columns()["origin"]
    assert failed[origin == Origin.BOOTSTRAP].any()
    assert not np.isin(np.flatnonzero(failed), search.reward_archive.policies.id).any()


def test_a_first_population_that_failed_ends_its_emitter():
    told = 0

    def fail_bootstraps(rollouts):
        nonlocal told
        told += 1
        return stax.Rollouts(**{**vars(rollouts), "failed": np.full(len(rollouts), len(rollouts) == 4)})

    search, _, _ = both_ways(fail_bootstraps)
    assert {record.ended_by for record in search.emitter_records()} == {"evaluations failed"}


@cache
def origins() -> np.ndarray:
    search = arm_search()
    with one_torch_thread():
        _finish(search)
    return search.ledger.columns()["origin"]


@pytest.mark.parametrize("origin", [Origin.BOOTSTRAP, Origin.EMITTER], ids=["bootstrap", "emitter step"])
@pytest.mark.parametrize("after", [1, 9, 14])
def test_the_budget_may_end_within_a_turn(origin, after):
    budget = int(np.flatnonzero(origins() == origin)[0]) + after
    search, _, _ = both_ways(budget=budget)
    assert search.evaluations == budget
    assert search.ledger.columns()["origin"][-1] == origin
    archived = search.reward_archive.policies
    for emitter in search.containers.emitters:
        kept = {*archived.id[archived.emitter == emitter.id].tolist(), *emitter.novelty_candidates.policies.id.tolist()}
        assert emitter.kept == len(kept)


@pytest.mark.parametrize("kinds", ["elitist", "all"])
@one_torch_thread()
def test_a_search_goes_on_from_every_rest_with_the_same_bits(kinds):
    states, options = [], {"budget": 420, "emitter_kinds": KINDS[kinds]}

    search = arm_search(**options)
    finish(search, lambda search: states.append(reloaded(search.state())))
    assert len(states) > 4
    assert any(len(state.arrays["emitters.novelty_candidates.id"]) for state in states)
    for state in states:
        again = arm_search(**options)
        again.restore(state)
        finish(again)
        same(everything(again), everything(search))


# Where it is done


class OtherArm(RedundantArm):
    """One of the user's own, which may draw what it wants."""


class OwnNetwork(ConvolutionalAutoencoder):
    """One of the user's own."""


@pytest.mark.parametrize(
    ("task", "options", "deferrable"),
    [
        (RedundantArm, {}, True),
        (RedundantArm, {"autoencoder": "variational"}, True),
        (RedundantArm, {"autoencoder": OwnNetwork}, False),
        (RedundantArm, {"autoencoder": lambda shape, size: ConvolutionalAutoencoder(shape, size)}, False),
        (OtherArm, {}, False),
        (SquareTask, {}, False),
    ],
    ids=["built in", "variational", "own network", "factory", "own task", "vectors"],
)
def test_descriptors_are_deferred_only_where_every_rollout_has_one(task, options, deferrable):
    search = stax.make_search("stax", task(), budget=200, device="cpu", **{**SMALL, **options})
    assert search.space.deferrable is deferrable
    assert not GroundTruthSpace(SquareTask()).deferrable
    assert not StatesSpace(SquareTask(), 2).deferrable


@one_torch_thread()
def test_codes_that_became_infinite_are_one_sentence():
    search = arm_search()
    while search.phase != "emitters" or search.at_rest:
        search.tell(search.task.evaluate(search.ask()))
    with torch.no_grad():
        search.space.autoencoder.encoder_linear.bias[:] = float("nan")
    sentence = r"^Policy 0 of \d+ of task 'redundant-arm' has no descriptor: codes or errors of the autoencoder are not finite"
    with pytest.raises(RuntimeError, match=sentence) as error:
        finish(search)
    assert not isinstance(error.value, UndescribedError), "nobody may tell the last rollouts again instead"
    with pytest.raises(RuntimeError, match="broke off with an error"):
        search.tell(search.task.evaluate(search.ask()))


# What a kind is shown


class Witness(stax.EmitterKind):
    """Notes what it is shown."""

    def __init__(self):
        self.shown, self.rewards = [], []

    def ask(self, emitter, rng):
        best = emitter.population.take(np.zeros(4, int))
        return best.genome + emitter.sigma * rng.normal(size=best.genome.shape), best.id

    def keeps(self, emitter, offspring):
        self.rewards.append(("keeps", emitter.id, emitter.best_reward, emitter.generations))
        self.shown += [*offspring.novelty, *offspring.descriptor.ravel()]
        return super().keeps(emitter, offspring)

    def tell(self, emitter, offspring):
        self.shown += [*offspring.novelty, *offspring.descriptor.ravel()]
        offspring.reward[offspring.reward < 0.1] = 0.0
        return super().tell(emitter, offspring)

    def progress(self, emitter, population):
        self.rewards.append(("progress", emitter.id, emitter.best_reward, emitter.generations))
        self.shown += [*population.novelty, *population.descriptor.ravel()]
        return super().progress(emitter, population)

    def ended_by(self, emitter):
        self.rewards.append(("ended_by", emitter.id, emitter.best_reward, emitter.generations))
        return "enough" if emitter.generations >= 12 else ""


class NovelWitness(Witness):
    uses_novelty = True


@one_torch_thread()
def test_a_kind_is_asked_at_the_same_time_with_the_same_best_reward():
    witnesses = [Witness(), Witness()]
    searches = [arm_search(emitter_kinds=[witness]) for witness in witnesses]
    _finish(searches[0])
    with one_generation_at_a_time():
        _finish(searches[1])
    same(everything(searches[0]), everything(searches[1]))
    assert witnesses[0].rewards == witnesses[1].rewards
    assert len({reward for _, _, reward, _ in witnesses[0].rewards}) > 3
    assert {what for what, *_ in witnesses[0].rewards} == {"keeps", "progress", "ended_by"}


@pytest.mark.parametrize("make", [arm_search, lambda **options: quick_search("serene", chunk_size=60, seed=3, **options)])
@one_torch_thread()
def test_novelty_is_known_to_kinds_that_use_it(make):
    """Also where descriptors are not deferred: a kind does the same on every task."""
    for witness in (Witness(), NovelWitness()):
        search = make(emitter_kinds=[copy.deepcopy(witness)])
        _finish(search)
        (kind,) = search.containers.emitters.kinds.values()
        shown = np.array(kind.kind.shown)
        assert len(shown) > 100
        assert (~np.isnan(shown)).all() if witness.uses_novelty else np.isnan(shown).all()
