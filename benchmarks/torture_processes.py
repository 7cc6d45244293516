"""Commands in marked processes, so that remaining processes can be found; with limits of time and memory."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "STAX_TORTURE_MARK"
ADDRESS_SPACE = 64 * 2**30
"""Bytes of address space of a bounded command: far more than it needs, and a limit for what would never end."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command."""

    code: int
    """Exit code; the negative number of a signal."""
    stderr: str
    memory: int
    """Largest memory of the process itself, in bytes."""
    timed_out: bool


def start_marked(command: list[str], mark: str, *, cwd: Path) -> subprocess.Popen[str]:
    """Start a command whose errors can be read from a pipe."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=cwd,
        env={**os.environ, MARK: mark},
    )


def run_bounded(command: list[str], mark: str, *, cwd: Path, seconds: float) -> Outcome:
    """Run a command to its end, or kill it after this number of seconds."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=cwd,
            env={**os.environ, MARK: mark},
            preexec_fn=_limit,
        )
        late = threading.Event()

        def kill() -> None:
            late.set()
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read(2**20).decode(errors="replace")
    return Outcome(process.returncode, said, usage.ru_maxrss * 1024, late.is_set())


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def processes_marked(mark: str) -> list[int]:
    """Return processes that were started with this mark, or by such a process, and still exist."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for path in Path("/proc").iterdir():
        if not path.name.isdecimal():
            continue
        with suppress(OSError):
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found
