"""Episodes of many policies in a few environments, stepped together and refilled as they end.

Environments that lie side by side share one pass through the policy networks, but they are stepped one by one. Gymnasium's
`SyncVectorEnv` has to step all rows until the last one ends, and spends most of a cheap step on joining the results of the
rows: MountainCar does 62,000 steps a second in it with random actions, and 123,000 here, networks included (`stax bench`, 2
cores). As soon as an episode ends, the next policy takes its place.

The outcome of an episode does not depend on its neighbours: each begins with `reset(seed=...)`, and each network computes for
itself. Gymnasium's time limit and checks are removed from the environments, because they cost time at every step; steps are
counted here.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from stax.compiling import announcing
from stax.errors import InvalidInputError
from stax.tasks.gymnasium_networks import Network
from stax.tasks.gymnasium_spaces import ActionWriter, ObservationReader
from stax.tasks.task import Genomes, Picture

Environment = gymnasium.Env[Any, Any]
SIDE_BY_SIDE = 16
"""Environments that share a pass through the networks; more of them gain nothing."""
_SIDE_BY_SIDE_IF_SLOW = 4
"""Environments that share a pass through the networks if they are slow to make."""
_SLOW_TO_MAKE = 0.01
"""Seconds from which on an environment counts as slow to make. This changes no result."""
OVER = ("last", "max", "sum")
"""How an episode's reward is computed from the values that `info` has step by step."""


class BrokenEnvironmentError(RuntimeError):
    """An environment gave nan or infinity. This policy alone may be the cause, so the others need not fail with it."""


@dataclass(frozen=True, eq=False)
class Look:
    """What an autoencoder sees of an episode."""

    steps: NDArray[np.int64]
    """After how many steps it looks, ascending, from 1."""
    indices: NDArray[np.int64]
    """Which numbers of the observation it sees."""
    picture: Callable[[Environment], Picture] | None = None
    """Draws an environment instead; None for numbers."""
    convert: Callable[[NDArray[np.float64]], NDArray[Any]] | None = None
    """Turns the vector that the policy is given into what is seen; None for the numbers of `indices`."""

    def take(self, env: Environment, vector: NDArray[np.float64]) -> NDArray[Any]:
        """Return what is seen of an environment whose policy is given this vector."""
        if self.picture is not None:
            return self.picture(env)
        return vector[self.indices] if self.convert is None else self.convert(vector)


