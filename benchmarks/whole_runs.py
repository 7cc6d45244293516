"""Compare the cost of whole runs of `stax` between two versions of this package.

    python benchmarks/whole_runs.py --before 0730efe [--after src] [--tasks hard-maze curling] [--seeds 0 1] [--evaluations 20000]

A version is a commit of this repository, which is checked out to a temporary folder, or a folder that holds the package `stax` (`src`
of another checkout). Both versions do runs of the same task, method, seed and number of evaluations with their default parameters, one
after the other, each in its own process on one thread. A short run before that compiles the kernels. The script prints core-seconds,
which other work on the machine affects the least. The coverage of the runs shows whether they did the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
TASKS = ("hard-maze", "redundant-arm", "curling")
PARTS = ("evaluation", "training", "encoding", "selection")
TOTAL = "total"
_WARM_UP = {"budget": 600, "population_size": 50, "max_images_per_episode": 300}
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

_WORKER = """
import json, sys, time
from types import SimpleNamespace
import stax
import stax.search.record

# Parts of a run are measured in seconds of the clock, which also runs while others use the core.
stax.search.record.time = SimpleNamespace(perf_counter=time.process_time)
options = json.loads(sys.argv[1])
began = time.process_time()
result = stax.run(workers=1, device="cpu", **options)
seconds = {**result.seconds, "total": time.process_time() - began}
print(json.dumps({"package": stax.__file__, "seconds": seconds, "coverage": result.coverage, "max_reward": result.max_reward}))
"""


def source_tree(version: str, folder: Path) -> Path:
    """Return the folder that holds the package of a version; a commit is unpacked into `folder`."""
    for path in (Path(version), Path(version) / "src"):
        if (path / "stax" / "__init__.py").is_file():
            return path.resolve()
    command = ["git", "-C", str(REPOSITORY), "archive", "--format=tar", f"{version}^{{commit}}", "src"]
    archived = subprocess.run(command, capture_output=True, check=False)
    if archived.returncode:
        raise SystemExit(f"whole_runs: {version!r} is neither a folder with the package stax nor a commit of {REPOSITORY}")
    with tarfile.open(fileobj=BytesIO(archived.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def run(tree: Path, **options: Any) -> dict[str, Any]:
    """Do one run with the package of a source tree; return its core-seconds and its outcome."""
    command = [sys.executable, "-P", "-c", _WORKER, json.dumps(options)]
    environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"whole_runs: a run with the package of {tree} ended with exit code {done.returncode}")
    outcome: dict[str, Any] = json.loads(done.stdout)
    if not Path(outcome["package"]).is_relative_to(tree):
        raise SystemExit(f"whole_runs: the package of {tree} was asked for, but {outcome['package']} was imported")
    return outcome


def compare(trees: dict[str, Path], task: str, seed: int, algo: str, evaluations: int) -> dict[str, Any]:
    """Do the same run with both versions; return core-seconds by part and version, and the ratios before / after."""
    order = list(trees) if seed % 2 == 0 else list(reversed(trees))
    outcomes = {which: run(trees[which], task=task, algo=algo, budget=evaluations, seed=seed) for which in order}
    before, after = outcomes["before"], outcomes["after"]
    return {
        "task": task,
        "seed": seed,
        "core_seconds": {
            part: {"before": before["seconds"][part], "after": after["seconds"][part]} for part in (*PARTS, TOTAL)
        },
        "ratio": before["seconds"][TOTAL] / after["seconds"][TOTAL],
        "coverage": {"before": before["coverage"], "after": after["coverage"]},
        "max_reward": {"before": before["max_reward"], "after": after["max_reward"]},
    }


def print_row(row: dict[str, Any]) -> None:
    name, coverage = f"{row['task']}, seed {row['seed']}", row["coverage"]
    print(f"\n{name:<28}{'before, s':>12}{'after, s':>12}{'ratio':>8}")
    for part, seconds in row["core_seconds"].items():
        ratio = seconds["before"] / seconds["after"] if seconds["after"] else float("nan")
        print(f"{part:<28}{seconds['before']:12.1f}{seconds['after']:12.1f}{ratio:8.2f}")
    print(f"{'coverage':<28}{coverage['before']:12.3f}{coverage['after']:12.3f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compares the cost of whole runs of stax between two versions of this package."
    )
    parser.add_argument("--before", required=True, metavar="VERSION", help="commit, or folder that holds the package stax")
    parser.add_argument("--after", default=str(REPOSITORY / "src"), metavar="VERSION", help="the same (default: this checkout)")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), metavar="TASK", help=f"default: {' '.join(TASKS)}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="SEED", help="default: 0")
    parser.add_argument("--algo", default="stax", help="default: stax")
    parser.add_argument("--evaluations", type=int, default=20_000, help="of each run (default: 20,000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        trees = {which: source_tree(getattr(options, which), Path(folder) / which) for which in ("before", "after")}
        for task in options.tasks:
            for tree in trees.values():
                run(tree, task=task, algo=options.algo, seed=0, **_WARM_UP)
            for seed in options.seeds:
                rows.append(compare(trees, task, seed, options.algo, options.evaluations))
                if not options.json:
                    print_row(rows[-1])
    if options.json:
        print(
            json.dumps(
                {"before": options.before, "after": options.after, "evaluations": options.evaluations, "runs": rows}, indent=2
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
