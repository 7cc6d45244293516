"""The three tasks as Gymnasium environments, which step through the same trajectories as the compiled rollouts.

An episode ends as `terminated` at the horizon, not as `truncated`: the horizon is part of the task, since the reward is paid
there. Actions have 64 bits, because rounding them to 32 would lead to another trajectory.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stax.compiling import announcing
from stax.constraints import check_choice, check_whole
from stax.errors import InvalidInputError
from stax.tasks import hard_maze, redundant_arm
from stax.tasks.compiled import PICTURE_SIZES, CompiledTask, as_array
from stax.tasks.curling import Curling, Table
from stax.tasks.hard_maze import SENSORS, HardMaze
from stax.tasks.redundant_arm import RedundantArm
from stax.tasks.redundant_arm_physics import JOINTS, SCRATCH_SIZE, STATE_SIZE
from stax.tasks.task import area_rewards

Observation = NDArray[np.floating[Any]]
Action = NDArray[np.float64]


class TaskEnv(gymnasium.Env[Observation, Action]):
    """Base of the three environments: counts steps, pays the reward at the end, and draws."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, task: CompiledTask, render_mode: str | None, render_size: int) -> None:
        self.task = task
        self.render_mode = render_mode if render_mode is None else check_choice("render_mode", render_mode, ("rgb_array",))
        self.render_size = check_whole("render_size", render_size, *PICTURE_SIZES)
        # 64-bit actions: rounding a policy's output to 32 bits would lead to another trajectory.
        self.action_space = spaces.Box(-1.0, 1.0, (task.policy_sizes[-1],), np.float64)
        self._steps = 0
        self._ended = False
        self._trail: list[NDArray[np.float64]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        """Reset the simulation to its start, which is always the same: the seed changes nothing."""
        super().reset(seed=seed)
        with announcing(f"the simulator of {self.task.name}"):
            self._restart()
        self._steps = 0
        self._ended = False
        self._trail = [self._state().copy()]
        return self._observation(), self._info(-1)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance the simulation by one step."""
        self._check_running()
        action = self._check_action(action)
        with announcing(f"the simulator of {self.task.name}"):
            ended = self._advance(action)
        self._steps += 1
        if self.render_mode is not None:
            self._trail.append(self._state().copy())
        terminated = self._ended = ended or self._steps >= self.task.horizon
        reward, area = 0.0, -1
        if terminated:
            rewards, reward_areas = area_rewards(self._descriptor()[None], self.task.reward_areas)
            reward, area = float(rewards[0]), int(reward_areas[0])
        return self._observation(), reward, terminated, False, self._info(area)

    def render(self) -> NDArray[np.uint8] | None:
        """Return a picture for people: the scene with reward areas, start and the path so far; None without a render mode."""
        if self.render_mode is None:
            return None
        self._check_reset()
        return self.task.render(self._state(), self.render_size, trail=np.array(self._trail))

    def picture(self) -> NDArray[np.uint8]:
        """Return the picture of the current state that an autoencoder sees, (64, 64, 3)."""
        self._check_reset()
        picture: NDArray[np.uint8] = self.task.observe_states(self._state()[None])[0]
        return picture

    def _check_reset(self) -> None:
        if not self._trail:
            raise InvalidInputError("The environment has no state yet: call reset() first.")

    def _check_running(self) -> None:
        self._check_reset()
        if self._ended:
            raise InvalidInputError("The episode has ended: call reset() before the next step.")

    def _check_action(self, action: Action) -> Action:
        array = as_array("action", action)
        if array.shape != self.action_space.shape or not np.isfinite(array).all():
            raise InvalidInputError(f"action must be {self.task.policy_sizes[-1]} finite numbers, not {action!r:.80}.")
        return array

    def _descriptor(self) -> NDArray[np.float64]:
        descriptor: NDArray[np.float64] = self.task._descriptor(self._state()[None])[0]
        return descriptor

    def _info(self, reward_area: int) -> dict[str, Any]:
        return {"ground_truth": self._descriptor(), "reward_area": reward_area, "steps": self._steps}

    @abstractmethod
    def _restart(self) -> None: ...

    @abstractmethod
    def _advance(self, action: NDArray[np.float64]) -> bool: ...

    @abstractmethod
    def _state(self) -> NDArray[np.float64]: ...

    @abstractmethod
    def _observation(self) -> Observation: ...


class CurlingEnv(TaskEnv):
    """A two-link arm pushes a ball over a table.

    ## Description
    The table is 3 x 3, centred on the origin, y up, seen from above, without gravity, and has walls. The arm hangs on the middle
    of the lower side; both links are 1 long, and the second is hinged 0.1 from its own end. The ball, of radius 0.15, starts at
    rest and is slowed by damping. The physics are those of Box2D 2.3 at 60 steps a second, reproduced bit for bit.

    ## Action space
    `Box(-1, 1, (2,), float64)`: the speeds of the motors in the two joints, in rad/s. Joints stop at +-0.4 pi and +-0.9 pi.

    ## Observation space
    `Box((6,), float32)`: ball x, ball y, first joint's angle, second joint's angle, their two speeds.

    ## Reward
    0 until the last step, then (radius - distance) / radius if the ball is within a reward area: centre (0.8, 0.8) with radius
    0.4, or centre (0.8, -0.8) with radius 0.2.

    ## Start
    The ball at (-0.5, 0.2), the arm stretched upwards, all at rest. Nothing is random.

    ## End
    After 500 steps, as `terminated`: the horizon is part of the task, since the reward is paid there.

    ## Arguments
    `render_mode="rgb_array"`, `render_size=512` (pixels).

    ## Info
    `ground_truth`: the ball's position. `reward_area`: index of the area rewarded, -1 if none. `steps`: steps done.

    ## Version history
    - v0: as in "Discovering and Exploiting Sparse Rewards in a Learned Behavior Space" (Paolo et al.).
    """

    def __init__(self, render_mode: str | None = None, render_size: int = 512) -> None:
        super().__init__(Curling(threads=1), render_mode, render_size)
        # Joint speeds follow the motors but for collisions, whose kicks stay far below 100 rad/s.
        high = np.array([1.5, 1.5, np.pi, np.pi, 100.0, 100.0], np.float32)
        self.observation_space = spaces.Box(-high, high, dtype=np.float32)
        self._table = Table()

    def _restart(self) -> None:
        self._table.reset()

    def _advance(self, action: NDArray[np.float64]) -> bool:
        self._table.step(action)
        return False

    def _state(self) -> NDArray[np.float64]:
        return self._table.state

    def _observation(self) -> Observation:
        return self._table.state.astype(np.float32)


class HardMazeEnv(TaskEnv):
    """A two-wheeled robot drives through a maze with dead ends.

    ## Description
    The world is 600 x 600, y down, made of cells of side 3. The robot has a radius of 10; where it would touch a wall it turns
    but does not move.

    ## Action space
    `Box(-1, 1, (2,), float64)`: the speeds of the left and the right wheel, in world units a step.

    ## Observation space
    With `sensors="lasers"`, `Box(0, 1, (5,), float32)`: distances to the next wall at -90, -45, 0, 45 and 90 degrees, divided
    by the range of 100. With `sensors="published-code"`, `Box(0, 100, (5,), float32)`: distances at 45, 0 and -45 degrees, then
    the left and the right bumper, 0 or 1.

    ## Reward
    0 until the last step, then (radius - distance) / radius if the robot is within a reward area: centre (60, 60) at the far end
    of the maze, or centre (100, 200), both with radius 50.

    ## Start
    At (60, 450), heading pi / 4. Nothing is random.

    ## End
    After 2000 steps, as `terminated`: the horizon is part of the task, since the reward is paid there.

    ## Arguments
    `sensors="lasers"` or `"published-code"`, `render_mode="rgb_array"`, `render_size=512` (pixels).

    ## Info
    `ground_truth`: the robot's position divided by 600. `reward_area`: index of the area rewarded, -1 if none. `steps`: steps done.

    ## Version history
    - v0: as in "Discovering and Exploiting Sparse Rewards in a Learned Behavior Space" (Paolo et al.).
    """

    def __init__(self, sensors: str = "lasers", render_mode: str | None = None, render_size: int = 512) -> None:
        task = HardMaze(sensors=sensors, threads=1)
        super().__init__(task, render_mode, render_size)
        high = np.array([1.0] * 5 if sensors == "lasers" else [100.0] * 3 + [1.0] * 2, np.float32)
        self.observation_space = spaces.Box(np.zeros(5, np.float32), high, dtype=np.float32)
        self._sensors = SENSORS[sensors]
        self._robot = np.empty(hard_maze.STATE_SIZE)

    def _restart(self) -> None:
        hard_maze.begin(self._robot, self._sensors)

    def _advance(self, action: NDArray[np.float64]) -> bool:
        hard_maze.advance(self._robot, action[0], action[1], self._sensors)
        return False

    def _state(self) -> NDArray[np.float64]:
        return self._robot

    def _observation(self) -> Observation:
        return self._robot[3:].astype(np.float32)


class RedundantArmEnv(TaskEnv):
    """A planar arm of 20 joints moves among walls, and must not touch itself.

    ## Description
    The arm is 1 long and starts at the centre of the unit square, y up. Each joint's angle is relative to the link before it. Four
    short walls stand in the middle of the square's sides.

    ## Action space
    `Box(-1, 1, (20,), float64)`: the torques of the joints.

    ## Observation space
    `Box((20,), float64)`: the joints' angles divided by pi.

    ## Reward
    0 until the last step, then (radius - distance) / radius if the end effector is within a reward area: centre (0.25, 0.25),
    (0.85, 0.85) or (0.25, 0.90), radius 0.05.

    ## Start
    A spiral: angles fall linearly from 4 pi / 20 to pi / 20, at rest. Nothing is random.

    ## End
    After 100 steps, or before a movement that would bring a joint out of the square or into a wall, two joints too close to each
    other, or the arm's end to more than its greatest speed; always as `terminated`.

    ## Arguments
    `render_mode="rgb_array"`, `render_size=512` (pixels).

    ## Info
    `ground_truth`: the end effector's position. `reward_area`: index of the area rewarded, -1 if none. `steps`: steps done.

    ## Version history
    - v0: as in "Discovering and Exploiting Sparse Rewards in a Learned Behavior Space" (Paolo et al.).
    """

    def __init__(self, render_mode: str | None = None, render_size: int = 512) -> None:
        super().__init__(RedundantArm(threads=1), render_mode, render_size)
        # A joint gains at most 0.01 rad/s a step, so that its angle stays well below a turn and a half.
        self.observation_space = spaces.Box(-3.0, 3.0, (JOINTS,), np.float64)
        self._arm = np.empty(STATE_SIZE)
        self._scratch = np.empty(SCRATCH_SIZE)

    def _restart(self) -> None:
        redundant_arm.begin(self._arm)

    def _advance(self, action: NDArray[np.float64]) -> bool:
        return bool(redundant_arm.advance(self._arm, np.clip(action, -1.0, 1.0), self._scratch))

    def _state(self) -> NDArray[np.float64]:
        return self._arm

    def _observation(self) -> Observation:
        return self._arm[:JOINTS] / np.pi
