"""Kinds of emitters: what each does, that any of them resumes exactly, and what is said of wrong ones."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import cmaes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import (
    ends_the_same_from_any,
    finish,
    one_torch_thread,
    outcome,
    policies,
    quick_search,
    reloaded,
    same,
    spoilt,
    stale,
    states_of,
)
from threadpoolctl import threadpool_limits

import own_parts
import stax
from stax.errors import InvalidInputError
from stax.search.emitters import EMITTER_KINDS
from stax.search.emitters.cma_es import CmaEmitter
from stax.search.emitters.elitist import ElitistEmitter
from stax.search.emitters.emitter import Emitter, Memory
from stax.search.emitters.novelty import NoveltyEmitter
from stax.search.emitters.sep_cma_es import STATE, SeparableCmaEmitter, population_size
from stax.search.parameters import Parameters
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.vocabulary import Origin
from toy_tasks import SquareTask

BUILT_IN = tuple(EMITTER_KINDS)
OWN = ("own_parts:Widening", "own_parts:Stubborn")
ALL = (*BUILT_IN, *OWN)
OPTIONS = {"budget": 900, "chunk_size": 60, "seed": 3}


def an_emitter(*, genes=4, sigma=0.5, novelty=2.0, **parameters) -> Emitter:
    ancestor = policies([7], genome=[np.linspace(-1, 1, genes)], reward=[0.5], descriptor=[[0.0]])
    ancestor.novelty[:] = novelty
    return Emitter(
        id=0,
        kind="any",
        parameters=Parameters(**parameters),
        ancestor=ancestor,
        sigma=sigma,
        born=0,
        best_reward=0.5,
        most_novel=ancestor,
        novelty_candidates=GrowingSet(ancestor),
        population=ancestor.take(slice(0, 0)),
    )


def evaluated(ids, genomes, rewards, novelty=None) -> PolicySet:
    made = policies(ids, genome=genomes, reward=rewards, descriptor=np.zeros((len(rewards), 1)))
    made.novelty[:] = np.zeros(len(rewards)) if novelty is None else novelty
    return made


# What each kind does


def test_the_first_population_is_drawn_around_the_ancestor():
    for kind in (ElitistEmitter(), NoveltyEmitter(), CmaEmitter(), SeparableCmaEmitter()):
        emitter = an_emitter(sigma=0.25, emitter_population=4000)
        genomes = kind.start(emitter, np.random.default_rng(0))
        assert genomes.shape == (4000, 4)
        np.testing.assert_allclose(genomes.mean(axis=0), emitter.ancestor.genome[0], atol=0.02)
        np.testing.assert_allclose(np.cov(genomes.T), 0.0625 * np.eye(4), atol=0.005)


def test_an_elitist_emitter_mutates_each_member_and_keeps_the_best():
    emitter = an_emitter(emitter_population=2, offspring_per_parent=3, sigma=1e-9)
    emitter.population = evaluated([1, 2], [[0, 0, 0, 0], [5, 5, 5, 5]], [0.1, 0.4])
    genomes, parents = ElitistEmitter().ask(emitter, np.random.default_rng(0))
    assert parents.tolist() == [1, 1, 1, 2, 2, 2]
    np.testing.assert_allclose(genomes, np.repeat([[0.0] * 4, [5.0] * 4], 3, axis=0), atol=1e-7)
    survivors = ElitistEmitter().tell(emitter, evaluated([3, 4], np.zeros((2, 4)), [0.4, 0.2]))
    assert survivors.id.tolist() == [2, 3]


def test_a_novelty_emitter_keeps_the_most_novel_of_the_rewarded():
    emitter = an_emitter(emitter_population=3)
    emitter.population = evaluated([1, 2], np.zeros((2, 4)), [0.9, 0.1], [0.2, 0.8])
    offspring = evaluated([3, 4, 5], np.zeros((3, 4)), [0.0, 0.01, 0.0], [9.0, 0.5, 3.0])
    kind = NoveltyEmitter()
    assert kind.tell(emitter, offspring).id.tolist() == [2, 4, 1]
    emitter.population = evaluated([1], np.zeros((1, 4)), [0.9], [0.2])
    assert kind.tell(emitter, offspring).id.tolist() == [4, 1, 3], "those without reward only where there are too few with"


def test_a_novelty_emitter_stores_what_is_rewarded_and_novel_or_better():
    emitter = an_emitter(novelty=2.0)
    offspring = evaluated([1, 2, 3, 4], np.zeros((4, 4)), [0.6, 0.2, 0.2, 0.0], [0.1, 2.5, 1.5, 9.0])
    assert NoveltyEmitter().keeps(emitter, offspring).tolist() == [True, True, False, False]
    assert ElitistEmitter().keeps(emitter, offspring).tolist() == [True, False, False, False]


def test_the_progress_of_a_novelty_emitter_is_in_units_of_its_ancestor_s_novelty():
    population = evaluated([1, 2], np.zeros((2, 4)), [0.6, 0.0], [3.0, 8.0])
    assert NoveltyEmitter().progress(an_emitter(novelty=2.0), population).tolist() == [1.5, 0.0]
    assert NoveltyEmitter().progress(an_emitter(novelty=0.0), population).tolist() == [3.0, 0.0]
    assert ElitistEmitter().progress(an_emitter(), population).tolist() == [0.6, 0.0]


@pytest.mark.parametrize("kind", [CmaEmitter, SeparableCmaEmitter])
def test_cma_climbs_a_slope_as_the_package_does(kind):
    """The same numbers as an optimiser of the package that is driven by hand with the same seeds."""
    emitter, ours = an_emitter(genes=5, emitter_population=8, sigma=0.3), np.random.default_rng(4)
    package = (cmaes.CMA if kind is CmaEmitter else cmaes.SepCMA)(emitter.ancestor.genome[0].copy(), 0.3, population_size=8)
    theirs, climbing = np.random.default_rng(4), kind()
    for generation in range(40):
        genomes = climbing.ask(emitter, ours)[0] if generation else climbing.start(emitter, ours)
        package.reseed_rng(int(theirs.integers(2**32)))
        drawn = np.stack([package.ask() for _ in range(8)])
        np.testing.assert_allclose(genomes, drawn, rtol=1e-9, atol=1e-12)
        rewards = -((drawn - 2) ** 2).sum(axis=1)
        package.tell([(genome, -reward) for genome, reward in zip(drawn, rewards, strict=True)])
        emitter.population = climbing.tell(emitter, evaluated(range(8), genomes, rewards))
        assert emitter.population.id.tolist() == list(range(8)), "its population are its last draws"
    assert np.abs(emitter.memory["mean"] - 2).max() < 0.3
    assert emitter.memory["generation"] == 40
    assert climbing.ended_by(emitter) == ""


@pytest.mark.parametrize("make", [cmaes.CMA, cmaes.SepCMA])
def test_nothing_changes_in_an_optimiser_but_what_is_remembered(make):
    """Pins what we rely on in the package."""
    rng = np.random.default_rng(0)
    optimizer = make(np.zeros(4), 0.5, population_size=6)
    optimizer._funhist_values[:] = 0
    before = {name: np.array(value, copy=True) for name, value in vars(optimizer).items() if name != "_rng"}
    assert set(STATE.values()) <= set(before)
    for _ in range(30):
        optimizer.reseed_rng(int(rng.integers(2**32)))
        optimizer.tell([(genome, float(genome @ genome)) for genome in (optimizer.ask() for _ in range(6))])
        optimizer.should_stop()
    changed = {name for name, value in before.items() if not np.array_equal(value, np.array(vars(optimizer)[name]))}
    # B and D are what the covariance is taken apart into.
    assert changed - {"_B", "_D"} == set(STATE.values())


def test_cma_ends_where_nothing_is_to_be_gained():
    emitter, kind, rng = an_emitter(genes=2, emitter_population=6), CmaEmitter(), np.random.default_rng(0)
    reasons = []
    for generation in range(60):
        genomes = kind.ask(emitter, rng)[0] if generation else kind.start(emitter, rng)
        emitter.population = kind.tell(emitter, evaluated(range(6), genomes, np.full(6, 0.5)))
        reasons.append(kind.ended_by(emitter))
    # The package compares 10 + 30 n / population generations.
    assert reasons[:20] == [""] * 20
    assert reasons[-1] == "convergence"


@pytest.mark.parametrize("kind", [CmaEmitter, SeparableCmaEmitter])
def test_failed_evaluations_of_cma_move_nothing(kind):
    """Three of six are missing: the mean goes to the best of the rest."""
    emitter, climbing, rng = an_emitter(emitter_population=6), kind(), np.random.default_rng(0)
    genomes = climbing.start(emitter, rng)
    before = emitter.memory["mean"].copy()
    emitter.population = climbing.tell(emitter, evaluated(range(3), genomes[:3], [0.1, 0.9, 0.2]))
    moved = emitter.memory["mean"] - before
    assert float(moved @ (genomes[1] - before)) > 0
    assert len(emitter.population) == 3
    nobody = evaluated([], np.empty((0, 4)), [])
    assert climbing.tell(emitter, nobody) is emitter.population


def test_cma_that_became_endless_is_not_remembered():
    emitter, kind, rng = an_emitter(emitter_population=6), CmaEmitter(), np.random.default_rng(0)
    kind.start(emitter, rng)
    known = {name: value.copy() for name, value in emitter.memory.items()}
    kind._at_work[1]._pc[:] = np.inf
    kind.tell(emitter, evaluated(range(6), np.zeros((6, 4)), np.arange(6.0)))
    assert kind.ended_by(emitter) == "convergence"
    same({**known, "converged": np.array(1.0)}, dict(emitter.memory))
    kind.check(emitter)


def test_cma_s_own_population_size():
    assert population_size(Parameters(cma_population="genome"), 228) == 4 + math.floor(3 * math.log(228)) == 20
    assert population_size(Parameters(), 228) == 6
    search = quick_search("serene", emitter_kinds="cma-es", cma_population="genome", **OPTIONS)
    finish(search)
    assert {record.kind for record in search.emitter_records()} == {"cma-es"}
    counts = np.bincount([len(emitter.history[0]) for emitter in search.containers.emitters])
    assert np.flatnonzero(counts).tolist() == [4 + math.floor(3 * math.log(6))]


# In a search


@pytest.mark.parametrize("kind", ALL)
def test_any_kind_finds_higher_rewards_than_its_ancestors(kind):
    search = quick_search("serene", emitter_kinds=(kind,), **OPTIONS)
    finish(search)
    records = search.emitter_records()
    assert {record.kind for record in records} == {kind}
    assert sum(record.best_reward > record.first_reward for record in records) > len(records) / 4
    ledger = search.ledger.columns()
    for record in records:
        own = ledger["emitter"] == record.id
        assert record.evaluations == own.sum()
        parents = ledger["parent"][own]
        assert ((parents == record.ancestor) | (ledger["emitter"][parents] == record.id)).all()
        assert record.best_reward == max(record.first_reward, ledger["reward"][own].max())


def test_reasons_of_a_kind_s_own_end_an_emitter():
    search = quick_search("serene", emitter_kinds=own_parts.Stubborn, **{**OPTIONS, "budget": 2000, "chunk_size": 200})
    finish(search)
    ended = [record for record in search.emitter_records() if record.ended_by == "impatience"]
    assert ended
    assert {record.generations for record in ended} == {31}, "thirty, after the first population"


def test_genomes_of_any_kind_keep_to_the_bounds():
    search = quick_search("serene", emitter_kinds="cma-es", genome_bounds=(-0.5, 0.5), **OPTIONS)
    while not search.done:
        genomes = search.ask()
        assert np.abs(genomes).max() <= 0.5
        search.tell(search.task.evaluate(genomes))
    assert search.containers.emitters.made


@one_torch_thread()
def test_the_population_of_a_novelty_emitter_is_described_anew_after_training():
    old, checked = [], 0

    def look(search):
        nonlocal checked
        old.extend(stale(search))
        for emitter in search.containers.emitters:
            known = emitter.population.descriptor
            checked += len(known)
            assert np.array_equal(known, search.space.describe(emitter.population.rollouts()))

    search = quick_search("stax", emitter_kinds="novelty", **OPTIONS)
    finish(search, look)
    assert old == []
    assert checked > 20
    assert search.training_episodes >= 2


@pytest.mark.parametrize("choice", ["bandit", "uniform", "round-robin"])
def test_several_kinds_share_the_budget(choice):
    search = quick_search("serene", emitter_kinds=BUILT_IN, emitter_choice=choice, **{**OPTIONS, "budget": 2500})
    finish(search)
    records = search.emitter_records()
    known = {record.kind for record in records}
    # A uniform choice may miss one of four in so few draws.
    assert known == set(BUILT_IN) or (choice == "uniform" and len(known) == 3)
    assert {kind for kind, _ in search.containers.emitters.choices[Origin.EMITTER].turns} == known
    assert all(0 <= share <= 1 for _, share in search.containers.emitters.choices[Origin.EMITTER].turns)
    if choice == "round-robin":
        kinds = [record.kind for record in records]
        assert kinds[:8] == [*BUILT_IN, *BUILT_IN]
        assert all(one != other for one, other in pairwise(kinds))


def test_a_turn_counts_policies_that_were_kept():
    """The share that entered the reward archive or became a novelty candidate, each policy once."""
    search = quick_search("serene", emitter_kinds="elitist", **OPTIONS)
    finish(search)
    assert len(search.containers.emitters.choices[Origin.BOOTSTRAP].turns) == min(50, search.containers.emitters.made)
    records = {record.id: record for record in search.emitter_records()}
    archived = search.reward_archive.policies
    for emitter in search.containers.emitters:
        rewarding = archived.id[archived.emitter == emitter.id]
        novel = emitter.novelty_candidates.policies.id
        assert emitter.kept == len({*rewarding.tolist(), *novel.tolist()}) <= records[emitter.id].evaluations


# Exactly again


@pytest.mark.parametrize("kinds", [*((kind,) for kind in ALL), BUILT_IN, ("cma-es", *OWN)], ids="+".join)
def test_any_kind_goes_on_with_the_same_bits(kinds):
    options = {**OPTIONS, "emitter_kinds": kinds}
    states, expected = states_of("serene", **options)
    assert max(len(state.arrays["emitters.id"]) for state in states) >= 2
    ends_the_same_from_any(states, expected, "serene", **options)


@one_torch_thread()
def test_a_learned_space_with_all_kinds_goes_on_with_the_same_bits():
    options = {**OPTIONS, "emitter_kinds": BUILT_IN, "scheduler": "adaptive"}
    states, expected = states_of("stax", **options)
    for state in states[3 : len(states) : 4]:
        search = quick_search("stax", **options)
        search.restore(state)
        finish(search)
        same(outcome(search), expected)


def test_cma_does_not_depend_on_the_threads_of_linear_algebra():
    class Wide(SquareTask):
        genome_size = 130

    outcomes = []
    for threads in (1, 2):
        search = quick_search("serene", Wide(), emitter_kinds="cma-es", **OPTIONS)
        with threadpool_limits(limits=threads, user_api="blas"):
            finish(search)
        outcomes.append(outcome(search))
    same(*outcomes)
    assert len(outcomes[0]["emitters"]) > 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("memories.0", lambda a: a[:, :-8]),
        ("memories.0", lambda a: a[:-1]),
        ("memories.0", lambda a: a * np.nan),
        ("emitters.kept", lambda a: a[:-1]),
    ],
)
def test_a_memory_that_does_not_fit_is_refused(name, change):
    options = {**OPTIONS, "emitter_kinds": ("cma-es",)}
    states, _ = states_of("serene", **options)
    state = max(states, key=lambda state: len(state.arrays["emitters.id"]))
    with pytest.raises(InvalidInputError):
        quick_search("serene", **options).restore(spoilt(state, name, change(state.arrays[name])))


def test_numbers_of_a_state_that_do_not_fit_are_refused():
    options = {**OPTIONS, "emitter_kinds": ("cma-es",)}
    states, _ = states_of("serene", **options)
    state = max(states, key=lambda state: len(state.arrays["emitters.id"]))
    shapes = state.numbers["emitter_memories"]
    for changed in (
        {"emitter_kinds": ["elitist"] * len(shapes)},
        {"emitter_memories": shapes[:-1]},
        {"emitter_memories": [[["mean", [6]]]] * len(shapes)},
        {"emitter_memories": [[[name, [*shape, 2]] for name, shape in shapes[0]], *shapes[1:]]},
        {"bootstrap_turns": [["elitist", 0.5]]},
        {"emitter_turns": [["cma-es", 7.0]]},
        {"course": state.numbers["course"][:-1]},
    ):
        search = quick_search("serene", **options)
        with pytest.raises(InvalidInputError):
            search.restore(replace(state, numbers={**state.numbers, **changed}))


@cache
def a_finished_search():
    search = quick_search("serene", emitter_kinds=own_parts.Widening, budget=400, chunk_size=60, seed=3)
    finish(search)
    assert search.containers.emitters
    return search


numbers = st.floats(allow_nan=False, width=64)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=6), st.one_of(numbers, st.booleans(), st.integers(-(2**50), 2**50), st.lists(numbers, max_size=5))
    )
)
def test_what_an_emitter_remembers_comes_back_as_it_is(remembered):
    search = a_finished_search()
    (emitter, *_) = search.containers.emitters
    emitter.memory.clear()
    emitter.memory.update(remembered)
    again = quick_search("serene", emitter_kinds=own_parts.Widening, budget=400, chunk_size=60, seed=3)
    again.restore(reloaded(search.state()))
    (restored, *_) = again.containers.emitters
    same(dict(emitter.memory), dict(restored.memory))
    assert list(restored.memory) == list(remembered)


def test_only_numbers_can_be_remembered():
    memory = Memory()
    memory["count"] = 3
    memory["count"] += 1
    assert memory["count"] == 4
    assert memory["count"].dtype == np.float64
    for wrong in ("word", None, object(), [[1], [1, 2]], {"a": 1}):
        with pytest.raises(
            InvalidInputError, match="The memory of an emitter must be numbers or arrays of numbers, but 'x' is"
        ):
            memory["x"] = wrong


# One's own


def test_a_part_is_named_or_given():
    """By name, as a class or as an object: the same emitters."""
    searches = [
        quick_search("serene", emitter_kinds=kinds, **OPTIONS)
        for kinds in ("own_parts:Widening", own_parts.Widening, own_parts.Widening(1.5), [own_parts.Widening(1.5)])
    ]
    names = ["own_parts:Widening", "own_parts:Widening", "given:Widening", "given:Widening"]
    assert [search.parameters.emitter_kinds for search in searches] == [(name,) for name in names]
    for search in searches:
        finish(search)
    expected = outcome(searches[0])
    for search, name in zip(searches, names, strict=True):
        found = outcome(search)
        found["emitters"] = np.array([text.replace(name, names[0]) for text in found["emitters"].tolist()])
        same(found, expected)
    wider = quick_search("serene", emitter_kinds=[own_parts.Widening(4)], **OPTIONS)
    finish(wider)
    assert not np.array_equal(outcome(wider)["ledger reward"], expected["ledger reward"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"emitter_kinds": "own_parts:Narrowing"}, "The emitter kind 'own_parts:Narrowing' names 'Narrowing', which is not in the module 'own_parts'."),
        ({"emitter_kinds": "no_such_module:X"}, "The emitter kind 'no_such_module:X' names the module 'no_such_module', which cannot be found."),
        ({"emitter_kinds": "own_parts:something"}, "The emitter kind 'own_parts:something' must be a subclass of stax.EmitterKind, not 3."),
        ({"emitter_kinds": "own_parts:Dice"}, "The emitter kind 'own_parts:Dice' must be a subclass of stax.EmitterKind, not <class 'own_parts.Dice'>."),
        ({"emitter_kinds": "own_parts:Unmakable"}, "The emitter kind 'own_parts:Unmakable' cannot be made: TypeError: "),
        ({"emitter_kinds": "own_parts:Picky"}, "Picky wants genomes of 7 numbers, not 6."),
        ({"emitter_kinds": "given:Widening"}, "The emitter kind 'given:Widening' was given as an object"),
        ({"emitter_kinds": (own_parts.Widening(1), own_parts.Widening(2))}, "Parameter emitter_kinds must be 1 to 100 different values"),
        ({"emitter_kinds": 3}, "The emitter kind 'given:int' must be a subclass of stax.EmitterKind, not 3."),
        ({"scheduler": "own_parts:Widening"}, "The scheduler 'own_parts:Widening' must be a subclass of stax.Scheduler, not <class"),
        ({"emitter_kinds": "cma-es", "emitter_population": 3}, "Parameter emitter_population must be at least 4 for emitters of the kind cma-es, not 3."),
    ],
)  # fmt: skip
def test_a_part_that_cannot_be_used_is_one_sentence(options, sentence):
    with pytest.raises(InvalidInputError, match=f"^{re.escape(sentence)}"):
        quick_search("serene", **options)


def test_a_genome_too_large_or_too_small_for_cma_is_told():
    class Huge(SquareTask):
        genome_size = 1001

    with pytest.raises(InvalidInputError, match=r"at most 1,000 numbers, not 1,001; take 'sep-cma-es'\."):
        quick_search("serene", Huge(), emitter_kinds="cma-es")
    quick_search("serene", Huge(), emitter_kinds="sep-cma-es")
    with pytest.raises(InvalidInputError, match=r"Emitters of the kind cma-es need genomes of at least 2 numbers, not 1\."):
        CmaEmitter().fits(Parameters(), 1)


def test_parts_that_are_not_used_are_not_looked_for():
    search = quick_search("ns", emitter_kinds="no_such_module:X")
    finish(search)
    assert search.containers.emitters.made == 0


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"ask": lambda emitter, rng: emitter.ancestor.genome}, "must return genomes and the ids of their parents from ask, not"),
        ({"ask": lambda emitter, rng: (np.zeros((3, 5)), np.zeros(3, int))}, "must return finite genomes (n, 6) from ask, not an array of shape (3, 5)."),
        ({"ask": lambda emitter, rng: (np.full((3, 6), np.nan), np.zeros(3, int))}, "must return finite genomes (n, 6) from ask, not an array with nan or infinity."),
        ({"ask": lambda emitter, rng: ("genomes", [1])}, "must return genomes (n, 6) from ask, not 'genomes'."),
        ({"ask": lambda emitter, rng: (np.zeros((3, 6)), np.zeros(2, int))}, "must return 3 ids of parents beside its genomes from ask, not"),
        ({"start": lambda emitter, rng: np.empty((0, 6))}, "must return finite genomes (n, 6) from start, not an array of shape (0, 6)."),
        ({"tell": None}, "must return the new population, a PolicySet with a policy at least from tell, not None."),
        ({"keeps": np.ones(2)}, "truth values from keeps, not an array of shape (2,) and type float64."),
        ({"progress": lambda emitter, population: np.full(len(population), np.inf)}, "finite numbers from progress, not an array of shape (6,) and type float64."),
        ({"ended_by": True}, "must return a text, empty if the emitter goes on from ended_by, not True."),
    ],
)  # fmt: skip
def test_a_wrong_answer_of_one_s_own_kind_is_one_sentence(answers, sentence):
    search = quick_search("serene", emitter_kinds=[own_parts.Broken(**answers)], **OPTIONS)
    with pytest.raises(InvalidInputError, match=re.escape(sentence)) as refusal:
        finish(search)
    assert str(refusal.value).startswith("The emitter kind 'given:Broken' must return ")


def test_an_exception_in_one_s_own_kind_says_where_it_was():
    def fails(emitter, rng):
        raise KeyError("step")

    search = quick_search("serene", emitter_kinds=[own_parts.Broken(ask=fails)], **OPTIONS)
    with pytest.raises(
        RuntimeError, match=r"^The emitter kind 'given:Broken' failed in ask: KeyError: 'step' \(test_emitter_kinds.py, line"
    ):
        finish(search)


def test_kinds_are_exported():
    assert stax.EmitterKind is ElitistEmitter.__mro__[1]
    assert issubclass(own_parts.Dice, stax.Scheduler)
