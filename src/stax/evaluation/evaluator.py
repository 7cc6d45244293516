"""Evaluation of batches of policies, and the handling of policies that fail.

A policy fails if its call raises, takes too long, kills its worker three times in a row, or returns a reward that is negative
or a reward or ground truth that is no number or too large, if it cannot be described, or if the task says so
(`Rollouts.failed`). An array of the wrong shape or type shows that the task is broken, and so does an `InvalidInputError` that
it raises: these always end the run.

With `on_failure = discard`, a part that failed is split until single policies are left. The newest halves go first, so that a
task that always fails is noticed early. A part of several policies that kills its worker is split at once, because halves cost
no more than trying the whole part again.

The limit on the share of failures belongs here, where the reasons are known. It applies from 100 evaluations on, or at once if
every evaluation has failed.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_choice, check_whole
from stax.errors import InvalidInputError
from stax.evaluation.calls import Outcome, Part
from stax.evaluation.crew import TRIES, Crew, OwnProcess
from stax.evaluation.source import TaskSource
from stax.run_settings import BACKENDS, RunSettings
from stax.tasks.rollout_checks import check_arrays, usable_ground_truth, usable_rewards
from stax.tasks.task import Genomes, Rollouts, Task
from stax.tasks.variants import repetition

__all__ = ["Evaluator", "TaskSource", "make_evaluator"]

_SHARE_CHECKED_FROM = 100
"""Smallest number of evaluations for which the share of failures is checked."""
_MOST_REASONS = 20
"""Most reasons counted one by one. Messages may contain numbers that differ from policy to policy."""
_OTHER_REASONS = "other reasons"
_SECONDS_PER_PART = 1.0
"""Seconds that a part of a batch takes at most, if it can be split further: the display counts finished parts."""
_PARTS_AT_FIRST = 4
"""Factor by which workers' parts of the first batch are split further, while the time of an evaluation is unknown."""


