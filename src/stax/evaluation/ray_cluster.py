"""Workers that are actors of a Ray cluster."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stax.errors import InvalidInputError
from stax.evaluation.calls import ONE_THREAD, Callee, Failure, Outcome, Part, call_in_worker
from stax.evaluation.crew import Message, Worker, Workers
from stax.evaluation.ray_connection import RayConnection, import_ray
from stax.evaluation.source import TaskSource, unpacked
from stax.tasks.task import Genomes, Rollouts

_SECONDS_UNTIL_MESSAGE = 30.0
"""Seconds without a ready worker after which a message is printed, since a full cluster reports nothing."""


@dataclass(eq=False, kw_only=True)
class ActorWorker(Worker):
    actor: Any
    answer: Any
    """Reference to the worker's next message; None while it is idle."""


class RayActors(Workers[ActorWorker]):
    """Actors of one CPU each, on the cluster that this process is connected to, or connects to with the first batch."""

    def __init__(self, source: TaskSource, *, size: int, time_limit: float | None, address: str | None) -> None:
        super().__init__(source.task.name, size=size, time_limit=time_limit)
        self._ray = import_ray()
        self._packed = source.packed(self._ray.cloudpickle.dumps)
        self._address = address
        self._connection: RayConnection | None = None
        self._silent = True

    def _start(self) -> ActorWorker:
        if self._connection is None:
            self._connection = RayConnection(self._ray, self._address, cpus=self._size)
        make = self._ray.remote(num_cpus=1, max_restarts=0, runtime_env={"env_vars": ONE_THREAD})(TaskActor)
        actor = make.remote(self._packed, sys.path)
        return ActorWorker(actor=actor, answer=actor.start.remote())

    def _send(self, worker: ActorWorker, part: Part) -> None:
        worker.answer = worker.actor.evaluate.remote(part.genomes, part.changes)

    def _messages(self, timeout: float | None) -> list[tuple[ActorWorker, Message]]:
        if not any(worker.ready for worker in self._workers):
            timeout = _SECONDS_UNTIL_MESSAGE if timeout is None else min(timeout, _SECONDS_UNTIL_MESSAGE)
        waited_for = [worker.answer for worker in self._workers if worker.answer is not None]
        answers, _ = self._ray.wait(waited_for, num_returns=1, timeout=timeout)
        if not answers:
            self._report_waiting()
        speaking = [worker for worker in self._workers if worker.answer in answers]
        return [(worker, self._message(worker)) for worker in speaking]

    def _report_waiting(self) -> None:
        if self._silent and not any(worker.ready for worker in self._workers):
            self._silent = False
            print(
                "stax: still waiting for the Ray cluster to start a worker; it may have no free CPU",
                file=sys.stderr,
                flush=True,
            )

    def _message(self, worker: ActorWorker) -> Message:
        answer, worker.answer = worker.answer, None
        try:
            message: Message = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            return Failure("refused", f"A worker for task {self._task_name!r} cannot go on: {_first_and_last_line(error)}.")
        except self._ray.exceptions.RayError as error:
            return Failure("died", type(error).__name__ if worker.ready else _first_and_last_line(error))
        if message == "started":
            self._silent = False
            worker.answer = worker.actor.make.remote()
        # Copies, because Ray returns views of its own memory, which are read-only.
        return Rollouts.concat([message]) if isinstance(message, Rollouts) else message

    def _end(self, worker: ActorWorker) -> None:
        if self._ray.is_initialized():
            self._ray.kill(worker.actor)

    def close(self) -> None:
        super().close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class TaskActor:
    """Worker on a cluster."""

    def __init__(self, packed: bytes, path: list[str]) -> None:
        # For a task's module that is beside the script, on the same machine or at the same path on another.
        sys.path.extend(entry for entry in path if entry not in sys.path)
        self._packed = packed

    def start(self) -> Message:
        """Report that the cluster had room for this worker."""
        return "started"

    def make(self) -> Message:
        """Make the task."""
        try:
            self._callee = Callee(unpacked(self._packed))
        except InvalidInputError as error:
            return Failure("refused", str(error))
        return "ready"

    def evaluate(self, genomes: Genomes, changes: Mapping[str, Any] | None) -> Outcome:
        # A copy, because Ray's own array is read-only, and some libraries need a writable one.
        return call_in_worker(self._callee, np.array(genomes), changes)


def _first_and_last_line(error: Exception) -> str:
    """Return the first and the last line of a message of Ray, which may be long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}"
