"""Evaluates random policies on a task and draws where they end."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import stax
from stax.tasks.compiled import CompiledTask

BATCH = 250
GRID = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="hard-maze", help="a built-in task (default hard-maze)")
    parser.add_argument("--policies", type=int, default=6000, help="how many (default 6000)")
    parser.add_argument("--seed", type=int, default=0, help="of the policies (default 0)")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder to write to (default demo)")
    options = parser.parse_args()
    if options.seed < 0:
        parser.error(f"--seed must be at least 0, not {options.seed}")
    if options.policies < 1:
        parser.error(f"--policies must be at least 1, not {options.policies}")
    try:
        task = stax.make_task(options.task)
    except stax.InvalidInputError as error:
        parser.error(str(error))
    if not isinstance(task, CompiledTask):
        parser.error(f"--task must be a built-in task, not {options.task!r}")

    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out cannot be written to: {error}")

    task.evaluate(np.zeros((1, task.genome_size)))  # compiles, if it has to, before time is taken
    rng = np.random.default_rng(options.seed)
    parts, genomes = [], []
    start = time.perf_counter()
    for first in range(0, options.policies, BATCH):
        genomes.append(rng.normal(size=(min(BATCH, options.policies - first), task.genome_size)))
        parts.append(task.evaluate(genomes[-1]))
        progress(first + len(genomes[-1]), options.policies, time.perf_counter() - start)
    rollouts, policies = stax.Rollouts.concat(parts), np.concatenate(genomes)
    seconds = time.perf_counter() - start

    assert rollouts.ground_truth is not None
    best = int(np.argmax(rollouts.reward)) if rollouts.reward.max() > 0 else farthest(rollouts.ground_truth)
    states = task.trajectory(policies[best])
    picture = options.out / f"where_policies_end_{task.name}.png"
    Image.fromarray(task.render(states[-1], 900, trail=states, ends=rollouts.ground_truth)).save(picture)

    covered, rewarded = coverage(task, rollouts.ground_truth), int((rollouts.reward > 0).sum())
    summary = {
        "task": task.name,
        "policies": len(rollouts),
        "coverage": covered,
        "rewarded": rewarded,
        "max_reward": [float(rollouts.reward[rollouts.reward_area == i].max(initial=0)) for i in range(len(task.reward_areas))],
        "seconds": round(seconds, 2),
    }
    print(
        f"{len(rollouts)} random policies on {task.name} in {seconds:.1f} s ({len(rollouts) / seconds:,.0f} a second)",
        file=sys.stderr,
    )
    print(f"they end in {100 * covered:.1f} % of the cells; {rewarded} found a reward", file=sys.stderr)
    print(f"picture: {picture}", file=sys.stderr)
    print(
        "blue dots: where policies ended; purple: the best one's way from the start (cross); circles: reward areas",
        file=sys.stderr,
    )
    print(json.dumps(summary))
    return 0


def progress(done: int, total: int, seconds: float) -> None:
    """A line that rewrites itself, or nothing if nobody is watching."""
    if sys.stderr.isatty():
        width = 30
        bar = "#" * (width * done // total)
        end = "\n" if done == total else ""
        print(
            f"\r[{bar:<{width}}] {done}/{total} policies, {done / seconds:,.0f} a second ", end=end, file=sys.stderr, flush=True
        )


def coverage(task: CompiledTask, points: NDArray[np.float64]) -> float:
    """The share of the cells of a grid over the ground truth that policies ended in."""
    bounds = np.asarray(task.ground_truth_bounds)
    cells = np.clip((points - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0]) * GRID, 0, GRID - 1).astype(int)
    return float(len(np.unique(cells, axis=0)) / GRID ** len(bounds))


def farthest(points: NDArray[np.float64]) -> int:
    """The policy that ended farthest from where most did."""
    return int(np.argmax(np.linalg.norm(points - np.median(points, axis=0), axis=1)))


if __name__ == "__main__":
    sys.exit(main())
