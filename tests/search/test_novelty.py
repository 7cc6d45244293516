"""Novelty: the mean distance to the nearest references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import novelty_by_definition, policies

from stax.search.novelty import CandidateBuffer, References, mean_of_nearest
from stax.search.policy_set import PolicySet


def novelty_of(references: References, of: PolicySet) -> list[float]:
    return references.novelty(of.id, of.descriptor).tolist()


def test_mean_distance_to_the_nearest():
    references = References(2, 2)
    references.archive(policies([0, 1], descriptor=[[0, 0], [3, 4]]))
    references.surround(policies([2, 3], descriptor=[[0, 1], [6, 8]]))
    # From (0, 0): distances 0, 5, 1, 10; the two nearest are 0 and 1.
    assert novelty_of(references, policies([9], descriptor=[[0, 0]])) == [0.5]
    # From (6, 8), a new policy: 10, 5, sqrt(36 + 49), 0; the two nearest are 0 and 5.
    assert novelty_of(references, policies([9], descriptor=[[6, 8]])) == [2.5]


def test_a_policy_is_left_out_by_its_id_alone():
    """Policies 0 and 1 share a descriptor: each is the other's neighbour at distance 0."""
    references = References(2, 1)
    known = policies([0, 1, 2], descriptor=[[5], [5], [9]])
    references.surround(known)
    assert novelty_of(references, known) == [2.0, 2.0, 4.0]
    references = References(2, 1)
    references.archive(known)
    assert novelty_of(references, known) == [2.0, 2.0, 4.0]


@pytest.mark.parametrize("copies", [1, 3, 10])
def test_twins_in_the_archive_do_not_hide_a_policy_from_being_left_out(copies):
    references = References(3, 1)
    references.archive(policies(range(copies), descriptor=np.full((copies, 1), 5.0)))
    references.surround(policies([100, 101], descriptor=[[6], [8]]))
    distances = sorted([0.0] * (copies - 1) + [1.0, 3.0])[:3]
    assert novelty_of(references, policies([0], descriptor=[[5]])) == [pytest.approx(sum(distances) / len(distances))]


def test_a_policy_of_the_archive_and_of_the_population_counts_once():
    """At 0: the others are at 1 (archive and population), 4 and 7; the mean of the two nearest is 2.5, not 1."""
    both, others = policies([1], descriptor=[[1]]), policies([1, 2, 3], descriptor=[[1], [4], [7]])
    asked = policies([9], descriptor=[[0]])
    archived_first, surrounded_first = References(2, 1), References(2, 1)
    archived_first.archive(both)
    archived_first.surround(others)
    surrounded_first.surround(others)
    surrounded_first.archive(both)
    assert novelty_of(archived_first, asked) == [2.5]
    assert novelty_of(surrounded_first, asked) == [2.5]
    surrounded_first.archive(both)  # the second archive takes it too
    assert novelty_of(surrounded_first, asked) == [2.5]


def test_a_new_population_replaces_the_old_one():
    references = References(1, 1)
    references.surround(policies([0], descriptor=[[1]]))
    references.surround(policies([1], descriptor=[[5]]))
    assert novelty_of(references, policies([9], descriptor=[[0]])) == [5.0]


def test_fewer_references_than_neighbours():
    references = References(15, 1)
    references.surround(policies([0, 1, 2], descriptor=[[0], [1], [5]]))
    # Of policy 1: 1 and 4. Of a stranger at 2: 2, 1 and 3.
    assert novelty_of(references, policies([1, 9], descriptor=[[1], [2]])) == [2.5, 2.0]


def test_nothing_to_compare_with_is_infinitely_novel():
    references = References(3, 1)
    assert novelty_of(references, policies([0], descriptor=[[1]])) == [np.inf]
    references.archive(policies([0], descriptor=[[1]]))
    assert novelty_of(references, policies([0, 1], descriptor=[[1], [3]])) == [np.inf, 2.0]


def test_mean_of_the_nearest_leaves_out_the_infinite():
    rows = np.array([[4.0, np.inf, 1.0, 3.0], [np.inf, np.inf, np.inf, 6.0], [np.inf] * 4])
    assert mean_of_nearest(rows, 2).tolist() == [2.0, 6.0, np.inf]
    assert mean_of_nearest(rows, 9).tolist() == [8 / 3, 6.0, np.inf]
    assert mean_of_nearest(np.empty((2, 0)), 3).tolist() == [np.inf, np.inf]


