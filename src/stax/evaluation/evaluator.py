"""Has policies evaluated, wherever that is, and knows what to do when it fails."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, check_choice, check_whole
from stax.evaluation.calls import Outcome, Part
from stax.evaluation.crew import TRIES, Crew, OwnProcess
from stax.evaluation.source import TaskSource
from stax.tasks.rollout_checks import check_arrays, usable_ground_truth, usable_rewards
from stax.tasks.task import Genomes, Rollouts, Task

__all__ = ["Evaluator", "TaskSource", "make_evaluator"]

BACKENDS = ("local", "ray")
ISOLATIONS = ("auto", "none", "process")
ON_FAILURE = ("abort", "discard")

_COUNTED_FROM = 100
"""Of fewer evaluations, the share that failed says little."""
_MOST_REASONS = 20
"""A message may hold numbers that differ from policy to policy; reasons beyond these are counted together."""
_OTHER_REASONS = "other reasons"


class Evaluator:
    """Evaluates policies, whole batches at a time; used in a `with`, which ends its workers.

    Batches are split into parts, and failures are found by splitting further. None of that shows in the result, since rollouts
    depend on their genomes alone. Make it with `make_evaluator`.
    """

    def __init__(self, task: Task, crew: Crew, *, on_failure: str, max_failed_share: float) -> None:
        self._task, self._crew = task, crew
        self.discards = on_failure == "discard"
        """Whether policies that fail are discarded; otherwise they end the run."""
        self._max_failed_share = max_failed_share
        self._snapshots: NDArray[Any] | None = None
        """None of them, of the shape and type that the task's have."""
        self.evaluations = 0
        """All so far, the failed ones too."""
        self.failures: dict[str, int] = {}
        """How many evaluations failed so far, by reason."""
        self._last_reason = ""

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends all workers."""
        self._crew.close()

    @property
    def workers_replaced(self) -> int:
        """How many workers died or took too long, and were replaced."""
        return self._crew.replaced

    def counts(self) -> dict[str, Any]:
        """Evaluations and failures so far, fit for JSON: what `restore_counts` takes when a run is taken up again."""
        return {"evaluations": self.evaluations, "failures": dict(self.failures)}

    def restore_counts(self, counts: Mapping[str, Any]) -> None:
        """Goes on counting from there."""
        self.evaluations = int(counts["evaluations"])
        self.failures = {str(reason): int(count) for reason, count in counts["failures"].items()}
        self._last_reason = next(reversed(self.failures), "")

    def evaluate(self, genomes: Genomes) -> Rollouts:
        """The rollouts of these genomes, in their order; `Rollouts.failed` tells which of them have none."""
        self.evaluations += len(genomes)
        done: dict[int, Rollouts | None] = {}
        missing = len(genomes)
        try:
            for part in _split(Part(0, genomes), self._crew.parts):
                self._crew.begin(part)
            while missing:
                for part, outcome in self._crew.wait():
                    again = self._again(part, outcome)
                    for other in again:
                        self._crew.begin(other)
                    if not again:
                        done[part.first] = self._judged(part, outcome)
                        missing -= len(part)
        except BaseException:
            self._crew.abandon()
            raise
        self._check_share()
        return self._joined([done[first] for first in sorted(done)])

    def discard(self, rollouts: Rollouts, failed: NDArray[np.bool_], reason: str) -> Rollouts:
        """Count policies as failed that were found to be so after their evaluation, and mark them in the rollouts.

        Args:
            rollouts: as `evaluate` gave them.
            failed: (n,) which of them have failed.
            reason: why.
        """
        self._fail(reason, int(np.count_nonzero(failed)))
        self._check_share()
        return replace(rollouts, failed=rollouts.failures() | failed)

    def _again(self, part: Part, outcome: Outcome) -> list[Part]:
        """What of the part is to be done again: nothing once it is known what became of it."""
        if isinstance(outcome, Rollouts) or outcome.kind == "refused":
            return []
        if self.discards and len(part) > 1:
            # Somebody in there is guilty. Whole parts that kill their worker are not tried again first: halves cost no more.
            return _split(part, 2)
        if outcome.kind == "died" and part.deaths + 1 < TRIES:
            return [replace(part, deaths=part.deaths + 1)]
        return []

    def _judged(self, part: Part, outcome: Outcome) -> Rollouts | None:
        """The part's rollouts; None if its only policy failed."""
        if isinstance(outcome, Rollouts):
            self._check_form(outcome, len(part))
            return self._without_nonsense(outcome)
        if outcome.kind == "refused":
            if isinstance(outcome.cause, InvalidInputError):
                raise outcome.cause
            raise InvalidInputError(outcome.reason)
        reason = outcome.reason
        if outcome.kind == "died":
            reason = f"the worker died {TRIES} times in a row ({reason})"
        self._fail(reason, len(part), outcome.cause)
        return None

    def _check_form(self, rollouts: Rollouts, count: int) -> None:
        check_arrays(rollouts, count, self._task)
        snapshots = np.asarray(rollouts.snapshots)[:0]
        if self._snapshots is None:
            self._snapshots = snapshots.copy()
        elif snapshots.shape != self._snapshots.shape:
            raise InvalidInputError(
                f"Task {self._task.name!r} returned snapshots of shape {snapshots.shape[1:]} a policy,"
                f" but {self._snapshots.shape[1:]} before."
            )

    def _without_nonsense(self, rollouts: Rollouts) -> Rollouts:
        """Rollouts that are no outcome count as failed. If failures end the run, these are left for the search to refuse."""
        failed = np.zeros(len(rollouts), np.bool_)
        for reason, wrong in self._wrong(rollouts):
            new = int(np.count_nonzero(wrong & ~failed))
            if new:
                self._fail(reason, new)
            failed |= wrong
        return replace(rollouts, failed=failed) if failed.any() else rollouts

    def _wrong(self, rollouts: Rollouts) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        yield "reported by the task itself", rollouts.failures()
        if self.discards:
            yield "a reward that is negative, too large or not a number", ~usable_rewards(np.asarray(rollouts.reward))
        if self.discards and rollouts.ground_truth is not None:
            usable = usable_ground_truth(np.asarray(rollouts.ground_truth))
            yield "a ground truth with too large numbers, infinity or nan in it", ~usable

    def _fail(self, reason: str, count: int, cause: BaseException | None = None) -> None:
        if not self.discards:
            policies = "1 policy" if count == 1 else f"{count} policies"
            raise RuntimeError(f"Task {self._task.name!r} failed to evaluate {policies}: {reason}") from cause
        known = reason in self.failures or len(self.failures) < _MOST_REASONS
        counted_as = reason if known else _OTHER_REASONS
        self.failures[counted_as] = self.failures.get(counted_as, 0) + count
        self._last_reason = reason
        if self.evaluations >= _COUNTED_FROM:
            # At once: what is left of the batch could not change it any more, and may take long.
            self._check_share()

    def _check_share(self) -> None:
        failed = sum(self.failures.values())
        if self.evaluations < _COUNTED_FROM and failed < self.evaluations:
            return
        if failed > self._max_failed_share * self.evaluations:
            raise RuntimeError(
                f"Task {self._task.name!r}: {failed} of {self.evaluations} evaluations failed, more than the allowed share of"
                f" {self._max_failed_share:g}; the last reason: {self._last_reason}"
            )

    def _joined(self, parts: list[Rollouts | None]) -> Rollouts:
        known = [self._nothing() if part is None else part for part in parts]
        return known[0] if len(known) == 1 else Rollouts.concat(known)

    def _nothing(self) -> Rollouts:
        """In place of the rollouts of one policy that failed."""
        task = self._task
        like = self._snapshots
        if like is None:
            like = np.empty((0, task.observation_samples, *task.observation_shape), task.observation_dtype)
        return Rollouts(
            reward=np.zeros(1),
            reward_area=np.full(1, -1),
            steps=np.ones(1, np.int64),
            snapshots=np.zeros((1, *like.shape[1:]), like.dtype),
            ground_truth=None if task.ground_truth_bounds is None else np.full((1, len(task.ground_truth_bounds)), np.nan),
            failed=np.ones(1, np.bool_),
        )


