"""Environments of Gymnasium's kind, sound and unsound, for the tests of environments as tasks; importing this registers them."""

from __future__ import annotations

import os
import signal

import gymnasium
import numpy as np
from gymnasium import spaces


class Walk(gymnasium.Env):
    """A point is pushed over a plane, with some noise; an episode ends beyond x = 2.

    Args:
        trouble: what goes wrong once the point is beyond `where`.
        observes, acts: which sort of spaces it has.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, trouble="", where=0.2, observes="box", acts="box", gain=0.3, render_mode=None):
        self.trouble, self.where, self.observes, self.acts, self.gain = trouble, where, observes, acts, gain
        self.render_mode = render_mode
        box = spaces.Box(np.array([-2, -2, -np.inf]), np.array([4, 4, np.inf]), dtype=np.float64)
        self.observation_space = {
            "box": box,
            "dict": spaces.Dict({"place": box, "goal": spaces.Box(0, 1, (2, 1), np.float32), "side": spaces.Discrete(3)}),
            "tuple": spaces.Tuple([box]),
            "nested": spaces.Dict(
                {
                    "body": spaces.Dict({"place": box, "side": spaces.Discrete(3)}),
                    "rest": spaces.Tuple([spaces.MultiBinary(3), spaces.Box(0, 1, (2, 1), np.float32)]),
                }
            ),
            "text": spaces.Dict({"place": box, "words": spaces.Text(5)}),
            "pixels": spaces.Box(0, 255, (72, 96, 3), np.uint8),
            "frames": spaces.Box(0, 255, (4, 72, 96), np.uint8),
            "discrete": spaces.Discrete(4, start=1),
            "many": spaces.MultiDiscrete([2, 3]),
            "binary": spaces.MultiBinary(3),
            "huge": spaces.Box(0, 1, (100, 100), np.float32),
        }[observes]
        self.action_space = {
            "box": spaces.Box(np.array([-1, -0.5], np.float32), np.array([1, 1.5], np.float32)),
            "whole": spaces.Box(-2, 2, (2,), np.int64),
            "free": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "discrete": spaces.Discrete(3, start=-1),
            "many": spaces.MultiDiscrete([3, 2]),
            "binary": spaces.MultiBinary(2),
            "dict": spaces.Dict(
                {"push": spaces.Discrete(2), "turn": spaces.Tuple([spaces.Box(-1, 1, (2,)), spaces.MultiBinary(2)])}
            ),
            "text": spaces.Text(3),
        }[acts]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.place = self.np_random.normal(scale=0.01, size=2) + (options or {}).get("start", 0.0)
        self.far = 0.0
        return self._observation(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        push = np.resize(np.asarray(action["turn"][0] if self.acts == "dict" else action, np.float64), 2)
        self.place = self.place + self.gain * push + self.np_random.normal(scale=0.02, size=2)
        self.steps += 1
        self.far = max(self.far, float(abs(self.place[1])))
        if self.place[0] > self.where:
            self._go_wrong()
        four = self.trouble == "four things"
        reward = float("nan") if self.trouble == "nan reward" else float(self.place[0] > 1) - 0.01
        ended = bool(self.place[0] > 2)
        info = {"far": self.far, "success": bool(self.place[0] > 1), "place": self.place.copy()}
        return (self._observation(), reward, ended, info) if four else (self._observation(), reward, ended, False, info)

    def _go_wrong(self):
        if self.trouble == "no number":
            self.place[1] = np.nan
        if self.trouble == "raise":
            raise ValueError("the floor is missing")
        if self.trouble == "kill":
            os.kill(os.getpid(), signal.SIGKILL)

    def _observation(self):
        vector = np.array([*self.place, self.steps / 10])
        if self.trouble == "other shape" and self.steps > 2:
            return vector[:2]
        side = int(np.digitize(vector[0], [-0.5, 0.5]))
        return {
            "box": vector,
            "dict": {"place": vector, "goal": np.full((2, 1), 0.5, np.float32), "side": side},
            "tuple": (vector,),
            "nested": {
                "body": {"place": vector, "side": side},
                "rest": (np.array([1, 0, side == 0], np.int8), np.full((2, 1), 0.5, np.float32)),
            },
            "text": {"place": vector, "words": "walk"},
            "pixels": self._pixels(),
            "frames": np.repeat(self._pixels()[None, :, :, 1], 4, axis=0),
            "discrete": side + 1,
            "many": np.array([side % 2, side]),
            "binary": np.array([side == 0, side == 1, side == 2], np.int8),
            "huge": np.zeros((100, 100), np.float32),
        }[self.observes]

    def _pixels(self):
        picture = np.full((72, 96, 3), 255, np.uint8)
        place = np.nan_to_num(self.place)
        row, column = int(np.clip(36 + 20 * place[1], 4, 67)), int(np.clip(40 + 20 * place[0], 4, 91))
        picture[row - 4 : row + 5, column - 4 : column + 5] = (214, 40, 40)
        return picture

    def render(self):
        if self.trouble == "no brush":
            raise gymnasium.error.DependencyNotInstalled("there is nothing to draw with")
        picture = np.full((40, 60, 3), 255, np.uint8)
        row, column = np.clip(20 + 10 * self.place[1], 0, 39), np.clip(20 + 10 * self.place[0], 0, 59)
        picture[int(row) - 2 : int(row) + 3, int(column) - 2 : int(column) + 3] = (214, 40, 40)
        return picture.astype(np.float64) if self.trouble == "no picture" else picture


class UnseededWalk(Walk):
    """The noise has random numbers of its own, which no seed reaches."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.np_random = np.random.default_rng()
        return self._observation(), {}


class StillWalk(Walk):
    """There is no noise: every seed does the same."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=0, options=options)
        return self._observation(), {}


class Lesson(gymnasium.Env):
    """A world of one number, of which everything can be said beforehand.

    Args:
        pays: which sort of rewards an episode of three steps has.
        sees: whether what is observed depends on the policy.
    """

    observation_space = spaces.Box(-10, 10, (2,), np.float64)
    action_space = spaces.Box(-1, 1, (1,), np.float64)

    def __init__(self, pays="rare", sees=True):
        self.pays, self.sees = pays, sees

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0.0
        return np.zeros(2), {}

    def step(self, action):
        self.place += float(action[0])
        reward = {"rare": self.place - 2.9, "never": self.place - 4, "dense": self.place + 4}[self.pays]
        return np.array([self.place, 1.0]) * self.sees, reward, False, False, {}


class BlindWalk(Walk):
    metadata = {"render_modes": ["human"]}  # noqa: RUF012


def _register(name, horizon=20, entry_point="gymnasium_worlds:Walk", **keywords):
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point, max_episode_steps=horizon, kwargs=keywords)


_register("Walk-v0")
_register("Endless-v0", horizon=None)
_register("Unseeded-v0", entry_point="gymnasium_worlds:UnseededWalk")
_register("Still-v0", entry_point="gymnasium_worlds:StillWalk")
_register("Lesson-v0", horizon=3, entry_point="gymnasium_worlds:Lesson")
_register("Blind-v0", entry_point="gymnasium_worlds:BlindWalk")
_register("Missing-v0", entry_point="no_such_package:World")
_register("Unmakable-v0", observes="nothing")
