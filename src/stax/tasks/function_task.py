"""Task made from a function from genomes to rewards and observations.

The function is called once with a genome of zeros when the task is made. Shapes and types of its observations are then known
before a search begins, and nobody has to declare them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.constraints import check_whole
from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_NUMBER, MOST_GENES
from stax.tasks.task import Genomes, RewardArea, Rollouts, Task, check_genomes
from stax.tasks.task_checks import check_attributes

_NUMBERS = "fiu"


class FunctionTask(Task):
    """Task made from a function that takes genomes (n, genome_size) and returns rewards (n,) and observations.

    Observations are vectors (n, d) or pictures (n, height, width, 3), or several of them for each rollout: (n, samples, d) or
    (n, samples, height, width, 3). Pictures are uint8. An optional third return value is the ground-truth descriptor (n, k), which
    needs its bounds. A function may also return `stax.Rollouts`, which can hold more.

    Args:
        function: the evaluation; the outcome of a row must depend on its genome alone.
        genome_size: number of values in a genome; the function's attribute of that name if None.
        genome_bounds: lowest and highest value of the numbers of a genome.
        ground_truth_bounds: lowest and highest value of each number of the ground-truth descriptor.
        ground_truth_names: names of these numbers, for the axes of plots.
        batch: whether the function takes many genomes at once. Otherwise it is called with one genome (genome_size,) at a time, and
            returns its reward, its observations (d,), (samples, d) or pictures likewise, and its ground truth (k,).
        name: name of the task; the function's own name if None.
    """

    reward_areas = (RewardArea("reward"),)

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        genome_size: int | None = None,
        genome_bounds: Sequence[float] = (-5.0, 5.0),
        ground_truth_bounds: Sequence[Sequence[float]] | None = None,
        ground_truth_names: Sequence[str] | None = None,
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
                f"Task {self.name!r} needs the option 'genome_size', the number of values in a genome, which was not given."
            )
        self.genome_size = check_whole("genome_size", genome_size, 1, MOST_GENES)
        self.genome_bounds = checked_bounds("genome_bounds", genome_bounds)
        if ground_truth_bounds is not None:
            pairs = [ground_truth_bounds] if _is_pair(ground_truth_bounds) else ground_truth_bounds
            self.ground_truth_bounds = checked_pairs(pairs)
        if ground_truth_names is not None:
            self.ground_truth_names = checked_names(ground_truth_names)
        self._function, self._batch = function, bool(batch)
        # The shape of observations is known only after an evaluation.
        seen = self._call(np.zeros((1, self.genome_size)))[1]
        self.observation_samples, self.observation_shape = seen.shape[1], seen.shape[2:]
        self.observation_dtype = str(seen.dtype)
        check_attributes(self)

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        genomes = check_genomes(genomes, self.genome_size)
        rewards, observations, ground_truth, rollouts = self._call(genomes)
        expected = (len(genomes), self.observation_samples, *self.observation_shape)
        if observations.shape != expected:
            raise InvalidInputError(
                f"Task {self.name!r} must return observations of shape {expected[1:]} for each policy, as before, not"
                f" {observations.shape[1:]}."
            )
        if rollouts is not None:
            return rollouts
        return Rollouts(
            reward=rewards,
            reward_area=np.where(rewards > 0, 0, -1),
            steps=np.full(len(genomes), self.observation_samples),
            snapshots=observations,
            ground_truth=ground_truth,
        )

    def _call(self, genomes: Genomes) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64] | None, Rollouts | None]:
        """Return rewards, observations with their samples, and ground truth; also the rollouts if the function makes these."""
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
    """Join the results of single policies as if they had been evaluated together."""
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


def checked_names(given: Any) -> tuple[str, ...]:
    """Return the names given for the numbers of a ground-truth descriptor as a tuple."""
    if not isinstance(given, (list, tuple)):
        raise InvalidInputError(f"ground_truth_names must be a list of names, not {shown(given)}.")
    return tuple(given)


def checked_pairs(given: Any) -> tuple[tuple[float, float], ...]:
    """Return the bounds of a ground truth, a pair for each of its numbers, or raise an error if they are wrong."""
    try:
        pairs = tuple(given)
    except TypeError:
        raise InvalidInputError(
            f"ground_truth_bounds must be pairs of a lowest and a highest value, not {shown(given)}."
        ) from None
    return tuple(checked_bounds("ground_truth_bounds", pair) for pair in pairs)


def checked_bounds(what: str, given: Any) -> tuple[float, float]:
    """Return a lowest and a higher highest value, or raise an error that says what is wrong."""
    try:
        low, high = (float(bound) for bound in given)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInputError(f"{what} must be pairs of a lowest and a highest value, not {shown(given)}.") from None
    if not (abs(low) <= LARGEST_NUMBER and abs(high) <= LARGEST_NUMBER and low < high):
        finite = math.isfinite(low) and math.isfinite(high)
        limit = f" within {LARGEST_NUMBER:g} from 0" if finite and low < high else ""
        raise InvalidInputError(f"{what} must be a finite lowest and a higher highest value{limit}, not {shown(given)}.")
    return low, high
