"""Any Gymnasium environment as a task: what rollouts hold, whatever lies beside them."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import gymnasium_worlds  # noqa: F401 (registers its environments)
import stax
from stax.policies import act, act_each, network_genome_size
from stax.tasks.contract import check_task
from stax.tasks.gymnasium_rollouts import SIDE_BY_SIDE
from stax.tasks.gymnasium_spaces import ActionWriter, ObservationReader
from stax.tasks.picture_scaling import fitted, squeezed
from stax.tasks.task import sample_steps

WALK = "gym:gymnasium_worlds:Walk-v0"
TRUTH = {"ground_truth": (0, 1)}


def genomes_for(task, count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, task.genome_size))


def assert_same(a, b):
    for name in ("reward", "reward_area", "steps", "snapshots", "ground_truth"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def played(name, genome, sizes, *, to_action, to_input=lambda vector: vector):
    """An episode as anybody would write it: observations, rewards and the last info."""
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=0)
    seen, rewards, ended, info = [], [], False, {}
    while not ended:
        output = act(genome, sizes, to_input(np.asarray(observation, np.float64)))
        observation, reward, terminated, truncated, info = env.step(to_action(env, output))
        seen.append(observation)
        rewards.append(reward)
        ended = terminated or truncated
    return np.array(seen), rewards, info


def over_bounds(env, output):
    low, high = env.action_space.low.astype(np.float64), env.action_space.high.astype(np.float64)
    return (output * ((high - low) / 2) + (low + high) / 2).astype(env.action_space.dtype)


@pytest.mark.parametrize("task_name", [WALK, "gym:Pendulum-v1", "gym:MountainCarContinuous-v0"])
def test_rollouts_are_what_a_plain_loop_does(task_name):
    task, name = stax.make_task(task_name, reward_offset=1000.0), task_name.rpartition(":")[2]
    genomes = genomes_for(task, 3)
    rollouts = task.evaluate(genomes)
    for row, genome in enumerate(genomes):
        seen, rewards, _ = played(name, genome, task.policy_sizes, to_action=over_bounds)
        assert rollouts.steps[row] == len(seen)
        assert rollouts.reward[row] == max(0.0, sum(rewards) + 1000.0)
        looks = np.minimum(sample_steps(task.horizon, 5), len(seen) - 1)
        assert np.array_equal(rollouts.snapshots[row], seen[looks].astype(np.float32))


def test_of_a_discrete_space_the_highest_output_acts():
    task = stax.make_task("gym:CartPole-v1")
    genomes = genomes_for(task, 4)
    rollouts = task.evaluate(genomes)
    assert task.policy_sizes == (4, 5, 5, 2)
    for row, genome in enumerate(genomes):
        seen, rewards, _ = played(
            "CartPole-v1", genome, task.policy_sizes, to_action=lambda env, output: int(np.argmax(output))
        )
        assert (rollouts.steps[row], rollouts.reward[row]) == (len(seen), sum(rewards))


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(2 * SIDE_BY_SIDE + 3)), st.integers(1, 2 * SIDE_BY_SIDE + 3))
def test_a_rollout_does_not_depend_on_its_neighbours(order, count):
    """More policies than there are places, so that places are taken by several in turn, and some end before others."""
    task, genomes, rollouts = neighbours()
    rows = order[:count]
    assert_same(task.evaluate(genomes[rows]), rollouts.take(rows))


_KEPT = []


def neighbours():
    if not _KEPT:
        task = stax.make_task(WALK, **TRUTH)
        genomes = genomes_for(task, 2 * SIDE_BY_SIDE + 3)
        rollouts = task.evaluate(genomes)
        assert len(np.unique(rollouts.steps)) > 4
        _KEPT.append((task, genomes, rollouts))
    return _KEPT[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (WALK, {}),
        (WALK, {**TRUTH, "episodes": 3, "seed": 5, "inputs": "scaled", "hidden": None}),
        (WALK, {"observe": "pictures", "samples": 2, "hidden": 4}),
        (WALK, {"ground_truth": "place", "ground_truth_bounds": ((-1, 3), (-2, 2)), "reward": "far", "reward_over": "max"}),
        (WALK, {"make": {"observes": "dict"}, "observation_key": ("place", "side"), "observe_indices": "0:2"}),
        (WALK, {"make": {"observes": "dict"}, "observation_key": "side", "ground_truth": 1, "ground_truth_key": "place"}),
        *((WALK, {"make": {"observes": kind}}) for kind in ("discrete", "many", "binary")),
        *((WALK, {"make": {"acts": kind}}) for kind in ("whole", "discrete", "many", "binary")),
        ("gym:FrozenLake-v1", {"reward_offset": 0.5}),
        ("gym:stax/RedundantArm-v0", {"horizon": 100, "ground_truth": "ground_truth", "ground_truth_bounds": ((0, 1), (0, 1))}),
    ],
)
def test_environments_keep_the_contract(name, options):
    task = stax.make_task(name, **options)
    assert {finding.what: finding.problem for finding in check_task(task) if finding.problem} == {}


def test_an_environment_of_ours_is_the_task_it_was_made_from():
    ours = stax.make_task("redundant-arm")
    again = stax.make_task(
        "gym:stax/RedundantArm-v0",
        horizon=100,
        hidden=ours.policy_sizes[1:-1],
        ground_truth="ground_truth",
        ground_truth_bounds=((0, 1), (0, 1)),
        reward_areas=[{"name": area.name, "center": area.center, "radius": area.radius} for area in ours.reward_areas],
    )
    many = np.random.default_rng(3).normal(size=(4000, ours.genome_size))
    genomes = many[np.argsort(-ours.evaluate(many).reward, kind="stable")[:30]]
    expected, found = ours.evaluate(genomes), again.evaluate(genomes)
    assert (expected.reward > 0).any()
    for name in ("reward", "reward_area", "steps", "ground_truth"):
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name


def test_several_episodes_and_their_seeds():
    singles = [stax.make_task(WALK, seed=seed, **TRUTH) for seed in (4, 5, 6)]
    together = stax.make_task(WALK, seed=4, episodes=3, **TRUTH)
    genomes = genomes_for(together, 20)
    alone, all_three = [task.evaluate(genomes) for task in singles], together.evaluate(genomes)
    assert np.array_equal(all_three.reward, np.mean([rollouts.reward for rollouts in alone], axis=0))
    assert any((alone[0].reward > 0) != (alone[1].reward > 0)) or len(np.unique(alone[0].reward - alone[1].reward)) > 1
    for name in ("steps", "snapshots", "ground_truth"):
        assert np.array_equal(getattr(all_three, name), getattr(alone[0], name)), name


@pytest.mark.parametrize(("over", "rule"), [("last", lambda v: v[-1]), ("max", max), ("sum", sum)])
def test_rewards_from_info(over, rule):
    task = stax.make_task(WALK, reward="success", reward_over=over)
    genomes = genomes_for(task, 12)
    rollouts = task.evaluate(genomes)
    for row, genome in enumerate(genomes):
        seen, _, _ = played("Walk-v0", genome, task.policy_sizes, to_action=over_bounds)
        assert rollouts.reward[row] == rule([float(x > 1) for x in seen[:, 0]])
    assert set(rollouts.reward_area) == {-1, 0}


def test_ground_truth_and_areas():
    areas = [{"name": "left", "center": [-1, 0], "radius": 0.5}, {"name": "right", "center": [2, 0], "radius": 0.1}]
    task = stax.make_task(WALK, ground_truth=[0, 1], reward_areas=areas, reward_offset=1.0)
    assert task.ground_truth_bounds == ((-2.0, 4.0), (-2.0, 4.0))
    assert task.ground_truth_names is not None
    assert len(task.ground_truth_names) == 2
    rollouts = task.evaluate(genomes_for(task, 30))
    last = rollouts.snapshots[:, -1, :2].astype(np.float64)
    assert np.allclose(rollouts.ground_truth, np.clip(last, -2, 4), atol=1e-6)
    to_left = np.hypot(rollouts.ground_truth[:, 0] + 1, rollouts.ground_truth[:, 1]) - 0.5
    to_right = np.hypot(rollouts.ground_truth[:, 0] - 2, rollouts.ground_truth[:, 1]) - 0.1
    rewarded = rollouts.reward > 0
    assert rewarded.any()
    assert np.array_equal(rollouts.reward_area, np.where(rewarded, np.where(to_left <= to_right, 0, 1), -1))


def test_what_is_beyond_the_bounds_counts_as_there():
    task = stax.make_task(WALK, ground_truth="place", ground_truth_bounds=((-0.1, 0.1), (-0.1, 0.1)))
    truth = task.evaluate(genomes_for(task, 20)).ground_truth
    assert np.abs(truth).max() == 0.1


def test_looks_are_where_they_were_asked_for():
    every = stax.make_task(WALK, samples=list(range(1, 21)))
    some = stax.make_task(WALK, samples=[2, 7, 20], observe_indices=(2, 0))
    genomes = genomes_for(every, 20)
    whole, rollouts = every.evaluate(genomes), some.evaluate(genomes)
    assert np.array_equal(rollouts.snapshots, whole.snapshots[:, [1, 6, 19]][:, :, [2, 0]])
    early = np.flatnonzero(whole.steps < 20)
    assert len(early)
    for row in early:
        ended = whole.snapshots[row, whole.steps[row] - 1 :]
        assert (ended == ended[0]).all()
        assert not np.array_equal(ended[0], whole.snapshots[row, whole.steps[row] - 2])


def test_options_for_make_and_reset():
    still = stax.make_task(WALK, make={"gain": 0.0}, reset={"start": [3.0, 0.0]})
    assert (still.evaluate(genomes_for(still, 3)).steps == 1).all()


def test_scaled_inputs():
    """The plane reaches from -2 to 4 both ways; the third number has no bounds."""
    task = stax.make_task(WALK, inputs="scaled")
    for genome in genomes_for(task, 3):

        def scaled(vector):
            return np.array([(vector[0] - 1) / 3, (vector[1] - 1) / 3, vector[2]])

        seen, _, _ = played("Walk-v0", genome, task.policy_sizes, to_action=over_bounds, to_input=scaled)
        assert np.allclose(task.trajectory(genome)[1:], seen, atol=1e-6)
        plain, _, _ = played("Walk-v0", genome, task.policy_sizes, to_action=over_bounds)
        assert plain.shape != seen.shape or not np.allclose(plain, seen, atol=1e-3)


def test_pictures_are_the_renderings():
    task = stax.make_task(WALK, observe="pictures", samples=3)
    genome = genomes_for(task, 1)
    rollouts = task.evaluate(genome)
    assert rollouts.snapshots.shape == (1, 3, 64, 64, 3)
    steps = np.minimum(sample_steps(20, 3) + 1, rollouts.steps[0])
    env = gymnasium.make("Walk-v0", render_mode="rgb_array")
    env.reset(seed=0)
    states = task.trajectory(genome[0])
    for look, step in enumerate(steps):
        env.unwrapped.place = states[step, :2]
        assert np.array_equal(rollouts.snapshots[0, look], squeezed(env.render(), 64))


def test_a_film_shows_what_the_rollout_did():
    task = stax.make_task(WALK)
    genome = genomes_for(task, 1)[0]
    states = task.trajectory(genome)
    steps = [0, 2, len(states) - 1]
    pictures = list(task.film(genome, steps, 96))
    env = gymnasium.make("Walk-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert len(pictures) == 3
    for step, picture in zip(steps, pictures, strict=True):
        env.unwrapped.place = states[step, :2]
        assert np.array_equal(picture, fitted(env.render(), 96))


def test_a_film_of_an_episode_that_ends_early_keeps_its_last_picture():
    task = stax.make_task(WALK)
    genome = genomes_for(task, 1)[0]
    end = len(task.trajectory(genome)) - 1
    *_, last, beyond, far_beyond = task.film(genome, [0, end, end + 1, end + 5], 96)
    assert np.array_equal(last, beyond)
    assert np.array_equal(last, far_beyond)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=4), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_networks_side_by_side_are_each_for_itself(sizes, count, seed):
    rng = np.random.default_rng(seed)
    genomes = rng.normal(size=(5, network_genome_size(sizes)))
    rows, inputs = rng.integers(5, size=count), rng.normal(size=(count, sizes[0]))
    outputs = np.empty((count, sizes[-1]))
    act_each(genomes, rows, np.array(sizes), inputs, outputs)
    for k in range(count):
        assert np.array_equal(outputs[k], act(genomes[rows[k]], tuple(sizes), inputs[k]))


SPACES = [
    spaces.Box(np.array([-1.0, 0.1, -3e5], np.float32), np.array([1.0, 0.3, 1e-7], np.float32)),
    spaces.Box(-0.1, 0.7, (2, 2), np.float64),
    spaces.Box(-3, 5, (3,), np.int32),
    spaces.Discrete(4, start=-2),
    spaces.MultiDiscrete([2, 5, 3], start=[1, 0, -4]),
    spaces.MultiBinary(6),
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SPACES), st.integers(0, 2**32 - 1), st.booleans())
def test_actions_are_in_their_space(space, seed, extreme):
    writer = ActionWriter("any", space)
    outputs = np.random.default_rng(seed).uniform(-1, 1, size=(3, writer.size))
    for action in writer.actions(np.sign(outputs) if extreme else outputs):
        assert space.contains(action), action


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SPACES), st.integers(0, 2**31 - 1))
def test_observations_are_read_as_gymnasium_flattens_them(space, seed):
    reader = ObservationReader("any", space)
    space.seed(seed)
    value = space.sample()
    vector = np.empty(reader.size)
    reader.read(value, vector)
    assert np.array_equal(vector, spaces.flatten(space, value).astype(np.float64))
    assert ((reader.low <= vector) & (vector <= reader.high)).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_a_smaller_picture_is_the_mean_of_what_it_covers(height, width, times, seed):
    rng = np.random.default_rng(seed)
    picture = rng.integers(0, 256, size=(8 * times, 8 * times, 3), dtype=np.uint8)
    means = picture.reshape(8, times, 8, times, 3).mean(axis=(1, 3))
    assert np.array_equal(squeezed(picture, 8), np.floor(means + 0.5).astype(np.uint8))
    one_color = np.full((height, width, 3), rng.integers(0, 256, 3), np.uint8)
    assert (squeezed(one_color, 16) == one_color[0, 0]).all()
    whole = fitted(one_color, 18)
    assert whole.shape == (18, 18, 3)
    inside = (whole == one_color[0, 0]).all(axis=2).sum()
    assert inside >= round(18 * height / max(height, width)) * round(18 * width / max(height, width))


def test_observations_of_nested_spaces_are_joined_as_gymnasium_does_it():
    task = stax.make_task(WALK, make={"observes": "nested"})
    assert task.policy_sizes[0] == 3 + 3 + 3 + 2
    env = gymnasium.make("Walk-v0", observes="nested")
    start = env.reset(seed=0)[0]
    assert np.array_equal(task.trajectory(genomes_for(task, 1)[0])[0], spaces.flatten(env.observation_space, start))
    body = stax.make_task(WALK, make={"observes": "nested"}, observation_key="body")
    assert body.policy_sizes[0] == 6
    assert not any(finding.problem for finding in check_task(task))


@pytest.mark.parametrize("observes", ["dict", "tuple"])
def test_a_dict_or_a_tuple_needs_no_key(observes):
    task = stax.make_task(WALK, make={"observes": observes}, ground_truth=(0,), ground_truth_bounds=(-1, 1))
    assert np.isfinite(task.evaluate(genomes_for(task, 3)).ground_truth).all()


def test_actions_of_nested_spaces():
    space = spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.Box(-2, 2, (2,)), spaces.MultiBinary(2)])})
    writer = ActionWriter("any", space)
    outputs = np.random.default_rng(0).uniform(-1, 1, size=(4, writer.size))
    actions = writer.actions(outputs)
    assert writer.size == 7
    assert all(space.contains(action) for action in actions)
    assert [action["a"] for action in actions] == outputs[:, :3].argmax(axis=1).tolist()
    assert np.allclose([action["b"][0] for action in actions], 2 * outputs[:, 3:5])
    task = stax.make_task(WALK, make={"acts": "dict"})
    assert task.evaluate(genomes_for(task, 5)).steps.min() >= 1


def convolved(picture, weights, bias):
    """3 x 3 filters at every second pixel, as anybody would write it."""
    side = len(picture)
    around = np.pad(picture, ((1, 1), (1, 1), (0, 0)))
    sums = [
        [np.einsum("ijc,ijcf->f", around[row : row + 3, column : column + 3], weights) for column in range(0, side, 2)]
        for row in range(0, side, 2)
    ]
    return 2 / (1 + np.exp(-(np.array(sums) + bias))) - 1


@pytest.mark.parametrize(("observes", "channels"), [("pixels", 3), ("frames", 4)])
def test_a_policy_that_sees_a_picture(observes, channels):
    task = stax.make_task(WALK, make={"observes": observes}, filters=(2, 3), picture_side=16, hidden=4, samples=3)
    convolutions = 9 * channels * 2 + 1 + 9 * 2 * 3 + 1
    assert task.genome_size == convolutions + (4 * 4 * 3 * 4 + 1) + (4 * 2 + 1)
    assert task.policy_sizes is None
    assert (task.observation_shape, task.observation_dtype) == ((16, 16, 3), "uint8")
    assert not any(finding.problem for finding in check_task(task))
    genome = genomes_for(task, 1)[0]
    given = task.trajectory(genome)[0]
    env = gymnasium.make("Walk-v0", observes=observes)
    picture = env.reset(seed=0)[0]
    if observes == "pixels":
        assert np.array_equal(given.reshape(16, 16, 3), squeezed(picture, 16) / 127.5 - 1)
    values, start = given.reshape(16, 16, channels), 0
    for before, after in ((channels, 2), (2, 3)):
        weights = genome[start : start + 9 * before * after].reshape(3, 3, before, after)
        start += 9 * before * after + 1
        values = convolved(values, weights, genome[start - 1])
    output = act(genome[start:], (48, 4, 2), values.reshape(-1))
    env.step(over_bounds(env, output))
    again = env.unwrapped.place
    assert np.allclose(task.trajectory(genome)[1], _given(env, channels), atol=1e-9), again
    seen = task.evaluate(genome[None]).snapshots[0, -1]
    assert seen.shape == (16, 16, 3)


def _given(env, channels):
    picture = env.unwrapped._observation()
    if channels == 4:
        picture = np.repeat(picture[0][:, :, None], 3, axis=2)
        return np.repeat(squeezed(picture, 16)[:, :, :1], 4, axis=2).reshape(-1) / 127.5 - 1
    return squeezed(picture, 16).reshape(-1) / 127.5 - 1


def test_car_racing_can_be_searched_in():
    pytest.importorskip("Box2D")
    task = stax.make_task("gym:CarRacing-v3", horizon=4, samples=2)
    assert (task.genome_size, task.observation_shape) == (762, (32, 32, 3))
    rollouts = task.evaluate(genomes_for(task, 2))
    assert rollouts.snapshots.shape == (2, 2, 32, 32, 3)
    assert rollouts.steps.tolist() == [4, 4]
