"""Workers that are processes of this machine.

Each worker is the leader of a process group, so that it can be ended together with the processes that its task has started. It
has one thread for every library, ignores Ctrl-C (also while it starts), and prints to stderr.

A watchdog process beside each worker ends its group when this process dies. A thread of the worker could not do so while the
task holds Python's global lock in a long computation. The signal of Linux for the death of a parent would not do either: it is
sent when the thread ends that started the worker.

Workers are checked for being alive twice a second. Their pipes do not show it while a process that the task has forked holds
them open.
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
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker, util
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import ModuleType

from stax.errors import InvalidInputError
from stax.evaluation.calls import ONE_THREAD, Callee, Failure, Part, call_in_worker
from stax.evaluation.crew import Message, Worker, Workers
from stax.evaluation.source import unpacked
from stax.evaluation.watchdog import KILL_GROUP, Watchdog
from stax.streams import LossyStream

_SECONDS_TO_EXIT = 2.0
"""Seconds that idle processes may take to end by themselves."""
_SECONDS_BETWEEN_CHECKS = 0.5
"""Seconds between checks whether workers are alive. A closed connection shows that a worker died only if no other process holds the
connection open, and a process that the task has forked may do so."""

_SAFE_PATH = "PYTHONSAFEPATH"
"""Variable that keeps the working folder off the import path of a new Python process. Otherwise the folder comes first there until the
process has received the path of its parent, and a file called multiprocessing.py in it would be run."""
_SET_BY_US = "stax"
"""Value of that variable; any text works."""
_MAIN = "__main__"
"""Name of the module that a Python process was started with."""


@dataclass(eq=False, kw_only=True)
class WorkerProcess(Worker):
    process: SpawnProcess
    connection: Connection
    watchdog: Watchdog | None


class Processes(Workers[WorkerProcess]):
    """Worker processes on this machine. They are spawned, not forked: a fork of a process with threads may hang.

    They are not daemonic, because a daemonic process may not have children, and a task may use multiprocessing. At exit Python waits
    for such processes, so the remaining ones are ended before that.

    Args:
        task_name: name of the task, for messages.
        packed: data from which a worker makes the task, see `TaskSource.packed`.
        size: largest number of workers at a time.
        time_limit: see `Workers`.
    """

    def __init__(self, task_name: str, packed: bytes, *, size: int, time_limit: float | None) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            # This is a worker that is importing the main module of its parent, a script that starts workers without
            # checking __name__. The parent says so in one sentence when this process has ended.
            raise SystemExit(1)
        super().__init__(task_name, size=size, time_limit=time_limit)
        self._packed = packed
        util.Finalize(self, _end_all, args=(self._workers,), exitpriority=100)

    def _start(self) -> WorkerProcess:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._packed), name="stax worker", daemon=False)
        # Only a task that is made of parts of the main module needs that module in its workers.
        with _worker_environment(), nullcontext() if _MAIN.encode() in self._packed else _without_main_module():
            process.start()
        theirs.close()
        worker = WorkerProcess(process=process, connection=ours, watchdog=None)
        try:
            worker.watchdog = Watchdog(KILL_GROUP, process.pid) if os.name == "posix" else None
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _send(self, worker: WorkerProcess, part: Part) -> None:
        with suppress(OSError):
            worker.connection.send((part.genomes, part.changes))

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
            worker.process.join(_SECONDS_TO_EXIT)
        code = worker.process.exitcode
        if worker.ready or code is None or code < 0:
            return Failure("died", _exit_description(code))
        # Not by chance: Python itself gave up, most likely on the main module, which it imports again in every worker.
        return Failure(
            "refused",
            f"Worker processes for task {self._task_name!r} cannot start ({_exit_description(code)}); a script that evaluates a task of its own"
            ' in processes must do its work under if __name__ == "__main__":.',
        )

    def _core_seconds_of(self, worker: WorkerProcess) -> float:
        try:
            said = Path(f"/proc/{worker.process.pid}/stat").read_bytes()
        except OSError:  # it has ended, or this is not Linux
            return 0.0
        # Behind the name, which may hold anything, fields 11 to 14: user and system time, its own and of its children that have ended.
        return sum(map(int, said.rpartition(b")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")

    def _end(self, worker: WorkerProcess) -> None:
        _end_process(worker)

    def _dismiss(self, idle: list[WorkerProcess]) -> None:
        for worker in idle:
            worker.connection.close()
        deadline = time.monotonic() + _SECONDS_TO_EXIT
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
    """End the remaining workers: at exit, or when the object that they belong to is no longer used."""
    while workers:
        _end_process(workers.pop())


@contextmanager
def _worker_environment() -> Iterator[None]:
    """Give processes that are started inside one thread for every library, and make them ignore Ctrl-C from the start."""
    environment = {_SAFE_PATH: _SET_BY_US, **ONE_THREAD}
    if os.environ.get(_SAFE_PATH):
        del environment[_SAFE_PATH]
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    blocked: set[int | signal.Signals] | None = None
    if hasattr(signal, "pthread_sigmask"):
        # Starting the resource tracker, which the first process needs, would unblock the signal again.
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


@contextmanager
def _without_main_module() -> Iterator[None]:
    """Keep a process that is started inside from importing the main module, which would run a user's script once more."""
    main = sys.modules[_MAIN]
    sys.modules[_MAIN] = ModuleType(_MAIN)
    try:
        yield
    finally:
        sys.modules[_MAIN] = main


def _work(parent: Connection, packed: bytes) -> None:
    """Run a worker: make the task, and then call it for every message until the connection is closed."""
    _isolate()
    if hasattr(os, "register_at_fork"):
        # A process that the task forks must neither answer for this worker nor hide its death.
        os.register_at_fork(after_in_child=parent.close)
    with suppress(EOFError, OSError):
        parent.send("started")
        try:
            callee = Callee(unpacked(packed))
        except InvalidInputError as error:
            parent.send(Failure("refused", str(error)))
            return
        parent.send("ready")
        while True:
            outcome = call_in_worker(callee, *parent.recv())
            try:
                content = pickle.dumps(outcome)
            except BaseException as error:  # for example for arrays of the user's own classes
                content = pickle.dumps(Failure("refused", f"Rollouts of task {callee.task.name!r} cannot be sent: {error}"))
            parent.send_bytes(content)


def _isolate() -> None:
    """Ignore Ctrl-C, which the parent handles; leave standard output to the parent; lead a process group."""
    if os.environ.get(_SAFE_PATH) == _SET_BY_US:
        # Programs that the task starts may use their own folder.
        del os.environ[_SAFE_PATH]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if hasattr(os, "setpgid"):
        # Its own group, so that it can be ended together with the processes that the task has started.
        os.setpgid(0, 0)
    os.dup2(2, 1)
    # Output of a task is dropped if the terminal has gone.
    sys.stdout = sys.stderr = LossyStream(sys.stderr)
    if os.name != "posix":
        # There are no process groups and no watchdog on this system.
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent has died, also in the middle of a call that takes long."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _exit_description(exit_code: int | None) -> str:
    """Describe how a process ended."""
    if exit_code is None:
        return "it hung up"
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
