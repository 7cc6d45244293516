"""The built-in tasks as environments to train on: what they promise, and that Stable-Baselines3 takes them."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

import stax
import stax.envs
from optional_packages import need
from rollout_samples import NAMES
from stax.policies import act
from stax.tasks.gymnasium_registration import ENVIRONMENTS


def episode(env, choose):
    """The observations, the rewards and the last info of one episode."""
    observation, info = env.reset(seed=0)
    observations, rewards, ended = [observation], [], False
    while not ended:
        assert "is_success" not in info
        observation, reward, terminated, truncated, info = env.step(choose(observation))
        observations.append(observation)
        rewards.append(reward)
        ended = terminated or truncated
    return observations, rewards, info


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_in_32_bits_and_the_reward_as_sparse_as_the_tasks(name, tasks):
    env = stax.envs.make(name)
    task = tasks[name]
    assert env.action_space == gymnasium.spaces.Box(-1, 1, (task.policy_sizes[-1],), np.float32)
    assert env.observation_space.dtype == np.float32
    genome = np.random.default_rng(4).normal(size=task.genome_size)
    observations, rewards, info = episode(env, lambda seen: act(genome, task.policy_sizes, seen).astype(np.float32))
    assert all(env.observation_space.contains(observation) for observation in observations)
    assert not any(rewards[:-1])
    assert info["is_success"] == (rewards[-1] > 0) == (info["reward_area"] >= 0)
    env.close()


def test_success_is_told_where_there_is_a_reward():
    """An arm that is driven by a policy which a search has found."""
    result = stax.run("redundant-arm", algo="serene", budget=3_000, seed=0, workers=1)
    best = result.reward_archive.take([result.reward_archive.reward.argmax()])
    env = gymnasium.make("stax/RedundantArm-v0")
    wrapped = stax.envs.TrainingEnv(env)
    # Steered with the 64 bits that the search had, through the same environment.
    _, rewards, info = episode(
        wrapped, lambda _: act(best.genome[0], result.task.policy_sizes, env.unwrapped._observation()).astype(np.float64)
    )
    assert info["is_success"]
    assert rewards[-1] == pytest.approx(best.reward[0])


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_those_that_the_autoencoder_sees(name, tasks):
    env, task = stax.envs.make(name, observations="pictures"), tasks[name]
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (64, 64, 3), np.uint8)
    genome = np.random.default_rng(1).normal(size=task.genome_size)
    states = task.trajectory(genome)
    observation, _ = env.reset()
    np.testing.assert_array_equal(observation, task.observe_states(states[:1])[0])
    rollouts = task.evaluate(genome[None])
    np.testing.assert_array_equal(task.observe_states(states[-1:])[0], task.observe(rollouts)[0, -1])
    for _ in range(5):
        observation, _, _, _, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
    env.close()


def test_options_reach_the_environment():
    env = stax.envs.make("hard-maze", sensors="published-code", render_mode="rgb_array", render_size=32)
    assert env.observation_space.high.tolist() == [100, 100, 100, 1, 1]
    env.reset()
    assert env.render().shape == (32, 32, 3)


def test_bad_input_is_told():
    for call, words in [
        (lambda: stax.envs.make("maze"), "task must be one of 'curling', 'hard-maze', 'redundant-arm', not 'maze'"),
        (lambda: stax.envs.make("curling", observations="images"), "observations must be one of 'vector', 'pictures'"),
        (lambda: stax.envs.make("curling", sensors="lasers"), "The environment of curling cannot be made: TypeError"),
        (lambda: stax.envs.make("hard-maze", sensors="ears"), "sensors"),
        (lambda: stax.envs.TrainingEnv(gymnasium.make("CartPole-v1")), "TrainingEnv is for stax/Curling-v0"),
    ]:
        with pytest.raises(stax.InvalidInputError) as raised:
            call()
        assert words in str(raised.value)


@pytest.mark.sb3
class TestStableBaselines3:
    """With the real package."""

    @pytest.fixture(autouse=True)
    def _package(self):
        with warnings.catch_warnings():
            # Of its own dependencies, when they are imported.
            warnings.simplefilter("ignore")
            need("stable_baselines3")

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("observations", stax.envs.OBSERVATIONS)
    def test_its_checker_finds_nothing(self, name, observations):
        from stable_baselines3.common.env_checker import check_env

        # A warning would be an error here.
        check_env(stax.envs.make(name, observations=observations), warn=True)

    def test_ppo_learns_on_several_environments(self):
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env

        envs = make_vec_env(stax.envs.make, n_envs=2, env_kwargs={"task": "redundant-arm"}, seed=0)
        model = PPO("MlpPolicy", envs, n_steps=128, batch_size=64, n_epochs=2, seed=0, device="cpu")
        before = {name: value.clone() for name, value in model.policy.state_dict().items()}
        model.learn(512)
        assert model.num_timesteps == 512
        assert any((value != before[name]).any() for name, value in model.policy.state_dict().items())
        assert len(model.ep_info_buffer) > 0
        assert len(model.ep_success_buffer) > 0
        envs.close()

    def test_sac_learns(self):
        from stable_baselines3 import SAC

        env = stax.envs.make("hard-maze")
        model = SAC("MlpPolicy", env, learning_starts=100, buffer_size=1000, batch_size=32, seed=0, device="cpu").learn(200)
        action, _ = model.predict(env.reset()[0], deterministic=True)
        assert env.action_space.contains(action)

    def test_ppo_learns_from_pictures(self):
        from stable_baselines3 import PPO

        env = stax.envs.make("redundant-arm", observations="pictures")
        model = PPO("CnnPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(32)
        assert model.num_timesteps == 32


def test_every_built_in_task_has_an_environment():
    assert set(ENVIRONMENTS) == set(NAMES)
