"""Every measure on cases computed by hand, its laws, and what real runs say of themselves."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from measured_tasks import FallibleTask

import stax
from stax import InvalidInputError
from stax.analysis.measures import (
    Curve,
    Spent,
    archive_ends,
    budget_by_origin,
    correlation_matrix_distance,
    coverage_curve,
    coverage_grid,
    descriptor_similarity,
    evaluations_to,
    final_policies,
    max_reward_curves,
    measure,
    measure_recorded,
    profile_curves,
    qd_score_curve,
    random_similarity,
    reconstruction_error,
)
from stax.runs.config import make_config
from stax.runs.reader import RunReader
from stax.search.grid import PROFILE_LEVELS, Coverage, Grid
from stax.search.policy_set import PolicySet
from stax.search.repeated_rewards import kept_rewards
from toy_tasks import NoTruthTask, SquareTask

UNIT = ((0.0, 1.0), (0.0, 1.0))


def policies(count: int, seed: int = 0, first_id: int = 0) -> PolicySet:
    random = np.random.default_rng(seed)
    made = PolicySet.newborn(
        SquareTask().evaluate(random.normal(size=(count, 6))),
        first_id=first_id,
        genome=random.normal(size=(count, 6)),
        parent=np.full(count, -1),
        born=0,
        origin=0,
        emitter=-1,
        descriptor_size=3,
    )
    made.descriptor[:] = random.normal(size=(count, 3))
    return made


# The course of a run


def test_coverage_rises_with_the_first_visit_of_a_cell():
    ends = np.array([[0.1, 0.1], [0.2, 0.3], [0.9, 0.9], [0.4, 0.0], [0.6, 0.1]])
    curve = coverage_curve(ends, np.zeros(5, bool), Grid(UNIT, 2))
    assert curve.evaluations.tolist() == [0, 1, 3, 5]
    assert curve.values.tolist() == [0, 0.25, 0.5, 0.75]
    assert curve.at([0, 1, 2, 3, 4, 5, 9]).tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
    assert curve.last == 0.75


def test_failed_evaluations_use_up_budget_and_count_for_nothing():
    ends = np.array([[np.nan, np.nan], [0.1, 0.1], [0.9, 0.9]])
    failed = np.array([True, False, True])
    curve = coverage_curve(ends, failed, Grid(UNIT, 2))
    assert (curve.evaluations.tolist(), curve.values.tolist()) == ([0, 2], [0, 0.25])
    (rewards,) = max_reward_curves(np.array([0.9, 0.3, 0.7]), np.zeros(3, np.int16), failed, 1)
    assert (rewards.evaluations.tolist(), rewards.values.tolist()) == ([0, 2], [0, 0.3])
    nothing = coverage_curve(ends, np.ones(3, bool), Grid(UNIT, 2))
    assert (nothing.evaluations.tolist(), nothing.values.tolist()) == ([0], [0])


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(0, 40), st.just(2)), elements=st.floats(-0.5, 1.5)),
    st.randoms(use_true_random=False),
    st.integers(1, 7),
)
def test_coverage_never_falls_and_is_what_the_search_counts(ends, random, cells):
    failed = np.array([random.random() < 0.3 for _ in ends], bool)
    grid = Grid(UNIT, cells)
    curve = coverage_curve(ends, failed, grid)
    assert (np.diff(curve.values) > 0).all()
    assert (np.diff(curve.evaluations) > 0).all()
    counted = Coverage(grid)
    shares = [0.0]
    for end, without in zip(ends, failed, strict=True):
        if not without:
            counted.add(end[None], np.zeros(1))
        shares.append(counted.share)
    assert curve.at(np.arange(len(ends) + 1)).tolist() == shares


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(0, 40), st.just(2)), elements=st.floats(-0.5, 1.5)),
    st.randoms(use_true_random=False),
    st.integers(1, 7),
)
def test_qd_score_and_profile_never_fall_and_are_what_the_search_counts(ends, random, cells):
    failed = np.array([random.random() < 0.3 for _ in ends], bool)
    reward = np.array([random.choice([0.0, 0.0, 0.2, 0.5, 0.7, 1.0]) for _ in ends], float)
    grid = Grid(UNIT, cells)
    score, profile = qd_score_curve(ends, reward, failed, grid), profile_curves(ends, reward, failed, grid)
    assert (np.diff(score.values) > 0).all()
    counted = Coverage(grid)
    scores, shares = [0.0], [[0.0] * len(PROFILE_LEVELS)]
    for end, value, without in zip(ends, reward, failed, strict=True):
        if not without:
            counted.add(end[None], np.array([value]))
        scores.append(counted.qd_score)
        shares.append([counted.profile(level) for level in PROFILE_LEVELS])
    times = np.arange(len(ends) + 1)
    np.testing.assert_allclose(score.at(times), scores, atol=1e-12)
    assert np.stack([curve.at(times) for curve in profile], axis=1).tolist() == shares


def test_qd_score_on_a_case_computed_by_hand():
    """Two policies in one cell, one in another, one that failed, one without reward."""
    ends = np.array([[0.1, 0.1], [0.9, 0.9], [0.12, 0.1], [0.5, 0.5], [0.6, 0.1]])
    reward, failed = np.array([0.25, 0.5, 0.75, 1.0, 0.0]), np.array([False, False, False, True, False])
    score = qd_score_curve(ends, reward, failed, Grid(UNIT, 4))
    assert (score.evaluations.tolist(), score.values.tolist()) == ([0, 1, 2, 3], [0, 0.25, 0.75, 1.25])
    assert [curve.last for curve in profile_curves(ends, reward, failed, Grid(UNIT, 4))] == [2 / 16, 2 / 16, 0]


def test_highest_reward_per_area():
    reward = np.array([0.0, 0.2, 0.5, 0.4, 0.9, 0.5])
    area = np.array([-1, 0, 1, 0, 0, 1])
    near, far, nowhere = max_reward_curves(reward, area, np.zeros(6, bool), 3)
    assert (near.evaluations.tolist(), near.values.tolist()) == ([0, 2, 4, 5], [0, 0.2, 0.4, 0.9])
    assert (far.evaluations.tolist(), far.values.tolist()) == ([0, 3], [0, 0.5])
    assert (nowhere.evaluations.tolist(), nowhere.values.tolist()) == ([0], [0])
    assert evaluations_to(near) == {0.5: 5, 0.8: 5, 0.95: None}
    assert evaluations_to(near, (0.1, 0.2), highest=2) == {0.1: 2, 0.2: 4}
    assert evaluations_to(nowhere) == {0.5: None, 0.8: None, 0.95: None}


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1), st.booleans()), max_size=30), st.floats(0.01, 1))
def test_highest_reward_is_that_of_all_before(rows, wanted):
    reward, area = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], np.int16)
    failed = np.array([row[2] for row in rows], bool)
    for number, curve in enumerate(max_reward_curves(reward, area, failed, 2)):
        best = [max([0.0, *(r for r, a, f in rows[:done] if a == number and not f)]) for done in range(len(rows) + 1)]
        assert curve.at(np.arange(len(rows) + 1)).tolist() == best
        assert curve.first_reaching(wanted) == next((done for done, value in enumerate(best) if value >= wanted), None)


def test_curves_of_real_runs_are_what_they_wrote_down(runs, square_run):
    for folder in (*sorted(runs.iterdir()), square_run):
        run = RunReader(folder)
        measured = measure_recorded(run)
        ends = [row["evaluations"] for row in run.metrics]
        assert measured.evaluations == run.evaluations
        assert measured.coverage.at(ends).tolist() == [row["coverage"] for row in run.metrics]
        assert measured.coverage.last == run.coverage
        for area, curve in enumerate(measured.max_reward):
            assert curve.at(ends).tolist() == [row[f"max_reward_{area}"] for row in run.metrics]
        assert [curve.last for curve in measured.max_reward] == run.max_reward


def test_archived_rewards_and_exploration_by_hand():
    """Six evaluations on a grid of 2 x 2; the fourth failed, the last two are an emitter's."""
    task = FallibleTask()
    task.ground_truth_bounds = ((0.0, 1.0), (0.0, 1.0))
    ledger = {
        "id": np.arange(6),
        "origin": np.array([0, 1, 1, 1, 2, 3], np.int8),
        "reward": np.array([0.0, 0.4, 0.2, 0.9, 0.8, 0.5]),
        "reward_area": np.array([-1, 0, 0, 0, 0, 0], np.int16),
        "ground_truth": np.array([[0.1, 0.1], [0.1, 0.2], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.9, 0.9]]),
        "failed": np.array([False, False, False, True, False, False]),
    }
    measured = measure(task, ledger, grid_cells=2, archived_ids=np.array([0, 2, 3, 5]))
    every = np.arange(7)
    assert measured.coverage.at(every).tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 1]
    assert measured.exploration_coverage.at(every).tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5]
    assert measured.max_reward[0].at(every).tolist() == [0, 0, 0.4, 0.4, 0.4, 0.8, 0.8]
    assert measured.archived_reward[0].at(every).tolist() == [0, 0, 0, 0.2, 0.2, 0.2, 0.5]


