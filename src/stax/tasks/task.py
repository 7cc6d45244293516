"""What a task is: the one protocol between the search and the world it searches in.

A task turns genomes into `Rollouts`, and rollouts into observations. It knows nothing of search, files or learning. To bring
your own, subclass `Task`, fill in the attributes and `evaluate`, and run `stax check-task your_module:YourTask`.

What a task may lack:

- **Pictures.** Observations are any numbers of one shape: `(64, 64, 3)` pictures as uint8, or vectors as float32.
- **The power to redraw.** The built-in tasks keep a few numbers a rollout (`Rollouts.snapshots`) and draw observations from
  them when asked. A task that cannot do so keeps the observations themselves as snapshots and does not override `observe`.
- **A ground-truth descriptor.** `ground_truth_bounds = None`, and `Rollouts.ground_truth` is None: methods that need it refuse
  the task, measures that need it are left out.
- **Places for its rewards.** A reward area may have no centre and no radius.
- **An outcome.** Policies that could not be evaluated are marked in `Rollouts.failed`; what to do about them is not the task's matter.
- **A policy network.** `policy_sizes` says that genomes are weights of the network in `stax.policies`, which can then be exported; a genome
  may as well be the parameters of anything else.
- **Replays and pictures.** `trajectory`, `render`, `film`, `scene` and `picture_place` are for people; the search does without.
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
"""(n, genome_size): one policy a row."""
Snapshots = NDArray[Any]
"""(n, observation_samples, ...): what observations are drawn from."""
Observations = NDArray[Any]
"""(n, observation_samples, *observation_shape): what an autoencoder sees."""
States = NDArray[np.float64]
"""(steps + 1, state size): one rollout, step by step, the start included."""
Picture = NDArray[np.uint8]
"""(size, size, 3): a picture for people."""


@dataclass(frozen=True)
class RewardArea:
    """One source of reward. A task without places for its rewards leaves centre and radius out."""

    name: str
    center: tuple[float, ...] | None = None
    """In the units of the ground-truth descriptor."""
    radius: float | None = None


@dataclass(frozen=True, eq=False)
class Rollouts:
    """The outcome of n evaluations, as aligned arrays."""

    reward: NDArray[np.float64]
    """(n,) total reward of the episode, finite and not negative; above 0 is rewarding."""
    reward_area: NDArray[np.int64]
    """(n,) index of the task's reward area, -1 for those not rewarded."""
    steps: NDArray[np.int64]
    """(n,) steps done before the episode ended, at least 1."""
    snapshots: Snapshots
    """(n, observation_samples, ...) what `Task.observe` draws from."""
    ground_truth: NDArray[np.float64] | None = None
    """(n, d) ground-truth descriptor, or None if the task has none."""
    failed: NDArray[np.bool_] | None = None
    """(n,) which evaluations failed and have no outcome; None for none. What the other arrays hold of these does not count."""

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
        """The rollouts of these rows: indices, a mask or a slice."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(index, slice) and index.size == 0 and index.dtype != np.bool_:
            index = index.astype(np.int64)
        return Rollouts(**{name: column[index] for name, column in self._columns()})

    @staticmethod
    def concat(parts: Sequence[Rollouts]) -> Rollouts:
        """All rollouts of the parts, in order."""
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
        """(n,) which evaluations failed, also where `failed` is None."""
        return np.zeros(len(self), np.bool_) if self.failed is None else np.asarray(self.failed, np.bool_)


def _has_rows(column: Any) -> bool:
    """Tell whether rows can be counted; an array without dimensions has a `__len__` that raises."""
    try:
        return not isinstance(column, (str, bytes)) and len(column) >= 0
    except TypeError:
        return False


@dataclass(frozen=True, eq=False)
class Scene:
    """A task's world as an episode finds it, to draw results over."""

    picture: Picture
    start: tuple[float, ...] | None = None
    """The ground-truth descriptor at the start."""


