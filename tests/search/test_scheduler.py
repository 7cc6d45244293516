"""Schedulers and the bandit behind the adaptive ones: what they choose, and that searches with them resume exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import finish, outcome, quick_search, same, states_of

import own_parts
from stax.errors import InvalidInputError
from stax.search.bandit import most_promising
from stax.search.emitters.choice import KindChoice
from stax.search.schedulers.adaptive import AdaptiveScheduler
from stax.search.schedulers.alternating import AlternatingScheduler
from stax.search.schedulers.fixed_ratio import FixedRatioScheduler
from stax.search.schedulers.scheduler import Chunk

RNG = np.random.default_rng(0)
START = Chunk("initial population", 100)
OPTIONS = {"budget": 1200, "chunk_size": 60, "seed": 3}
SCHEDULERS = ("alternating", "fixed-ratio", "adaptive", "own_parts:Dice")


def explored(novelty=1.0, evaluations=200):
    return Chunk("exploration", evaluations, novelty=novelty)


def exploited(gain=1.0, evaluations=100):
    return Chunk("exploitation", evaluations, gain=gain)


# The bandit


def test_the_bound_is_the_mean_and_a_bonus_for_few_yields():
    assert most_promising({"a": [0.4, 0.6], "b": [0.6, 0.6]}, 0.0) == "b"
    # a: 0.5 + c sqrt(ln 5 / 1), b: 0.9 + c sqrt(ln 5 / 4): equal where c = 0.4 / (0.5 sqrt(ln 5)).
    equal = 0.4 / (0.5 * math.sqrt(math.log(5)))
    yields = {"a": [0.5], "b": [0.9] * 4}
    assert most_promising(yields, 0.99 * equal) == "b"
    assert most_promising(yields, 1.01 * equal) == "a"


def test_what_was_never_tried_comes_first_and_of_equal_ones_the_first():
    assert most_promising({"a": [9.0], "b": [], "c": []}, 0.5) == "b"
    assert most_promising({"a": [1.0], "b": [1.0]}, 0.5) == "a"


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.floats(0, 1), min_size=1, max_size=20), min_size=1),
    st.floats(0, 2),
    st.floats(0.01, 100),
)
def test_kinds_are_chosen_whatever_the_unit_of_their_yields(yields, exploration, unit):
    """Where all of a task's turns keep twice as much, the choice is the same."""
    choices = []
    for factor in (1.0, unit):
        choice = KindChoice("bandit", window=1000, exploration=exploration)
        choice.turns = [(kind, share * factor) for kind, known in yields.items() for share in known]
        choices.append(choice.choose(list(yields), RNG))
    means = sorted((float(np.mean(known)) for known in yields.values()), reverse=True)
    # Rounding may decide between equal ones.
    if len(means) < 2 or means[0] > 1e-3:
        assert choices[0] == choices[1] or exploration > 0 or means[0] - means[1] < 1e-9


def test_the_bandit_comes_to_prefer_what_yields_most_and_notices_when_that_changes():
    choice, rng = KindChoice("bandit", window=40, exploration=0.5), np.random.default_rng(1)
    chosen = []
    for turn in range(400):
        good = "b" if turn < 200 else "c"
        kind = choice.choose(["a", "b", "c"], rng)
        chosen.append(kind)
        choice.record(kind, kept=int(rng.binomial(100, 0.2 if kind == good else 0.05)), evaluations=100)
    assert chosen[:3] == ["a", "b", "c"]
    assert chosen[50:200].count("b") > 100
    assert chosen[280:].count("c") > 80
    assert len(choice.turns) == 40


def test_turns_without_evaluations_do_not_count():
    choice = KindChoice("bandit", window=5, exploration=0.5)
    choice.record("a", kept=0, evaluations=0)
    choice.record("a", kept=1, evaluations=4)
    assert choice.turns == [("a", 0.25)]


def test_round_robin_and_uniform():
    turns = KindChoice("round-robin", window=10, exploration=0.5)
    chosen = []
    for available in (["a", "b", "c"],) * 4 + (["a", "c"],) * 3:
        chosen.append(turns.choose(available, RNG))
        turns.record(chosen[-1], kept=0, evaluations=1)
    assert chosen == ["a", "b", "c", "a", "c", "a", "c"]
    uniform, rng = KindChoice("uniform", window=10, exploration=0.5), np.random.default_rng(0)
    counts = {kind: [uniform.choose(["a", "b"], rng) for _ in range(1000)].count(kind) for kind in "ab"}
    assert min(counts.values()) > 430


@pytest.mark.parametrize("rule", ["bandit", "uniform", "round-robin"])
def test_one_kind_alone_takes_no_random_numbers(rule):
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert KindChoice(rule, window=10, exploration=0.5).choose(["a"], rng) == "a"
    assert rng.bit_generator.state == before


# Schedulers


