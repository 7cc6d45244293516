"""The container of AURORA: its rules on cases computed by hand, its laws, its threshold, and its part in a search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from searches import ends_the_same_from_any, finish, one_torch_thread, policies, quick_search, reloaded, states_of

import stax
import stax.search.distance_container
from stax.search.distance_container import DistanceContainer, first_threshold, volume_adaptive_threshold
from stax.search.parameters import Parameters
from stax.search.principal_axes import eigenvectors, principal_ranges
from stax.search.state import State


def container(threshold, points, rewards=None, **given) -> DistanceContainer:
    """A container with these policies, numbered from 0, on a line or in a space."""
    points = np.asarray(points, float)
    points = points[:, None] if points.ndim == 1 else points
    held = policies(range(len(points)), descriptor=points, reward=rewards)
    made = DistanceContainer(held, Parameters(**{"novelty_neighbors": 2, **given}))
    made.append(held)
    made.threshold = threshold
    return made


def after(made: DistanceContainer, place, reward=0.0, number=99) -> list[int]:
    """The ids in the container after one policy more was offered."""
    made.offer(policies([number], descriptor=np.reshape(np.asarray(place, float), (1, -1)), reward=[reward]))
    return made.policies.id.tolist()


# Entering


def test_the_first_policy_enters():
    assert after(container(1.0, np.empty((0, 1))), 0.0) == [99]


@pytest.mark.parametrize(("place", "enters"), [(2.0001, True), (2.0, False), (1.5, False)])
def test_a_policy_enters_if_its_nearest_is_farther_than_the_threshold(place, enters):
    assert after(container(1.0, [0.0, 1.0]), place) == ([0, 1, 99] if enters else [0, 1])


def test_with_one_policy_in_the_container_a_near_one_is_rejected_whatever_its_reward():
    assert after(container(1.0, [0.0]), 0.5, reward=9.0) == [0]


def test_a_policy_near_two_others_is_rejected():
    """Second nearest at 0.85, which is less than 0.9 of the threshold; at 0.95 it may replace its nearest."""
    points = [0.0, 1.0, 5.0]
    assert after(container(1.0, points), 0.15, reward=9.0) == [0, 1, 2]
    assert after(container(1.0, points), 0.05, reward=9.0) == [99, 1, 2]


@pytest.mark.parametrize(
    ("place", "reward", "replaces"),
    [
        # Rival: reward 1 at 0, novelty (4 + 8) / 2 = 6. A newcomer at x < 0 has novelty 6 - x, at x > 0 it has 6 - x.
        (0.0, 1.01, True),
        (0.0, 1.0, False),  # equal in both: 0 > 0
        (-0.5, 1.0, True),  # same reward, novelty 6.5
        (-0.5, 0.95, True),  # (0.95 - 1) 6 = -0.3 > -(0.5) 1
        (-0.5, 0.91, False),  # -0.54 > -0.5 is false
        (-0.5, 0.89, False),  # below 0.9 of the rival's reward
        (0.5, 1.0, False),  # novelty 5.5: 0 > 0.5 is false
        (0.5, 1.09, True),  # 0.54 > 0.5
        (0.5, 1.08, False),  # 0.48 > 0.5 is false
        (0.7, 5.0, False),  # novelty 5.3 is below 0.9 of 6
    ],
)
def test_replacement_on_cases_computed_by_hand(place, reward, replaces):
    made = container(1.0, [0.0, 4.0, 8.0], rewards=[1.0, 0.0, 0.0])
    assert after(made, place, reward) == ([99, 1, 2] if replaces else [0, 1, 2])


def test_the_nearest_is_skipped_and_novelty_is_the_mean_of_the_next():
    made = container(1.0, [0.0, 1.0, 3.0, 7.0], novelty_neighbors=2)
    assert made._novelty(np.array([3.0, 0.5, 2.0, 9.0])) == (2.0 + 3.0) / 2
    assert made._novelty(np.array([4.0, 1.0])) == 4.0


def test_unrewarded_policies_never_replace_each_other():
    made = container(1.0, [0.0, 4.0, 8.0])
    assert after(made, -0.9) == [0, 1, 2]
    assert after(made, -0.9, reward=1e-9) == [99, 1, 2]


def test_without_rewards_the_first_policy_keeps_its_place():
    made = container(1.0, [0.0, 4.0, 8.0], rewards=[0.5, 0, 0], container_rewards=False)
    assert after(made, -0.9, reward=9.0) == [0, 1, 2]
    assert after(made, -1.1, reward=0.0) == [0, 1, 2, 99]


# Laws


@st.composite
def offered(draw):
    count = draw(st.integers(1, 25))
    places = draw(arrays(float, (count, 2), elements=st.floats(-3, 3, width=32)))
    rewards = draw(arrays(float, count, elements=st.sampled_from([0.0, 0.0, 0.5, 1.0])))
    return policies(range(count), descriptor=places, reward=rewards)


@settings(deadline=None)
@given(given=offered(), threshold=st.floats(0.01, 3), block=st.sampled_from([1, 4, 512]), rewards=st.booleans())
def test_laws_of_the_container(given, threshold, block, rewards):
    """One by one, as the rules say; blocks make no difference; and no two come closer than the tolerance permits."""
    made = container(threshold, np.empty((0, 2)), container_rewards=rewards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stax.search.distance_container, "_BLOCK", block)
        made.offer(given)
    kept = made.policies
    single = container(threshold, np.empty((0, 2)), container_rewards=rewards)
    for row in range(len(given)):
        before = single.policies.take(np.arange(len(single)))
        single.offer(given.take([row]))
        distances = np.sqrt(((before.descriptor - given.descriptor[row]) ** 2).sum(axis=1))
        if not len(before) or distances.min() > threshold:
            assert single.policies.id.tolist() == [*before.id.tolist(), row]
        else:
            # A place is kept or taken over, never made.
            changed = np.flatnonzero(single.policies.id != before.id)
            assert len(single) == len(before)
            assert changed.tolist() in ([], [int(np.argmin(distances))])
    assert kept.id.tolist() == single.policies.id.tolist()
    if len(kept) > 1:
        apart = np.sqrt(((kept.descriptor[:, None] - kept.descriptor) ** 2).sum(axis=2))[np.triu_indices(len(kept), 1)]
        assert apart.min() >= 0.9 * threshold - 1e-9
    # Everybody who was turned away is near somebody, or was replaced by somebody near.
    nearest = np.sqrt(((given.descriptor[:, None] - kept.descriptor) ** 2).sum(axis=2)).min(axis=1)
    assert not rewards or nearest.max() <= threshold * len(given) + 1e-9
    assert rewards or (nearest <= threshold).all()


@settings(deadline=None)
@given(given=offered(), threshold=st.floats(0.01, 2))
def test_refilling_adds_nobody_and_with_a_larger_threshold_thins_out(given, threshold):
    made = container(threshold, np.empty((0, 2)))
    made.offer(given)
    before = made.policies.id.tolist()
    made.refill()
    assert set(made.policies.id.tolist()) <= set(before)
    held = made.policies.descriptor
    apart = np.sqrt(((held[:, None] - held) ** 2).sum(axis=2))[np.triu_indices(len(held), 1)]
    # Refilled at 0.9 of the threshold, within the tolerance of that.
    assert not len(apart) or apart.min() >= 0.81 * threshold - 1e-9
    made.threshold = 100.0
    made.refill()
    assert len(made) == 1


# The threshold


def test_container_size_control_follows_the_size():
    """With N = 10 000 it is the authors' K = 5e-6."""
    made = container(2.0, np.arange(4.0), container_size=10_000)
    made.control_size()
    assert made.threshold == pytest.approx(2.0 * (1 - 5e-6 * (10_000 - 4)))
    made = container(2.0, np.arange(4.0), container_size=2)
    made.control_size()
    assert made.threshold == pytest.approx(2.0 * 1.05)
    made = container(2.0, np.arange(2.0), container_size=2)
    made.control_size()
    assert made.threshold == 2.0