def test_archived_rewards_of_reevaluated_policies_by_hand():
    """Policies 0 and 1 were evaluated three times, policy 1 with a failure; a stranger's row has a parent that does not exist."""
    ledger = {
        "parent": np.array([-1, -1, 0, 1, 0, 1, 99]),
        "origin": np.array([0, 0, 4, 4, 4, 4, 4], np.int8),
        "reward": np.array([0.9, 0.8, 0.3, 0.2, 0.0, 0.0, 0.7]),
        "reward_area": np.array([0, 1, 2, 1, -1, -1, 0], np.int16),
        "failed": np.array([0, 0, 0, 0, 0, 1, 0], bool),
    }
    rewards, areas = kept_rewards(ledger, np.array([0]))
    assert rewards == pytest.approx([0.4, 0.8, 0.3, 0.2, 0.0, 0.0, 0.7])
    assert areas.tolist() == ledger["reward_area"].tolist()
    assert kept_rewards(ledger, np.array([0, 1]))[0][1] == pytest.approx(0.5)


def test_archived_rewards_of_real_runs_are_those_of_the_archives(runs):
    for folder in sorted(runs.iterdir()):
        run = RunReader(folder)
        measured = measure_recorded(run)
        kept = PolicySet.union([run.novelty_archive, run.reward_archive])
        for area, curve in enumerate(measured.archived_reward):
            assert curve.last == max([0.0, *kept.reward[(kept.reward_area == area) & (kept.reward > 0)].tolist()])
            assert curve.last <= measured.max_reward[area].last
        assert measured.exploration_coverage.last <= measured.coverage.last
        if not len(run.emitters):
            assert measured.exploration_coverage.last == measured.coverage.last


