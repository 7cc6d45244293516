"""The Gymnasium environments step through the very trajectories of the batch rollouts."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import stax
from rollout_samples import random_genomes
from stax.policies import act
from stax.tasks.gymnasium_envs import HardMazeEnv
from stax.tasks.gymnasium_registration import ENVIRONMENTS, register_environments

CASES = [("curling", {}), ("hard-maze", {}), ("hard-maze", {"sensors": "published-code"}), ("redundant-arm", {})]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_gymnasiums_own_checker_is_content(name, options):
    env = gymnasium.make(ENVIRONMENTS[name], render_mode="rgb_array", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_same_trajectory_as_the_rollout(name, options):
    task = stax.make_task(name, **options)
    env = gymnasium.make(ENVIRONMENTS[name], **options)
    genomes = random_genomes(task, 3, seed=11)
    rollouts = task.evaluate(genomes)
    for i, genome in enumerate(genomes):
        states = task.trajectory(genome)
        observation, info = env.reset(seed=i)
        total, steps, ended = 0.0, 0, False
        while not ended:
            np.testing.assert_array_equal(env.unwrapped._state(), states[steps])
            action = act(genome, task.policy_sizes, observation.astype(np.float64))
            observation, reward, ended, truncated, info = env.step(action)
            total, steps = total + reward, steps + 1
            assert not truncated
        np.testing.assert_array_equal(env.unwrapped._state(), states[-1])
        np.testing.assert_array_equal(info["ground_truth"], rollouts.ground_truth[i])
        assert (total, info["reward_area"], steps) == (rollouts.reward[i], rollouts.reward_area[i], rollouts.steps[i])


def test_reward_is_paid_once_at_the_end():
    task = stax.make_task("redundant-arm")
    genomes = random_genomes(task, 3000, seed=1)
    rollouts = task.evaluate(genomes)
    best = int(np.argmax(rollouts.reward))
    assert rollouts.reward[best] > 0
    env = gymnasium.make("stax/RedundantArm-v0")
    observation, _ = env.reset()
    rewards, ended = [], False
    while not ended:
        observation, reward, ended, _, info = env.step(act(genomes[best], task.policy_sizes, observation))
        rewards.append(reward)
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    assert rewards[-1] == rollouts.reward[best]
    assert info["reward_area"] == rollouts.reward_area[best]
    with pytest.raises(stax.InvalidInputError, match="The episode has ended"):
        env.step(env.action_space.low)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_render_and_reset(name, options):
    env = gymnasium.make(ENVIRONMENTS[name], render_mode="rgb_array", render_size=80, **options)
    first, _ = env.reset()
    start = env.render()
    assert start.shape == (80, 80, 3)
    for _ in range(25):
        env.step(env.action_space.low)
    assert not np.array_equal(start, env.render())
    again, _ = env.reset()
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(start, env.render())


def test_docstrings_are_documentation_pages():
    for name in ENVIRONMENTS.values():
        text = gymnasium.make(name).unwrapped.__doc__
        for heading in (
            "Description",
            "Action space",
            "Observation space",
            "Reward",
            "Start",
            "End",
            "Arguments",
            "Version history",
        ):
            assert f"## {heading}" in text, (name, heading)


def test_bad_arguments():
    with pytest.raises(stax.InvalidInputError, match="render_mode must be one of 'rgb_array', not 'human'"):
        HardMazeEnv(render_mode="human")
    with pytest.raises(stax.InvalidInputError, match="not 'radar'"):
        gymnasium.make("stax/HardMaze-v0", sensors="radar")


@pytest.mark.parametrize(("name", "options"), CASES)
def test_actions_and_the_order_of_calls_are_checked(name, options):
    env = gymnasium.make(ENVIRONMENTS[name], render_mode="rgb_array", **options).unwrapped
    for call in (lambda: env.step(env.action_space.low), env.render):
        with pytest.raises(stax.InvalidInputError, match=r"call reset\(\) first"):
            call()
    env.reset()
    size = env.action_space.shape[0]
    for bad in (np.ones(size + 1), np.full(size, np.nan), np.full(size, np.inf), "left", [[0.0] * size]):
        with pytest.raises(stax.InvalidInputError, match="action must be"):
            env.step(bad)
    # Beyond the bounds counts as at the bounds.
    first, second = (gymnasium.make(ENVIRONMENTS[name], **options).unwrapped for _ in range(2))
    first.reset()
    second.reset()
    for _ in range(10):
        beyond, _, _, _, _ = first.step(np.full(size, 7.0))
        at, _, _, _, _ = second.step(np.ones(size))
    np.testing.assert_array_equal(beyond, at)


def test_registering_twice_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register_environments()
