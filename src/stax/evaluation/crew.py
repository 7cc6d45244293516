"""Who calls the task: this process, or workers of which each does one call at a time.

A crew is given the parts of a batch (`begin`), and says what became of them in whatever order (`wait`).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from stax.errors import InvalidInputError
from stax.evaluation.calls import Outcome, Part, Trouble, call
from stax.tasks.task import Genomes, Task

TRIES = 3
"""How often in a row a worker may die of the same work before that is not by chance."""
_PARTS_PER_WORKER = 2
"""Policies differ in how long they take; with a part more for everyone, who is done early has something to do."""

LEAST_SECONDS_TO_MAKE = 120.0
"""Seconds that making the task in a worker may take at least, also if `time_limit` is shorter: it may import a large simulator."""

Message = Outcome | Literal["started", "ready"]
"""What a worker reports: that it is running, that it has made its task, and then the outcome of each call."""


class Crew(Protocol):
    """Whoever calls the task."""

    parts: int
    """How many parts a batch is best split into."""
    replaced: int
    """How many workers died or were ended, and had to be replaced."""

    def begin(self, part: Part) -> None:
        """Takes on a part. The newest come first: halves of one that failed are looked into before others begin to fail."""

    def wait(self) -> Sequence[tuple[Part, Outcome]]:
        """Waits until there is an outcome of at least one part taken on."""

    def abandon(self) -> None:
        """Forgets the parts taken on."""

    def close(self) -> None:
        """Ends all workers."""


class OwnProcess:
    """No workers at all: calls are made here. The compiled tasks use all cores by themselves."""

    parts = 1
    replaced = 0

    def __init__(self, task: Task) -> None:
        self._task = task
        self._waiting: list[Part] = []

    def begin(self, part: Part) -> None:
        self._waiting.append(part)

    def wait(self) -> list[tuple[Part, Outcome]]:
        part = self._waiting.pop()
        return [(part, call(self._task, part.genomes))]

    def abandon(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        pass


@dataclass(eq=False, kw_only=True)
class Worker:
    """What is known of a worker. A part is only given to one that is ready."""

    ready: bool = False
    part: Part | None = None
    deadline: float = math.inf
    """Time at which making the task, or the current call of it, has taken too long."""


W = TypeVar("W", bound=Worker)


class Workers(ABC, Generic[W]):
    """Workers, started when there is work for them and replaced when they die; what sort they are, a subclass says.

    Args:
        task_name: of the task, for messages.
        size: most workers at a time.
        time_limit: seconds that a call may take, from when a ready worker is given it; None for no limit. Making the task may
            take as long, and `LEAST_SECONDS_TO_MAKE` at least.
    """

    def __init__(self, task_name: str, *, size: int, time_limit: float | None) -> None:
        self.parts = _PARTS_PER_WORKER * size
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
    def _send(self, worker: W, genomes: Genomes) -> None:
        """Has a ready worker call the task. Should it be dead, it is for `_messages` to say so."""

    @abstractmethod
    def _messages(self, timeout: float | None) -> Sequence[tuple[W, Message]]:
        """What workers say, as soon as one says something or has died; nothing if the time, in seconds, is over before."""

    @abstractmethod
    def _end(self, worker: W) -> None:
        """Ends a worker, whatever it is doing."""

    def _dismiss(self, idle: list[W]) -> None:
        """Ends workers that are doing nothing."""
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
        """Start one worker and wait until it has made the task; raises if it cannot, or not in time."""
        worker = self._start()
        self._workers.append(worker)
        while not worker.ready:
            self._listen(tries=1)

    def _listen(self, tries: int = TRIES) -> list[tuple[Part, Outcome]]:
        """Wait for messages and for deadlines, and return the outcomes of calls among them.

        Args:
            tries: how many workers in a row may fail to make the task before that ends the run.
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
                outcomes.append((worker.part, Trouble("late", reason)))
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
                self._send(worker, worker.part.genomes)

    def _heard(self, worker: W, message: Message, tries: int) -> list[tuple[Part, Outcome]]:
        if message == "started":
            worker.deadline = time.monotonic() + self._seconds_to_make
            return []
        if message == "ready":
            worker.ready, worker.deadline = True, math.inf
            self._failed_starts = 0
            return []
        if isinstance(message, Trouble) and not worker.ready:
            if message.kind == "refused":
                raise InvalidInputError(message.reason)
            self._count_failed_start(f"the worker died ({message.reason})", tries)
        part = worker.part
        worker.part, worker.deadline = None, math.inf
        if isinstance(message, Trouble) and message.kind == "died":
            self._replace(worker)
        return [] if part is None else [(part, message)]

    def _count_failed_start(self, reason: str, tries: int) -> None:
        """Count a worker that ended before it had made the task; so many of them in a row end the run."""
        self._failed_starts += 1
        if self._failed_starts >= tries:
            times = "" if tries == 1 else f", {tries} times in a row"
            raise RuntimeError(f"Task {self._task_name!r} cannot be made in a worker process: {reason}{times}")

    def _replace(self, worker: W) -> None:
        """Another one is started as soon as there is work for it."""
        self._workers.remove(worker)
        self._end(worker)
        self.replaced += 1

    def abandon(self) -> None:
        self._waiting.clear()
        for worker in [worker for worker in self._workers if worker.part is not None]:
            self._workers.remove(worker)
            self._end(worker)

    def close(self) -> None:
        self.abandon()
        idle = self._workers.copy()
        self._workers.clear()
        self._dismiss(idle)
