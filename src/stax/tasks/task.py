"""The protocol between the search and a task.

A task turns genomes into `Rollouts`, and rollouts into observations. It does not depend on search, files or learning. To write your
own, subclass `Task`, set the attributes, define `evaluate`, and run `stax check-task your_module:YourTask`.

A task may do without:

- **Pictures.** Observations are numbers of one shape, for example `(64, 64, 3)` pictures as uint8, or vectors as float32.
- **Drawing on demand.** The built-in tasks store a few numbers for each rollout (`Rollouts.snapshots`) and draw observations from them
  when needed. A task that cannot do this stores the observations themselves as snapshots, and does not override `observe`.
- **A ground-truth descriptor.** With `ground_truth_bounds = None`, `Rollouts.ground_truth` is None. Methods that need it refuse the
  task, and measures that need it are left out.
- **Positions of its rewards.** A reward area may have no centre and no radius.
- **An outcome of every policy.** Policies that could not be evaluated are marked in `Rollouts.failed`; the caller handles them.
- **A policy network.** `policy_sizes` declares that genomes are weights of the network in `stax.policies`, which can then be exported.
  A genome may also be the parameters of anything else.
- **Replays and pictures.** `trajectory`, `render`, `film`, `scene` and `picture_place` are for people; the search does not use them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError, shown

Genomes = NDArray[np.float64]
"""(n, genome_size): a policy per row."""
Snapshots = NDArray[Any]
"""(n, observation_samples, ...): the data from which observations are drawn."""
Observations = NDArray[Any]
"""(n, observation_samples, *observation_shape): what an autoencoder sees."""
States = NDArray[np.float64]
"""(steps + 1, state size): the states of one rollout, the start included."""
Picture = NDArray[np.uint8]
"""(size, size, 3): a picture for people."""


@dataclass(frozen=True)
class RewardArea:
    """Source of reward. Centre and radius are optional."""

    name: str
    center: tuple[float, ...] | None = None
    """Centre in the units of the ground-truth descriptor."""
    radius: float | None = None


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Outcome of n evaluations, as aligned arrays."""

    reward: NDArray[np.float64]
    """(n,) total reward of the episode, finite and not negative; above 0 is rewarding."""
    reward_area: NDArray[np.int64]
    """(n,) index of the task's reward area, -1 for policies without reward."""
    steps: NDArray[np.int64]
    """(n,) number of steps before the episode ended, at least 1."""
    snapshots: Snapshots
    """(n, observation_samples, ...) data from which `Task.observe` draws."""
    ground_truth: NDArray[np.float64] | None = None
    """(n, d) ground-truth descriptor, or None if the task has none."""
    failed: NDArray[np.bool_] | None = None
    """(n,) which evaluations failed and have no outcome; None for none. The other arrays' values of these are ignored."""

    def __post_init__(self) -> None:
        for name, column in self._columns():
            if not _has_rows(column):
                raise InvalidInputError(f"{name} of Rollouts must be an array with a row per policy, not {shown(column)}.")
            if len(column) != len(self.reward):
                raise InvalidInputError(
                    f"Rollouts hold {len(self.reward)} rewards but {len(column)} rows of {name}; all must have the same number."
                )

    def __len__(self) -> int:
        return len(self.reward)

    def _columns(self) -> list[tuple[str, NDArray[Any]]]:
        columns: list[tuple[str, NDArray[Any]]] = [
            ("reward", self.reward),
            ("reward_area", self.reward_area),
            ("steps", self.steps),
            ("snapshots", self.snapshots),
        ]
        if self.ground_truth is not None:
            columns.append(("ground_truth", self.ground_truth))
        if self.failed is not None:
            columns.append(("failed", self.failed))
        return columns

    def take(self, rows: ArrayLike | slice) -> Rollouts:
        """Return the rollouts of these rows: indices, a mask or a slice."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(index, slice) and index.size == 0 and index.dtype != np.bool_:
            index = index.astype(np.int64)
        return Rollouts(**{name: column[index] for name, column in self._columns()})

    @staticmethod
    def concat(parts: Sequence[Rollouts]) -> Rollouts:
        """Return all rollouts of the parts, in order."""
        if not parts:
            raise InvalidInputError("There are no rollouts to join; give at least one.")
        names = [name for name, _ in parts[0]._columns() if name != "failed"]
        if any((part.ground_truth is None) != (parts[0].ground_truth is None) for part in parts):
            raise InvalidInputError("Rollouts with and without ground_truth cannot be joined.")
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        if any(part.failed is not None for part in parts):
            columns["failed"] = np.concatenate([part.failures() for part in parts])
        return Rollouts(**columns)

    def failures(self) -> NDArray[np.bool_]:
        """Return (n,) which evaluations failed, also where `failed` is None."""
        return np.zeros(len(self), np.bool_) if self.failed is None else np.asarray(self.failed, np.bool_)


def _has_rows(column: Any) -> bool:
    """Return whether rows can be counted; an array without dimensions has a `__len__` that raises."""
    try:
        return not isinstance(column, (str, bytes)) and len(column) >= 0
    except TypeError:
        return False


@dataclass(frozen=True, eq=False)
class Scene:
    """A task's world at the start of an episode, to draw results over."""

    picture: Picture
    start: tuple[float, ...] | None = None
    """Ground-truth descriptor at the start."""