@dataclass(frozen=True)
class RewardRule:
    """How the reward of an episode is computed."""

    key: str | None = None
    """The key of `info` with the reward; None for the sum of the environment's rewards."""
    over: str = "last"
    """Which of the values in `info` counts, one of `OVER`."""
    offset: float = 0.0
    """Added to it; what is below 0 then counts as 0."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The ground-truth descriptor of an episode: numbers of its last observation, or of its last `info`."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    reader: ObservationReader | None = None
    indices: NDArray[np.int64] | None = None
    """Indices among the numbers that the reader reads."""
    keys: tuple[str, ...] = ()
    """Keys of `info`, if there is no reader."""

    def names(self) -> tuple[str, ...] | None:
        """Return a name for each number: its key of `info`, or its place in the observation; None if that is not known."""
        if self.indices is not None:
            return tuple(f"observation {index}" for index in self.indices)
        if len(self.keys) == 1 < len(self.low):
            return tuple(f"{self.keys[0]} {number}" for number in range(len(self.low)))
        return self.keys if len(self.keys) == len(self.low) else None


@dataclass(eq=False)
class Outcomes:
    """What n policies came to; all but the rewards are of their first episodes."""

    reward: NDArray[np.float64]
    """(n, episodes)"""
    steps: NDArray[np.int64]
    snapshots: NDArray[Any]
    truth: NDArray[np.float64]
    """(n, d)"""


class _Slot:
    """An environment, and the episode that it is in the middle of."""

    __slots__ = ("done", "due", "env", "episode", "followed", "look", "policy", "step", "total")

    def __init__(self, env: Environment) -> None:
        self.env, self.step = env, env.step
        self.policy = self.episode = self.done = self.look = 0
        self.due = -1
        """Steps after which the next look is due; -1 for none."""
        self.total: Any = 0.0
        self.followed: float | None = None
        """The reward by the values in `info` so far; None if there was none."""


class EpisodeRunner:
    """Runs the episodes of policies. It keeps its environments, so that a next batch finds them made.

    Args:
        name: the environment's id, for messages.
        make: makes an environment.
        reader, writer: between the environment and the networks.
        network: what policies are.
        scaling: factor and shift of every input; None for observations as they are.
        seeds: of the episodes of every policy.
        start: options for every `reset`.
        horizon: steps of an episode at most.
        look, reward, truth: what is noted of an episode; no truth for None.
        side_by_side: environments that are stepped together at most.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Environment],
        reader: ObservationReader,
        writer: ActionWriter,
        *,
        network: Network,
        scaling: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
        seeds: tuple[int, ...],
        start: dict[str, Any] | None,
        horizon: int,
        look: Look,
        reward: RewardRule,
        truth: Truth | None,
        side_by_side: int = SIDE_BY_SIDE,
    ) -> None:
        self._name, self._make, self._reader, self._writer = name, make, reader, writer
        self._network, self._scaling = network, scaling
        self._seeds, self._start, self._horizon = seeds, start, horizon
        self._look, self._reward, self._truth = look, reward, truth
        self._side_by_side = side_by_side
        self._slots: list[_Slot] = []

    def close(self) -> None:
        """Close all environments; the next batch makes new ones."""
        slots, self._slots = self._slots, []
        for slot in slots:
            slot.env.close()

    def run(self, genomes: Genomes, snapshots: NDArray[Any]) -> Outcomes:
        """Run all episodes of all policies.

        Args:
            genomes: the policies, (n, genome_size).
            snapshots: array that the observations for an autoencoder are written to, (n, looks, ...).
        """
        outcomes = Outcomes(
            reward=np.empty((len(genomes), len(self._seeds))),
            steps=np.empty(len(genomes), np.int64),
            snapshots=snapshots,
            truth=np.empty((len(genomes), 0 if self._truth is None else len(self._truth.low))),
        )
        try:
            self._run(genomes, outcomes)
        except BaseException:
            # After an error the environments may be in any state.
            self.close()
            raise
        return outcomes

    def _run(self, genomes: Genomes, outcomes: Outcomes) -> None:
        episodes = len(genomes) * len(self._seeds)
        self._make_slots(episodes)
        size = min(self._side_by_side, episodes)
        vectors, rows, forward = self._prepare_networks(genomes, size)
        waiting = iter(range(episodes))
        busy = self._slots[:size]
        for place, slot in enumerate(busy):
            self._begin(slot, next(waiting), vectors[place])
            rows[place] = slot.policy
        while busy:
            ended = self._step(busy, forward(len(busy)), vectors, outcomes)
            for place, observation, info in reversed(ended):
                slot = busy[place]
                self._finish(slot, observation, info, vectors[place], outcomes)
                following = next(waiting, None)
                if following is not None:
                    self._begin(slot, following, vectors[place])
                    rows[place] = slot.policy
                    continue
                # No episode is left for this slot: the last busy slot takes its place, so that the busy slots stay side by side.
                last = busy.pop()
                if last is not slot:
                    busy[place] = last
                    vectors[place], rows[place] = vectors[len(busy)], rows[len(busy)]

    def _make_slots(self, count: int) -> None:
        """Make environments for so many episodes, up to the number that are stepped together.

        That number is lowered if an environment is slow to make: a step of it is then likely to take longer than a network, too.
        """
        while len(self._slots) < min(count, self._side_by_side):
            began = time.perf_counter()
            self._slots.append(_Slot(self._make()))
            if time.perf_counter() - began > _SLOW_TO_MAKE:
                self._side_by_side = min(self._side_by_side, _SIDE_BY_SIDE_IF_SLOW)

    def _prepare_networks(
        self, genomes: Genomes, size: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], Callable[[int], Any]]:
        """Return arrays for observations and for the row of each one's genome, and a function that returns the first n actions."""
        vectors, rows = np.empty((size, self._reader.size)), np.zeros(size, np.int64)
        inputs = vectors if self._scaling is None else np.empty_like(vectors)
        outputs = np.empty((size, self._writer.size))

        def forward(count: int) -> Any:
            if self._scaling is not None:
                np.multiply(vectors[:count], self._scaling[0], out=inputs[:count])
                inputs[:count] += self._scaling[1]
            self._network.act_each(genomes, rows[:count], inputs[:count], outputs[:count])
            return self._writer.actions(outputs[:count])

        with announcing("the policy network"):
            self._network.act_each(genomes, rows[:0], inputs[:0], outputs[:0])
        return vectors, rows, forward

    def _begin(self, slot: _Slot, number: int, vector: NDArray[np.float64]) -> None:
        slot.policy, slot.episode = divmod(number, len(self._seeds))
        slot.done = slot.look = 0
        slot.total, slot.followed = 0.0, None
        slot.due = int(self._look.steps[0]) if slot.episode == 0 else -1
        observation, _ = slot.env.reset(seed=self._seeds[slot.episode], options=copy.deepcopy(self._start))
        self._reader.read(observation, vector)
        if not np.isfinite(vector).all():
            raise BrokenEnvironmentError(self._not_finite_message("its observation", slot))

    def _step(
        self, busy: list[_Slot], actions: Any, vectors: NDArray[np.float64], outcomes: Outcomes
    ) -> list[tuple[int, Any, dict[str, Any]]]:
        """Do one step in every busy slot; return the place, last observation and last info of those whose episode has ended."""
        read, horizon, follows = self._reader.read, self._horizon, self._reward.key is not None and self._reward.over != "last"
        ended = []
        for place, slot in enumerate(busy):
            observation, reward, terminated, truncated, info = slot.step(actions[place])
            vector = vectors[place]
            read(observation, vector)
            slot.total += reward
            slot.done += 1
            if follows:
                self._follow_info(slot, info)
            if slot.done == slot.due:
                self._take_looks(slot, vector, outcomes.snapshots)
            if terminated or truncated or slot.done >= horizon:
                ended.append((place, observation, info))
        if not np.isfinite(vectors[: len(busy)]).all():
            wrong = int(np.flatnonzero(~np.isfinite(vectors[: len(busy)]).all(axis=1))[0])
            raise BrokenEnvironmentError(self._not_finite_message("its observation", busy[wrong]))
        return ended

    def _not_finite_message(self, what: str, slot: _Slot) -> str:
        return (
            f"environment {self._name!r} gave nan or infinity as {what} after {slot.done} steps with seed"
            f" {self._seeds[slot.episode]} (--set on_failure=discard goes on without such policies)"
        )

    def _follow_info(self, slot: _Slot, info: dict[str, Any]) -> None:
        value = info.get(str(self._reward.key))
        if value is None:
            return
        number = float(value)
        if slot.followed is None:
            slot.followed = number
        else:
            slot.followed = slot.followed + number if self._reward.over == "sum" else max(slot.followed, number)

    def _take_looks(self, slot: _Slot, vector: NDArray[np.float64], snapshots: NDArray[Any], *, all_left: bool = False) -> None:
        """Write the snapshots that are due, or all that are left once the episode is over."""
        steps = self._look.steps
        seen: Any = None
        while slot.look < len(steps) and (all_left or steps[slot.look] == slot.done):
            if seen is None:
                seen = self._look.take(slot.env, vector)
            snapshots[slot.policy, slot.look] = seen
            slot.look += 1
        slot.due = int(steps[slot.look]) if slot.look < len(steps) else -1

    def _finish(
        self, slot: _Slot, observation: Any, info: dict[str, Any], vector: NDArray[np.float64], outcomes: Outcomes
    ) -> None:
        reward = self._episode_reward(slot, info) + self._reward.offset
        if not np.isfinite(reward):
            raise BrokenEnvironmentError(self._not_finite_message("its reward", slot))
        outcomes.reward[slot.policy, slot.episode] = max(reward, 0.0)
        if slot.episode:
            return
        outcomes.steps[slot.policy] = slot.done
        self._take_looks(slot, vector, outcomes.snapshots, all_left=True)
        if self._truth is not None:
            place = _ground_truth(self._name, self._truth, observation, info)
            if not np.isfinite(place).all():
                raise BrokenEnvironmentError(self._not_finite_message("its ground truth", slot))
            outcomes.truth[slot.policy] = np.clip(place, self._truth.low, self._truth.high)

    def _episode_reward(self, slot: _Slot, info: dict[str, Any]) -> float:
        key = self._reward.key
        if key is None:
            return float(slot.total)
        value = info.get(key) if self._reward.over == "last" else slot.followed
        if value is None:
            raise InvalidInputError(missing_info(self._name, key, info))
        return float(value)

    def actor(self, genome: NDArray[np.float64]) -> Callable[[Any], Any]:
        """Return one policy as a function from an observation of the environment to its action."""
        vectors, _, forward = self._prepare_networks(genome[None], 1)

        def act(observation: Any) -> Any:
            self._reader.read(observation, vectors[0])
            return forward(1)[0]

        return act

    def moments(self, genome: NDArray[np.float64], env: Environment | None = None) -> Iterator[NDArray[np.float64]]:
        """Yield the observations of one policy's first episode, as rollouts have it: at the start, and after every step.

        Args:
            genome: the policy.
            env: environment to run the episode in, for callers that render it between steps; a new one if None.
        """
        slot = _Slot(self._make() if env is None else env)
        try:
            vectors, _, forward = self._prepare_networks(genome[None], 1)
            self._begin(slot, 0, vectors[0])
            slot.due = -1
            yield vectors[0].copy()
            ended: list[Any] = []
            while not ended:
                ended = self._step([slot], forward(1), vectors, _NO_OUTCOMES)
                yield vectors[0].copy()
        finally:
            slot.env.close()


_NO_OUTCOMES = Outcomes(np.empty((0, 0)), np.empty(0, np.int64), np.empty(0), np.empty((0, 0)))


def _ground_truth(name: str, truth: Truth, observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
    if truth.reader is not None:
        vector = np.empty(truth.reader.size)
        truth.reader.read(observation, vector)
        return vector[truth.indices]
    parts = []
    for key in truth.keys:
        if info.get(key) is None:
            raise InvalidInputError(missing_info(name, key, info))
        parts.append(np.asarray(info[key], np.float64).reshape(-1))
    place = np.concatenate(parts)
    if place.shape != truth.low.shape:
        raise InvalidInputError(
            f"Environment {name!r}: ground_truth_bounds has {len(truth.low)} pairs, but {', '.join(repr(key) for key in truth.keys)} of its"
            f" info {'has' if len(truth.keys) == 1 else 'have'} {len(place)} numbers."
        )
    return place


def missing_info(name: str, key: str, info: dict[str, Any]) -> str:
    """Return the message that an episode ended without a key in its `info`, with the keys that are there."""
    there = ", ".join(repr(str(other)) for other in info) or "nothing"
    return f"Environment {name!r} ended an episode without {key!r} in its info; there was {there}."
