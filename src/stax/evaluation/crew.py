"""Crews, which call the task: in this process, or in workers that each do one call at a time.

A crew receives the parts of a batch (`begin`), and returns their outcomes in any order (`wait`).

The time limit of a call starts when a worker that is ready gets its part. Importing and making the task has a limit of its own:
`LEAST_SECONDS_TO_MAKE`, or the time limit if that is longer. The parent process makes the task too and could not be ended, so
with a time limit the task is made in a worker first (`source.make_source`).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from stax.errors import InvalidInputError
from stax.evaluation.calls import Callee, Failure, Outcome, Part, call
from stax.tasks.task import Task

TRIES = 3
"""Number of times in a row that a worker may die of the same work before this no longer counts as chance."""
_PARTS_PER_WORKER = 2
"""Parts of a batch for each worker. Policies take different times, so a worker that is done early gets another part."""

LEAST_SECONDS_TO_MAKE = 120.0
"""Shortest time limit, in seconds, for making the task in a worker, which may import a large simulator."""

Message = Outcome | Literal["started", "ready"]
"""Report of a worker: it is running, it has made its task, or the outcome of a call."""


class Crew(Protocol):
    """Protocol of what calls the task: this process or workers."""

    parts: int
    """Best number of parts to split a batch into."""
    workers: int
    """Number of parts that are evaluated at a time."""
    replaced: int
    """Number of workers that died or were ended, and were replaced."""

    def begin(self, part: Part) -> None:
        """Add a part. The newest parts go first, so the halves of a failed part are evaluated before other parts."""

    def wait(self) -> Sequence[tuple[Part, Outcome]]:
        """Wait until at least one of the added parts has an outcome."""

    def abandon(self) -> None:
        """Forget the parts that were added."""

    def core_seconds(self) -> float:
        """Return the processor time of the workers that run now, as far as it can be known."""

    def close(self) -> None:
        """End all workers."""


class OwnProcess:
    """Calls of the task in this process, without workers. The compiled tasks use all cores by themselves."""

    parts = workers = 1
    replaced = 0

    def __init__(self, task: Task) -> None:
        self._callee = Callee(task)
        self._waiting: list[Part] = []

    def begin(self, part: Part) -> None:
        self._waiting.append(part)

    def wait(self) -> list[tuple[Part, Outcome]]:
        part = self._waiting.pop()
        return [(part, call(self._callee, part.genomes, part.changes))]

    def abandon(self) -> None:
        self._waiting.clear()

    def core_seconds(self) -> float:
        return 0.0

    def close(self) -> None:
        pass


@dataclass(eq=False, kw_only=True)
class Worker:
    """State of a worker. Only a worker that is ready gets a part."""

    ready: bool = False
    part: Part | None = None
    deadline: float = math.inf
    """Time at which making the task, or the current call of it, has taken too long."""


W = TypeVar("W", bound=Worker)


class Workers(ABC, Generic[W]):
    """Workers that are started when there is work for them and replaced when they die; subclasses define the type of worker.

    Args:
        task_name: name of the task, for messages.
        size: largest number of workers at a time.
        time_limit: seconds that a call may take, counted from when a ready worker receives it; None for no limit. Making the task
            may take as long, or `LEAST_SECONDS_TO_MAKE` if that is longer.
    """

    def __init__(self, task_name: str, *, size: int, time_limit: float | None) -> None:
        self.parts, self.workers = _PARTS_PER_WORKER * size, size
        self.replaced = 0
        self._task_name, self._size, self._time_limit = task_name, size, time_limit
        self._seconds_to_make = math.inf if time_limit is None else max(time_limit, LEAST_SECONDS_TO_MAKE)
        self._workers: list[W] = []
        self._waiting: list[Part] = []
        self._failed_starts = 0

    @abstractmethod
    def _start(self) -> W:
        """Start a new worker, which reports "started" and, once it has made the task, "ready"."""

    @abstractmethod
    def _send(self, worker: W, part: Part) -> None:
        """Send a part to a ready worker, which calls the task. If it is dead, `_messages` reports that."""

    @abstractmethod
    def _messages(self, timeout: float | None) -> Sequence[tuple[W, Message]]:
        """Return messages of workers, as soon as there is one or a worker has died; nothing after `timeout` seconds."""

    @abstractmethod
    def _end(self, worker: W) -> None:
        """End a worker, whatever it is doing."""

    def _dismiss(self, idle: list[W]) -> None:
        """End idle workers."""
        for worker in idle:
            self._end(worker)

    def begin(self, part: Part) -> None:
        self._waiting.append(part)

    def wait(self) -> list[tuple[Part, Outcome]]:
        outcomes: list[tuple[Part, Outcome]] = []
        while not outcomes:
            self._hand_out()
            outcomes = self._listen()
        return outcomes

    def try_making(self) -> None:
        """Start one worker and wait until it has made the task; raise an error if it cannot, or not in time."""
        worker = self._start()
        self._workers.append(worker)
        while not worker.ready:
            self._listen(tries=1)

    def _listen(self, tries: int = TRIES) -> list[tuple[Part, Outcome]]:
        """Wait for messages and for deadlines, and return the outcomes of calls among them.

        Args:
            tries: number of workers in a row that fail to make the task after which the run ends.
        """
        outcomes: list[tuple[Part, Outcome]] = []
        deadline = min(worker.deadline for worker in self._workers)
        patience = None if deadline == math.inf else max(deadline - time.monotonic(), 0.0)
        for worker, message in self._messages(patience):
            outcomes += self._heard(worker, message, tries)
        now = time.monotonic()
        for worker in [worker for worker in self._workers if worker.deadline <= now]:
            self._replace(worker)
            if worker.part is not None:
                reason = f"no answer within the time limit of {self._time_limit:g} s"
                outcomes.append((worker.part, Failure("late", reason)))
            else:
                self._count_failed_start(f"making it took longer than {self._seconds_to_make:g} s", tries)
        return outcomes

    def _hand_out(self) -> None:
        wanted = len(self._waiting) + sum(worker.part is not None for worker in self._workers)
        while len(self._workers) < min(self._size, wanted):
            self._workers.append(self._start())
        for worker in self._workers:
            if self._waiting and worker.ready and worker.part is None:
                worker.part = self._waiting.pop()
                if self._time_limit is not None:
                    worker.deadline = time.monotonic() + self._time_limit
                self._send(worker, worker.part)

    def _heard(self, worker: W, message: Message, tries: int) -> list[tuple[Part, Outcome]]:
        if message == "started":
            worker.deadline = time.monotonic() + self._seconds_to_make
            return []
        if message == "ready":
            worker.ready, worker.deadline = True, math.inf
            self._failed_starts = 0
            return []
        if isinstance(message, Failure) and not worker.ready:
            if message.kind == "refused":
                raise InvalidInputError(message.reason)
            self._count_failed_start(f"the worker died ({message.reason})", tries)
        part = worker.part
        worker.part, worker.deadline = None, math.inf
        if isinstance(message, Failure) and message.kind == "died":
            self._replace(worker)
        return [] if part is None else [(part, message)]

    def _count_failed_start(self, reason: str, tries: int) -> None:
        """Count a worker that ended before it had made the task, and raise an error after `tries` of them in a row."""
        self._failed_starts += 1
        if self._failed_starts >= tries:
            times = "" if tries == 1 else f", {tries} times in a row"
            raise RuntimeError(f"Task {self._task_name!r} cannot be made in a worker process: {reason}{times}")

    def _replace(self, worker: W) -> None:
        """Remove and end a worker. Another one is started as soon as there is work for it."""
        self._workers.remove(worker)
        self._end(worker)
        self.replaced += 1

    def abandon(self) -> None:
        self._waiting.clear()
        for worker in [worker for worker in self._workers if worker.part is not None]:
            self._workers.remove(worker)
            self._end(worker)

    def core_seconds(self) -> float:
        return sum(map(self._core_seconds_of, self._workers))

    def _core_seconds_of(self, worker: W) -> float:
        """Return the processor time of a worker; 0 if it cannot be known, as on another machine."""
        return 0.0

    def close(self) -> None:
        self.abandon()
        idle = self._workers.copy()
        self._workers.clear()
        self._dismiss(idle)