def test_a_run_with_failures(tmp_path):
    settings = {"on_failure": "discard", "max_failed_share": 1.0, "population_size": 12, "workers": 1}
    result = stax.run(FallibleTask(), algo="ns", budget=400, out=tmp_path / "run", **settings)
    assert sum(result.failures.values()) > 20
    measured = measure(result.task, result.ledger, grid_cells=50, archived_ids=result.novelty_archive.id)
    assert measured.coverage.last == result.coverage
    assert [curve.last for curve in measured.max_reward] == result.max_reward
    assert max(result.max_reward) <= 1
    recorded = measure_recorded(RunReader(tmp_path / "run"))
    np.testing.assert_array_equal(recorded.coverage.evaluations, measured.coverage.evaluations)
    spent = budget_by_origin(result.ledger["origin"], result.ledger["failed"])
    assert sum(part.failed for part in spent) == sum(result.failures.values())


def test_another_grid_and_no_ground_truth(runs, tmp_path):
    run = RunReader(runs / "ns-0")
    assert measure_recorded(run, grid_cells=2).coverage.last == 1
    assert coverage_grid(NoTruthTask(), 50) is None
    wide = NoTruthTask()
    wide.ground_truth_bounds = ((0.0, 1.0),) * 9
    assert coverage_grid(wide, 2) is None
    stax.run(NoTruthTask(), algo="stax-nt", budget=40, out=tmp_path / "run", population_size=12, workers=1)
    measured = measure_recorded(RunReader(tmp_path / "run"))
    assert measured.coverage is None
    assert len(measured.max_reward) == 2


def test_a_summary_of_another_run(runs, tmp_path):
    folder = shutil.copytree(runs / "ns-0", tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(summary | {"coverage": 0.5}))
    with pytest.raises(InvalidInputError, match=r"^Summary and ledger of .* do not belong together: coverage is"):
        measure_recorded(RunReader(folder))
    assert measure_recorded(RunReader(folder), grid_cells=7)


# Archives


def test_ends_of_the_archives(runs, square_run):
    run = RunReader(square_run)
    ends = archive_ends(run)
    np.testing.assert_array_equal(ends.exploring, run.novelty_archive.ground_truth)
    np.testing.assert_array_equal(ends.rewarded, run.reward_archive.ground_truth)
    assert len(ends.rewarded) > 0


