"""Descriptor spaces, which turn rollouts into points; novelty is a distance between these.

Three spaces share one interface: the learned space of STAX (`stax.representation.learned`), the hand-made ground truth, and the true
states. The latter are a diagnostic: no learned descriptor can contain more information. A fourth space is for random search, which
compares nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_whole
from stax.errors import InvalidInputError, in_one_line
from stax.tasks.task import Rollouts, Task

Descriptors = NDArray[np.float64]
"""(n, size): a point of a descriptor space per row."""
Surprises = NDArray[np.float64]
"""(n,): reconstruction error of the observations of each rollout."""


class UndescribedError(RuntimeError):
    """Error for rollouts without a descriptor: their observations, or the codes of these, are not finite.

    Args:
        task_name: name of the rollouts' task.
        reason: why they have none; the same text for all rollouts with the same reason.
        rows: (n,) which of the rollouts have none.
        detail: more about the first of them, to follow the reason in a sentence.
    """

    def __init__(self, task_name: str, reason: str, rows: NDArray[np.bool_], detail: str = "") -> None:
        first = int(np.argmax(rows))
        super().__init__(f"Policy {first} of {len(rows)} of task {task_name!r} has no descriptor: {reason}{detail}.")
        self.task_name, self.reason, self.rows, self.detail = task_name, reason, rows, detail

    def among(self, places: NDArray[np.int64], count: int) -> UndescribedError:
        """Return the same error for `count` rollouts, of which those described were the ones at these positions."""
        rows = np.zeros(count, np.bool_)
        rows[places[self.rows]] = True
        return UndescribedError(self.task_name, self.reason, rows, self.detail)


class DescriptorSpace(ABC):
    """Base class of descriptor spaces, which turn rollouts into descriptors."""

    uses_torch: bool = False
    """Whether PyTorch computes descriptors, surprise or training, whose last bits then depend on the processor."""
    uses_linear_algebra: bool = False
    """Whether NumPy's linear algebra computes descriptors, whose last bits then depend on the processor, too."""
    learned: bool = False
    """Whether the space changes with training, so that descriptors must be computed again after it."""
    size: int
    """Number of values in a descriptor."""

    @property
    def deferrable(self) -> bool:
        """Whether descriptors may be computed later than rollouts arrive: they exist for all rollouts that a search accepts, they do not
        depend on the rollouts described together, and describing many rollouts together is faster."""
        return False

    @abstractmethod
    def describe(self, rollouts: Rollouts) -> Descriptors:
        """Return the descriptors (n, size) of these rollouts, all finite; raise `UndescribedError` if some have none."""

    def describe_with_surprise(self, rollouts: Rollouts) -> tuple[Descriptors, Surprises]:
        """Return descriptors (n, size) and surprises (n,) of these rollouts; only a learned space has surprise."""
        raise InvalidInputError(f"{type(self).__name__} has no surprise: only a learned descriptor space has surprise.")

    def train(self, newest: Rollouts, archived: Rollouts | None = None) -> object:
        """Train on these rollouts; only a learned space can be trained."""
        raise InvalidInputError(f"{type(self).__name__} cannot be trained: only a learned descriptor space can.")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `restore` needs, with `numbers`; none for a space that does not change."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """Return the rest of the state as JSON values."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> None:
        """Take over the state of another space with the same options."""
        if arrays or numbers:
            raise InvalidInputError(f"{type(self).__name__} has no state to restore, but got {', '.join([*arrays, *numbers])}.")

    def weights(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the weights that describing needs, and text about them; only a learned space has weights."""
        raise InvalidInputError(f"{type(self).__name__} has no weights: only a learned descriptor space has.")

    def restore_weights(self, arrays: Mapping[str, NDArray[Any]], words: Mapping[str, str]) -> None:
        """Take over weights, to describe as their space does."""
        raise InvalidInputError(f"{type(self).__name__} has no weights: only a learned descriptor space has.")


class GroundTruthSpace(DescriptorSpace):
    """Space of the task's own, hand-made descriptor."""

    def __init__(self, task: Task) -> None:
        if task.ground_truth_bounds is None:
            raise InvalidInputError(
                f"Task {task.name!r} has no ground-truth descriptor, so its behaviours cannot be compared by it; {truth_remedy(task)},"
                " or compare them by what is observed, --set descriptor=learned."
            )
        self._task_name = task.name
        self.size = len(task.ground_truth_bounds)

    def describe(self, rollouts: Rollouts) -> Descriptors:
        if rollouts.ground_truth is None:
            raise InvalidInputError(f"These rollouts of task {self._task_name!r} have no ground_truth.")
        return np.array(rollouts.ground_truth, np.float64)


def truth_remedy(task: Task) -> str:
    """Return how a task is given a ground-truth descriptor, as part of a sentence."""
    if task.name.startswith("gym:"):
        return "say which numbers of the last observation it is, for instance --set task.ground_truth=0,1"
    return "give the task ground_truth_bounds and its rollouts a ground_truth"


class StatesSpace(DescriptorSpace):
    """Space of the true states from which observations are drawn, one after the other: the ceiling of a learned descriptor.

    Snapshots are used as they are, unless the task has a method `described_states`, which receives the used snapshots
    (n, samples, ...) and returns the numbers between which distances are measured.
    """

    def __init__(self, task: Task, samples: int) -> None:
        self._samples = used_samples(task.observation_samples, samples)
        self._task_name = task.name
        self._described_states = getattr(task, "described_states", None)
        # A task need not declare the size of its snapshots: one policy shows it.
        self.size = self._states(_evaluated_once(task)).shape[1]

    def describe(self, rollouts: Rollouts) -> Descriptors:
        states = self._states(rollouts)
        finite = finite_rows(states)
        if not finite.all():
            raise UndescribedError(self._task_name, "a state is not finite in 32 bits", ~finite)
        return states

    def _states(self, rollouts: Rollouts) -> Descriptors:
        states = of_the_task(self._compared, rollouts, self._task_name, "its states")
        return np.array(states, np.float64).reshape(len(rollouts), int(np.prod(states.shape[1:])))

    def _compared(self, rollouts: Rollouts) -> NDArray[Any]:
        states = rollouts.snapshots[:, self._samples]
        return states if self._described_states is None else np.asarray(self._described_states(states))


def _evaluated_once(task: Task) -> Rollouts:
    """Return the rollouts of one policy."""
    try:
        return task.evaluate(np.zeros((1, task.genome_size)))
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"Task {task.name!r} failed to evaluate a policy of zeros: {in_one_line(error)}.") from error