def _split(part: Part, count: int) -> list[Part]:
    """So many parts instead of one, as even as can be."""
    count = min(count, len(part))
    bounds = [len(part) * number // count for number in range(count + 1)]
    return [Part(part.first + start, part.genomes[start:end]) for start, end in pairwise(bounds)]


def make_evaluator(
    source: TaskSource,
    *,
    workers: int,
    backend: str = "local",
    address: str | None = None,
    isolation: str = "auto",
    time_limit: float | None = None,
    on_failure: str = "abort",
    max_failed_share: float = 0.5,
) -> Evaluator:
    """An evaluator of one task; workers are started with the first batch.

    Args:
        source: the task, and how workers can make it.
        workers: how many evaluate at a time. In this process, the number of threads is the task's own matter.
        backend: local for this machine, ray for a Ray cluster.
        address: of a running Ray cluster, as `ray.init` takes it; None starts one on this machine, unless Ray is running already.
        isolation: whether the local backend evaluates in processes of their own (process) or in this one (none). A task of one's
            own that was given by name is (auto), which keeps this process safe from it and uses all cores; the built-in tasks,
            which use all cores anyway, and tasks given as objects, which may not survive the trip, are evaluated in this one.
        time_limit: seconds that one call of the task's `evaluate` may take; it needs workers. A batch is evaluated in two calls
            a worker, or one call a policy if there are not as many.
        on_failure: what to do when policies cannot be evaluated: abort with an error, or discard these policies and go on.
        max_failed_share: with discard, the largest share of all evaluations that may fail.
    """
    check_choice("backend", backend, BACKENDS)
    check_choice("isolation", isolation, ISOLATIONS)
    check_choice("on_failure", on_failure, ON_FAILURE)
    workers = check_whole("workers", workers, 1)
    if time_limit is not None and not (_is_number(time_limit) and 0 < time_limit < math.inf):
        raise InvalidInputError(f"time_limit must be a number of seconds above 0, or None for no limit, not {time_limit!r}.")
    if not (_is_number(max_failed_share) and 0 <= max_failed_share <= 1):
        raise InvalidInputError(f"max_failed_share must be a number from 0 to 1, not {max_failed_share!r}.")
    if address is not None and (not isinstance(address, str) or not address):
        raise InvalidInputError(
            f"address must be text as ray.init takes it, or None for a cluster on this machine, not {address!r}."
        )
    crew = _make_crew(source, workers, backend, address, isolation, time_limit)
    return Evaluator(source.task, crew, on_failure=on_failure, max_failed_share=float(max_failed_share))


def _is_number(given: object) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool)


def _make_crew(
    source: TaskSource, workers: int, backend: str, address: str | None, isolation: str, time_limit: float | None
) -> Crew:
    if backend == "ray":
        if isolation == "none":
            raise InvalidInputError(
                "isolation must be 'auto' or 'process' for the backend 'ray', whose workers are processes, not 'none'."
            )
        from stax.evaluation.ray_cluster import RayActors

        return RayActors(source, size=workers, time_limit=time_limit, address=address)
    if address is not None:
        raise InvalidInputError(f"address is for the backend 'ray'; the backend 'local' has none, not {address!r}.")
    if isolation == "none" and time_limit is not None:
        raise InvalidInputError(
            "isolation must be 'auto' or 'process' with a time_limit, since only a process can be ended in the middle of a call,"
            " not 'none'."
        )
    if isolation == "process" or (isolation == "auto" and (source.is_own_class or time_limit is not None)):
        from stax.evaluation.processes import Processes

        return Processes(source.task.name, source.packed(pickle.dumps), size=workers, time_limit=time_limit)
    return OwnProcess(source.task)
