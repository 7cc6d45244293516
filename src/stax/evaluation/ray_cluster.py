"""Workers that are actors of a Ray cluster."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from stax.errors import InvalidInputError
from stax.evaluation.calls import ONE_THREAD, Outcome, Trouble, call_in_worker
from stax.evaluation.crew import Message, Worker, Workers
from stax.evaluation.ray_connection import RayConnection, import_ray
from stax.evaluation.source import TaskSource, unpacked
from stax.tasks.task import Genomes, Rollouts

_SECONDS_UNTIL_A_WORD = 30.0
"""How long nobody may be ready before that is said: a full cluster gives no sign."""


@dataclass(eq=False, kw_only=True)
class ActorWorker(Worker):
    actor: Any
    answer: Any
    """The reference to what it says next; None while it has nothing to do."""


class RayActors(Workers[ActorWorker]):
    """Actors of one CPU each, on the cluster that this process is connected to, or is connected to with the first batch."""

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

    def _send(self, worker: ActorWorker, genomes: Genomes) -> None:
        worker.answer = worker.actor.evaluate.remote(genomes)

    def _messages(self, timeout: float | None) -> list[tuple[ActorWorker, Message]]:
        if not any(worker.ready for worker in self._workers):
            timeout = _SECONDS_UNTIL_A_WORD if timeout is None else min(timeout, _SECONDS_UNTIL_A_WORD)
        waited_for = [worker.answer for worker in self._workers if worker.answer is not None]
        answers, _ = self._ray.wait(waited_for, num_returns=1, timeout=timeout)
        if not answers:
            self._say_that_nobody_is_ready()
        speaking = [worker for worker in self._workers if worker.answer in answers]
        return [(worker, self._message(worker)) for worker in speaking]

    def _say_that_nobody_is_ready(self) -> None:
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
            return Trouble("refused", f"A worker for task {self._task_name!r} cannot go on: {_ends(error)}.")
        except self._ray.exceptions.RayError as error:
            return Trouble("died", type(error).__name__ if worker.ready else _ends(error))
        if message == "started":
            self._silent = False
            worker.answer = worker.actor.make.remote()
        # Copies: what Ray hands out are views of its own memory, which cannot be written to.
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
    """A worker's life on a cluster."""

    def __init__(self, packed: bytes, path: list[str]) -> None:
        # For a task's module that lies beside the script on the same machine, or at the same place on another.
        sys.path.extend(entry for entry in path if entry not in sys.path)
        self._packed = packed

    def start(self) -> Message:
        """Report that the cluster had room for this worker."""
        return "started"

    def make(self) -> Message:
        """Make the task."""
        try:
            self._task = unpacked(self._packed)
        except InvalidInputError as error:
            return Trouble("refused", str(error))
        return "ready"

    def evaluate(self, genomes: Genomes) -> Outcome:
        # A copy, since Ray's own cannot be written to, and some libraries insist.
        return call_in_worker(self._task, np.array(genomes))


def _ends(error: Exception) -> str:
    """The first and the last line of what Ray has to say, which may be a page."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}"