@settings(max_examples=60, deadline=None)
@given(
    dimensions=st.sampled_from([1, 2, 9, 30]),
    neighbors=st.integers(1, 20),
    events=st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 60), max_size=25, unique=True)), max_size=8),
    lattice=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_references_equal_the_definition(dimensions, neighbors, events, lattice, seed):
    """Whatever enters the archives, and whatever the population is at the moment."""
    rng = np.random.default_rng(seed)
    where = rng.integers(0, 3, size=(70, dimensions)).astype(float) if lattice else rng.normal(size=(70, dimensions))
    references, archived, around = References(neighbors, dimensions), [], []
    for archiving, ids in events:
        part = policies(ids, descriptor=where[ids])
        if archiving:
            references.archive(part)
            archived.append(part)
        else:
            references.surround(part)
            around = [part]
    everyone = policies(range(70), descriptor=where)
    expected = novelty_by_definition(everyone, archived + around, neighbors)
    np.testing.assert_allclose(references.novelty(everyone.id, everyone.descriptor), expected, rtol=1e-12)


# Candidates


def test_candidates_come_out_most_novel_first():
    archive = policies([50, 51], descriptor=[[0], [10]])
    buffer = CandidateBuffer(archive, 1)
    buffer.append(policies([0, 1, 2], descriptor=[[1], [5], [12]]), archive)
    assert buffer.novelty().tolist() == [1.0, 5.0, 2.0]
    assert buffer.pop_most_novel().id.tolist() == [1]
    assert buffer.pop_most_novel().id.tolist() == [2]
    assert buffer.pop_most_novel().id.tolist() == [0]
    assert len(buffer) == 0


def test_a_policy_entering_the_reward_archive_changes_their_order():
    empty = policies([], descriptor=np.empty((0, 1)))
    buffer = CandidateBuffer(empty, 2)
    buffer.append(policies([0, 1, 2], descriptor=[[0], [4], [9]]), empty)
    assert buffer.novelty().tolist() == [np.inf] * 3
    assert buffer.pop_most_novel().id.tolist() == [0], "with an empty archive the first come is the first served"
    buffer.rewarded(policies([0], descriptor=[[0]]))
    assert sorted(buffer.novelty().tolist()) == [4.0, 9.0]
    buffer.rewarded(policies([70], descriptor=[[13]]))
    # Means of two: candidate 1 at 4: (4 + 9) / 2; candidate 2 at 9: (9 + 4) / 2.
    assert buffer.novelty().tolist() == [6.5, 6.5]
    buffer.rewarded(policies([71], descriptor=[[10]]))
    # The two nearest: of 4 they are 4 and 6, of 9 they are 1 and 4.
    assert sorted(buffer.novelty().tolist()) == [2.5, 5.0]
    assert buffer.pop_most_novel().id.tolist() == [1]


@settings(max_examples=60, deadline=None)
@given(
    neighbors=st.integers(1, 6),
    events=st.lists(
        st.one_of(
            st.tuples(st.just("found"), st.integers(0, 9)),
            st.tuples(st.just("rewarded"), st.integers(0, 5)),
            st.tuples(st.just("pop"), st.just(0)),
            st.tuples(st.just("training"), st.just(0)),
        ),
        max_size=25,
    ),
    seed=st.integers(0, 1000),
)
def test_the_buffer_equals_measuring_all_anew(neighbors, events, seed):
    rng = np.random.default_rng(seed)
    empty = policies([], descriptor=np.empty((0, 3)))
    buffer, waiting, archive, number = CandidateBuffer(empty, neighbors), [], empty, 0
    for event, count in events:
        ids = range(number, number + count)
        new = policies(ids, descriptor=rng.integers(0, 4, size=(count, 3)))
        number += count
        if event == "found":
            buffer.append(new, archive)
            waiting += ids
        elif event == "rewarded":
            archive = PolicySet.concat([archive, new])
            buffer.rewarded(new)
        elif event == "training":
            buffer.policies.descriptor[:] = rng.normal(size=(len(buffer), 3))
            archive.descriptor[:] = rng.normal(size=archive.descriptor.shape)
            buffer.remeasure(archive)
        elif waiting:
            by_id = dict(zip(buffer.policies.id.tolist(), buffer.novelty().tolist(), strict=True))
            popped = int(buffer.pop_most_novel().id[0])
            assert by_id[popped] == max(by_id.values())
            waiting.remove(popped)
        assert sorted(buffer.policies.id.tolist()) == sorted(waiting)
        expected = novelty_by_definition(buffer.policies, [archive], neighbors)
        np.testing.assert_allclose(buffer.novelty(), expected, rtol=1e-12)