def test_ends_without_a_reward_archive_are_told_apart_by_reward():
    some = policies(200)
    rewarding = some.reward > 0
    assert 0 < rewarding.sum() < 200
    config = make_config({"task": "hard-maze", "algo": "ns"}, {})
    ends = archive_ends(SimpleNamespace(config=config, novelty_archive=some, reward_archive=some.take(slice(0, 0))))
    np.testing.assert_array_equal(ends.exploring, some.ground_truth[~rewarding])
    np.testing.assert_array_equal(ends.rewarded, some.ground_truth[rewarding])
    config = make_config({"task": "hard-maze", "algo": "ns"}, {"emitters": True})
    ends = archive_ends(SimpleNamespace(config=config, novelty_archive=some, reward_archive=some.take([3, 4])))
    assert (len(ends.exploring), len(ends.rewarded)) == (200, 2)


def test_final_policies_are_those_of_both_archives_each_once():
    some = policies(30)
    outcome = SimpleNamespace(novelty_archive=some.take(slice(0, 20)), reward_archive=some.take(slice(15, 30)))
    assert final_policies(outcome).id.tolist() == list(range(30))
    sample = final_policies(outcome, most=10)
    assert len(set(sample.id)) == 10
    assert sample.id.tolist() == sorted(final_policies(outcome, most=10).id)
    assert len(final_policies(outcome, most=30)) == 30


# The learned space

matrices = arrays.arrays(
    np.float64, st.tuples(st.just(9), st.integers(1, 4)), elements=st.floats(-10, 10, allow_subnormal=False)
)


def by_the_letter(first, second):
    """The formula with its N x N matrices."""
    one, other = ((x - x.mean(0)) @ (x - x.mean(0)).T for x in (first, second))
    return 1 - np.trace(one @ other) / (np.linalg.norm(one) * np.linalg.norm(other))


def spreads(descriptors) -> bool:
    return np.ptp(descriptors, axis=0).max() > 1e-3


@given(matrices, matrices)
def test_distance_is_the_formula(first, second):
    distance = correlation_matrix_distance(first, second)
    if spreads(first) and spreads(second):
        assert distance == pytest.approx(by_the_letter(first, second), abs=1e-9)
        assert 0 <= distance <= 1
        assert distance == pytest.approx(correlation_matrix_distance(second, first), abs=1e-12)


@given(matrices, st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.booleans())
def test_distance_does_not_see_rotation_scale_and_place(descriptors, seed, scale, flipped):
    if not spreads(descriptors):
        return
    random = np.random.default_rng(seed)
    size = descriptors.shape[1]
    rotation = np.linalg.qr(random.normal(size=(size, size)))[0] * (-1 if flipped else 1)
    moved = scale * descriptors @ rotation + random.normal(size=size)
    assert correlation_matrix_distance(descriptors, moved) == pytest.approx(0, abs=1e-6)
    other = random.normal(size=(9, 3))
    there = correlation_matrix_distance(descriptors, other)
    assert correlation_matrix_distance(moved, other) == pytest.approx(there, abs=1e-6)


def test_distance_by_hand_and_for_very_many():
    across, up = np.array([[1.0, 0], [-1, 0], [0, 0], [0, 0]]), np.array([[0.0], [0], [1], [-1]])
    assert correlation_matrix_distance(across, up) == 1
    # C1 has the entries 1 and -1 in its first block, C2 in both: tr = 4, norms 2 and sqrt(8).
    both = np.concatenate([across[:, :1], up], axis=1)
    assert correlation_matrix_distance(across, both) == pytest.approx(1 - 4 / (2 * np.sqrt(8)))
    many = np.random.default_rng(0).normal(size=(300_000, 5))  # 720 GB as a matrix
    assert correlation_matrix_distance(many, 1e200 * many) == pytest.approx(0, abs=1e-9)


def test_distance_where_there_is_none():
    assert correlation_matrix_distance(np.full((5, 2), 0.1), np.arange(5.0)[:, None]) is None
    assert correlation_matrix_distance(np.empty((0, 2)), np.empty((0, 3))) is None
    with pytest.raises(InvalidInputError, match="must be finite"):
        correlation_matrix_distance(np.full((5, 2), np.nan), np.ones((5, 2)))
    with pytest.raises(InvalidInputError, match=r"not of shapes \(5, 2\) and \(4, 2\)"):
        correlation_matrix_distance(np.ones((5, 2)), np.ones((4, 2)))