class Task(ABC):
    """Base class of tasks. Every task must define `evaluate`."""

    name: str
    """Name of the task; the name given to `make_task` if a class has none."""
    genome_size: int
    """Number of values in a genome."""
    genome_bounds: tuple[float, float] = (-5.0, 5.0)
    """Lowest and highest value of the numbers of a genome."""
    observation_samples: int = 5
    """Number of observations of a rollout, the last of them at its end."""
    observation_shape: tuple[int, ...]
    """Shape of one observation: (height, width, 3) for a picture, (d,) for a vector."""
    observation_dtype: str = "uint8"
    """dtype of observations: uint8 for pictures (0 to 255), float32 for vectors."""
    ground_truth_bounds: tuple[tuple[float, float], ...] | None = None
    """Lowest and highest possible value of each number of the ground-truth descriptor, or None for a task without one."""
    ground_truth_names: tuple[str, ...] | None = None
    """Names of the numbers of the ground-truth descriptor, for the axes of plots; None if they have none."""
    reward_areas: tuple[RewardArea, ...]
    """Sources of reward, at least one; `Rollouts.reward_area` holds indices into this."""
    policy_sizes: tuple[int, ...] | None = None
    """Sizes of the layers of the policy network of `stax.policies`, inputs first; None if genomes are something else."""

    def __repr__(self) -> str:
        from stax.ecosystem.notebook import task_text

        return task_text(self)

    def _repr_html_(self) -> str:
        from stax.ecosystem.notebook import task_html

        return task_html(self)

    @abstractmethod
    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        """Evaluate every policy for one episode.

        The outcome of a row depends only on that row and the task's own settings. It does not depend on the other rows, their number or
        order, on threads, time or earlier calls. Genomes of another width, or with nan or infinity, raise a ValueError
        (`stax.check_genomes` does that), and the given array is not changed.
        """

    def observe(self, rollouts: Rollouts) -> Observations:
        """Return what an autoencoder sees of these rollouts: (n, observation_samples, *observation_shape)."""
        return rollouts.snapshots

    def trajectory(self, genome: ArrayLike) -> States:
        """Return the states of one policy's rollout, (steps + 1, state size), for replays."""
        raise InvalidInputError(f"Task {self.name!r} cannot replay a rollout: it has no trajectory.")

    def render(self, state: ArrayLike, size: int = 512, *, trail: ArrayLike | None = None) -> Picture:
        """Draw a picture for people of one state, (size, size, 3) uint8; `trail` are the states before it."""
        raise InvalidInputError(f"Task {self.name!r} cannot be drawn: it has no render.")

    def film(self, genome: ArrayLike, steps: Sequence[int], size: int = 512) -> Iterator[Picture]:
        """Yield pictures for people of one policy's rollout, (size, size, 3) uint8, after these increasing numbers of steps; 0 is the
        start. A task that can be drawn only while an episode runs defines this instead of `render`."""
        states = self.trajectory(genome)
        for step in steps:
            yield self.render(states[step], size, trail=states[: step + 1])

    def scene(self, size: int = 512) -> Scene | None:
        """Return the world to draw results over, with a picture (size, size, 3) uint8; None if the task has no picture."""
        return None

    def picture_place(self, ground_truth: ArrayLike) -> NDArray[np.float64] | None:
        """Return the positions of ground-truth descriptors (n, d) in `scene` and `render`, (n, 2) as shares of width and height from
        the upper left corner; None if they have no position there."""
        return None


def check_genomes(genomes: ArrayLike, genome_size: int) -> Genomes:
    """Return the genomes as a float64 array (n, genome_size), or raise an error that says what is wrong.

    The array is writable, and a copy if the one given is not. Numba compiles a function again for read-only arrays, such as those of
    a loaded archive, and for Curling that takes half a minute.
    """
    try:
        array = np.asarray(genomes)
    except ValueError:
        raise InvalidInputError(f"genomes must be a 2-D array (n, {genome_size}), not rows of different lengths.") from None
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"genomes must be floating-point numbers, not of dtype {array.dtype}.")
    if array.ndim != 2:
        raise InvalidInputError(
            f"genomes must be a 2-D array (n, {genome_size}) with a policy per row, not of shape {array.shape}."
        )
    if array.shape[0] == 0:
        raise InvalidInputError(f"genomes must hold at least one policy, not an empty batch of shape {array.shape}.")
    if array.shape[1] != genome_size:
        raise InvalidInputError(f"genomes must have {genome_size} numbers a row, not {array.shape[1]}.")
    array = np.require(array, np.float64, ["C", "W"])
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise InvalidInputError(f"genomes must be finite, but row {row} has {array[row, column]} at position {column}.")
    return array


def sample_steps(horizon: int, samples: int) -> NDArray[np.int64]:
    """Return the steps, counted from 0, after which observations are taken: evenly spread, the last one at the end."""
    return np.ceil(np.arange(1, samples + 1) * (horizon - 1) / samples).astype(np.int64)


def area_rewards(
    ground_truth: NDArray[np.float64], areas: Sequence[RewardArea]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return reward and area index of points: (radius - distance) / radius within an area, else 0 and -1."""
    reward = np.zeros(len(ground_truth))
    index = np.full(len(ground_truth), -1, np.int64)
    for number, area in enumerate(areas):
        if area.center is None or area.radius is None:
            raise InvalidInputError(
                f"Reward area {area.name!r} must have a centre and a radius, from which rewards are computed."
            )
        distance = np.linalg.norm(ground_truth - np.asarray(area.center), axis=1)
        inside = (distance < area.radius) & (index < 0)
        reward[inside] = (area.radius - distance[inside]) / area.radius
        index[inside] = number
    return reward, index
