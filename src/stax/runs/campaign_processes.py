"""Runs of a campaign in processes of this machine, one each, so that nothing of a run leaks into another.

A process reads from its standard input which run to do, and stops at the next rest when the input is closed: by the campaign,
or because the campaign's process has ended. What it prints is kept in a log.

Processes are started by a plain command rather than by multiprocessing. Each is then in a process group of its own and prints
to its log from the first moment, and a user's script is not imported again.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from stax.errors import InvalidInputError
from stax.runs.campaign import CampaignRun
from stax.runs.campaign_work import Outcome, do_run
from stax.runs.files import inside, open_regular, open_to_append
from stax.runs.status import RunStatus

LOGS = "logs"
_LOG_BYTES = 2**16
"""Bytes at the end of a log in which its last line is searched for."""
_ERROR_LENGTH = 4000
"""Characters of an error that are passed on; a pipe holds some more."""


class LocalProcesses:
    """A place for runs in local processes, `room` at a time, with logs in the campaign's folder."""

    def __init__(self, out: Path, room: int) -> None:
        self.room = room
        self._logs = inside(out, LOGS)
        self._processes: dict[CampaignRun, subprocess.Popen[bytes]] = {}
        self._stopping = False

    def begin(self, run: CampaignRun) -> None:
        self._logs.mkdir(exist_ok=True)
        # What is importable here is importable there; the main module, which may be a script without a guard, is not run again.
        code = f"import sys; sys.path[:] = {sys.path!r}; from stax.runs.campaign_processes import main; main()"
        with open_to_append(self._log(run)) as log:
            # The last argument is only for the list of processes.
            command = [sys.executable, "-c", code, f"stax campaign: {run.name}"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, **_own_group())
        self._processes[run] = process
        with suppress(BrokenPipeError):  # it died at once, which is noticed later
            _opened(process.stdin).write(pickle.dumps((str(run.folder.path), run.config)))
            _opened(process.stdin).flush()
        if self._stopping:
            _close_input(process)

    def ended(self) -> list[tuple[CampaignRun, Outcome]]:
        over = [(run, process) for run, process in self._processes.items() if process.poll() is not None]
        return [(run, self._outcome(run, process)) for run, process in over]

    def _outcome(self, run: CampaignRun, process: subprocess.Popen[bytes]) -> Outcome:
        del self._processes[run]
        # Processes that the task has left running end with the run; they could hold the pipe open for ever.
        _kill(process)
        with _opened(process.stdout) as report:
            if os.name == "posix":
                os.set_blocking(report.fileno(), False)
            words = report.read() or b""
        _close_input(process)
        log = self._log(run)
        with suppress(OSError):
            if not log.stat().st_size:
                log.unlink()
        try:
            status, error = json.loads(words)
            return Outcome(RunStatus(status), str(error))
        except (ValueError, TypeError):
            pass
        if self._stopping:
            return Outcome(RunStatus.INTERRUPTED)
        return Outcome(RunStatus.FAILED, f"Its process {_how_it_ended(process.returncode, log)}.")

    def _log(self, run: CampaignRun) -> Path:
        return self._logs / f"{run.name}.log"

    def ask_to_stop(self) -> None:
        self._stopping = True
        for process in self._processes.values():
            _close_input(process)

    def end_at_once(self) -> None:
        self._stopping = True
        for process in self._processes.values():
            _kill(process)

    def close(self) -> None:
        self.end_at_once()
        for process in self._processes.values():
            process.wait()
            _close_input(process)
            _opened(process.stdout).close()
        with suppress(OSError):  # there are logs in it, or there never was one
            self._logs.rmdir()


def _own_group() -> dict[str, Any]:
    """Return the options for a process group of its own, since the campaign handles Ctrl-C on the terminal."""
    return {"process_group": 0} if os.name == "posix" else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a run's process together with those that its task has started."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _close_input(process: subprocess.Popen[bytes]) -> None:
    with suppress(BrokenPipeError):
        _opened(process.stdin).close()


def _how_it_ended(exit_code: int, log: Path) -> str:
    """Return how a process ended, as the end of a sentence."""
    if exit_code >= 0:
        return f"ended with exit code {exit_code}{_last_line(log)}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"was ended by {name}{' (memory may have run out)' if name == 'SIGKILL' else ''}"


def _last_line(log: Path) -> str:
    try:
        with open_regular(log, "The log") as file:
            file.seek(-min(_LOG_BYTES, file.seek(0, 2)), 2)
            lines = file.read(_LOG_BYTES).decode(errors="replace").strip().splitlines()
    except (InvalidInputError, OSError):
        return ""
    return f" ({lines[-1].strip()[:200]})" if lines else ""


def main() -> None:
    """Do the run that standard input describes: the main function of such a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    # What a task prints goes to the log, not to the campaign.
    report = os.dup(1)
    os.dup2(2, 1)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    path, config = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_wait_for_end, args=(stopping,), daemon=True).start()
    outcome = do_run(Path(path), config, stopping.is_set)
    with suppress(BrokenPipeError):
        os.write(report, json.dumps([outcome.status, outcome.error[:_ERROR_LENGTH]]).encode())


def _wait_for_end(stopping: threading.Event) -> None:
    # Not through sys.stdin, whose lock would be waited for at exit.
    while os.read(0, 1024):
        pass
    stopping.set()
