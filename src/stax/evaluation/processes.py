"""Workers that are processes of this machine.

Each worker is the leader of a process group, so that it can be ended together with the processes that its task has started. A
watchdog process beside each worker does so when this process dies: the worker could not do that itself while it holds Python's
global lock in a long computation.
"""

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
from multiprocessing import connection, resource_tracker, util
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from stax.errors import InvalidInputError
from stax.evaluation.calls import ONE_THREAD, Trouble, call_in_worker
from stax.evaluation.crew import Message, Worker, Workers
from stax.evaluation.source import unpacked
from stax.evaluation.watchdog import KILL_GROUP, Watchdog
from stax.streams import LossyStream
from stax.tasks.task import Genomes

_SECONDS_TO_LEAVE = 2.0
"""How long idle processes may take to end by themselves."""
_SECONDS_BETWEEN_CHECKS = 0.5
"""How often it is checked whether workers are alive. Their connection shows that they died only if nobody else holds it open, and
a process that the task has forked may do so."""

_SAFE_PATH = "PYTHONSAFEPATH"
"""Variable that keeps the working folder off the import path of a new Python process. Otherwise it comes first there until the
process has been given the path of its parent, and a file called multiprocessing.py in it would be run."""
_SET_BY_US = "stax"
"""Value of that variable; any text will do."""


@dataclass(eq=False, kw_only=True)
class WorkerProcess(Worker):
    process: SpawnProcess
    connection: Connection
    watchdog: Watchdog | None


class Processes(Workers[WorkerProcess]):
    """Processes that are started anew, not forked: a fork of a process with threads may hang.

    They are not daemonic, since a daemonic process may not have children, and a task may want to use multiprocessing. At exit
    Python waits for such processes, so those that are left by then are ended first.

    Args:
        task_name: of the task, for messages.
        packed: what a worker makes the task from, see `TaskSource.packed`.
        size: most workers at a time.
        time_limit: see `Workers`.
    """

    def __init__(self, task_name: str, packed: bytes, *, size: int, time_limit: float | None) -> None:
        super().__init__(task_name, size=size, time_limit=time_limit)
        self._packed = packed
        util.Finalize(self, _end_all, args=(self._workers,), exitpriority=100)

    def _start(self) -> WorkerProcess:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._packed), name="stax worker", daemon=False)
        with _surroundings_of_a_worker():
            process.start()
        theirs.close()
        worker = WorkerProcess(process=process, connection=ours, watchdog=None)
        try:
            worker.watchdog = Watchdog(KILL_GROUP, process.pid) if os.name == "posix" else None
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _send(self, worker: WorkerProcess, genomes: Genomes) -> None:
        with suppress(OSError):
            worker.connection.send(genomes)

    def _messages(self, timeout: float | None) -> list[tuple[WorkerProcess, Message]]:
        seconds = _SECONDS_BETWEEN_CHECKS if timeout is None else min(timeout, _SECONDS_BETWEEN_CHECKS)
        heard = connection.wait([worker.connection for worker in self._workers], seconds)
        speaking = [worker for worker in self._workers if worker.connection in heard or worker.process.exitcode is not None]
        return [(worker, self._message(worker)) for worker in speaking]

    def _message(self, worker: WorkerProcess) -> Message:
        if worker.process.exitcode is not None:
            # Processes that the task has started may hold the connection open, and reading from it would never end.
            _kill_group(worker.process)
        try:
            if worker.process.exitcode is None or worker.connection.poll():
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
        _end_process(worker)

    def _dismiss(self, idle: list[WorkerProcess]) -> None:
        for worker in idle:
            worker.connection.close()
        deadline = time.monotonic() + _SECONDS_TO_LEAVE
        for worker in idle:
            worker.process.join(max(deadline - time.monotonic(), 0.0))
            self._end(worker)


def _kill_group(process: SpawnProcess) -> None:
    """Kill a worker together with the processes that its task has started."""
    if hasattr(os, "killpg") and process.pid is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _end_process(worker: WorkerProcess) -> None:
    _kill_group(worker.process)
    worker.process.kill()
    worker.process.join()
    worker.connection.close()
    if worker.watchdog is not None:
        worker.watchdog.end()


def _end_all(workers: list[WorkerProcess]) -> None:
    """End the workers that nobody has ended: at exit, or when the object that they belong to is no longer used."""
    while workers:
        _end_process(workers.pop())


@contextmanager
def _surroundings_of_a_worker() -> Iterator[None]:
    """What a process started inside inherits: one thread for every library, and no ear for Ctrl-C from its first moment on."""
    surroundings = {_SAFE_PATH: _SET_BY_US, **ONE_THREAD}
    if os.environ.get(_SAFE_PATH):
        del surroundings[_SAFE_PATH]
    before = {name: os.environ.get(name) for name in surroundings}
    os.environ.update(surroundings)
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
    if hasattr(os, "register_at_fork"):
        # A process that the task forks must neither answer for this worker nor hide its death.
        os.register_at_fork(after_in_child=parent.close)
    with suppress(EOFError, OSError):
        parent.send("started")
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
            except BaseException as error:  # of arrays of the user's own classes, for example
                content = pickle.dumps(Trouble("refused", f"Rollouts of task {task.name!r} cannot be sent: {error}"))
            parent.send_bytes(content)


def _keep_apart() -> None:
    """Ignore Ctrl-C, which is for the parent to decide on; leave standard output to the parent; lead a process group."""
    if os.environ.get(_SAFE_PATH) == _SET_BY_US:
        # Programs that the task starts need not do without their own folder.
        del os.environ[_SAFE_PATH]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if hasattr(os, "setpgid"):
        # A group of its own, so that it can be ended together with what the task has started.
        os.setpgid(0, 0)
    os.dup2(2, 1)
    # What a task prints is dropped if the terminal has gone.
    sys.stdout = sys.stderr = LossyStream(sys.stderr)
    if os.name != "posix":
        # There are no process groups and no watchdog.
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent has died, also in the middle of a call that takes long."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
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