def test_the_first_threshold_on_a_case_computed_by_hand():
    """A rectangle of 6 by 2, turned: 0.5 (12 / 3)^(1/2) = 1."""
    corners = np.array([[-3.0, -1], [3, -1], [-3, 1], [3, 1]])
    angle = 0.7
    turned = corners @ np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]) + 5
    assert first_threshold(turned, 3) == pytest.approx(1.0)
    # Axes without extent count neither in the volume nor in the number of dimensions.
    assert first_threshold(np.hstack([turned, np.ones((4, 3))]), 3) == pytest.approx(1.0)
    assert first_threshold(np.ones((4, 3)), 3) == 0.0


def test_the_volume_adaptive_threshold_on_a_case_computed_by_hand():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    assert volume_adaptive_threshold(points, 25 * 4) == pytest.approx(5 / 10)
    made = container(0.0, points, container_size=4, container_control="vat")
    made.measure_threshold()
    assert made.threshold == pytest.approx(0.5)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 21])
def test_principal_axes_are_those_of_linear_algebra(size):
    rng = np.random.default_rng(size)
    points = rng.normal(size=(60, size)) @ rng.normal(size=(size, size))
    centred = points - points.mean(axis=0)
    expected = np.ptp(centred @ np.linalg.eigh(centred.T @ centred)[1], axis=0)
    np.testing.assert_allclose(np.sort(principal_ranges(points)), np.sort(expected), rtol=1e-6)
    vectors = eigenvectors(centred.T @ centred)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-12)


