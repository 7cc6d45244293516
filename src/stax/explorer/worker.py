"""The process that makes tasks and autoencoders for the explorer, so that a task may be slow or crash without harm.

Requests and answers are messages of `packing.py`, each behind its length, on the process's standard input and output.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, in_one_line
from stax.explorer.packing import pack, unpack
from stax.search.policy_set import SPREAD, PolicySet

TIME_LIMIT = 120.0
"""Seconds that a request may take."""
FIRST_TIME_LIMIT = 900.0
"""Seconds that the first requests of a kind may take, which may have to compile a simulator."""
_LENGTH = struct.Struct("<Q")
_COLUMNS = ("id", "genome", "reward", "reward_area", "steps", "ground_truth", SPREAD)
"""Columns of policies that the worker needs."""


class Worker:
    """The worker process, started when it is needed and again after it has died; one request at a time.

    Args:
        trust: whether code of a run's maker may be imported.
    """

    def __init__(self, *, trust: bool) -> None:
        self._trust = trust
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._done: set[tuple[str, str]] = set()
        """Methods that have answered, with the folder that they were asked about."""
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        folder: Path,
        *,
        policy: PolicySet | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
        **more: Any,
    ) -> bytes:
        """Return what a method of `Studio` returns; a failure there is an `InvalidInputError` here."""
        known = {} if policy is None else policy.columns()
        columns = {f"policy.{name}": column for name, column in known.items() if name in _COLUMNS}
        request = pack({"method": method, "folder": str(folder), "more": more}, {**columns, **(arrays or {})})
        with self._lock:
            answer = self._exchange(request, TIME_LIMIT if (method, str(folder)) in self._done else FIRST_TIME_LIMIT)
            self._done.add((method, str(folder)))
        if answer[:1] == b"-":
            raise InvalidInputError(answer[1:].decode(errors="replace"))
        return answer[1:]

    def _exchange(self, request: bytes, limit: float) -> bytes:
        if self._closed:
            raise InvalidInputError("The server is ending.")
        process = self._running()
        assert process.stdin
        assert process.stdout
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            _write(process.stdin, request)
            return _read(process.stdout)
        except (OSError, EOFError):
            late = not timer.is_alive()
            self._end()
            why = f"took longer than {limit:.0f} s" if late else "ended the process that draws"
            raise InvalidInputError(f"The task {why}; nothing else was harmed.") from None
        finally:
            timer.cancel()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            trusted = ["--trust"] if self._trust else []
            command = [sys.executable, "-m", "stax.explorer.worker", *trusted]
            # A session of its own: Ctrl-C in the terminal is for the server, which then ends the worker.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=_environment()
            )
        return self._process

    def close(self) -> None:
        """End the process, also in the middle of a request."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    if stream:
                        stream.close()
            self._process = None


def _environment() -> dict[str, str]:
    """Return this process's environment variables, changed for the worker: the same import path, and one thread for OpenMP."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    message = stream.read(length)
    if len(message) < length:
        raise EOFError
    return message


# In the worker process


def main() -> None:
    """Answer requests until the server closes the pipe."""
    from stax.working_folder import code_allowed, ignore_matplotlib_settings

    # What a task prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    ignore_matplotlib_settings()
    trust = "--trust" in sys.argv[1:]
    from stax.explorer.drawing import Studio

    studio = Studio(trust=trust)
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt), code_allowed() if trust else nullcontext():
        while True:
            _write(answers, _answer(studio, _read(sys.stdin.buffer)))


def _answer(studio: Any, request: bytes) -> bytes:
    about, arrays = unpack(request)
    policy = {name.removeprefix("policy."): arrays.pop(name) for name in list(arrays) if name.startswith("policy.")}
    given: dict[str, Any] = {**about["more"], **arrays}
    if policy:
        given["policy"] = _policies(policy)
    try:
        return b"+" + bytes(getattr(studio, about["method"])(about["folder"], **given))
    except (InvalidInputError, RuntimeError) as error:
        return b"-" + str(error).encode()
    except BaseException as error:  # a user's own task may raise anything, also to end the program
        return b"-" + f"The task failed: {in_one_line(error)}".encode()


def _policies(columns: Mapping[str, NDArray[Any]]) -> PolicySet:
    count = len(columns["id"])
    whole: dict[str, Any] = {name: columns[name].astype(np.int64) for name in ("id", "reward_area", "steps")}
    unknown: dict[str, Any] = dict.fromkeys(("parent", "born", "origin", "emitter"), np.full(count, -1))
    return PolicySet(
        **whole,
        **unknown,
        genome=columns["genome"],
        reward=columns["reward"],
        ground_truth=columns["ground_truth"],
        snapshots=np.empty((count, 0)),
        descriptor=np.empty((count, 0)),
        novelty=np.full(count, np.nan),
        surprise=np.full(count, np.nan),
        reward_spread=columns.get(SPREAD),
    )


if __name__ == "__main__":
    main()
