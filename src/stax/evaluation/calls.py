"""One call of a task's `evaluate`, and what it can come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stax.errors import InvalidInputError, in_one_line
from stax.tasks.task import Genomes, Rollouts, Task


@dataclass(frozen=True, eq=False)
class Part:
    """Neighbouring policies of a batch, to be evaluated in one call."""

    first: int
    """The place of the first of them in the batch."""
    genomes: Genomes
    deaths: int = 0
    """How many workers in a row have died of this part."""

    def __len__(self) -> int:
        return len(self.genomes)


@dataclass(frozen=True)
class Trouble:
    """Why a call has no rollouts."""

    kind: Literal["raised", "late", "died", "refused"]
    """`refused` stands for a task that is no task; the others are failures of the policies in the call."""
    reason: str
    cause: BaseException | None = None
    """The exception raised, where it was raised in this process."""


Outcome = Rollouts | Trouble

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
"""The environment of a worker: BLAS, Numba and torch read it when they are loaded."""


def call(task: Task, genomes: Genomes) -> Outcome:
    """Call the task, and turn what it raises into words.

    Whatever a task raises is a failure, `SystemExit` too: a task cannot end the run. Only the user's interrupt is passed on.
    """
    try:
        rollouts = task.evaluate(genomes)
    except InvalidInputError as error:
        return Trouble("refused", str(error), error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Trouble("raised", in_one_line(error), error)
    if not isinstance(rollouts, Rollouts):
        return Trouble("refused", f"Task {task.name!r} must return stax.Rollouts, not {type(rollouts).__name__}.")
    return rollouts


def call_in_worker(task: Task, genomes: Genomes) -> Outcome:
    """Call the task in a worker: without the exception, which may mean nothing in the parent process.

    Workers ignore the user's Ctrl-C, so a `KeyboardInterrupt` here was raised by the task itself.
    """
    try:
        outcome = call(task, genomes)
    except KeyboardInterrupt as error:
        return Trouble("raised", in_one_line(error))
    return Trouble(outcome.kind, outcome.reason) if isinstance(outcome, Trouble) else outcome