def test_the_paper_s_scheduler_takes_turns():
    scheduler, course = AlternatingScheduler(), [START, explored()]
    for _ in range(4):
        phase = scheduler.choose(course, RNG)
        course.append(exploited() if phase == "exploitation" else explored())
    assert [chunk.phase for chunk in course[2:]] == ["exploitation", "exploration"] * 2


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=60, max_size=60))
def test_a_fixed_share_goes_to_exploration(share, sizes):
    scheduler, course = FixedRatioScheduler(share), [START, explored(), explored()]
    for exploration, exploitation in sizes:
        phase = scheduler.choose(course, RNG)
        course.append(explored(evaluations=exploration) if phase == "exploration" else exploited(evaluations=exploitation))
    # Counted from the first exploitation on; off by a chunk at most.
    first = next((number for number, chunk in enumerate(course) if chunk.phase == "exploitation"), len(course))
    counted = course[first:]
    spent = sum(chunk.evaluations for chunk in counted if chunk.phase == "exploration")
    whole = sum(chunk.evaluations for chunk in counted)
    assert abs(spent - share * whole) <= 300
    assert first == (3 if share < 1 else len(course))


def test_the_adaptive_scheduler_turns_away_from_what_yields_less_than_it_used_to():
    def shares(novelty, gain):
        scheduler, course = AdaptiveScheduler(window=30, exploration=0.5), [START, explored(novelty(0))]
        for number in range(300):
            phase = scheduler.choose(course, RNG)
            course.append(explored(novelty(number)) if phase == "exploration" else exploited(gain(number)))
        return [chunk.phase for chunk in course[-150:]].count("exploration") / 150

    assert shares(lambda n: 1.0, lambda n: 1.0) == pytest.approx(0.5, abs=0.05)
    assert shares(lambda n: 1.0, lambda n: 5.0 * 0.97**n) > 0.7
    assert shares(lambda n: 0.97**n, lambda n: 0.2) < 0.3
    # What never yielded anything does not yield less than it used to.
    assert shares(lambda n: 1.0, lambda n: 0.0) == pytest.approx(0.5, abs=0.05)
    # The units do not matter.
    assert shares(lambda n: 100.0, lambda n: 1e-6 * 0.97**n) > 0.7


def test_the_adaptive_scheduler_tries_what_it_has_not_tried_in_its_window():
    scheduler = AdaptiveScheduler(window=5, exploration=0.0)
    assert scheduler.choose([START, explored()], RNG) == "exploitation"
    assert scheduler.choose([START, exploited(), *[explored()] * 4], RNG) == "exploration"
    assert scheduler.choose([START, exploited(), *[explored()] * 5], RNG) == "exploitation"
    assert scheduler.choose([START, explored(0.0), exploited(0.0)], RNG) == "exploration", "nothing at all was yielded"


# In a search


def phases(search) -> list[str]:
    return [row["phase"] for row in search.metrics]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_metrics_tell_what_was_chosen(scheduler):
    search = quick_search("serene", scheduler=scheduler, **OPTIONS)
    finish(search)
    assert phases(search)[1:] == [chunk.phase for chunk in search.record.course[1:]]
    assert search.record.course[0].phase == "initial population"
    assert sum(chunk.evaluations for chunk in search.record.course) == 1200
    assert {"exploration", "exploitation"} == set(phases(search))
    assert all(chunk.novelty > 0 for chunk in search.record.course if chunk.phase == "exploration")
    gains = sum(chunk.gain for chunk in search.record.course)
    assert gains == pytest.approx(sum(record.best_reward - record.first_reward for record in search.emitter_records()))


def test_exploration_gets_the_share_asked_for():
    for share in (0.2, 0.8):
        search = quick_search("serene", scheduler="fixed-ratio", exploration_share=share, **{**OPTIONS, "budget": 3000})
        finish(search)
        first = [chunk.phase for chunk in search.record.course].index("exploitation")
        spent = [chunk.evaluations for chunk in search.record.course[first:] if chunk.phase == "exploration"]
        assert sum(spent) / sum(chunk.evaluations for chunk in search.record.course[first:]) == pytest.approx(share, abs=0.06)


def test_a_share_of_one_is_exploration_alone():
    search = quick_search("serene", scheduler="fixed-ratio", exploration_share=1.0, **OPTIONS)
    finish(search)
    assert search.containers.emitters.made == 0
    assert len(search.containers.candidates)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_any_scheduler_goes_on_with_the_same_bits(scheduler):
    options = {**OPTIONS, "scheduler": scheduler, "budget": 900}
    states, expected = states_of("serene", **options)
    for state in states[:: max(1, len(states) // 6)]:
        search = quick_search("serene", **options)
        search.restore(state)
        finish(search)
        same(outcome(search), expected)


def test_the_choice_changes_the_run():
    """Or the test above would not say much."""
    courses = []
    for scheduler in SCHEDULERS:
        search = quick_search(
            "serene", scheduler=scheduler, exploration_share=0.3, bandit_window=6, bandit_exploration=0, **OPTIONS
        )
        finish(search)
        courses.append(tuple(phases(search)))
    assert len(set(courses)) == len(SCHEDULERS)


def test_a_scheduler_that_chooses_something_else_is_told():
    search = quick_search("serene", scheduler=own_parts.Lost(), **OPTIONS)
    with pytest.raises(
        InvalidInputError, match=r"^The scheduler 'given:Lost' must choose 'exploration' or 'exploitation', not 'holiday'\.$"
    ):
        finish(search)


def test_a_scheduler_that_raises_is_told():
    search = quick_search("serene", scheduler=own_parts.Stumbling(), **OPTIONS)
    with pytest.raises(
        RuntimeError, match=r"^The scheduler 'given:Stumbling' failed in choose: IndexError: list index out of range"
    ):
        finish(search)
