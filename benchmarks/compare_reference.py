"""Compare the three tasks with rollouts recorded from the original environments.

    python benchmarks/compare_reference.py --reference FOLDER

The folder holds curling_public.npz, hard_maze_public.npz and redundant_arm_public.npz, each with `genome`, `steps`, `bd`, `reward`,
`area` and `traj`. The script prints how many rollouts end where the original's ended, and at which step the others diverge.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import stax
from stax.tasks.compiled import CompiledTask

# Task, file, options, the distance within which ends count as equal, the share required, steps between recorded states.
TASKS: tuple[tuple[str, str, dict[str, Any], float, float, int], ...] = (
    ("redundant-arm", "redundant_arm", {}, 0.001, 0.99, 1),
    ("hard-maze", "hard_maze", {"sensors": "published-code"}, 0.01, 0.95, 10),
    ("curling", "curling", {}, 0.05, 0.85, 10),
)


def compare(name: str, file: Path, options: dict[str, Any], within: float, wanted: float, every: int) -> dict[str, Any]:
    task = stax.make_task(name, **options)
    assert isinstance(task, CompiledTask)
    with np.load(file) as data:
        recorded = {key: data[key] for key in ("genome", "steps", "bd", "reward", "area", "traj")}
    rollouts = task.evaluate(recorded["genome"])
    assert rollouts.ground_truth is not None
    distance = np.linalg.norm(rollouts.ground_truth - recorded["bd"], axis=1)
    same_steps = rollouts.steps == recorded["steps"]
    agrees = (distance <= within) & same_steps
    parting = []
    for row in np.flatnonzero(~agrees):
        ours, theirs = task.trajectory(recorded["genome"][row])[::every], recorded["traj"][row]
        length = min(len(ours), len(theirs), int(np.isfinite(theirs[:, 0]).sum()))
        apart = np.abs(task._descriptor(ours[:length]) - task._descriptor(theirs[:length].astype(np.float64))).max(axis=1)
        first = int(np.argmax(apart > within)) if (apart > within).any() else length
        parting.append({"rollout": int(row), "distance": float(distance[row]), "diverges_by_step": first * every})
    return {
        "rollouts": len(distance),
        "within": within,
        "agree": float(agrees.mean()),
        "wanted": wanted,
        "same_steps": float(same_steps.mean()),
        "within_0.001": float((distance <= 0.001).mean()),
        "largest_distance": float(distance.max()),
        "same_reward_area": float((rollouts.reward_area == recorded["area"]).mean()),
        "largest_reward_difference": float(np.abs(rollouts.reward - recorded["reward"]).max()),
        "parting": parting,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compares the three tasks with rollouts recorded from the original environments."
    )
    parser.add_argument("--reference", type=Path, required=True, help="folder with the recorded rollouts")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    results = {}
    for name, stem, task_options, within, wanted, every in TASKS:
        file = options.reference / f"{stem}_public.npz"
        if not file.is_file():
            print(f"compare_reference: there is no file {file.name} in {options.reference}", file=sys.stderr)
            return 2
        results[name] = compare(name, file, task_options, within, wanted, every)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        for name, result in results.items():
            print(
                f"{name:<14} {100 * result['agree']:.1f} % of {result['rollouts']} end within {result['within']} "
                f"(wanted {100 * result['wanted']:.0f} %); {100 * result['within_0.001']:.1f} % within 0.001; "
                f"{100 * result['same_steps']:.1f} % same number of steps; largest distance {result['largest_distance']:.2g}"
            )
            for case in result["parting"]:
                print(
                    f"{'':<14} rollout {case['rollout']}: {case['distance']:.3g} apart, diverges by step {case['diverges_by_step']}"
                )
    return 0 if all(result["agree"] >= result["wanted"] for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
