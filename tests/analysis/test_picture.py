"""The picture of a result shows what the result holds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import stax
from own_tasks import PointTask
from stax.analysis.picture import NOVELTY_COLOR, REWARD_COLOR, draw_result, result_figure
from stax.runs.described_task import DescribedTask, describe_task
from stax.tasks.task import RewardArea
from stax.tasks.task_checks import check_attributes


@pytest.fixture(scope="module")
def result():
    return stax.run("redundant-arm", algo="serene", budget=1500, seed=0)


def scatters(axes):
    return {scatter.get_label().split(":")[0]: scatter for scatter in axes.collections}


def test_ends_of_both_archives_lie_where_the_task_draws_them(result):
    assert len(result.reward_archive) > 0
    axes = result_figure(result).axes[0]
    drawn = scatters(axes)
    archives = {
        "novelty archive": (result.novelty_archive, NOVELTY_COLOR),
        "reward archive": (result.reward_archive, REWARD_COLOR),
    }
    assert drawn.keys() == archives.keys()
    for name, (archive, _) in archives.items():
        # The arm's world is the unit square with y upwards; pictures begin at the top.
        expected = np.stack([archive.ground_truth[:, 0], 1 - archive.ground_truth[:, 1]], axis=1)
        np.testing.assert_allclose(drawn[name].get_offsets(), expected)
    assert axes.images[0].get_array().shape == (1024, 1024, 3)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        f"novelty archive: {len(result.novelty_archive)} policies",
        f"reward archive: {len(result.reward_archive)} policies",
        "start",
    ]


def test_reward_areas_and_title_and_curves(result):
    figure = result_figure(result)
    ends, coverage, rewards = figure.axes
    names = [area.name for area in result.task.reward_areas]
    assert [text.get_text() for text in ends.texts] == names
    circle = ends.patches[0]
    np.testing.assert_allclose([*circle.center, circle.width, circle.height], [0.25, 0.75, 0.1, 0.1])
    title = figure.get_suptitle()
    for words in ("serene on redundant-arm", "1,500 evaluations", "seed 0", f"coverage {100 * result.coverage:.1f} %"):
        assert words in title
    evaluations = [row["evaluations"] for row in result.metrics]
    np.testing.assert_allclose(coverage.lines[0].get_xydata()[:, 0], evaluations)
    np.testing.assert_allclose(coverage.lines[0].get_xydata()[-1, 1], 100 * result.coverage)
    assert [line.get_label().split(":")[0] for line in rewards.lines] == names
    for line, best in zip(rewards.lines, result.max_reward, strict=True):
        assert line.get_xydata()[-1, 1] == best


def test_the_file_is_a_picture_and_nothing_else_is_left(result, tmp_path):
    from PIL import Image

    draw_result(result, tmp_path / "archives.png")
    assert [path.name for path in tmp_path.iterdir()] == ["archives.png"]
    pixels = np.asarray(Image.open(tmp_path / "archives.png").convert("RGB"), np.int64)
    assert pixels.shape[1] > 1000
    for color in (NOVELTY_COLOR, REWARD_COLOR):
        wanted = [int(color[start : start + 2], 16) for start in (1, 3, 5)]
        assert (np.abs(pixels - wanted).sum(axis=2) < 40).sum() > 20


def test_places_agree_with_what_the_task_paints(task):
    """A dot that `render` paints at a descriptor is found where `picture_place` says."""
    size = 400
    bounds = np.asarray(task.ground_truth_bounds)
    descriptors = bounds[:, 0] + np.array([[0.31, 0.27], [0.62, 0.81], [0.9, 0.4]]) * (bounds[:, 1] - bounds[:, 0])
    for descriptor in descriptors:
        state = task.trajectory(np.zeros(task.genome_size))[0]
        difference = task.render(state, size).astype(int) - task.render(state, size, ends=descriptor[None])
        rows, columns = np.nonzero(np.abs(difference).sum(axis=2))
        across, down = task.picture_place(descriptor[None])[0]
        assert abs((columns.mean() + 0.5) / size - across) < 1.5 / size
        assert abs((rows.mean() + 0.5) / size - down) < 1.5 / size
    scene = task.scene(64)
    assert scene.picture.shape == (64, 64, 3)
    start = task.picture_place([scene.start])[0]
    assert ((start > 0) & (start < 1)).all()
    with pytest.raises(stax.InvalidInputError, match="ground_truth must have the shape"):
        task.picture_place([1.0, 2.0])


def fake_result(task, ground_truth, coverage):
    policies = SimpleNamespace(ground_truth=ground_truth, __len__=lambda: len(ground_truth))
    archive = type("Archive", (), {"__len__": lambda self: len(ground_truth), "ground_truth": policies.ground_truth})()
    metrics = [{"evaluations": count, "coverage": coverage, "max_reward_0": 0.5} for count in (100, 200)]
    about = {"algo": "stax", "seed": 0, "evaluations": 200, "coverage": coverage, "max_reward": [0.5], "metrics": metrics}
    return SimpleNamespace(task=task, novelty_archive=archive, reward_archive=archive, **about)


def test_tasks_without_a_picture():
    points = np.random.default_rng(0).uniform(size=(30, 3))
    task = PointTask()
    assert task.scene() is None
    assert task.picture_place(points) is None
    result = fake_result(task, np.empty((30, 0)), None)
    # Along a line, which is then all that the first component shows.
    result.novelty_archive.descriptor = np.outer(np.arange(30.0), [3.0, 0.0, 4.0])
    figure = result_figure(result)
    assert [axes.get_ylabel() for axes in figure.axes] == ["second principal component", "highest reward"]
    places = np.asarray(scatters(figure.axes[0])["novelty archive"].get_offsets())
    np.testing.assert_allclose(np.abs(np.diff(places[:, 0])), 5.0)
    np.testing.assert_allclose(places[:, 1], 0.0, atol=1e-9)

    task.reward_areas = (RewardArea("middle", (0.5,), 0.1),)
    task.ground_truth_bounds = ((0.0, 1.0),)
    ends = result_figure(fake_result(task, points[:, :1], 0.4)).axes[0]
    assert sum(patch.get_height() for patch in ends.containers[0]) == 30

    for size in (2, 3):
        task.ground_truth_bounds = ((0.0, 1.0),) * size
        task.reward_areas = (RewardArea("middle", (0.5,) * size, 0.1),)
        ends = result_figure(fake_result(task, points[:, :size], 0.4)).axes[0]
        np.testing.assert_allclose(scatters(ends)["reward archive"].get_offsets(), points[:, :2])
        # Wider than the bounds, so that dots at the border are not cut.
        assert ends.get_xlim() == pytest.approx((-0.012, 1.012))
        assert ends.get_xlabel() == "ground truth, first number"


def test_axes_have_the_names_of_the_ground_truth():
    task = PointTask()
    task.ground_truth_bounds, task.ground_truth_names = ((0.0, 1.0), (0.0, 2.0)), ("x in m", "height $h$")
    described = DescribedTask(describe_task(task))
    assert described.ground_truth_names == task.ground_truth_names
    for one in (task, described):
        axes = result_figure(fake_result(one, np.zeros((3, 2)), 0.4)).axes[0]
        assert (axes.get_xlabel(), axes.get_ylabel()) == task.ground_truth_names
    task.ground_truth_bounds, task.ground_truth_names = ((0.0, 1.0),), ("angle",)
    assert result_figure(fake_result(task, np.zeros((3, 1)), 0.4)).axes[0].get_xlabel() == "angle"
    task.ground_truth_names = ("one", "two")
    with pytest.raises(stax.InvalidInputError, match="ground_truth_names"):
        check_attributes(task)
