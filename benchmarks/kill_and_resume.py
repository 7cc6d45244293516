"""Kill runs at random moments, resume them, and compare what they leave with runs that nothing happened to, bit by bit.

    python benchmarks/kill_and_resume.py                            # 50 kills, about ten minutes
    python benchmarks/kill_and_resume.py --kills 8 --methods stax --tasks hard-maze

For every method and task, one run is done in peace. Others are killed with SIGKILL, resumed by `stax resume`, killed again, and at
last resumed to their end. Moments are drawn between the start of the search and its end, from `--seed`; where they fall also
depends on the machine. Runs take a checkpoint at every rest, so many kills fall into the writing of one. The exit code is 1 if
any run ends differently.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

METHODS = ("stax", "serene", "ns", "map-elites")
TASKS = ("redundant-arm", "hard-maze", "curling")
BUDGETS = {"stax": 400, "serene": 2000, "ns": 2000, "map-elites": 2000}
SETTINGS = {"population_size": 20, "chunk_size": 40, "checkpoint_seconds": 0, "max_images_per_episode": 200}
EXACT = ("archives/novelty.npz", "archives/reward.npz", "ledger.parquet", "emitters.csv", "autoencoder.safetensors")
"""Files of which every byte counts."""


@dataclass
class Case:
    """One method on one task, and what became of its runs."""

    method: str
    task: str
    kills: int
    """That are still to be done."""
    hits: int = 0
    """Kills in the middle of a search."""
    while_writing: int = 0
    """Of these, those that left a file half-written."""
    runs: int = 0
    """That were killed and brought to their end."""
    differences: list[str] = field(default_factory=list)

    def row(self) -> str:
        verdict = ", ".join(sorted(set(self.differences))) or "all bits equal"
        return f"{self.method:<11} {self.task:<14} {self.runs:>4} {self.hits:>5} {self.while_writing:>13}   {verdict}"


class Work:
    """Does the cases, in a folder of its own."""

    def __init__(self, folder: Path, seed: int, workers: int) -> None:
        self._folder, self._workers = folder, workers
        self._chance = random.Random(seed)

    def do(self, case: Case) -> None:
        name = f"{case.method}-{case.task}"
        peaceful, began = self._folder / f"{name}-peaceful", time.monotonic()
        process = self._start(case, peaceful)
        started = time.monotonic() - began
        self._end(process)
        # Each kill gets its part of the search's time on average, so that most of them hit.
        pause = 1.4 * (time.monotonic() - began - started) / max(case.kills, 1)
        while case.kills:
            case.runs += 1
            killed = self._folder / f"{name}-{case.runs}"
            while case.kills and self._kill(case, killed, pause):
                pass
            if not _finished(killed):
                self._end(self._start(case, killed))
            case.differences += differences(peaceful, killed)

    def _start(self, case: Case, folder: Path) -> subprocess.Popen[str]:
        """A command that has begun to search, or has ended."""
        command = [str(Path(sys.executable).parent / "stax")]
        if (folder / "config.toml").exists():
            command += ["resume", str(folder)]
        else:
            command += ["run", case.task, "--algo", case.method, "--budget", str(BUDGETS[case.method]), "--out", str(folder)]
            command += ["--workers", str(self._workers)]
            command += [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr
        # The first line is said when the search begins.
        process.stderr.readline()
        return process

    def _end(self, process: subprocess.Popen[str]) -> None:
        _, said = process.communicate()
        if process.returncode:
            raise RuntimeError(f"exit code {process.returncode}: {said}")

    def _kill(self, case: Case, folder: Path, pause: float) -> bool:
        """Kills a run at some moment of its search; tells whether it has still to be brought to its end."""
        process = self._start(case, folder)
        time.sleep(self._chance.uniform(0, pause))
        process.kill()
        process.communicate()
        case.kills -= 1
        if process.returncode != -signal.SIGKILL:
            return False
        if not _finished(folder):
            case.hits += 1
            case.while_writing += any(folder.rglob("*.part"))
            return True
        return False


def _finished(folder: Path) -> bool:
    summary = folder / "summary.json"
    return summary.exists() and json.loads(summary.read_text())["status"] == "finished"


def differences(one: Path, other: Path) -> list[str]:
    """The files in which two runs are not the same; how long they took does not count."""
    found = [name for name in EXACT if _bytes(one / name) != _bytes(other / name)]
    if _metrics(one) != _metrics(other):
        found.append("metrics.csv")
    if _summary(one) != _summary(other):
        found.append("summary.json")
    return found + [str(path.name) for path in other.rglob("*.part")]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if not name.startswith("seconds")} for row in rows]


def _summary(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "summary.json").read_text())
    return {name: value for name, value in summary.items() if name != "seconds"}


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill runs at random moments, resume them, and compare bits.")
    parser.add_argument("--kills", type=int, default=50, help="in total (default 50)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default 0)")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, metavar="METHOD")
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS, metavar="TASK")
    parser.add_argument("--workers", type=int, default=2, help="of every run (default 2)")
    options = parser.parse_args()
    names = [(method, task) for method in options.methods for task in options.tasks]
    shares = [options.kills // len(names) + (number < options.kills % len(names)) for number in range(len(names))]
    cases = [Case(*name, kills) for name, kills in zip(names, shares, strict=True)]
    began = time.monotonic()
    print(f"{'method':<11} {'task':<14} {'runs':>4} {'kills':>5} {'while writing':>13}   compared with a run in peace")
    with tempfile.TemporaryDirectory(prefix="kill-and-resume-") as folder:
        work = Work(Path(folder), options.seed, options.workers)
        for case in cases:
            work.do(case)
            print(case.row(), flush=True)
    hits, writing = sum(case.hits for case in cases), sum(case.while_writing for case in cases)
    print(
        f"{options.kills} kills, {hits} in the middle of a search, {writing} of these while a file was written;"
        f" {sum(bool(case.differences) for case in cases)} cases differ; {time.monotonic() - began:.0f} s"
    )
    return int(any(case.differences for case in cases))


if __name__ == "__main__":
    sys.exit(main())
