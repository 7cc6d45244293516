"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from stax.errors import InvalidInputError
from stax.evaluation.calls import ONE_THREAD, Trouble, call_in_worker
from stax.evaluation.crew import Message, Worker, Workers
from stax.evaluation.source import TaskSource, unpacked
from stax.tasks.task import Genomes

_SECONDS_TO_LEAVE = 2.0
"""How long idle processes may take to end by themselves."""


@dataclass(eq=False, kw_only=True)
class WorkerProcess(Worker):
    process: SpawnProcess
    connection: Connection


class Processes(Workers[WorkerProcess]):
    """Processes that are started anew, not forked: a fork of a process with threads may hang."""

    def __init__(self, source: TaskSource, *, size: int, time_limit: float | None) -> None:
        super().__init__(source.task.name, size=size, time_limit=time_limit)
        self._packed = source.packed(pickle.dumps)

    def _start(self) -> WorkerProcess:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._packed), name="stax worker", daemon=True)
        with _surroundings_of_a_worker():
            process.start()
        theirs.close()
        return WorkerProcess(process=process, connection=ours)

    def _send(self, worker: WorkerProcess, genomes: Genomes) -> None:
        with suppress(OSError):
            worker.connection.send(genomes)

    def _messages(self, timeout: float | None) -> list[tuple[WorkerProcess, Message]]:
        heard = connection.wait([worker.connection for worker in self._workers], timeout)
        return [(worker, self._message(worker)) for worker in self._workers if worker.connection in heard]

    def _message(self, worker: WorkerProcess) -> Message:
        try:
            message: Message = worker.connection.recv()
            return message
        except (EOFError, OSError):
            worker.process.join(_SECONDS_TO_LEAVE)
        code = worker.process.exitcode
        if worker.ready or code is None or code < 0:
            return Trouble("died", _how(code))
        # Not by chance: Python itself gave up, most likely on the main module, which it imports again in every worker.
        return Trouble(
            "refused",
            f"Worker processes for task {self._task_name!r} cannot start ({_how(code)}); a script that evaluates in processes must"
            ' do its work under if __name__ == "__main__":.',
        )

    def _end(self, worker: WorkerProcess) -> None:
        # Together with the processes that the task has started.
        if hasattr(os, "killpg") and worker.process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.kill()
        worker.process.join()
        worker.connection.close()

    def _dismiss(self, idle: list[WorkerProcess]) -> None:
        for worker in idle:
            worker.connection.close()
        deadline = time.monotonic() + _SECONDS_TO_LEAVE
        for worker in idle:
            worker.process.join(max(deadline - time.monotonic(), 0.0))
            self._end(worker)


@contextmanager
def _surroundings_of_a_worker() -> Iterator[None]:
    """What a process started inside inherits: one thread for every library, and no ear for Ctrl-C from its first moment on."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    blocked: set[int | signal.Signals] | None = None
    if hasattr(signal, "pthread_sigmask"):
        # Starting the tracker, which the first process needs, would unblock the signal again.
        resource_tracker.ensure_running()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(parent: Connection, packed: bytes) -> None:
    """A worker's life: it makes the task, and then calls it for every message until nobody is there any more."""
    _keep_apart()
    with suppress(EOFError, OSError):
        try:
            task = unpacked(packed)
        except InvalidInputError as error:
            parent.send(Trouble("refused", str(error)))
            return
        parent.send("ready")
        while True:
            outcome = call_in_worker(task, parent.recv())
            try:
                content = pickle.dumps(outcome)
            except Exception as error:  # a user's own arrays, say
                content = pickle.dumps(Trouble("refused", f"Rollouts of task {task.name!r} cannot be sent: {error}"))
            parent.send_bytes(content)


def _keep_apart() -> None:
    """Ctrl-C is for the parent to decide on, standard output is for its results, and without it there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if hasattr(os, "setpgid"):
        # A group of its own, so that it can be ended together with what the task has started.
        os.setpgid(0, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Also in the middle of a call that takes long."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    connection.wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _how(exit_code: int | None) -> str:
    """In words, how a process ended."""
    if exit_code is None:
        return "it hung up"
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
