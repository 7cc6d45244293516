"""Noise on sensors and actions of the built-in tasks: seeded by genome and seed, none by default."""

from __future__ import annotations

import numpy as np
import pytest

import stax
from stax.tasks.noise import noise_states

TASKS = ("redundant-arm", "hard-maze", "curling")
NOISE = {"sensor_noise": 0.1, "action_noise": 0.1}


def genomes(task: stax.Task, count: int = 6) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, task.genome_size))


def same(one: stax.Rollouts, other: stax.Rollouts) -> bool:
    columns = ("reward", "reward_area", "steps", "snapshots", "ground_truth")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)


@pytest.mark.parametrize("name", TASKS)
def test_a_noisy_rollout_depends_on_its_genome_and_the_seed_alone(name):
    task = stax.make_task(name, threads=2, **NOISE)
    policies = genomes(task)
    whole = task.evaluate(policies)
    assert same(whole, task.evaluate(policies))
    assert same(whole.take(slice(3, 6)), stax.make_task(name, threads=1, **NOISE).evaluate(policies[3:]))
    assert not same(whole, stax.make_task(name, **NOISE, seed=1).evaluate(policies))
    assert not same(whole, stax.make_task(name).evaluate(policies))
    # A replay shows the same episode.
    states = task.trajectory(policies[2])
    np.testing.assert_array_equal(task._descriptor(states[-1:]), whole.ground_truth[2:3])


@pytest.mark.parametrize("name", TASKS)
def test_without_noise_neither_seed_nor_episodes_change_a_bit(name):
    task = stax.make_task(name)
    policies = genomes(task)
    assert same(task.evaluate(policies), stax.make_task(name, seed=5, episodes=3).evaluate(policies))


@pytest.mark.parametrize("kind", NOISE)
def test_each_kind_of_noise_works_alone_and_little_noise_changes_little(kind):
    task, calm = stax.make_task("redundant-arm", **{kind: 1e-6}), stax.make_task("redundant-arm")
    policies = genomes(task)
    little, none = task.evaluate(policies), calm.evaluate(policies)
    assert not same(little, none)
    np.testing.assert_allclose(little.ground_truth, none.ground_truth, atol=0.05)


def test_several_episodes_give_the_mean_reward_of_their_seeds():
    given = {"action_noise": 0.3, "threads": 1}
    tasks = [stax.make_task("redundant-arm", **given, seed=seed) for seed in (7, 8, 9)]
    tasks.append(stax.make_task("redundant-arm", **given, seed=7, episodes=3))
    for task in tasks:
        task.reward_areas = (stax.RewardArea("low", (0.5, 0.2), 0.3), stax.RewardArea("left", (0.2, 0.6), 0.2))
    policies = genomes(task, 100)
    *apart, together = [task.evaluate(policies) for task in tasks]
    np.testing.assert_allclose(together.reward, np.mean([rollouts.reward for rollouts in apart], axis=0), atol=1e-15)
    np.testing.assert_array_equal(together.ground_truth, apart[0].ground_truth)
    rewarded = together.reward > 0
    assert 0 < np.count_nonzero(rewarded) < 100
    np.testing.assert_array_equal(together.reward_area >= 0, rewarded)


def test_states_of_generators_differ_by_genome_and_seed_and_are_those_of_splitmix():
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]])
    states = noise_states(rows, 0)
    assert len({*states.tolist()}) == 2
    assert states[0] == states[2]
    assert not np.isin(noise_states(rows, 1), states).any()
    # The first number of SplitMix64 with seed 0.
    assert int(noise_states(np.empty((1, 0)), 0)[0]) == 0xE220A8397B1DCDAF


def test_noise_has_the_standard_deviation_that_was_asked_for():
    from stax.compiling import kernel
    from stax.tasks.noise import disturb_actions, disturb_sensors

    @kernel
    def draw(values, sigma, states):
        for row in range(values.shape[0]):
            disturb_sensors(values[row], values.shape[1], sigma, states, row)

    @kernel
    def act(values, sigma, states):
        disturb_actions(values, values.size, sigma, states, 0)

    values = np.zeros((200, 100))
    draw(values, 0.5, noise_states(np.random.default_rng(0).normal(size=(200, 3)), 0))
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 0.5) < 0.01
    assert abs(np.mean(np.abs(values) > 0.98) - 0.05) < 0.01
    assert abs(np.corrcoef(values[:, 0], values[:, 1])[0, 1]) < 0.2
    actions = np.full(1000, 0.9)
    act(actions, 0.5, np.zeros(1, np.uint64))
    assert actions.max() == 1.0
    assert actions.min() >= -1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sensor_noise": -0.1}, "sensor_noise of redundant-arm must be a number from 0 to 1,?000"),
        ({"action_noise": float("nan")}, "action_noise of redundant-arm must be"),
        ({"action_noise": "loud"}, "action_noise of redundant-arm must be"),
        ({"seed": -1}, "seed must be"),
        ({"episodes": 0}, "episodes must be"),
    ],
)
def test_bad_noise_is_refused(options, words):
    with pytest.raises(stax.InvalidInputError, match=words):
        stax.make_task("redundant-arm", **options)
