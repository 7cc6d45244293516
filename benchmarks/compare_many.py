"""Measure `stax compare` over many long runs.

    python benchmarks/compare_many.py [--runs 45] [--evaluations 500000]

Invented run folders are written to a temporary folder with the project's own writers. Their files are as large as real ones and
consistent with each other. The seconds and the memory of the command are printed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax import Rollouts, Task, make_task
from stax.analysis.measures import measure
from stax.runs.config import make_config
from stax.runs.folder import RunFolder
from stax.runs.ledger_file import write_ledger
from stax.runs.tables import save_archive, save_emitters, save_metrics
from stax.search.making import fit
from stax.search.methods import find_method
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import Origin, Phase
from stax.tasks.task import area_rewards

TASKS = ("curling", "hard-maze", "redundant-arm")
METHODS = ("stax", "serene", "ns")
_CHUNK = 100
_ARCHIVED = 2000


def made_up_run(path: Path, task: Task, name: str, algo: str, seed: int, evaluations: int) -> None:
    """Write the folder of an invented run."""
    config = make_config({"task": name, "algo": algo, "seed": seed, "budget": evaluations, "workers": 1}, {})
    method = find_method(algo)
    _, parameters = fit(method, task, method.resolve("default"), budget=evaluations)
    folder = RunFolder(path)
    path.mkdir(parents=True)
    folder.write_config(replace(config, parameters=parameters), task)
    ledger = made_up_ledger(task, np.random.default_rng([seed, METHODS.index(algo)]), evaluations)
    write_ledger(folder.file("ledger.parquet"), ledger)
    measured = measure(task, ledger, grid_cells=parameters.grid_cells, archived_ids=ledger["id"][:0])
    assert measured.coverage is not None
    ends = np.arange(_CHUNK, evaluations + 1, _CHUNK)
    courses = {"coverage": measured.coverage.at(ends)}
    courses |= {f"max_reward_{area}": curve.at(ends) for area, curve in enumerate(measured.max_reward)}
    save_metrics(
        folder,
        [
            {
                "evaluations": int(end),
                "phase": Phase.EXPLORATION.value,
                **{what: values[row] for what, values in courses.items()},
            }
            for row, end in enumerate(ends)
        ],
    )
    save_emitters(folder, [])
    for archive in ("novelty", "reward"):
        save_archive(folder, archive, made_up_archive(task, ledger))
    folder.write_summary(
        {
            "task": name,
            "algo": algo,
            "seed": seed,
            "budget": evaluations,
            "evaluations": evaluations,
            "coverage": measured.coverage.last,
            "max_reward": [curve.last for curve in measured.max_reward],
            "status": "finished",
        }
    )


def made_up_ledger(task: Task, random: np.random.Generator, evaluations: int) -> dict[str, NDArray[Any]]:
    """Make an invented ledger whose ends spread from the middle of the space over the evaluations."""
    low, high = np.array(task.ground_truth_bounds).T
    reach = np.linspace(0.1, 0.5, evaluations)[:, None]
    truth = np.clip((low + high) / 2 + (high - low) * reach * random.uniform(-1, 1, (evaluations, 2)), low, high)
    reward, area = area_rewards(truth, task.reward_areas)
    number = np.arange(evaluations)
    return {
        "id": number,
        "parent": random.integers(-1, np.maximum(number, 1)),
        "origin": random.integers(0, 4, evaluations).astype(np.int8),
        "emitter": np.full(evaluations, -1),
        "reward": reward,
        "reward_area": area.astype(np.int16),
        "ground_truth": truth,
        "failed": np.zeros(evaluations, np.bool_),
    }


def made_up_archive(task: Task, ledger: dict[str, NDArray[Any]]) -> PolicySet:
    rows = np.arange(min(_ARCHIVED, len(ledger["id"])))
    rollouts = Rollouts(
        reward=ledger["reward"][rows],
        reward_area=ledger["reward_area"][rows].astype(np.int64),
        steps=np.ones(len(rows), np.int64),
        snapshots=np.zeros((len(rows), task.observation_samples, 3)),
        ground_truth=ledger["ground_truth"][rows],
    )
    genome = np.zeros((len(rows), task.genome_size))
    parent = np.full(len(rows), -1)
    return PolicySet.newborn(
        rollouts, first_id=0, genome=genome, parent=parent, born=0, origin=Origin.EXPLORATION, emitter=-1, descriptor_size=2
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures 'stax compare' over many long runs.")
    parser.add_argument("--runs", type=int, default=45, help="how many (default 45)")
    parser.add_argument("--evaluations", type=int, default=500_000, help="of each (default 500,000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        runs = Path(temporary) / "runs"
        tasks = {name: make_task(name) for name in TASKS}
        for number in range(options.runs):
            name, algo = TASKS[number % 3], METHODS[number // 3 % 3]
            seed = number // 9
            made_up_run(runs / f"{name}-{algo}-{seed}", tasks[name], name, algo, seed, options.evaluations)
        size = sum(path.stat().st_size for path in runs.rglob("*") if path.is_file())
        print(f"{options.runs} runs of {options.evaluations:,} evaluations, {size / 2**20:,.0f} MB", flush=True)
        command = [str(Path(sys.executable).parent / "stax"), "compare", str(runs), "--out", str(Path(temporary) / "out")]
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"stax compare: {seconds:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of computing), {used.ru_maxrss / 2**10:,.0f} MB"
        )


if __name__ == "__main__":
    main()
