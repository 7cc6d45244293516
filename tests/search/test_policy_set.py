"""Sets of policies, and sets that grow."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import policies

from stax import Rollouts
from stax.search.policy_set import GrowingSet, PolicySet


def numbered(ids) -> PolicySet:
    """Policies whose every other column can be told from the id."""
    made = policies(ids, descriptor=np.asarray(ids, float)[:, None] * [1.0, 10.0], reward=np.asarray(ids) * 0.5)
    made.snapshots[:] = np.asarray(ids, float)[:, None] * [2.0, 3.0]
    return made


def same_rows(found: PolicySet, ids) -> None:
    expected = numbered(ids)
    np.testing.assert_array_equal(found.id, expected.id)
    for name in ("descriptor", "reward", "snapshots"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_rows_of_a_set():
    made = numbered([4, 7, 9])
    same_rows(made.take([2, 0, 2]), [9, 4, 9])
    same_rows(made.take(np.array([False, True, False])), [7])
    same_rows(made.take(slice(1, None)), [7, 9])
    same_rows(PolicySet.concat([made.take([1]), made]), [7, 4, 7, 9])


def test_a_slice_is_a_view_and_rows_are_copies():
    made = numbered([4, 7])
    made.take(slice(0, 1)).reward[:] = 100
    made.take([1]).reward[:] = 100
    assert made.reward.tolist() == [100, 3.5]


def test_newborn_policies_are_numbered_and_unmeasured():
    rollouts = Rollouts(np.array([0.0, 2.0]), np.array([-1, 1]), np.array([5, 6]), np.zeros((2, 3, 1)), np.ones((2, 2)))
    born = PolicySet.newborn(
        rollouts, first_id=10, genome=np.ones((2, 4)), parent=np.array([3, 4]), born=7, origin=2, emitter=5, descriptor_size=3
    )
    assert born.id.tolist() == [10, 11]
    assert born.parent.tolist() == [3, 4]
    assert (born.born.tolist(), born.origin.tolist(), born.emitter.tolist()) == ([7, 7], [2, 2], [5, 5])
    assert (born.reward.tolist(), born.reward_area.tolist(), born.steps.tolist()) == ([0, 2], [-1, 1], [5, 6])
    assert born.descriptor.shape == (2, 3)
    assert all(np.isnan(getattr(born, name)).all() for name in ("descriptor", "novelty", "surprise"))
    rollouts.reward[:] = 9
    rollouts.snapshots[:] = 9
    assert born.reward.tolist() == [0, 2], "whoever evaluates may use its arrays again"
    assert not born.snapshots.any()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), max_size=8), min_size=1, max_size=4))
def test_a_union_holds_each_policy_once_in_order(parts):
    same_rows(PolicySet.union([numbered(part) for part in parts]), sorted({number for part in parts for number in part}))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 90), st.floats(0, 1, exclude_max=True)), max_size=30))
def test_a_growing_set_is_like_a_list(actions):
    """A whole number appends so many policies; a share takes out the policy at that place, which the last one fills."""
    growing, model, number = GrowingSet(numbered([0])), [], 0
    for action in actions:
        if isinstance(action, int):
            new = list(range(number, number + action))
            growing.append(numbered(new))
            model += new
            number += action
        elif model:
            row = int(action * len(model))
            same_rows(growing.pop(row), [model[row]])
            model[row] = model[-1]
            model.pop()
        assert len(growing) == len(model)
        same_rows(growing.policies, model)


def test_a_popped_policy_no_longer_belongs_to_the_set():
    growing = GrowingSet(numbered([0]))
    growing.append(numbered([1, 2, 3]))
    popped = growing.pop(0)
    popped.reward[:] = 100
    same_rows(growing.policies, [3, 2])


def test_writing_to_the_policies_of_a_growing_set_changes_it():
    growing = GrowingSet(numbered([0]))
    growing.append(numbered([1, 2]))
    growing.policies.descriptor[:] = 8
    growing.append(numbered([3] * 200))
    assert growing.policies.descriptor[:2].tolist() == [[8, 8], [8, 8]]


def test_what_was_appended_is_a_copy():
    growing, part = GrowingSet(numbered([0])), numbered([1])
    growing.append(part)
    part.reward[:] = 100
    same_rows(growing.policies, [1])