class NoSpace(DescriptorSpace):
    """Space for a search that compares nothing: descriptors without numbers."""

    size = 0

    def describe(self, rollouts: Rollouts) -> Descriptors:
        return np.empty((len(rollouts), 0))


def of_the_task(call: Callable[[Rollouts], NDArray[Any]], rollouts: Rollouts, task_name: str, what: str) -> NDArray[Any]:
    """Return what the task's own code returns for these rollouts; raise `UndescribedError` for those for which it raises.

    Args:
        call: the task's code.
        rollouts: its argument.
        task_name: name of the task.
        what: what it should return, for the message.
    """
    try:
        return call(rollouts)
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        rows = np.array([_raises(call, rollouts.take(slice(row, row + 1))) for row in range(len(rollouts))], np.bool_)
        if not rows.any():
            rows[:] = True
        raise UndescribedError(task_name, f"{what} cannot be computed ({in_one_line(error)})", rows) from error


def _raises(call: Callable[[Rollouts], NDArray[Any]], rollouts: Rollouts) -> bool:
    try:
        call(rollouts)
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException:
        return True
    return False


def finite_rows(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return (n,) which rows of an array are finite in 32 bits; distances between larger numbers cannot be computed."""
    fits = np.abs(values) <= np.finfo(np.float32).max
    return np.asarray(fits.all(axis=tuple(range(1, fits.ndim))))


def used_samples(available: int, wanted: int) -> NDArray[np.int64]:
    """Return which of a rollout's observations are used: `wanted` of them, evenly spread, the last one always."""
    wanted = check_whole("The number of observations in a descriptor", wanted, 1, available)
    return np.arange(1, wanted + 1, dtype=np.int64) * available // wanted - 1
