"""Disturb runs by kills, signals, full disks and damaged folders, and count the outcomes.

    python benchmarks/torture.py --minutes 60
    python benchmarks/torture.py --minutes 20 --seed 3 --attacks kill signal

Every attack draws a combination of task, method, emitters, scheduler, autoencoder and backend at random. There are four attacks:

- kill: SIGKILL at random moments, then `stax resume`, until the run is finished.
- signal: SIGINT, SIGTERM or SIGHUP at random moments, sometimes twice, then `stax resume`. The exit code must be 130.
- disk: the disk fills up (a file system of limited size, which needs root), is made larger, and the run is resumed.
- folder: files of a run folder are damaged or replaced by what an attacker would put there. Every command that reads run folders
  must then succeed or refuse with one line, within bounds of time and memory, and touch nothing outside the folder.

After the first three, all results must be equal to those of an undisturbed run, bit for bit, and no process may be left behind.
The tally is printed at the end; the exit code is 1 if anything went wrong. Folders of failed attacks are kept with `--keep DIR`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from run_differences import run_differences
from stax.search.methods import METHODS
from torture_folders import damage_folder
from torture_processes import Outcome, processes_marked, run_bounded, start_marked

STAX = Path(sys.executable).parent / "stax"
ATTACKS = ("kill", "signal", "disk", "folder")
SETTINGS = {
    "population_size": 20,
    "chunk_size": 40,
    "checkpoint_seconds": 0,
    "max_images_per_episode": 200,
    "bootstrap_generations": 3,
}
"""Parameters of every run. They make it short, and give it a checkpoint whenever it can have one."""
TASKS = ("redundant-arm", "hard-maze", "curling", "thrower:Thrower", "gym:CartPole-v1")
"""Built-in tasks, a user's own task as `stax new-task` writes it, and a Gymnasium environment."""
PICTURES = ("redundant-arm", "hard-maze", "curling")
EMITTERS = ("elitist", "cma-es", "sep-cma-es", "novelty", "elitist,cma-es,novelty")
SCHEDULERS = ("alternating", "fixed-ratio", "adaptive")
SECONDS_TO_VANISH = 10.0
"""Seconds that worker processes may outlive their parent."""
MEMORY_BESIDES = 500 * 2**20
"""Bytes that a command may use for a hostile folder beyond what it uses for an intact one."""


@dataclass(frozen=True)
class Combination:
    """One run to disturb."""

    task: str
    method: str
    budget: int
    parameters: tuple[tuple[str, Any], ...]
    backend: str

    def command(self, folder: Path) -> list[str]:
        """Return the command that begins this run."""
        command = ["run", self.task, "--algo", self.method, "--budget", str(self.budget), "--out", str(folder)]
        command += ["--backend", self.backend, "--workers", "2"]
        return command + [part for name, value in self.parameters for part in ("--set", f"{name}={value}")]

    def __str__(self) -> str:
        extra = ", ".join(f"{name}={value}" for name, value in self.parameters if name not in SETTINGS)
        return f"{self.method} on {self.task} ({self.backend}{', ' if extra else ''}{extra})"


def draw_combination(chance: random.Random) -> Combination:
    """Draw a combination that `stax run` accepts."""
    task, method = chance.choice(TASKS), METHODS[chance.choice(list(METHODS))]
    descriptor = method.parameters.get("descriptor", "learned")
    while task.startswith("gym:") and descriptor == "ground-truth":
        task = chance.choice(TASKS)
    parameters: dict[str, Any] = dict(SETTINGS)
    if method.emitters:
        parameters["emitter_kinds"] = chance.choice(EMITTERS)
        parameters["scheduler"] = chance.choice(SCHEDULERS)
    if descriptor == "learned":
        kinds = ("convolutional", "variational") if task in PICTURES else ("dense", "variational")
        parameters["autoencoder"] = chance.choice(kinds)
    if task in PICTURES and chance.random() < 0.3:
        parameters["isolation"] = "process"
    backend = "ray" if chance.random() < 0.05 else "local"
    budget = 400 if descriptor == "learned" and task in PICTURES else 1200
    return Combination(task, method.name, budget, tuple(parameters.items()), backend)


@dataclass
class Tally:
    """Counts of attacks, actions and failures."""

    attacks: Counter[str] = field(default_factory=Counter)
    """Attacks made, by kind."""
    actions: Counter[str] = field(default_factory=Counter)
    """Actions by type: signals sent, disks filled, files damaged, commands tried."""
    combinations: set[Combination] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def lines(self, seconds: float) -> list[str]:
        """Return the tally as text."""
        tried = {name: len({getattr(one, name) for one in self.combinations}) for name in ("task", "method", "backend")}
        lines = [
            f"{sum(self.attacks.values())} attacks in {seconds / 60:.0f} min on {len(self.combinations)} combinations"
            f" ({tried['method']} methods, {tried['task']} tasks, {tried['backend']} backends)",
            "  " + ", ".join(f"{name} {count}" for name, count in sorted(self.attacks.items())),
            "  " + ", ".join(f"{name} {count}" for name, count in sorted(self.actions.items())),
            f"{len(self.failures)} failures",
        ]
        return lines + [f"  {failure}" for failure in self.failures]


