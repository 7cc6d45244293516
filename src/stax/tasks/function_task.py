"""A task that is just a function from genomes to rewards and observations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError, check_whole, shown
from stax.input_limits import LARGEST_NUMBER, MOST_GENES
from stax.tasks.task import Genomes, RewardArea, Rollouts, Task, check_genomes
from stax.tasks.task_checks import check_attributes

_NUMBERS = "fiu"


class FunctionTask(Task):
    """A function that is given genomes (n, genome_size) and returns rewards (n,) and observations.

    Observations are vectors (n, d), vectors seen several times on the way (n, samples, d), pictures (n, height, width, 3) or
    pictures seen several times (n, samples, height, width, 3), pictures as uint8. What is returned third is the ground-truth
    descriptor (n, k), which needs its bounds. A function that returns `stax.Rollouts` can tell still more.

    Args:
        function: what evaluates; its outcome must depend on each genome alone.
        genome_size: how many numbers make a policy; the function's own attribute of that name if None.
        genome_bounds: lowest and highest value that a search gives to these numbers.
        ground_truth_bounds: lowest and highest value of each number of the ground-truth descriptor.
        batch: whether the function takes many genomes at once; else it is called with one (genome_size,) at a time and
            returns its reward, its observations (d,), (samples, d) or pictures alike, and its ground truth (k,).
        name: what the task is called; the function's own name if None.
    """

    reward_areas = (RewardArea("reward"),)

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        genome_size: int | None = None,
        genome_bounds: Sequence[float] = (-5.0, 5.0),
        ground_truth_bounds: Sequence[Sequence[float]] | None = None,
        batch: bool = True,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidInputError(f"A FunctionTask takes a function, not {shown(function)}.")
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        if genome_size is None:
            genome_size = getattr(function, "genome_size", None)
        if genome_size is None:
            raise InvalidInputError(
                f"Task {self.name!r} needs the option 'genome_size', how many numbers make a policy, which was not given."
            )
        self.genome_size = check_whole("genome_size", genome_size, 1, MOST_GENES)
        self.genome_bounds = checked_bounds("genome_bounds", genome_bounds)
        if ground_truth_bounds is not None:
            pairs = [ground_truth_bounds] if _is_pair(ground_truth_bounds) else ground_truth_bounds
            self.ground_truth_bounds = checked_pairs(pairs)
        self._function, self._batch = function, bool(batch)
        # What a policy's observations look like is known when one was seen.
        seen = self._call(np.zeros((1, self.genome_size)))[1]
        self.observation_samples, self.observation_shape = seen.shape[1], seen.shape[2:]
        self.observation_dtype = str(seen.dtype)
        check_attributes(self)

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        genomes = check_genomes(genomes, self.genome_size)
        rewards, observations, ground_truth, told = self._call(genomes)
        expected = (len(genomes), self.observation_samples, *self.observation_shape)
        if observations.shape != expected:
            raise InvalidInputError(
                f"Task {self.name!r} returned observations of shape {observations.shape}, but {expected[1:]} a policy before."
            )
        if told is not None:
            return told
        return Rollouts(
            reward=rewards,
            reward_area=np.where(rewards > 0, 0, -1),
            steps=np.full(len(genomes), self.observation_samples),
            snapshots=observations,
            ground_truth=ground_truth,
        )

    def _call(self, genomes: Genomes) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64] | None, Rollouts | None]:
        """Rewards, observations with their samples, ground truth; and the rollouts themselves if the function makes these."""
        if self._batch:
            returned = self._function(genomes.copy())
        else:
            returned = _joined(self.name, [self._function(genome.copy()) for genome in genomes])
        if isinstance(returned, Rollouts):
            return np.asarray(returned.reward), self._with_samples(returned.snapshots, len(genomes)), None, returned
        parts = tuple(returned) if isinstance(returned, (tuple, list)) else ()
        if len(parts) not in (2, 3):
            what = f"{len(parts)} things" if parts else type(returned).__name__
            raise InvalidInputError(
                f"Task {self.name!r} must return rewards and observations, and a ground truth if it has one, not {what}."
            )
        rewards = self._array("rewards", parts[0])
        if rewards.shape != (len(genomes),) or rewards.dtype.kind not in _NUMBERS:
            raise InvalidInputError(
                f"Task {self.name!r} must return rewards as numbers of shape {(len(genomes),)}, one a policy,"
                f" not {rewards.dtype} of shape {rewards.shape}."
            )
        return rewards.astype(np.float64), self._with_samples(parts[1], len(genomes)), self._ground_truth(parts[2:]), None

    def _with_samples(self, returned: Any, count: int) -> NDArray[Any]:
        observations = self._array("observations", returned)
        if observations.dtype.kind not in _NUMBERS or observations.ndim not in (2, 3, 4, 5) or len(observations) != count:
            raise InvalidInputError(
                f"Task {self.name!r} must return observations as numbers of shape ({count}, d) or ({count}, samples, d) for vectors,"
                f" ({count}, height, width, 3) or ({count}, samples, height, width, 3) for pictures,"
                f" not {observations.dtype} of shape {observations.shape}."
            )
        pictures = observations.ndim >= 4
        if pictures and observations.dtype != np.uint8:
            raise InvalidInputError(f"Task {self.name!r} must return pictures as uint8, not {observations.dtype}.")
        if not pictures:
            observations = observations.astype(np.float32)
        return observations[:, None] if observations.ndim in (2, 4) else observations

    def _ground_truth(self, returned: Sequence[Any]) -> NDArray[np.float64] | None:
        if bool(returned) != (self.ground_truth_bounds is not None):
            has, lacks = (
                ("a ground truth", "no ground_truth_bounds") if returned else ("ground_truth_bounds", "no ground truth")
            )
            raise InvalidInputError(f"Task {self.name!r} has {has}, but {lacks}: give both or neither.")
        if not returned:
            return None
        truth = self._array("ground truth", returned[0])
        if truth.dtype.kind not in _NUMBERS:
            raise InvalidInputError(f"Task {self.name!r} must return its ground truth as numbers, not of dtype {truth.dtype}.")
        return truth.astype(np.float64)

    def _array(self, what: str, returned: Any) -> NDArray[Any]:
        try:
            return np.asarray(returned)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"Task {self.name!r} must return {what} as numbers of one shape for every policy, not rows of different lengths."
            ) from None


def _joined(name: str, outcomes: Sequence[Any]) -> tuple[NDArray[Any], ...] | Rollouts:
    """What single policies came to, as if they had been evaluated together."""
    if all(isinstance(outcome, Rollouts) for outcome in outcomes):
        return Rollouts.concat(outcomes)
    try:
        return tuple(np.stack([np.asarray(part) for part in parts]) for parts in zip(*outcomes, strict=True))
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"Task {name!r} must return a reward and observations of one shape for every policy, and a ground truth if it has one."
        ) from None


def _is_pair(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) == 2 and all(isinstance(bound, (int, float)) for bound in given)


def checked_pairs(given: Any) -> tuple[tuple[float, float], ...]:
    """Return the bounds of a ground truth, a pair for each of its numbers, or refuse them."""
    try:
        pairs = tuple(given)
    except TypeError:
        raise InvalidInputError(
            f"ground_truth_bounds must be pairs of a lowest and a highest value, not {shown(given)}."
        ) from None
    return tuple(checked_bounds("ground_truth_bounds", pair) for pair in pairs)


def checked_bounds(what: str, given: Any) -> tuple[float, float]:
    """A lowest and a higher highest value, or one sentence that says what is wrong with them."""
    try:
        low, high = (float(bound) for bound in given)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInputError(f"{what} must be pairs of a lowest and a highest value, not {shown(given)}.") from None
    if not (abs(low) <= LARGEST_NUMBER and abs(high) <= LARGEST_NUMBER and low < high):
        finite = math.isfinite(low) and math.isfinite(high)
        limit = f" within {LARGEST_NUMBER:g} from 0" if finite and low < high else ""
        raise InvalidInputError(f"{what} must be a finite lowest and a higher highest value{limit}, not {shown(given)}.")
    return low, high