# In a search


@one_torch_thread()
def test_the_space_is_trained_after_the_first_generation_and_then_at_gaps_that_grow_by_ten():
    search, trained = quick_search("aurora", budget=12 * 55, container_size=40, chunk_size=12), []

    def look(search):
        if search.training_episodes > len(trained):
            trained.append(search.novelty_archive.generations)

    finish(search, look)
    assert trained == [1, 21, 51]


def test_gaps_between_training_episodes_have_a_limit():
    search = quick_search("aurora", training_limit=25)
    gaps = []
    for _ in range(4):
        search.training_interval = search.next_training_interval()
        gaps.append(search.training_interval)
    assert gaps == [20, 25, 25, 25]
    search = quick_search("stax")
    assert search.next_training_interval() == 2


@one_torch_thread()
def test_the_autoencoder_is_trained_on_the_container():
    search, seen = quick_search("aurora", budget=300, container_size=20), []
    train = search.space.train

    def noted(newest, archived=None):
        seen.append((len(newest), archived, len(search.novelty_archive)))
        return train(newest, archived)

    search.space.train = noted
    finish(search)
    assert seen
    assert all(newest == held and archived is None for newest, archived, held in seen)


@pytest.mark.parametrize(
    "options",
    [{}, {"container_control": "vat"}, {"container_rewards": False}, {"descriptor": "ground-truth"}, {"variation": "iso-line"}],
    ids=lambda options: "-".join(map(str, options.values())) or "default",
)
@one_torch_thread()
def test_a_restored_search_ends_with_the_same_bits(options):
    options = {"budget": 250, "chunk_size": 24, "seed": 3, "container_size": 30, "container_refill": 3, **options}
    states, expected = states_of("aurora", **options)
    assert {state.numbers["container"]["threshold"] > 0 for state in states[2:]} == {True}
    ends_the_same_from_any(states, expected, "aurora", **options)


def test_the_size_settles_near_the_wanted_one():
    search, sizes = quick_search("aurora", budget=4000, container_size=60, descriptor="ground-truth", chunk_size=12), []
    finish(search, lambda search: sizes.append(len(search.novelty_archive)))
    assert 0.8 < np.mean(sizes[-60:]) / 60 < 1.2


@one_torch_thread()
def test_policies_keep_their_distance_at_the_end_of_a_search():
    search = quick_search("aurora", budget=800, container_size=30, descriptor="ground-truth", container_refill=1)
    finish(search)
    held = search.novelty_archive.policies.descriptor
    apart = np.sqrt(((held[:, None] - held) ** 2).sum(axis=2))[np.triu_indices(len(held), 1)]
    assert len(held) > 10
    assert apart.min() >= 0.81 * search.novelty_archive.threshold


@pytest.mark.parametrize(
    "numbers",
    [
        {"threshold": -1.0, "generations": 3},
        {"threshold": float("nan"), "generations": 3},
        {"threshold": "wide", "generations": 3},
        {"threshold": 1.0, "generations": -1},
        {"threshold": 1.0, "generations": 10**9},
        {"threshold": 1.0},
        None,
    ],
)
def test_a_forged_container_is_refused(numbers):
    search, states = quick_search("aurora", budget=100, descriptor="ground-truth"), []
    finish(search, lambda search: states.append(reloaded(search.state())))
    forged = State(states[1].arrays, {**states[1].numbers, "container": numbers})
    with pytest.raises(stax.InvalidInputError) as refused:
        quick_search("aurora", budget=100, descriptor="ground-truth").restore(forged)
    assert "\n" not in str(refused.value)
