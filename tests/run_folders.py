"""What the tests of run folders share: commands in processes that are quick to start and easy to kill, and what makes two runs the
same."""

from __future__ import annotations

import csv
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
STAX = Path(sys.executable).parent / "stax"
TASK = "troubled_tasks:TroubledTask"
QUICK: dict[str, Any] = {
    "population_size": 12,
    "parents_per_generation": None,
    "chunk_size": 24,
    "emitter_population": 3,
    "bootstrap_generations": 2,
    "archive_additions": 3,
    "novelty_neighbors": 4,
    "code_size": 3,
    "max_epochs": 2,
    "isolation": "none",
    "checkpoint_seconds": 0,
}
"""Parameters that make a run short, and give it a checkpoint at every rest."""
LEARNING: dict[str, Any] = {
    "population_size": 12,
    "chunk_size": 24,
    "max_images_per_episode": 100,
    "max_epochs": 1,
    "emitter_population": 2,
    "bootstrap_generations": 2,
}
"""Parameters that make a run short that learns from pictures."""
_MODULES = (
    *("pandas", "pyarrow.parquet", "safetensors.numpy", "torch._dynamo"),
    *("stax.analysis.picture", "stax.cli.watched_run", "stax.cli.summary", "stax.representation.learned"),
)
"""What most runs need in the end."""
EXACT = ("archives/novelty.npz", "archives/reward.npz", "ledger.parquet", "emitters.csv", "autoencoder.safetensors")
"""Files of which every byte counts."""


def as_options(parameters: dict[str, Any]) -> list[str]:
    """The same for the command line."""
    return [part for name, value in parameters.items() for part in ("--set", f"{name}={value}")]


def differences(a: Path, b: Path) -> list[str]:
    """In what two runs are not the same; how long they took does not count, nor with how many workers."""
    found = [name for name in EXACT if _bytes(a / name) != _bytes(b / name)]
    found += [name for name in ("metrics.csv",) if _metrics(a / name) != _metrics(b / name)]
    return found + [name for name in ("summary.json",) if _summary(a / name) != _summary(b / name)]


def same_run(a: Path, b: Path) -> None:
    found = differences(a, b)
    assert not found, found
    assert not [path for folder in (a, b) for path in folder.rglob("*.part")]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _metrics(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if not name.startswith("seconds")} for row in rows]


def _summary(path: Path) -> dict[str, Any]:
    return {name: value for name, value in summary(path.parent).items() if name not in ("seconds", "core_seconds", "workers")}


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def checkpoints(folder: Path) -> list[int]:
    """After how many evaluations there is one, the newest last."""
    return sorted(int(path.stem) for path in (folder / "checkpoints").glob("*.npz"))


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder but the lock, which is empty."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


class Command:
    """A `stax` command in a process of its own."""

    def __init__(self, pid: int, server: Commands, said: Path) -> None:
        self.pid, self._server, self._said = pid, server, said
        self._code: int | None = None

    @property
    def said(self) -> str:
        return self._said.read_text(errors="surrogateescape") if self._said.exists() else ""

    @property
    def running(self) -> bool:
        return self._code is None and self._server.poll(self.pid) is None

    def send(self, number: int) -> None:
        if self.running:
            os.kill(self.pid, number)

    def wait(self) -> int:
        """Its exit code; the signal's number below zero if it was killed."""
        deadline = time.monotonic() + 120
        while self._code is None:
            self._code = self._server.poll(self.pid)
            assert time.monotonic() < deadline, self.said
            time.sleep(0.005)
        return self._code

    def wait_for(self, condition) -> None:
        """Until it is true, or the command has ended."""
        deadline = time.monotonic() + 120
        while self.running and not condition():
            assert time.monotonic() < deadline, self.said
            time.sleep(0.002)


class Commands:
    """Starts commands as forks of a process that has imported everything already, which takes longer than most runs here."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        self._codes: dict[int, int] = {}
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def start(self, *arguments: str | Path, cwd: Path | None = None, kill_at: int = 0, **environment: str) -> Command:
        """Starts `stax` with these arguments. With `kill_at`, it is killed just before it touches a file for the so-manieth time."""
        self._count += 1
        said = self._folder / f"{self._count}.txt"
        request = {"arguments": [str(argument) for argument in arguments], "environment": environment}
        reply = self._ask({**request, "said": str(said), "cwd": str(cwd or "."), "kill_at": kill_at})
        return Command(int(reply["pid"]), self, said)

    def do(self, *arguments: str | Path, **options: Any) -> tuple[int, str]:
        """Its exit code, and all that it said."""
        command = self.start(*arguments, **options)
        return command.wait(), command.said

    def poll(self, pid: int) -> int | None:
        if pid not in self._codes:
            code = self._ask({"poll": pid})["code"]
            if code is None:
                return None
            self._codes[pid] = int(code)
        return self._codes[pid]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        return reply

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)


def _serve() -> None:
    """Answers requests, one a line: to start a command, or to tell its exit code."""
    for module in _MODULES:
        with suppress(ImportError):  # pandas is used where it is there, and not needed
            importlib.import_module(module)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            reply = {"code": os.waitstatus_to_exitcode(status) if pid else None}
        else:
            reply = {"pid": os.fork()}
            if not reply["pid"]:
                _do(request)
        print(json.dumps(reply), flush=True)


def _do(request: dict[str, Any]) -> None:
    from stax.cli.main import entry_point

    os.environ.update(request["environment"])
    number = os.open(request["said"], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(number, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    sys.argv = ["stax", *request["arguments"]]
    if request["kill_at"]:
        sys.addaudithook(_Killer(request["kill_at"]))
    code = 1
    try:
        entry_point()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Stop:
    """Asks a run to stop at its so-manieth rest."""

    def __init__(self, rests: int) -> None:
        self.left = rests

    def __call__(self) -> bool:
        self.left -= 1
        return self.left <= 0


class _Killer:
    """Told by Python of every file that is about to be opened, renamed or removed; kills the process at one that is written."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in ("os.rename", "os.remove", "os.mkdir") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if writes and "/checked/" in str(arguments[0]):
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _serve()
