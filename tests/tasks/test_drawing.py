"""Pictures: covered areas by hand, and the two uses of one scene."""

from __future__ import annotations

import numpy as np
import pytest

from rollout_samples import random_genomes
from stax.tasks.drawing import View, discs, lines, new_canvas, paint, quads

UP = View(left=0.0, top=1.0, width=1.0, y_down=False)
DOWN = View(left=0.0, top=0.0, width=1.0, y_down=True)


def ink(canvas: np.ndarray) -> float:
    """How many pixels' worth of black there is."""
    return float((255 - canvas[..., 0].astype(float)).sum() / 255)


def test_areas_of_shapes():
    size = 200
    for shapes, area in (
        (discs(np.array([[0.5, 0.5]]), 0.2, (0, 0, 0)), np.pi * 0.04),
        (quads(np.array([[(0.1, 0.1), (0.5, 0.1), (0.5, 0.3), (0.1, 0.3)]]), (0, 0, 0)), 0.08),
        (quads(np.array([[(0.1, 0.3), (0.5, 0.3), (0.5, 0.1), (0.1, 0.1)]]), (0, 0, 0)), 0.08),
        (lines(np.array([[0.2, 0.2]]), np.array([[0.7, 0.7]]), 0.05, (0, 0, 0)), 0.1 * np.sqrt(0.5) + np.pi * 0.0025),
        (discs(np.array([[0.5, 0.5]]), 0.2, (0, 0, 0), ring=0.02), 2 * np.pi * 0.2 * 0.04),
    ):
        canvas = new_canvas(size)
        paint(canvas, shapes, UP)
        assert ink(canvas) == pytest.approx(area * size**2, rel=0.01)


def test_edges_are_anti_aliased():
    canvas = new_canvas(32)
    paint(canvas, discs(np.array([[0.5, 0.5]]), 0.3, (0, 0, 0)), UP)
    assert len(np.unique(canvas)) >= 8
    # A shape half a pixel to the side moves by half a pixel, not by none or a whole one.
    moved = new_canvas(32)
    paint(moved, discs(np.array([[0.5 + 0.5 / 32, 0.5]]), 0.3, (0, 0, 0)), UP)
    columns = np.arange(32)
    center = [
        (255 - c[..., 0].astype(float)).sum(axis=0) @ columns / (255 - c[..., 0].astype(float)).sum() for c in (canvas, moved)
    ]
    assert center[1] - center[0] == pytest.approx(0.5, abs=0.02)


def test_y_points_where_the_view_says():
    for view, row in ((UP, 63), (DOWN, 0)):
        canvas = new_canvas(64)
        paint(canvas, discs(np.array([[0.0, 0.0]]), 0.05, (0, 0, 0)), view)
        assert canvas[row, 0, 0] == 0


def test_least_radius_keeps_small_things_visible():
    canvas = new_canvas(64)
    paint(canvas, discs(np.array([[0.5, 0.5]]), 0.001, (0, 0, 0), least=2.0), UP)
    assert ink(canvas) == pytest.approx(np.pi * 4, rel=0.1)


def test_opacity_and_order():
    canvas = new_canvas(16)
    square = np.array([[(-1.0, -1.0), (2.0, -1.0), (2.0, 2.0), (-1.0, 2.0)]])
    paint(canvas, quads(square, (0, 0, 0), opacity=0.5), UP)
    assert canvas[8, 8].tolist() == [128, 128, 128]
    paint(canvas, quads(square, (10, 20, 30)), UP)
    assert canvas[8, 8].tolist() == [10, 20, 30]


def test_shapes_off_the_canvas_do_nothing():
    canvas = new_canvas(16)
    far = np.array([[50.0, 50.0], [-50.0, 0.5], [0.5, 1e8], [-1e8, -1e8]])
    paint(canvas, discs(far, 0.1, (0, 0, 0)), UP)
    assert ink(canvas) == 0


def test_observations_show_the_scene_and_people_see_the_areas_too(task):
    rollouts = task.evaluate(random_genomes(task, 3))
    pictures = task.observe(rollouts)
    # Different behaviours look different, the background is white and the walls are there.
    assert (pictures[:, -1] == 255).all(axis=-1).mean() > 0.5
    assert (pictures.min(axis=(2, 3, 4)) < 100).all()
    state = task.trajectory(random_genomes(task, 1)[0])[-1]
    plain, shown = task.render(state, 64, reward_areas=False), task.render(state, 64)
    assert not np.array_equal(plain, shown)


def test_observation_is_the_scene_that_people_see(task):
    genome = random_genomes(task, 1, seed=5)
    rollouts = task.evaluate(genome)
    state = task.trajectory(genome[0])[-1]
    small, large = task.observe(rollouts)[0, -1], task.render(state, 64, reward_areas=False)
    # Snapshots are kept in 32 bits: a level of grey at most.
    assert np.abs(small.astype(int) - large.astype(int)).max() <= 2


def test_different_ends_look_different(task):
    rollouts = task.evaluate(random_genomes(task, 40, seed=2))
    apart = np.argmax(np.linalg.norm(rollouts.ground_truth - rollouts.ground_truth[0], axis=1))
    pictures = task.observe(rollouts.take([0, apart]))[:, -1].astype(int)
    assert np.abs(pictures[0] - pictures[1]).max() > 100


def test_trail_and_ends_are_drawn(task):
    genomes = random_genomes(task, 40, seed=5)
    truth = task.evaluate(genomes).ground_truth
    states = task.trajectory(genomes[np.argmax(np.linalg.norm(truth - np.median(truth, axis=0), axis=1))])
    bare = task.render(states[-1], 128)
    assert not np.array_equal(bare, task.render(states[-1], 128, trail=states))
    ends = np.array([[0.5, 0.4]])
    assert not np.array_equal(bare, task.render(states[-1], 128, ends=ends))
