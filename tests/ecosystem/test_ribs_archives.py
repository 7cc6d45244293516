"""Policies as archives of pyribs, and back."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_policies import some_policies
from hypothesis import given, settings
from hypothesis import strategies as st

import stax
from optional_packages import need
from stax.ecosystem import cvt_archive, grid_archive, policies_from_ribs, proximity_archive
from stax.search.policy_set import PolicySet
from toy_tasks import NoTruthTask, SquareTask

need("ribs")


def by_id(policies: PolicySet) -> PolicySet:
    return policies.take(np.argsort(policies.id))


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10**6), st.integers(1, 5))
def test_every_cell_holds_its_best_policy_and_of_equals_the_first(count, seed, cells):
    policies = some_policies(count, seed)
    archive = grid_archive(policies, SquareTask(), cells=cells)
    best: dict[tuple[int, ...], tuple[float, int]] = {}
    for reward, number, truth in zip(policies.reward, policies.id, policies.ground_truth, strict=True):
        cell = tuple(np.minimum((truth + 1) / 2 * cells, cells - 1).astype(int).tolist())
        best[cell] = min(best.get(cell, (np.inf, 0)), (-reward, int(number)))
    assert sorted(archive.data("id").tolist()) == sorted(number for _, number in best.values())
    assert archive.stats.coverage == pytest.approx(len(best) / cells**2)
    assert archive.stats.obj_max == policies.reward.max()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10**6), st.sampled_from(["ground_truth", "descriptor"]))
def test_there_and_back_is_the_same(count, seed, measures):
    policies = by_id(some_policies(count, seed))
    back = by_id(policies_from_ribs(proximity_archive(policies, measures=measures), SquareTask(), measures=measures))
    for name, column in policies.columns().items():
        if name != "snapshots":
            np.testing.assert_array_equal(getattr(back, name), column, err_msg=name)
    assert back.snapshots.shape == (count, 3, 0)


def test_evaluated_again_the_task_tells_the_rest():
    policies = by_id(some_policies(30, 4))
    archive = proximity_archive(policies, measures="ground_truth")
    back = by_id(policies_from_ribs(archive, SquareTask(), evaluate=True))
    for name in ("reward", "reward_area", "steps", "ground_truth", "snapshots"):
        np.testing.assert_array_equal(getattr(back, name), getattr(policies, name), err_msg=name)


def test_an_archive_that_pyribs_has_filled_itself():
    """Nothing of ours in it: solutions that its own emitter asked for."""
    import ribs.archives
    import ribs.emitters
    import ribs.schedulers

    task = SquareTask()
    archive = ribs.archives.GridArchive(solution_dim=6, dims=[10, 10], ranges=task.ground_truth_bounds)
    emitter = ribs.emitters.GaussianEmitter(archive, sigma=0.5, x0=np.zeros(6), batch_size=20, seed=0)
    scheduler = ribs.schedulers.Scheduler(archive, [emitter])
    for _ in range(10):
        rollouts = task.evaluate(scheduler.ask())
        scheduler.tell(rollouts.reward, rollouts.ground_truth)
    policies = policies_from_ribs(archive, task)
    assert len(policies) == len(archive) > 10
    outcome = task.evaluate(policies.genome)
    np.testing.assert_allclose(policies.reward, outcome.reward)
    np.testing.assert_array_equal(policies.reward_area, outcome.reward_area)
    assert (policies.reward_area >= 0).any()


def test_statistics_of_pyribs_on_a_result(result):
    import ribs.archives

    policies = PolicySet.union([result.novelty_archive, result.reward_archive])
    archive = grid_archive(policies, result.task, cells=20)
    assert archive.stats.num_elites == len(archive) > 5
    assert archive.stats.qd_score == pytest.approx(archive.data("objective").sum())
    assert archive.best_elite["id"] in result.reward_archive.id
    targets = np.random.default_rng(0).uniform(-1, 1, size=(2, 20, 2))
    score = ribs.archives.cqd_score(
        archive, iterations=2, target_points=targets, penalties=3, obj_min=0.0, obj_max=1.0, dist_max=np.sqrt(8)
    )
    assert 0 < score.mean < 60
    frame = archive.data(return_type="pandas")
    assert {"id", "descriptor_0", "solution_5", "reward_area"} <= set(frame.columns)


def test_pictures_of_pyribs_of_a_result(result, tmp_path):
    for module in ("seaborn", "shapely"):
        need(module)
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import ribs.visualize

    archive = grid_archive(PolicySet.union([result.novelty_archive, result.reward_archive]), result.task, cells=20)
    figure, axes = plt.subplots()
    ribs.visualize.grid_archive_heatmap(archive, ax=axes, vmin=0, vmax=1)
    drawn = axes.collections[0].get_array().compressed()
    assert sorted(drawn.tolist()) == sorted(archive.data("objective").tolist())
    figure.savefig(tmp_path / "heatmap.png")
    plt.close(figure)


def test_cells_of_a_tessellation_hold_their_best_policy():
    policies = some_policies(200, 1)
    archive = cvt_archive(policies, SquareTask(), cells=12, seed=3)
    nearest = np.linalg.norm(policies.ground_truth[:, None] - archive.centroids, axis=2).argmin(axis=1)
    for cell in np.unique(nearest):
        _, found = archive.retrieve_single(archive.centroids[cell])
        assert found["objective"] == policies.reward[nearest == cell].max()
    again = cvt_archive(policies, SquareTask(), cells=12, seed=3)
    np.testing.assert_array_equal(archive.centroids, again.centroids)
    assert not np.array_equal(archive.centroids, cvt_archive(policies, SquareTask(), cells=12, seed=4).centroids)


def test_a_grid_in_the_learned_space_spans_the_policies():
    policies = some_policies(50, 1)
    archive = grid_archive(policies, SquareTask(), cells=[4, 3, 2], measures="descriptor")
    np.testing.assert_allclose(archive.lower_bounds, policies.descriptor.min(axis=0))
    np.testing.assert_allclose(archive.upper_bounds, policies.descriptor.max(axis=0))
    assert archive.dims.tolist() == [4, 3, 2]
    np.testing.assert_array_equal(
        policies_from_ribs(archive, SquareTask(), measures="descriptor").ground_truth, archive.data("ground_truth")
    )


def test_empty_archives_stay_empty():
    nothing = some_policies(0, 0)
    for archive in (grid_archive(nothing, SquareTask(), cells=3), proximity_archive(nothing)):
        assert len(archive) == 0
    assert len(policies_from_ribs(grid_archive(nothing, SquareTask()), SquareTask(), evaluate=True)) == 0


def test_bad_input_is_told():
    policies, task = some_policies(5, 0), SquareTask()
    frame = policies.to_pandas(["genome", "reward"]).assign(reward=0.0)
    without_truth = PolicySet.from_pandas(frame, NoTruthTask())
    for call, words in [
        (lambda: grid_archive(policies, task, measures="genome"), "measures must be one of 'ground_truth', 'descriptor'"),
        (lambda: grid_archive(policies, task, cells=0), "cells must be a whole number of at least 1, not 0"),
        (lambda: grid_archive(policies, task, cells=[5]), "cells must be one number, or 2 for as many measures"),
        (lambda: grid_archive(policies, task, bounds=[(0, 1)]), "for each of the 2 measures"),
        (lambda: grid_archive(policies, task, bounds=[(0, 1), (1, 1)]), "a lowest and a higher highest value"),
        (lambda: grid_archive(some_policies(0, 0), task, measures="descriptor"), "give bounds"),
        (lambda: proximity_archive(some_policies(3, 0, 0)), "must have a descriptor"),
        (lambda: grid_archive(without_truth, NoTruthTask()), "must have a ground truth"),
        (lambda: policies_from_ribs(grid_archive(policies, task), NoTruthTask()), "has a column ground_truth of shape"),
        (lambda: policies_from_ribs("archive", task), "must be one of pyribs, not str"),
        (lambda: policies_from_ribs(grid_archive(policies, task), stax.make_task("hard-maze")), "have the size 6; genomes"),
        (lambda: policies_from_ribs(_negative(), task), "has the reward -1.0; rewards must not be negative"),
    ]:
        with pytest.raises(stax.InvalidInputError) as raised:
            call()
        assert words in str(raised.value)


def test_numbers_of_other_sizes_are_taken_over():
    import ribs.archives

    fields = {"id": ((), np.int16), "novelty": ((), np.float32)}
    archive = ribs.archives.GridArchive(
        solution_dim=6, dims=[2, 2], ranges=[(-1, 1), (-1, 1)], dtype=np.float32, extra_fields=fields
    )
    archive.add(np.zeros((1, 6)), [0.0], [[0.5, -0.5]], id=[7], novelty=[1.5])
    policies = policies_from_ribs(archive, SquareTask())
    assert policies.id.tolist() == [7]
    assert policies.novelty.tolist() == [1.5]
    assert policies.genome.dtype == np.float64


def test_measures_that_are_no_numbers_are_refused():
    import ribs.archives

    archive = ribs.archives.CategoricalArchive(solution_dim=6, categories=[["left", "right"], ["up", "down"]])
    archive.add_single(np.zeros(6), 0.0, ["left", "up"])
    with pytest.raises(stax.InvalidInputError, match="measures of the archive must be numbers"):
        policies_from_ribs(archive, SquareTask())


def _negative():
    import ribs.archives

    archive = ribs.archives.GridArchive(solution_dim=6, dims=[2, 2], ranges=[(-1, 1), (-1, 1)])
    archive.add_single(np.zeros(6), -1.0, [0, 0])
    return archive
