"""The three tasks end where the original environments ended, on a sample of recorded rollouts."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import stax
from rollout_samples import DATA, recorded

CASES = [
    # task, options, distance, recorded states are this many steps apart
    ("redundant-arm", {}, 0.001, 10),
    ("hard-maze", {"sensors": "published-code"}, 0.01, 100),
    ("curling", {}, 0.05, 50),
]


SAME_BITS = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="other C libraries round sines differently"
)


@pytest.mark.parametrize(("name", "options", "within", "every"), CASES)
def test_ends_and_rewards(name, options, within, every):
    data = recorded(name)
    rollouts = stax.make_task(name, **options).evaluate(data["genome"])
    distance = np.linalg.norm(rollouts.ground_truth - data["bd"], axis=1)
    assert (distance <= within).all()
    assert (rollouts.steps == data["steps"]).all()
    assert (rollouts.reward_area == data["area"]).all()
    # The maze's original judges the reward one step earlier: at most one world unit of 50.
    np.testing.assert_allclose(rollouts.reward, data["reward"], atol=0.03 if name == "hard-maze" else 1e-5)
    assert (data["area"] >= 0).any()


@pytest.mark.parametrize(("name", "options", "within", "every"), CASES)
def test_whole_trajectories(name, options, within, every):
    data = recorded(name)
    task = stax.make_task(name, **options)
    columns = {"curling": 6, "hard-maze": 8, "redundant-arm": 22}[name]
    for genome, states in zip(data["genome"], data["traj"], strict=True):
        ours = task.trajectory(genome)[::every]
        length = min(len(ours), int(np.isfinite(states[:, 0]).sum()))
        scale = 600 if name == "hard-maze" else 1
        np.testing.assert_allclose(ours[:length, :2], states[:length, :2], atol=within * scale)
        if name != "hard-maze":
            np.testing.assert_allclose(ours[:length, :columns], states[:length], atol=within)


@SAME_BITS
def test_curling_ends_are_box2ds_bit_for_bit():
    """Where the ball ends, although subnormal speeds are zero in ours and are not in Box2D."""
    data = recorded("curling")
    task = stax.make_task("curling")
    rollouts = task.evaluate(data["genome"])
    np.testing.assert_array_equal(rollouts.ground_truth.astype(np.float32), data["bd"])


@SAME_BITS
def test_curling_steps_as_box2d_does():
    pytest.importorskip("Box2D", reason="needs the box2d extra")
    from stax.benchmarks.box2d_table import Box2DTable
    from stax.tasks.curling import Table

    rng = np.random.default_rng(3)
    for _ in range(4):
        ours, theirs = Table(), Box2DTable()
        ours.reset()
        np.testing.assert_array_equal(ours.state, theirs.state)
        target = rng.uniform(-1, 1, size=2)
        for step in range(500):
            # Pushes that last a while, so that the arm reaches limits, walls and the ball.
            if step % 40 == 0:
                target = rng.uniform(-1.3, 1.3, size=2)
            ours.step(target)
            theirs.step(target)
            # Ours has no subnormal numbers: a speed of less than 1.2e-38 is 0.
            expected = np.where(np.abs(theirs.state) < np.finfo(np.float32).tiny, 0, theirs.state)
            np.testing.assert_array_equal(ours.state, expected, err_msg=f"step {step}")


def test_maze_steps_as_recorded_bit_for_bit():
    """Pose, lasers and bumpers after one step from a recorded state, many of them in collision."""
    from stax.tasks.hard_maze import SENSORS, advance

    with np.load(DATA / "hard_maze_steps.npz") as data:
        before, action, after = data["before"], data["action"], data["after"]
    assert (after[:, 6:] > 0).any(axis=0).all()
    for state, (left, right), expected in zip(before, action, after, strict=True):
        ours = state.copy()
        advance(ours, left, right, SENSORS["published-code"])
        np.testing.assert_array_equal(ours, expected)