class Task(ABC):
    """What the search needs to know of a world. `evaluate` is the one thing every task must bring."""

    name: str
    """What the task is called; the name given to `make_task` if a class has none."""
    genome_size: int
    """How many numbers make a policy."""
    genome_bounds: tuple[float, float] = (-5.0, 5.0)
    """Lowest and highest value that a search gives to a genome's numbers."""
    observation_samples: int = 5
    """How many observations of a rollout are kept, the last of them at its end."""
    observation_shape: tuple[int, ...]
    """Of one observation: (height, width, 3) for a picture, (d,) for a vector."""
    observation_dtype: str = "uint8"
    """uint8 for pictures (0 to 255), float32 for vectors."""
    ground_truth_bounds: tuple[tuple[float, float], ...] | None = None
    """Lowest and highest possible value of each number of the ground-truth descriptor, or None if there is no such descriptor."""
    reward_areas: tuple[RewardArea, ...]
    """The sources of reward, at least one; `Rollouts.reward_area` points into this."""
    policy_sizes: tuple[int, ...] | None = None
    """Layers of the policy network of `stax.policies`, inputs first, if that is what genomes are; None if they are something else."""

    @abstractmethod
    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        """Runs every policy for one episode.

        The outcome of a row depends on that row and the task's own settings alone: not on the other rows, their number or
        order, on threads, time or earlier calls. Genomes of another width, or with nan or infinity in them, raise a ValueError
        (`stax.check_genomes` does that for you), and the array given is not changed.
        """

    def observe(self, rollouts: Rollouts) -> Observations:
        """What an autoencoder sees of these rollouts: (n, observation_samples, *observation_shape)."""
        return rollouts.snapshots

    def trajectory(self, genome: ArrayLike) -> States:
        """The states of one policy's rollout, (steps + 1, state size), for replays."""
        raise InvalidInputError(f"Task {self.name!r} cannot replay a rollout: it has no trajectory.")

    def render(self, state: ArrayLike, size: int = 512, *, trail: ArrayLike | None = None) -> Picture:
        """A picture for people of one state, (size, size, 3) uint8; `trail` are states passed on the way there."""
        raise InvalidInputError(f"Task {self.name!r} cannot be drawn: it has no render.")

    def film(self, genome: ArrayLike, steps: Sequence[int], size: int = 512) -> Iterator[Picture]:
        """Pictures for people of one policy's rollout, (size, size, 3) uint8 each, after these numbers of steps, which rise; 0 is
        the start. A task that can be drawn only while it moves brings this instead of `render`."""
        states = self.trajectory(genome)
        for step in steps:
            yield self.render(states[step], size, trail=states[: step + 1])

    def scene(self, size: int = 512) -> Scene | None:
        """The world to draw results over, its picture (size, size, 3) uint8; None if the task has no picture."""
        return None

    def picture_place(self, ground_truth: ArrayLike) -> NDArray[np.float64] | None:
        """Where ground-truth descriptors (n, d) lie in `scene` and `render`, (n, 2) as shares of width and height from the
        upper left corner; None if they have no place there."""
        return None


def check_genomes(genomes: ArrayLike, genome_size: int) -> Genomes:
    """The genomes as a float64 array (n, genome_size), or one sentence that says what is wrong with them."""
    try:
        array = np.asarray(genomes)
    except ValueError:
        raise InvalidInputError(f"genomes must be a 2-D array (n, {genome_size}), not rows of different lengths.") from None
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"genomes must be floating-point numbers, not of dtype {array.dtype}.")
    if array.ndim != 2:
        raise InvalidInputError(
            f"genomes must be a 2-D array (n, {genome_size}), one policy a row, not of shape {array.shape}."
        )
    if array.shape[0] == 0:
        raise InvalidInputError(f"genomes must hold at least one policy, not an empty batch of shape {array.shape}.")
    if array.shape[1] != genome_size:
        raise InvalidInputError(f"genomes must have {genome_size} numbers a row, not {array.shape[1]}.")
    array = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise InvalidInputError(f"genomes must be finite, but row {row} has {array[row, column]} at position {column}.")
    return array


def sample_steps(horizon: int, samples: int) -> NDArray[np.int64]:
    """The steps, counted from 0, after which an observation is kept: evenly spread, the last one the final step."""
    return np.ceil(np.arange(1, samples + 1) * (horizon - 1) / samples).astype(np.int64)


def area_rewards(
    ground_truth: NDArray[np.float64], areas: Sequence[RewardArea]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Reward and area index of points: (radius - distance) / radius within an area, else 0 and -1."""
    reward = np.zeros(len(ground_truth))
    index = np.full(len(ground_truth), -1, np.int64)
    for number, area in enumerate(areas):
        if area.center is None or area.radius is None:
            raise InvalidInputError(f"Reward area {area.name!r} has no centre and radius to be rewarded by.")
        distance = np.linalg.norm(ground_truth - np.asarray(area.center), axis=1)
        inside = (distance < area.radius) & (index < 0)
        reward[inside] = (area.radius - distance[inside]) / area.radius
        index[inside] = number
    return reward, index