class Evaluator:
    """Evaluator of batches of policies. Use it in a `with` statement, which ends its workers.

    Batches are split into parts, and policies that fail are found by splitting further. This does not affect the result, because
    rollouts depend on their genomes alone. `make_evaluator` makes evaluators.
    """

    def __init__(self, task: Task, crew: Crew, settings: RunSettings) -> None:
        self._task, self._crew = task, crew
        self.discards = settings.on_failure == "discard"
        """Whether policies that fail are discarded; otherwise they end the run."""
        self._max_failed_share = settings.max_failed_share
        self._snapshots: NDArray[Any] | None = None
        """Empty array with the shape and dtype of the task's snapshots."""
        self.evaluations = 0
        """Number of evaluations so far, failed ones included."""
        self.failures: dict[str, int] = {}
        """Number of failed evaluations so far, by reason."""
        self._last_reason = ""
        self._seconds_per_policy: float | None = None
        """Of the last batch, and of one worker; None before the first."""

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        self._crew.close()

    @property
    def workers_replaced(self) -> int:
        """Number of workers that died or took too long, and were replaced."""
        return self._crew.replaced

    def core_seconds(self) -> float:
        """Return the processor time of the workers that run now; that of ended ones is in the times of this process."""
        return self._crew.core_seconds()

    def counts(self) -> dict[str, Any]:
        """Return the evaluations and failures so far as JSON values, for `restore_counts` when a run is resumed."""
        return {"evaluations": self.evaluations, "failures": dict(self.failures)}

    def restore_counts(self, counts: Mapping[str, Any]) -> None:
        """Continue counting from these counts."""
        self.evaluations = int(counts["evaluations"])
        self.failures = {str(reason): int(count) for reason, count in counts["failures"].items()}
        self._last_reason = next(reversed(self.failures), "")

    def evaluate(
        self,
        genomes: Genomes,
        progress: Callable[[int], None] | None = None,
        repetitions: NDArray[np.int64] | None = None,
    ) -> Rollouts:
        """Return the rollouts of these genomes, in their order; `Rollouts.failed` marks those without an outcome.

        Args:
            genomes: the policies.
            progress: called with the number of policies that are done, whenever a part of the batch is.
            repetitions: (n,) 0 for the task's own seed, k for its k-th further seed; None for its own seed throughout.
        """
        self.evaluations += len(genomes)
        done: dict[int, Rollouts | None] = {}
        missing = len(genomes)
        began = time.monotonic()
        try:
            for whole in self._by_seed(genomes, repetitions):
                for part in _split(whole, math.ceil(self._parts(len(genomes)) * len(whole) / len(genomes))):
                    self._crew.begin(part)
            while missing:
                for part, outcome in self._crew.wait():
                    again = self._parts_to_repeat(part, outcome)
                    for other in again:
                        self._crew.begin(other)
                    if not again:
                        done[part.first] = self._rollouts_of(part, outcome)
                        missing -= len(part)
                        if progress:
                            progress(len(genomes) - missing)
        except BaseException:
            self._crew.abandon()
            raise
        self._seconds_per_policy = (time.monotonic() - began) * self._crew.workers / len(genomes)
        self._check_share()
        return self._joined([done[first] for first in sorted(done)])

    def _by_seed(self, genomes: Genomes, repetitions: NDArray[np.int64] | None) -> list[Part]:
        """Return the batch as parts of consecutive policies that are evaluated with the same seed."""
        if repetitions is None or not repetitions.any():
            return [Part(0, genomes)]
        bounds = [0, *(np.flatnonzero(np.diff(repetitions)) + 1).tolist(), len(genomes)]
        seeds = [repetition(self._task, int(repetitions[first])) or None for first in bounds[:-1]]
        return [
            Part(first, genomes[first:end], changes=seed) for (first, end), seed in zip(pairwise(bounds), seeds, strict=True)
        ]

    def _parts(self, count: int) -> int:
        """Choose how many parts a batch is split into: enough for all workers, and more if an evaluation takes long."""
        if self._seconds_per_policy is None:
            return self._crew.parts * _PARTS_AT_FIRST if self._crew.parts > 1 else 1
        return max(self._crew.parts, math.ceil(count * self._seconds_per_policy / _SECONDS_PER_PART))

    def attempt(self, genomes: Genomes, **changes: Any) -> Rollouts | None:
        """Evaluate policies without counting them, and return their rollouts; None if one of them could not be evaluated.

        Args:
            genomes: the policies.
            changes: options of the task that are changed for this, see `stax.tasks.variants`.
        """
        done: dict[int, Rollouts] = {}
        try:
            for part in _split(Part(0, genomes, changes=changes), self._parts(len(genomes))):
                self._crew.begin(part)
            while sum(map(len, done.values())) < len(genomes):
                for part, outcome in self._crew.wait():
                    if not isinstance(outcome, Rollouts):
                        self._crew.abandon()
                        return None
                    check_arrays(outcome, len(part), self._task)
                    done[part.first] = outcome
        except (InvalidInputError, RuntimeError):
            self._crew.abandon()
            return None
        except BaseException:
            self._crew.abandon()
            raise
        rollouts = Rollouts.concat([done[first] for first in sorted(done)])
        return None if rollouts.failures().any() else rollouts

    def discard(self, rollouts: Rollouts, failed: NDArray[np.bool_], reason: str) -> Rollouts:
        """Count policies that failed after their evaluation, and mark them in the rollouts.

        Args:
            rollouts: rollouts returned by `evaluate`.
            failed: (n,) which of them have failed.
            reason: reason of the failure.
        """
        self._fail(reason, int(np.count_nonzero(failed)))
        self._check_share()
        return replace(rollouts, failed=rollouts.failures() | failed)

    def _parts_to_repeat(self, part: Part, outcome: Outcome) -> list[Part]:
        """Return the parts that must be evaluated again; none if the outcome is final."""
        if isinstance(outcome, Rollouts) or outcome.kind == "refused":
            return []
        if self.discards and len(part) > 1:
            # At least one policy in this part failed. A part that killed its worker is not repeated first: halves cost no more.
            return _split(part, 2)
        if outcome.kind == "died" and part.deaths + 1 < TRIES:
            return [replace(part, deaths=part.deaths + 1)]
        return []

    def _rollouts_of(self, part: Part, outcome: Outcome) -> Rollouts | None:
        """Return the part's rollouts; None if its only policy failed."""
        if isinstance(outcome, Rollouts):
            self._check_form(outcome, len(part))
            return self._mark_unusable(outcome)
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
                f"Task {self._task.name!r} must return snapshots of the same shape for every policy: {self._snapshots.shape[1:]} as"
                f" before, not {snapshots.shape[1:]}."
            )

    def _mark_unusable(self, rollouts: Rollouts) -> Rollouts:
        """Mark unusable rollouts as failed. If failures end the run, they are left for the search to refuse."""
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
        if self.evaluations >= _SHARE_CHECKED_FROM:
            # Checked at once: the rest of the batch cannot change the result, and may take long.
            self._check_share()

    def _check_share(self) -> None:
        failed = sum(self.failures.values())
        if self.evaluations < _SHARE_CHECKED_FROM and failed < self.evaluations:
            return
        if failed > self._max_failed_share * self.evaluations:
            raise RuntimeError(
                f"Task {self._task.name!r}: {failed} of {self.evaluations} evaluations failed, more than the allowed share of"
                f" {self._max_failed_share:g}; the last reason: {self._last_reason}"
            )

    def _joined(self, parts: list[Rollouts | None]) -> Rollouts:
        known = [self._placeholder() if part is None else part for part in parts]
        return known[0] if len(known) == 1 else Rollouts.concat(known)

    def _placeholder(self) -> Rollouts:
        """Return a placeholder for the rollouts of one policy that failed."""
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
    """Split a part into `count` parts of nearly equal size."""
    count = min(count, len(part))
    bounds = [len(part) * number // count for number in range(count + 1)]
    pairs = pairwise(bounds)
    return [Part(part.first + start, part.genomes[start:end], changes=part.changes) for start, end in pairs]


def make_evaluator(
    source: TaskSource,
    *,
    workers: int,
    backend: str = "local",
    address: str | None = None,
    settings: RunSettings | None = None,
) -> Evaluator:
    """Make an evaluator of one task; workers are started with the first batch.

    Args:
        source: the task, and how workers can make it.
        workers: number of workers. In this process, the task itself decides the number of threads.
        backend: local for this machine, ray for a Ray cluster.
        address: address of a running Ray cluster, as for `ray.init`; None starts one on this machine, unless Ray is running already.
        settings: isolation, time limit, and what happens when evaluations fail. `isolation` says whether the local backend evaluates
            in worker processes (process) or in this one (none). With auto, a user's own task that was given by name runs in worker
            processes, which protects this process and uses all cores. The built-in tasks use all cores anyway, and tasks given as
            objects may not be picklable, so both run in this process. `time_limit` limits one call of the task's `evaluate`, and
            needs workers. A batch is evaluated in at least two calls for each worker, and in more if a call takes longer than a second.
    """
    settings = settings or RunSettings()
    check_choice("backend", backend, BACKENDS)
    workers = check_whole("workers", workers, 1)
    if address is not None and (not isinstance(address, str) or not address):
        raise InvalidInputError(
            f"address must be text as for ray.init, or None for a cluster on this machine, not {address!r}."
        )
    crew = _make_crew(source, workers, backend, address, settings.isolation, settings.time_limit)
    return Evaluator(source.task, crew, settings)


def _make_crew(
    source: TaskSource, workers: int, backend: str, address: str | None, isolation: str, time_limit: float | None
) -> Crew:
    if backend == "ray":
        if isolation == "none":
            raise InvalidInputError(
                "isolation must be 'auto' or 'process' with the backend 'ray', whose workers are processes, not 'none'."
            )
        from stax.evaluation.ray_cluster import RayActors

        return RayActors(source, size=workers, time_limit=time_limit, address=address)
    if address is not None:
        raise InvalidInputError(f"address must be None with the backend 'local', not {address!r}; it is for the backend 'ray'.")
    if isolation == "none" and time_limit is not None:
        raise InvalidInputError(
            "isolation must be 'auto' or 'process' with a time_limit, not 'none', because only a process can be ended in the middle of"
            " a call."
        )
    if isolation == "process" or (isolation == "auto" and (source.is_own_class or time_limit is not None)):
        from stax.evaluation.processes import Processes

        return Processes(source.task.name, source.packed(pickle.dumps), size=workers, time_limit=time_limit)
    return OwnProcess(source.task)
