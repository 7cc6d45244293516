"""Compare the speed of Curling's simulator in two source trees, and whether their rollouts are the same bit for bit.

    git archive 0730efe src | tar x -C /tmp/old
    python benchmarks/curling_speed.py /tmp/old/src src

Both trees simulate the same policies on one thread each, by turns, in separate processes: random policies, drawn from N(0, 1), and
those that a novelty search evaluates last. Speed is measured in seconds of processor time, which other work on the machine affects
the least.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import stax
from stax.benchmarks.tasks import search_genomes

_WORKER = """
import sys, time
import numpy as np
import stax

task = stax.make_task(sys.argv[1], threads=1)
task.evaluate(np.zeros((1, task.genome_size)))
print("ready", flush=True)
for line in sys.stdin:
    genomes, result = line.split()
    array = np.load(genomes)
    start = time.process_time()
    rollouts = task.evaluate(array)
    seconds = time.process_time() - start
    np.savez(result, ground_truth=rollouts.ground_truth, snapshots=rollouts.snapshots, steps=rollouts.steps)
    print(seconds, flush=True)
"""


class Worker:
    """Process that evaluates genomes with the package of one source tree."""

    def __init__(self, tree: Path, task: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, task], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"curling_speed: a worker ended with exit code {self._process.wait()}")
        return line

    def seconds(self, genomes: Path, result: Path) -> float:
        assert self._process.stdin is not None
        print(genomes, result, file=self._process.stdin, flush=True)
        return float(self._answer())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def differing_rollouts(first: Path, second: Path) -> int:
    """Count the rollouts whose snapshots, ground truth or steps differ in any bit between two results."""
    with np.load(first) as a, np.load(second) as b:
        differs = np.zeros(len(a["steps"]), bool)
        for key in ("ground_truth", "snapshots", "steps"):
            unequal = a[key].view(np.uint8) != b[key].view(np.uint8)
            differs |= unequal.reshape(len(differs), -1).any(axis=1)
    return int(differs.sum())


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the speed of a simulator in two source trees.")
    parser.add_argument("old", type=Path, help="source tree to compare with: the folder that holds the package stax")
    parser.add_argument("new", type=Path, help="source tree to measure")
    parser.add_argument("--task", default="curling", help="built-in task to simulate (curling)")
    parser.add_argument("--rollouts", type=int, default=512, help="policies of each kind (512)")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each, by turns (7)")
    options = parser.parse_args()
    for tree in (options.old, options.new):
        if not (tree / "stax" / "__init__.py").is_file():
            print(f"curling_speed: there is no package stax in {tree}", file=sys.stderr)
            return 2
    task = stax.make_task(options.task)
    kinds = {
        "random": np.random.default_rng(0).normal(size=(options.rollouts, task.genome_size)),
        "of a search": search_genomes(task, options.rollouts),
    }
    workers = [Worker(tree.resolve(), options.task) for tree in (options.old, options.new)]
    with tempfile.TemporaryDirectory() as folder:
        genomes, results = Path(folder) / "genomes.npy", [Path(folder) / "old.npz", Path(folder) / "new.npz"]
        for kind, array in kinds.items():
            np.save(genomes, array)
            seconds = [
                [worker.seconds(genomes, result) for worker, result in zip(workers, results, strict=True)]
                for _ in range(options.rounds)
            ]
            old, new = (options.rollouts / min(column) for column in zip(*seconds, strict=True))
            ratio = statistics.median(a / b for a, b in seconds)
            print(
                f"{kind:<12} {old:8,.0f} -> {new:8,.0f} rollouts a core-second (best of {options.rounds}); "
                f"median ratio {ratio:.2f}; {differing_rollouts(*results)} of {options.rollouts} rollouts differ",
                flush=True,
            )
    for worker in workers:
        worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
