"""One call of a task's `evaluate`, and its possible outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from stax.errors import InvalidInputError, in_one_line
from stax.tasks.task import Genomes, Rollouts, Task
from stax.tasks.variants import make_variant


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive policies of a batch, evaluated in one call."""

    first: int
    """Position of the first policy in the batch."""
    genomes: Genomes
    deaths: int = 0
    """Number of workers in a row that died while evaluating this part."""
    changes: Mapping[str, Any] | None = None
    """Options of the task that are changed for this part; None for the task as it is."""

    def __len__(self) -> int:
        return len(self.genomes)


@dataclass(frozen=True)
class Failure:
    """Reason why a call returned no rollouts."""

    kind: Literal["raised", "late", "died", "refused"]
    """`refused` means that the task itself is invalid; the others are failures of the policies in the call."""
    reason: str
    cause: BaseException | None = None
    """The exception, if it was raised in this process."""


Outcome = Rollouts | Failure

ONE_THREAD = dict.fromkeys(
    (
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
"""Environment variables of a worker, which BLAS, Numba and torch read when they are loaded."""


_VARIANTS = 8
"""Variants of a task that are kept, since making a task may take long: a search with `reevaluations` needs them again and again."""


class Callee:
    """A task that is called, and the same task with some options changed, made when it is first asked for."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._variants: list[tuple[dict[str, Any], Task]] = []
        """Those last made, with their changes."""

    def with_changes(self, changes: Mapping[str, Any] | None) -> Task:
        """Return the task with these options changed; a few variants are kept."""
        if not changes:
            return self.task
        for known, variant in self._variants:
            if known == changes:
                return variant
        self._variants = [*self._variants, (dict(changes), make_variant(self.task, changes))][-_VARIANTS:]
        return self._variants[-1][1]


def call(callee: Callee, genomes: Genomes, changes: Mapping[str, Any] | None = None) -> Outcome:
    """Call the task, and turn an exception into a failure.

    Every exception of a task is a failure, `SystemExit` too: a task cannot end the run. Only the user's interrupt is passed on.
    """
    try:
        task = callee.with_changes(changes)
        rollouts = task.evaluate(genomes)
    except InvalidInputError as error:
        return Failure("refused", str(error), error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Failure("raised", in_one_line(error), error)
    if not isinstance(rollouts, Rollouts):
        return Failure("refused", f"Task {task.name!r} must return stax.Rollouts, not {type(rollouts).__name__}.")
    return rollouts


def call_in_worker(callee: Callee, genomes: Genomes, changes: Mapping[str, Any] | None = None) -> Outcome:
    """Call the task in a worker, and drop the exception, which the parent process may not be able to use.

    Workers ignore the user's Ctrl-C, so a `KeyboardInterrupt` here was raised by the task itself.
    """
    try:
        outcome = call(callee, genomes, changes)
    except KeyboardInterrupt as error:
        return Failure("raised", in_one_line(error))
    return Failure(outcome.kind, outcome.reason) if isinstance(outcome, Failure) else outcome
