"""Any Gymnasium environment as a task: `stax run gym:MountainCarContinuous-v0`.

A state of such an environment cannot be drawn by itself. So the task defines `film`, which plays an episode again and renders
it, instead of `render`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.constraints import check_choice, check_whole
from stax.errors import InvalidInputError, in_one_line
from stax.tasks.gymnasium_finding import cannot_render, find_environment, make_environment
from stax.tasks.gymnasium_networks import ConvolutionalNetwork, DenseNetwork, Network
from stax.tasks.gymnasium_options import (
    check_areas,
    check_bounds,
    check_filters,
    check_hidden,
    check_indices,
    check_number,
    check_picture_side,
    check_samples,
    check_table,
    check_words,
)
from stax.tasks.gymnasium_rollouts import OVER, SIDE_BY_SIDE, Environment, EpisodeRunner, Look, RewardRule, Truth
from stax.tasks.gymnasium_spaces import MOST_INPUTS, ActionWriter, ObservationReader
from stax.tasks.picture_scaling import fitted, squeezed
from stax.tasks.task import Picture, RewardArea, Rollouts, States, Task, check_genomes

PICTURE_SIDE = 64
MOST_EPISODES = 1000
MOST_STEPS = 10_000_000
_DEFAULT_AREA_NAME = "goal"


class GymnasiumTask(Task):
    """A Gymnasium environment; the policy is a network that is given its observation and acts at every step.

    An episode begins with `reset(seed=...)`, so a policy does the same whenever it is evaluated. If there are several episodes, the
    reward is their mean, and all else is of the first one.

    Args:
        environment: its id, or `module:id` if a module registers it.
        make: keywords for `gymnasium.make`.
        reset: options for the environment's `reset`.
        horizon: steps of an episode at most; the environment's own (`spec.max_episode_steps`) if None.
        hidden: neurons of the policy network's hidden layers, a number or several; None for no such layer.
        policy: "dense", a fully connected network of a vector; "convolutional", one of a picture; or "auto", convolutional if the
            observation is a picture that is too large for a vector.
        filters: how many filters each layer of a convolutional policy has, a number or several.
        picture_side: pixels of each side of the picture that a convolutional policy is given.
        inputs: "raw", observations as they are; or "scaled", those numbers that have finite bounds spread over -1 to 1.
        observation_key: of an observation that is a Dict, the entry or the entries that the policy is given; all if None.
        observe: what an autoencoder sees: "vector", what the policy is given, a picture if it is convolutional; or "pictures",
            renderings scaled to 64 x 64.
        observe_indices: which numbers of that vector it sees; all if None.
        samples: how many times it looks, evenly spread over the horizon; or a list: after how many steps. An episode that ends
            before goes on looking as it ended.
        episodes: how many a policy is evaluated in.
        seed: of the first episode; each following one has the next.
        reward: "return", the sum of the environment's rewards, or a key of `info`, such as "success". Below 0 counts as 0.
        reward_over: of the values that this key has in an episode, the "last", the "max" or the "sum".
        reward_offset: is added to an episode's reward before it is compared with 0.
        ground_truth: indices of the last observation, or keys of the last `info`; None for no ground-truth descriptor.
        ground_truth_key: of an observation that is a Dict, the entry that the indices are of; `observation_key` if None.
        ground_truth_bounds: pairs of a lowest and a highest value, what is beyond counts as there; of indices the observation
            space's if None.
        reward_areas: tables of a `name`, a `center` in the ground truth and a `radius`: a rewarded policy belongs to the area that
            it ended in or nearest to. None for a single one.
    """

    choices = MappingProxyType(
        {
            "inputs": ("raw", "scaled"),
            "policy": ("auto", "dense", "convolutional"),
            "observe": ("vector", "pictures"),
            "reward_over": OVER,
        }
    )

    def __init__(
        self,
        environment: str,
        /,
        *,
        make: Mapping[str, Any] | None = None,
        reset: Mapping[str, Any] | None = None,
        horizon: int | None = None,
        hidden: int | Sequence[int] | None = (5, 5),
        policy: str = "auto",
        filters: int | Sequence[int] = (4, 4, 4),
        picture_side: int = 32,
        inputs: str = "raw",
        observation_key: str | Sequence[str] | None = None,
        observe: str = "vector",
        observe_indices: int | Sequence[int] | None = None,
        samples: int | Sequence[int] = 5,
        episodes: int = 1,
        seed: int = 0,
        reward: str = "return",
        reward_over: str = "last",
        reward_offset: float = 0.0,
        ground_truth: Any = None,
        ground_truth_key: str | None = None,
        ground_truth_bounds: Any = None,
        reward_areas: Any = None,
    ) -> None:
        self.name = f"gym:{environment}"
        self._spec = find_environment(environment)
        self._id = self._spec.id
        self._keywords = check_table("make", "keywords for the environment", make)
        start = check_table("reset", "options for the environment's reset", reset) or None
        self.horizon = self._check_horizon(horizon)
        env = self._new_environment()
        self._render_modes = list(env.metadata.get("render_modes") or [])
        keys = check_words("observation_key", observation_key)
        sees = check_choice("policy", policy, self.choices["policy"])
        reader = self._make_reader(env, keys, sees, check_picture_side(picture_side))
        writer = ActionWriter(self._id, env.action_space)
        network = _make_network(reader, check_filters(filters), (*check_hidden(hidden), writer.size))
        self.genome_size = network.genome_size
        self.policy_sizes = network.sizes if reader.side is None else None
        look = self._make_look(check_choice("observe", observe, self.choices["observe"]), observe_indices, samples, reader)
        self.observation_samples = len(look.steps)
        self._observes_renderings = look.picture is not None
        truth = self._make_truth(env, ground_truth, ground_truth_key, ground_truth_bounds, keys)
        self.ground_truth_bounds = None if truth is None else tuple(zip(truth.low.tolist(), truth.high.tolist(), strict=True))
        self.ground_truth_names = None if truth is None else truth.names()
        self.reward_areas = self._make_areas(reward_areas)
        first = check_whole("seed", seed, 0, 2**31 - 1)
        self._runner = EpisodeRunner(
            self._id,
            lambda: self._new_environment(render=look.picture is not None),
            reader,
            writer,
            network=network,
            scaling=_input_scaling(reader) if check_choice("inputs", inputs, self.choices["inputs"]) == "scaled" else None,
            seeds=tuple(first + number for number in range(check_whole("episodes", episodes, 1, MOST_EPISODES))),
            start=start,
            horizon=self.horizon,
            look=look,
            reward=self._reward_rule(reward, reward_over, reward_offset),
            truth=truth,
            # Environments that draw may share what they draw with, and drawing takes longer than the networks.
            side_by_side=SIDE_BY_SIDE if look.picture is None else 1,
        )
        self._check_first_step(env, reader, writer, first, start)

    # What the options come to

    def _new_environment(self, *, render: bool = False) -> Environment:
        if render and "rgb_array" not in self._render_modes:
            raise InvalidInputError(cannot_render(self._id, self._render_modes))
        return make_environment(self._spec, self._keywords, self.horizon, render=render)

    def _check_horizon(self, given: int | None) -> int:
        if given is not None:
            return check_whole("horizon", given, 1, MOST_STEPS)
        if self._spec.max_episode_steps is None:
            raise InvalidInputError(
                f"Environment {self._id!r} does not say how many steps an episode has at most; give a horizon, --set task.horizon=N."
            )
        return int(self._spec.max_episode_steps)

    def _make_reader(self, env: Environment, keys: tuple[str, ...], policy: str, side: int) -> ObservationReader:
        """Return what turns observations into the vector or the picture that a policy is given."""
        reader = ObservationReader(self._id, env.observation_space, keys)
        is_large_picture = reader.picture_shape is not None and reader.size > MOST_INPUTS
        if policy == "convolutional" or (policy == "auto" and is_large_picture):
            return ObservationReader(self._id, env.observation_space, keys, picture_side=side)
        reader.check_size()
        return reader

    def _make_look(self, observe: str, indices: Any, samples: Any, reader: ObservationReader) -> Look:
        steps = check_samples(samples, self.horizon)
        seen = check_indices("observe_indices", indices, reader.size)
        if observe == "vector" and reader.side is not None:
            if indices is not None:
                raise InvalidInputError(
                    "observe_indices is for policies that are given a vector, and means nothing for a picture."
                )
            self.observation_shape, self.observation_dtype = (reader.side, reader.side, 3), "uint8"
            return Look(steps, seen, convert=reader.picture)
        if observe == "vector":
            self.observation_shape, self.observation_dtype = (len(seen),), "float32"
            return Look(steps, seen)
        if indices is not None:
            raise InvalidInputError("observe_indices is for observe 'vector', and means nothing for 'pictures'.")
        self.observation_shape, self.observation_dtype = (PICTURE_SIDE, PICTURE_SIDE, 3), "uint8"
        return Look(steps, seen, lambda drawn: squeezed(self._rendered(drawn), PICTURE_SIDE))

    def _make_truth(self, env: Environment, given: Any, key: str | None, bounds: Any, keys: tuple[str, ...]) -> Truth | None:
        if given is None:
            if bounds is not None or key is not None:
                name = "ground_truth_key" if bounds is None else "ground_truth_bounds"
                raise InvalidInputError(f"{name} is for a ground truth; say which numbers that is with ground_truth.")
            return None
        pairs = check_bounds(bounds)
        entries = (given,) if isinstance(given, (str, int)) else tuple(given)
        if entries and all(isinstance(entry, str) for entry in entries):
            if pairs is None:
                raise InvalidInputError(
                    f"ground_truth_bounds is needed, since Gymnasium does not say what bounds {entries[0]!r} of info has."
                )
            return Truth(*pairs, keys=entries)
        reader = ObservationReader(self._id, env.observation_space, check_words("ground_truth_key", key) or keys)
        indices = check_indices("ground_truth", entries, reader.size)
        if pairs is None:
            unbounded = [int(index) for index in indices if not reader.bounded(index)]
            if unbounded:
                raise InvalidInputError(
                    f"ground_truth_bounds is needed, since the observation space of {self._id!r} has no finite bounds for number"
                    f" {unbounded[0]}."
                )
            pairs = reader.low[indices], reader.high[indices]
        if len(pairs[0]) != len(indices):
            raise InvalidInputError(
                f"ground_truth_bounds must have a pair for each of the {len(indices)} numbers of ground_truth, not {len(pairs[0])}."
            )
        return Truth(*pairs, reader=reader, indices=indices)

    def _make_areas(self, given: Any) -> tuple[RewardArea, ...]:
        if given is None:
            return (RewardArea(_DEFAULT_AREA_NAME),)
        if self.ground_truth_bounds is None:
            raise InvalidInputError("reward_areas are places in the ground truth; say what that is with ground_truth.")
        return check_areas(given, len(self.ground_truth_bounds))

    def _reward_rule(self, key: Any, over: Any, offset: Any) -> RewardRule:
        if not isinstance(key, str) or not key:
            raise InvalidInputError(f"reward must be 'return' or a key of info, such as 'success', not {key!r}.")
        check_choice("reward_over", over, OVER)
        if key == "return" and over != "last":
            raise InvalidInputError(
                f"reward_over is for a key of info; the reward 'return' is a sum anyway, so {over!r} means nothing."
            )
        return RewardRule(None if key == "return" else key, over, check_number("reward_offset", offset))

    def _check_first_step(
        self, env: Environment, reader: ObservationReader, writer: ActionWriter, seed: int, start: dict[str, Any] | None
    ) -> None:
        """Do one step, so that an environment that cannot be used is reported before anything begins."""
        vector = np.empty(reader.size)
        try:
            reader.read(env.reset(seed=seed, options=start)[0], vector)
            outcome = env.step(writer.actions(np.zeros((1, writer.size)))[0])
            if not isinstance(outcome, tuple) or len(outcome) != 5:
                count = len(outcome) if isinstance(outcome, tuple) else 1
                raise InvalidInputError(
                    f"Environment {self._id!r} broke its contract: step must return five things (observation, reward, terminated,"
                    f" truncated, info), not {count}."
                )
            reader.read(outcome[0], vector)
            float(outcome[1])
            if self._observes_renderings:
                self._check_drawing(seed, start)
        except (InvalidInputError, KeyboardInterrupt):
            raise
        except BaseException as error:  # an environment may raise anything
            raise InvalidInputError(f"Environment {self._id!r} failed at its first step: {in_one_line(error)}.") from error
        finally:
            env.close()

    def _check_drawing(self, seed: int, start: dict[str, Any] | None) -> None:
        drawn = self._new_environment(render=True)
        try:
            drawn.reset(seed=seed, options=start)
            self._rendered(drawn)
        finally:
            drawn.close()

    # What a task does

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        array = check_genomes(genomes, self.genome_size)
        shape = (len(array), self.observation_samples, *self.observation_shape)
        outcomes = self._runner.run(array, np.empty(shape, self.observation_dtype))
        reward = outcomes.reward.mean(axis=1)
        truth = None if self.ground_truth_bounds is None else outcomes.truth
        return Rollouts(
            reward=reward,
            reward_area=np.where(reward > 0, self._nearest_areas(outcomes.truth), -1),
            steps=outcomes.steps,
            snapshots=outcomes.snapshots,
            ground_truth=truth,
        )

    def _nearest_areas(self, truth: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return for each place the number of the area that it is deepest in, or nearest to."""
        if len(self.reward_areas) == 1:
            return np.zeros(len(truth), np.int64)
        outside = [
            np.sqrt(((truth - np.array(area.center)) ** 2).sum(axis=1)) - float(area.radius or 0.0)
            for area in self.reward_areas
        ]
        nearest: NDArray[np.int64] = np.argmin(outside, axis=0)
        return nearest

    def actor(self, genome: ArrayLike) -> Callable[[Any], Any]:
        """Return a policy as a function from an observation of the environment to its action.

        Args:
            genome: the policy's genome, (genome_size,).
        """
        return self._runner.actor(self._checked_genome(genome))

    def trajectory(self, genome: ArrayLike) -> States:
        """Return what the policy was given, step by step."""
        return np.array(list(self._runner.moments(self._checked_genome(genome))))

    def film(self, genome: ArrayLike, steps: Sequence[int], size: int = 512) -> Iterator[Picture]:
        one = self._checked_genome(genome)
        drawn = self._new_environment(render=True)
        yielded = 0
        for step, _ in enumerate(self._runner.moments(one, drawn)):
            if step == 0 or step in steps:
                picture = fitted(self._rendered(drawn), size)
            if step in steps:
                yielded += 1
                yield picture
        # An environment with random numbers of its own may end earlier this time: its last picture stays.
        yield from [picture] * (len(steps) - yielded)

    def _checked_genome(self, genome: ArrayLike) -> NDArray[np.float64]:
        one: NDArray[np.float64] = check_genomes(np.asarray(genome)[None], self.genome_size)[0]
        return one

    def _rendered(self, env: Environment) -> Picture:
        """Return what an environment renders; raise `InvalidInputError` if rendering fails or gives no picture."""
        try:
            picture: Any = env.render()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # above all, a package for drawing is missing
            raise InvalidInputError(f"Environment {self._id!r} cannot be drawn: {' '.join(str(error).split())}.") from error
        if (
            not isinstance(picture, np.ndarray)
            or picture.dtype != np.uint8
            or picture.ndim != 3
            or picture.shape[2] not in (3, 4)
        ):
            shape = f"{picture.dtype} of shape {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
            raise InvalidInputError(
                f"Environment {self._id!r} broke its contract: render must give uint8 of shape (height, width, 3), not {shape}."
            )
        return picture[:, :, :3]


def _make_network(reader: ObservationReader, filters: tuple[int, ...], behind: tuple[int, ...]) -> Network:
    if reader.side is None or reader.picture_shape is None:
        return DenseNetwork((reader.size, *behind))
    return ConvolutionalNetwork(reader.side, reader.picture_shape[2], filters, behind)


def _input_scaling(reader: ObservationReader) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factor and the shift that spread numbers with bounds over -1 to 1, and leave the others as they are."""
    bounded = np.array([reader.bounded(index) and reader.low[index] < reader.high[index] for index in range(reader.size)])
    low, high = np.where(bounded, reader.low, -1.0), np.where(bounded, reader.high, 1.0)
    return 2 / (high - low), -(high + low) / (high - low)