class Failure(Exception):
    """A fault found by an attack; the text describes it."""


class Torture:
    """Series of attacks in its own folder."""

    def __init__(self, folder: Path, seed: int, keep: Path | None) -> None:
        self._folder, self._keep = folder, keep
        self._chance = random.Random(seed)
        self._mark = f"torture-{uuid4()}"
        self._references: dict[Combination, tuple[Path, float]] = {}
        self._memory: dict[tuple[str, ...], int] = {}
        self._count = 0
        self.tally = Tally()
        outcome = self._stax("new-task", "thrower", seconds=60)
        if outcome.code:
            raise RuntimeError(outcome.stderr)

    def attack(self, kind: str) -> None:
        """Make one attack, and record its outcome."""
        self._count += 1
        place = self._folder / f"{self._count}-{kind}"
        combination = self._draw()
        self.tally.attacks[kind] += 1
        began = time.monotonic()
        try:
            getattr(self, f"_attack_by_{kind}")(combination, place)
            self._check_nothing_is_left()
        except Failure as failure:
            self.tally.failures.append(f"{kind}: {combination}: {failure}")
            print(f"FAILED {self.tally.failures[-1]}", file=sys.stderr, flush=True)
            if self._keep and place.exists():
                shutil.copytree(place, self._keep / place.name, symlinks=True, dirs_exist_ok=True)
        finally:
            for pid in processes_marked(self._mark):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(place, ignore_errors=True)
            seconds = time.monotonic() - began
            print(f"attack {self._count}: {kind}, {combination}: {seconds:.0f} s", file=sys.stderr, flush=True)

    # The four attacks

    def _attack_by_kill(self, combination: Combination, place: Path) -> None:
        peaceful, seconds = self._reference(combination)
        kills = self._chance.randint(1, 4)
        for _ in range(kills):
            process = self._begin_or_resume(combination, place)
            time.sleep(self._chance.uniform(0, 1.3 * seconds / kills))
            process.kill()
            process.communicate()
            self.tally.actions["SIGKILL"] += 1
        self._finish_and_compare(combination, place, peaceful)

    def _attack_by_signal(self, combination: Combination, place: Path) -> None:
        peaceful, seconds = self._reference(combination)
        process = self._begin_or_resume(combination, place)
        time.sleep(self._chance.uniform(0, seconds))
        number = self._chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        for _ in range(self._chance.choice((1, 1, 2))):
            process.send_signal(number)
            self.tally.actions[number.name] += 1
            time.sleep(self._chance.uniform(0, 0.3))
        try:
            _, said = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            raise Failure(f"it did not end within 120 s of {number.name}") from None
        if process.returncode not in (0, 130) or "Traceback" in said:
            raise Failure(f"exit code {process.returncode} after {number.name}: {said[-400:]}")
        self._finish_and_compare(combination, place, peaceful)

    def _attack_by_disk(self, combination: Combination, place: Path) -> None:
        peaceful, _ = self._reference(combination)
        needed = sum(path.stat().st_size for path in peaceful.rglob("*") if path.is_file())
        disk = Disk(place, size=self._chance.randint(50_000, max(2 * needed, 60_000)))
        try:
            folder = place / "run"
            outcome = self._stax(*combination.command(folder), seconds=300)
            self.tally.actions["disk was full" if outcome.code else "disk was large enough"] += 1
            if outcome.code not in (0, 1, 2) or "Traceback" in outcome.stderr:
                raise Failure(f"exit code {outcome.code} on a full disk: {outcome.stderr[-400:]}")
            disk.grow()
            self._finish_and_compare(combination, folder, peaceful)
        finally:
            disk.remove()

    def _attack_by_folder(self, combination: Combination, place: Path) -> None:
        peaceful, _ = self._reference(combination)
        commands: dict[str, list[str]] = {
            "show": ["show", str(place)],
            "compare": ["compare", str(place)],
            "report": ["report", str(place), "--out", str(self._folder / "out.html"), "--quiet"],
            "replay": ["replay", str(place), "--random", "2", "--out", str(self._folder / "out.gif"), "--size", "64"],
            "export": ["export", str(place), "0", "--out", str(self._folder / "out.onnx")],
            "resume": ["resume", str(place), "--quiet"],
        }
        victim = self._folder / "victim"
        victim.write_text("precious\n")
        shutil.copytree(peaceful, place, symlinks=True)
        name = self._chance.choice(list(commands))
        command = commands[name]
        baseline = self._memory_of(name, [part.replace(str(place), str(peaceful)) for part in command])
        done = damage_folder(place, self._chance, victim)
        self.tally.actions[f"damage: {done.kind}"] += 1
        outcome = self._stax(*command, seconds=60)
        where = f"stax {name} after '{done}'"
        if outcome.timed_out:
            raise Failure(f"{where} did not end within 60 s")
        if outcome.code not in (0, 1, 2) or "Traceback" in outcome.stderr:
            raise Failure(f"{where}: exit code {outcome.code}: {outcome.stderr[-600:]}")
        if outcome.code == 2 and len(outcome.stderr.strip().splitlines()) != 1:
            raise Failure(f"{where}: not one line: {outcome.stderr[-600:]}")
        if outcome.memory > baseline + MEMORY_BESIDES:
            raise Failure(f"{where} took {outcome.memory / 2**20:.0f} MB, {baseline / 2**20:.0f} MB on an honest folder")
        if victim.read_text() != "precious\n":
            raise Failure(f"{where} wrote to a file outside of the folder")
        self.tally.actions["refused" if outcome.code == 2 else "failed" if outcome.code else "succeeded"] += 1

    # Shared parts

    def _draw(self) -> Combination:
        """Draw a combination; half of the time one that has a reference run already, to save time."""
        known = list(self._references)
        if known and self._chance.random() < 0.5:
            return self._chance.choice(known)
        return draw_combination(self._chance)

    def _reference(self, combination: Combination) -> tuple[Path, float]:
        """Return the folder of an undisturbed run, and the seconds that it took after it had begun to search."""
        if combination not in self._references:
            folder = self._folder / f"reference-{len(self._references)}"
            process = self._begin_or_resume(combination, folder)
            began = time.monotonic()
            _, said = process.communicate()
            if process.returncode:
                raise Failure(f"undisturbed, exit code {process.returncode}: {said[-400:]}")
            self._references[combination] = folder, time.monotonic() - began
            self.tally.combinations.add(combination)
        return self._references[combination]

    def _begin_or_resume(self, combination: Combination, folder: Path) -> subprocess.Popen[str]:
        """Start the command for a run, and return when it has begun to search or has ended."""
        begun = (folder / "config.toml").exists()
        command = ["resume", str(folder), "--trust"] if begun else combination.command(folder)
        process = start_marked([str(STAX), *command], self._mark, cwd=self._folder)
        assert process.stderr
        # The first line is printed when the search begins.
        process.stderr.readline()
        return process

    def _finish_and_compare(self, combination: Combination, folder: Path, peaceful: Path) -> None:
        begun = (folder / "config.toml").exists()
        command = ["resume", str(folder), "--trust"] if begun else combination.command(folder)
        outcome = self._stax(*command, seconds=300)
        if outcome.code:
            raise Failure(f"could not be finished, exit code {outcome.code}: {outcome.stderr[-400:]}")
        found = run_differences(peaceful, folder)
        if not (folder / "archives.png").exists():
            found.append("archives.png is missing")
        if found:
            raise Failure(f"differs from an undisturbed run in {', '.join(found)}")

    def _memory_of(self, name: str, command: list[str]) -> int:
        """Return the peak memory of the command on an intact folder."""
        key = (name, command[1])
        if key not in self._memory:
            self._memory[key] = self._stax(*command, seconds=120).memory
        return self._memory[key]

    def _stax(self, *arguments: str, seconds: float) -> Outcome:
        self.tally.actions["commands"] += 1
        return run_bounded([str(STAX), *arguments], self._mark, cwd=self._folder, seconds=seconds)

    def _check_nothing_is_left(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_VANISH
        while left := processes_marked(self._mark):
            if time.monotonic() > deadline:
                raise Failure(f"{len(left)} processes were left behind")
            time.sleep(0.1)


class Disk:
    """File system of limited size, mounted at a folder; only root can make one."""

    def __init__(self, place: Path, size: int) -> None:
        self._place = place
        place.mkdir()
        self._mount("-t", "tmpfs", "-o", f"size={size}", "stax-torture")

    def grow(self) -> None:
        """Enlarge the file system."""
        self._mount("-o", "remount,size=200m")

    def remove(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "--lazy", str(self._place)], check=False)

    def _mount(self, *arguments: str) -> None:
        subprocess.run(["mount", *arguments, str(self._place)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Disturb runs for as long as you like, and count what came of it.")
    parser.add_argument("--minutes", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn at random (default 0)")
    parser.add_argument("--attacks", nargs="+", default=ATTACKS, choices=ATTACKS, metavar="ATTACK")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the folders of failed attacks there")
    options = parser.parse_args()
    if "disk" in options.attacks and os.geteuid() != 0:
        print("The attack 'disk' needs root; choose others with --attacks.", file=sys.stderr)
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stax-torture-") as folder:
        torture = Torture(Path(folder), options.seed, options.keep)
        chance = random.Random(options.seed + 1)
        while time.monotonic() < began + 60 * options.minutes:
            torture.attack(chance.choice(options.attacks))
    print("\n".join(torture.tally.lines(time.monotonic() - began)))
    return int(bool(torture.tally.failures))


if __name__ == "__main__":
    sys.exit(main())
