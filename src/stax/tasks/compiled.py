"""Base class of the three built-in tasks: compiled rollouts on threads, and one scene for all pictures.

A task describes its scene as rows of shapes (`drawing.py`). The 64 x 64 observation and the picture for people are the same
rows, painted at different sizes. Small moving parts have a smallest size in pixels, so that they can be seen at 64 x 64.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.compiling import announcing, check_threads, in_slices
from stax.constraints import Number, check_choice, check_whole
from stax.errors import InvalidInputError
from stax.input_limits import LARGEST_SEED
from stax.policies import network_genome_size
from stax.tasks.drawing import (
    AREA_COLORS,
    GREY,
    WHITE,
    Shapes,
    View,
    discs,
    lines,
    new_canvas,
    paint,
    paint_scenes,
)
from stax.tasks.noise import NO_STATES, noise_states
from stax.tasks.task import (
    Observations,
    Picture,
    RewardArea,
    Rollouts,
    Scene,
    States,
    Task,
    area_rewards,
    check_genomes,
    sample_steps,
)

OBSERVATION_SIZE = 64
PICTURE_SIZES = 16, 8192
"""Smallest and largest size of a picture for people, in pixels."""
_NOISE = Number(0, 1000)
_MOST_EPISODES = 1000


class CompiledTask(Task):
    """Built-in task. A subclass defines the simulation of a slice of genomes and the shapes of its scene.

    Args:
        sensor_noise: standard deviation of the noise that is added to each number that the policy sees, in the units of that number.
        action_noise: standard deviation of the noise that is added to each number that the policy answers, within [-1, 1].
        seed: seed of the noise in the first episode; the next episodes have the next seeds.
        episodes: number of episodes of a policy, if there is noise. The reward is their mean; everything else is of the first one,
            except that the reward area is that of the first episode with a reward.
        threads: number of threads that evaluate and draw; all available ones if None. The result does not depend on it.
    """

    observation_shape = (OBSERVATION_SIZE, OBSERVATION_SIZE, 3)
    policy_sizes: tuple[int, ...]
    """Sizes of the layers of the policy network, inputs first."""
    horizon: int
    """Largest number of steps of an episode."""
    state_size: int
    """Size of a state, as `trajectory` returns and `render` takes it."""
    snapshot_size: int
    """Size of a snapshot, which is the beginning of a state."""
    view: View
    """Part of the world that pictures show."""
    ground_truth_bounds: tuple[tuple[float, float], ...]
    choices: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Allowed values of options that are words."""
    _grain: int = 16
    """Largest number of rows that a thread takes at once."""

    def __init__(
        self,
        *,
        sensor_noise: float = 0.0,
        action_noise: float = 0.0,
        seed: int = 0,
        episodes: int = 1,
        threads: int | None = None,
    ) -> None:
        self.threads = check_threads(threads)
        given = {"sensor_noise": sensor_noise, "action_noise": action_noise}
        self.noise = tuple(_NOISE.check(f"Option {name} of {self.name}", value) for name, value in given.items())
        """Standard deviations of the noise on sensors and on actions."""
        self.seed = check_whole("seed", seed, 0, LARGEST_SEED)
        self.episodes = check_whole("episodes", episodes, 1, _MOST_EPISODES)
        self.genome_size = network_genome_size(self.policy_sizes)
        self._samples = sample_steps(self.horizon, self.observation_samples)
        self._observed_background: NDArray[np.uint8] | None = None

    @property
    def is_noisy(self) -> bool:
        """Whether there is noise, so that an episode depends on its seed."""
        return any(self.noise)

    def _choose(self, option: str, given: object) -> str:
        return check_choice(f"Option {option} of {self.name}", given, self.choices[option])

    @abstractmethod
    def _simulate(
        self,
        genomes: NDArray[np.float64],
        random: NDArray[np.uint64],
        snapshots: NDArray[np.float32],
        final: NDArray[np.float64],
        steps: NDArray[np.int64],
    ) -> None:
        """Run every genome, and fill in its snapshots, its final state and its number of steps. Releases the GIL.

        `random` holds the state of each genome's generator of noise (see `stax.tasks.noise`), and is empty without noise.
        """

    @abstractmethod
    def _trace(self, genome: NDArray[np.float64], random: NDArray[np.uint64]) -> States:
        """Return all states of one genome's rollout; `random` as for `_simulate`."""

    @abstractmethod
    def _descriptor(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ground-truth descriptors (n, 2) of states (n, state_size)."""

    @abstractmethod
    def _world_point(self, descriptor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the position in the world of ground-truth descriptors (..., 2)."""

    @abstractmethod
    def _fixed_shapes(self) -> Shapes:
        """Return the shapes that never move."""

    @abstractmethod
    def places(self, snapshots: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of the moving parts, in world units: (n, parts, 2) for snapshots (n, snapshot_size)."""

    @abstractmethod
    def _moving_shapes(self, snapshots: NDArray[np.float64], *, for_people: bool) -> Shapes:
        """Return the moving shapes (n, shapes, columns) of snapshots (n, snapshot_size); all of them in pictures for people."""

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        array = check_genomes(genomes, self.genome_size)
        rollouts = self._episode(array, self.seed)
        if not self.is_noisy or self.episodes == 1:
            return rollouts
        reward, area = rollouts.reward, rollouts.reward_area
        for number in range(1, self.episodes):
            other = self._episode(array, self.seed + number)
            reward, area = reward + other.reward, np.where(area < 0, other.reward_area, area)
        return replace(rollouts, reward=reward / self.episodes, reward_area=area)

    def _episode(self, array: NDArray[np.float64], seed: int) -> Rollouts:
        """Run every genome in one episode."""
        snapshots = np.empty((len(array), self.observation_samples, self.snapshot_size), np.float32)
        final = np.empty((len(array), self.state_size))
        steps = np.empty(len(array), np.int64)
        random = self._noise_states(array, seed)

        def simulate(rows: slice) -> None:
            # A copy, since drawing changes the states, and the first row may be simulated twice.
            self._simulate(array[rows], random[rows].copy(), snapshots[rows], final[rows], steps[rows])

        what = f"the simulator of {self.name}{' with noise' if self.is_noisy else ''}"
        in_slices(simulate, len(array), threads=self.threads, grain=self._grain, what=what)
        ground_truth = self._descriptor(final)
        reward, reward_area = area_rewards(ground_truth, self.reward_areas)
        return Rollouts(reward=reward, reward_area=reward_area, steps=steps, snapshots=snapshots, ground_truth=ground_truth)

    def _noise_states(self, array: NDArray[np.float64], seed: int) -> NDArray[np.uint64]:
        if not self.is_noisy:
            return NO_STATES
        return noise_states(array, seed)

    def observe(self, rollouts: Rollouts) -> Observations:
        shape = (len(rollouts), self.observation_samples, self.snapshot_size)
        if rollouts.snapshots.shape != shape:
            raise InvalidInputError(f"Snapshots of {self.name} have the shape {shape}, not {rollouts.snapshots.shape}.")
        pictures = self.observe_states(np.reshape(rollouts.snapshots, (-1, self.snapshot_size)))
        return pictures.reshape(len(rollouts), self.observation_samples, *self.observation_shape)

    def observe_states(self, states: ArrayLike) -> NDArray[np.uint8]:
        """Draw what an autoencoder sees in these states, (n, 64, 64, 3); only the part of a state in its snapshot is used."""
        snapshots = np.asarray(states, np.float64)[:, : self.snapshot_size]
        pictures = np.empty((len(snapshots), *self.observation_shape), np.uint8)
        with announcing("the drawing of pictures"):
            if self._observed_background is None:
                self._observed_background = self._background(OBSERVATION_SIZE)
        background = self._observed_background

        def draw(rows: slice) -> None:
            paint_scenes(background, self._moving_shapes(snapshots[rows], for_people=False), self.view, pictures[rows])

        in_slices(draw, len(snapshots), threads=self.threads, grain=512, what="the drawing of pictures")
        return pictures

    def described_states(self, snapshots: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what an ideal encoder could read off the pictures: positions of the moving parts (n, samples, parts, 2)."""
        places = self.places(np.asarray(snapshots, np.float64).reshape(-1, self.snapshot_size))
        return places.reshape(*snapshots.shape[:2], *places.shape[1:])

    def trajectory(self, genome: ArrayLike) -> States:
        array = as_array("genome", genome)
        if array.ndim != 1:
            raise InvalidInputError(f"genome must be one row of {self.genome_size} numbers, not of shape {array.shape}.")
        with announcing(f"the simulator of {self.name}"):
            checked = check_genomes(array[None], self.genome_size)
            return self._trace(checked[0], self._noise_states(checked, self.seed))

    def render(
        self,
        state: ArrayLike,
        size: int = 512,
        *,
        trail: ArrayLike | None = None,
        ends: ArrayLike | None = None,
        reward_areas: bool = True,
    ) -> Picture:
        """Draw a picture for people of one state: (size, size, 3) uint8.

        Args:
            state: the numbers of one state, as `trajectory` returns them.
            size: width and height in pixels.
            trail: earlier states (n, state_size), drawn as a line through their descriptors.
            ends: ground-truth descriptors (n, 2) of the ends of policies, marked as dots.
            reward_areas: whether to show the reward areas and the start.
        """
        array = self._check_state(state)
        size = check_whole("size", size, *PICTURE_SIZES)
        with announcing("the drawing of pictures"):
            canvas = self._background(size)
            if reward_areas:
                paint(canvas, self._area_shapes(), self.view)
            if ends is not None:
                points = self._world_point(self._check_rows("ends", ends, 2))
                paint(canvas, discs(points, 0.004 * self.view.width, (31, 98, 191), opacity=0.55, least=1.0), self.view)
            if trail is not None:
                path = self._world_point(self._descriptor(self._check_rows("trail", trail, self.state_size)))
                paint(canvas, lines(path[:-1], path[1:], 0.0025 * self.view.width, (150, 90, 200), least=0.6), self.view)
            if reward_areas:
                paint(canvas, self._start_shapes(), self.view)
            paint(canvas, self._moving_shapes(array[None, : self.snapshot_size], for_people=True)[0], self.view)
        return canvas

    def scene(self, size: int = 512) -> Scene:
        """Draw the shapes that never move, and the moving parts faintly in their positions at the start."""
        size = check_whole("size", size, *PICTURE_SIZES)
        start = self._start()
        with announcing("the drawing of pictures"):
            fixed = self._background(size)
            moving = fixed.copy()
            paint(moving, self._moving_shapes(start[None, : self.snapshot_size], for_people=True)[0], self.view)
        picture = np.round(0.65 * fixed + 0.35 * moving).astype(np.uint8)
        return Scene(picture, tuple(self._descriptor(start[None])[0].tolist()))

    def picture_place(self, ground_truth: ArrayLike) -> NDArray[np.float64]:
        points = self._world_point(self._check_rows("ground_truth", ground_truth, len(self.ground_truth_bounds)))
        down = points[:, 1] - self.view.top
        across = points[:, 0] - self.view.left
        return np.stack([across, down if self.view.y_down else -down], axis=1) / self.view.width

    def _check_state(self, state: ArrayLike) -> NDArray[np.float64]:
        array = as_array("state", state)
        if array.shape != (self.state_size,) or not np.isfinite(array).all():
            raise InvalidInputError(
                f"A state of {self.name} is {self.state_size} finite numbers, not an array of shape {array.shape}"
                f"{' with nan or infinity in it' if array.shape == (self.state_size,) else ''}."
            )
        return array

    def _check_rows(self, what: str, rows: ArrayLike, width: int) -> NDArray[np.float64]:
        array = as_array(what, rows)
        if array.ndim != 2 or array.shape[1] != width:
            raise InvalidInputError(f"{what} must have the shape (n, {width}), not {array.shape}.")
        return array

    def _background(self, size: int) -> NDArray[np.uint8]:
        canvas = new_canvas(size, WHITE)
        paint(canvas, self._fixed_shapes(), self.view)
        return canvas

    def _area_shapes(self) -> Shapes:
        rows = []
        scale = np.linalg.norm(self._world_point(np.array([1.0, 0.0])) - self._world_point(np.zeros(2)))
        for area, color in zip(self.reward_areas, AREA_COLORS, strict=False):
            center = self._world_point(np.asarray(area.center))
            radius = float(area.radius or 0.0) * float(scale)
            rows.append(discs(center, radius, color, opacity=0.25))
            rows.append(discs(center, radius, color, ring=0.003 * self.view.width))
        return np.array(rows)

    def _start_shapes(self) -> Shapes:
        """Return a cross at the descriptor of the start."""
        start = self._world_point(self._descriptor(self._start()[None])[0])
        arm = 0.02 * self.view.width * np.array([[1.0, 1.0], [1.0, -1.0]])
        return lines(start - arm, start + arm, 0.004 * self.view.width, GREY, least=0.6)

    @abstractmethod
    def _start(self) -> NDArray[np.float64]:
        """Return the state at the start of an episode."""


def areas(*circles: tuple[str, tuple[float, float], float]) -> tuple[RewardArea, ...]:
    return tuple(RewardArea(name, center, radius) for name, center, radius in circles)


def as_array(what: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return the values as 64-bit floats, or raise an error if they are not numbers."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} must be an array of numbers, not {values!r:.80}.") from None