def test_similarity_is_one_minus_the_distance():
    some = policies(40)
    found = descriptor_similarity(some)
    assert found.distance == pytest.approx(by_the_letter(some.descriptor, some.ground_truth))
    assert found.similarity == pytest.approx(1 - found.distance)
    some.descriptor[:] = 1
    assert descriptor_similarity(some).similarity is None
    with pytest.raises(InvalidInputError, match="no ground-truth descriptor"):
        descriptor_similarity(PolicySet(**{**some.columns(), "ground_truth": np.empty((40, 0))}))


def test_similarity_of_real_runs(runs, tasks):
    given_truth = RunReader(runs / "ns-0")
    assert descriptor_similarity(final_policies(given_truth)).distance == pytest.approx(0, abs=1e-12)
    never_trained = RunReader(runs / "stax-nt-0")
    some = final_policies(never_trained)
    own = descriptor_similarity(some)
    assert 0 < own.distance < 1
    # An autoencoder that is never trained is a random one: with the run's seed it is the run's.
    again = random_similarity(never_trained, tasks["redundant-arm"], some, seed=0)
    assert again.distance == pytest.approx(own.distance, abs=1e-6)
    other = random_similarity(never_trained, tasks["redundant-arm"], some)
    assert other.distance != pytest.approx(own.distance, abs=1e-6)
    result = stax.load(runs / "stax-nt-0")
    assert random_similarity(result, result.task, some).distance == other.distance
    with pytest.raises(InvalidInputError, match="is only run when you say so"):
        random_similarity(never_trained, never_trained.task, some)


def test_reconstruction_error_is_the_mean_over_all_numbers(runs, tasks, monkeypatch):
    monkeypatch.setattr("stax.analysis.measures._RECONSTRUCTED_AT_ONCE", 7)
    some = policies(20)

    class Blank:
        def reconstruct(self, rollouts):
            return np.full((len(rollouts), 1, 4), 0.25, np.float32)

        def used_moments(self, rollouts):
            return np.full((len(rollouts), 1), rollouts.snapshots.shape[1] - 1)

    seen = some.snapshots[:, -1].astype(np.float64)
    assert reconstruction_error(Blank(), SquareTask(), some) == pytest.approx(np.mean((seen - 0.25) ** 2))
    assert reconstruction_error(Blank(), SquareTask(), some.take(slice(0, 0))) is None

    result = stax.load(runs / "stax-nt-0")
    few = final_policies(result, most=10)
    pictures = tasks["redundant-arm"].observe(few.rollouts()) / 255
    expected = np.mean((pictures - result.space.reconstruct(few.rollouts())) ** 2)
    assert reconstruction_error(result.space, result.task, few) == pytest.approx(expected)


# The budget


def test_where_the_budget_went():
    origin = np.array([0, 0, 1, 1, 1, 3, 1, 3], np.int8)
    failed = np.array([0, 1, 0, 0, 1, 0, 1, 0], bool)
    assert budget_by_origin(origin, failed) == [
        Spent("initial", 2, 0.25, 1),
        Spent("exploration", 4, 0.5, 2),
        Spent("bootstrap", 0, 0.0, 0),
        Spent("emitter", 2, 0.25, 0),
    ]
    assert [part.share for part in budget_by_origin(origin[:0], failed[:0])] == [0, 0, 0, 0]
    again = np.array([*origin, 4, 4], np.int8)
    assert budget_by_origin(again, np.zeros(10, bool))[4:] == [Spent("reevaluation", 2, 0.2, 0)]


def test_where_the_budget_of_a_real_run_went(square_run):
    run = RunReader(square_run)
    spent = {part.origin: part for part in budget_by_origin(**run.ledger("origin", "failed"))}
    assert spent["initial"].evaluations == 12
    assert sum(part.share for part in spent.values()) == pytest.approx(1)
    assert sum(part.evaluations for part in spent.values()) == 600
    by_emitters = spent["bootstrap"].evaluations + spent["emitter"].evaluations
    assert by_emitters == sum(emitter.evaluations for emitter in run.emitters) > 0


def test_a_curve_between_its_steps():
    curve = Curve(np.array([0, 10, 30]), np.array([0.0, 0.5, 0.7]))
    assert curve.first_reaching(0.0) == 0
    assert curve.first_reaching(0.5) == 10
    assert curve.first_reaching(0.51) == 30
    assert curve.first_reaching(0.71) is None
    # 10 evaluations at 0, 20 at 0.5, then 0.7.
    assert curve.mean_until(40) == pytest.approx((20 * 0.5 + 10 * 0.7) / 40)
    assert curve.mean_until(20) == pytest.approx(10 * 0.5 / 20)
    assert curve.mean_until(5) == 0
