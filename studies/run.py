"""Runs a study: many searches side by side, each on one core, their courses kept in one small table.

    python studies/run.py ground-truth              # every run of the study that its table does not hold yet
    python studies/run.py learned --processes 4

A study can be stopped and called again. `studies/show.py` makes tables and plots of the results.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
TASKS = ("redundant-arm", "hard-maze", "curling")
CURVE_POINTS = 50
"""Rows of a run in the table, evenly spread over its budget."""
COLUMNS = (
    *("task", "label", "seed", "budget", "evaluations", "coverage", "max_reward", "novelty_archive", "reward_archive"),
    *("training_episodes", "images_seen", "validation_error", "seconds", "seconds_training", "seconds_encoding"),
    *("core_seconds", "exploration_coverage", "archived_reward", "all_found", "all_high", "similarity", "reconstruction_error"),
)
"""Columns of a new table. Those after core_seconds are known at the end of a run only, and are empty before."""
HIGH_REWARD = 0.8
"""Best reward that counts as high in the column all_high."""


@dataclass(frozen=True)
class Run:
    """One search of a study."""

    task: str
    label: str
    """What it is called in tables."""
    algo: str
    seed: int
    budget: int
    preset: str = "default"
    parameters: dict[str, Any] = field(default_factory=dict)
    made_from: str | None = None
    """The name that `stax.run` knows the task by, if that is another one."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.task, self.label, str(self.seed), str(self.budget)


def _methods(algos: tuple[str, ...], budget: int, seeds: int) -> Iterator[Run]:
    for seed in range(seeds):
        for task in TASKS:
            for algo in algos:
                yield Run(task, algo, algo, seed, budget)


def _ceiling() -> Iterator[Run]:
    """Yield exploration alone, in learned spaces and in that of the true states."""
    explore = {"emitters": False}
    for seed in range(2):
        for task in TASKS:
            yield Run(task, "true states", "ns", seed, 20_000, parameters={"descriptor": "states"})
            yield Run(task, "stax, exploration only", "stax", seed, 20_000, parameters=explore)


def _training() -> Iterator[Run]:
    """Yield the default training and that of the paper's text, all else being equal. With one observation a rollout, since the
    text's takes hours with five."""
    letter = {"max_images_per_episode": None, "center_observations": False, "scale_observations": False}
    for seed in range(2):
        yield Run("hard-maze", "paper's training", "stax-single", seed, 3_000, parameters=letter)
        yield Run("hard-maze", "default training", "stax-single", seed, 3_000)


def _paper_budget() -> Iterator[Run]:
    """Yield the methods that know the ground truth, at the budget of the paper, on the quickest task."""
    for algo in ("map-elites", "moo-nr", "ns"):
        yield Run("redundant-arm", algo, algo, 0, 500_000)


EMITTERS: dict[str, dict[str, Any]] = {
    "elitist": {},
    "cma-es": {"emitter_kinds": "cma-es"},
    "novelty": {"emitter_kinds": "novelty"},
    "bandit of the three": {"emitter_kinds": "elitist,cma-es,novelty"},
}
SCHEDULERS: dict[str, dict[str, Any]] = {
    "alternating": {},
    "a quarter explores": {"scheduler": "fixed-ratio", "exploration_share": 0.25},
    "adaptive": {"scheduler": "adaptive"},
}


def _variants(variants: dict[str, dict[str, Any]], tasks: tuple[str, ...]) -> Iterator[Run]:
    """Yield variants of serene, whose space is the ground truth, so that no autoencoder influences the results."""
    for task in tasks:
        for seed in range(3):
            for label, parameters in variants.items():
                yield Run(task, label, "serene", seed, 50_000, parameters=parameters)


DIFFERENCES: dict[str, dict[str, dict[str, Any]]] = {
    "map-elites": {"": {}, "better": {"elite_replacement": "better"}},
    "moo-nr": {"": {}, "sigma 0.05": {"mutation_sigma": 0.05}},
    "ns": {"": {}, "sigma 0.05": {"mutation_sigma": 0.05}},
    "stax-nt": {"": {}, "frozen population": {"population_update": "frozen"}},
    "serene": {
        "": {},
        "literal sigma_i": {"emitter_sigma": "distance"},
        "sigma 0.05, literal sigma_i": {"mutation_sigma": 0.05, "emitter_sigma": "distance"},
        "chunk 1000": {"chunk_size": 1000},
        "bootstrap 2/3": {"bootstrap_share": 2 / 3},
        "novelty of emitters by rewards": {"emitter_novelty": "reward-archive"},
        "published-code": {"preset": "published-code"},
    },
}
"""Where the authors' published code differs from the paper, one difference at a time: method, label, what is changed."""


def _differences() -> Iterator[Run]:
    for seed in range(3):
        for task in TASKS:
            for algo, variants in DIFFERENCES.items():
                for label, changes in variants.items():
                    parameters = {name: value for name, value in changes.items() if name != "preset"}
                    name = f"{algo}, {label}" if label else algo
                    yield Run(task, name, algo, seed, 50_000, changes.get("preset", "default"), parameters)


LEARNING: dict[str, dict[str, Any]] = {
    "2,000 images": {"max_images_per_episode": 2_000},
    "2,000 images, not scaled": {"max_images_per_episode": 2_000, "scale_observations": False},
    "one epoch over all": {"max_images_per_episode": None, "max_epochs": 1},
    "8,000 images": {"max_images_per_episode": 8_000},
    "2,000 images, five epochs": {"training_set_size": 2_000, "max_images_per_episode": 8_000},
    "20,000 images": {"max_images_per_episode": 20_000},
    "no limit": {"max_images_per_episode": None},
}
"""Amounts of training of the learned space, from the least to the most."""
LONGEST_TRAINING = ("20,000 images", "no limit")
"""Amounts that take minutes to hours of training; they are tried with one seed."""
FINALISTS = ("2,000 images", "2,000 images, not scaled", "one epoch over all", "8,000 images")
"""Amounts that are compared at 100,000 evaluations, too."""
WITH_EMITTERS = ("2,000 images", "8,000 images")
"""Amounts that are also compared in the complete method, with emitters."""


def _learning() -> Iterator[Run]:
    """Yield amounts of training: a sieve of exploration alone, then exploration and the complete method for longer."""
    for seed in range(3):
        for task in TASKS:
            yield _never_trained(task, seed)
            yield from _learning_runs(task, seed, 20_000, [name for name in LEARNING if name not in LONGEST_TRAINING])
    for seed in range(3):
        for task in TASKS:
            yield from _learning_runs(task, seed, 100_000, FINALISTS)
    for seed in range(3):
        for task in TASKS:
            for name in WITH_EMITTERS:
                yield Run(task, f"{name}, stax", "stax", seed, 100_000, parameters=LEARNING[name])
    for name in LONGEST_TRAINING:
        for task in TASKS:
            yield from _learning_runs(task, 0, 20_000, [name])


def _learning_runs(task: str, seed: int, budget: int, amounts: Sequence[str]) -> Iterator[Run]:
    """Yield exploration alone with these amounts of training, beside the space of the true states."""
    yield Run(task, "true states", "ns", seed, budget, parameters={"descriptor": "states"})
    for name in amounts:
        yield Run(task, name, "stax", seed, budget, parameters={**LEARNING[name], "emitters": False})


def _never_trained(task: str, seed: int) -> Run:
    """Return exploration alone with random weights. It is far behind at 20,000 evaluations, so it is not tried for longer."""
    return Run(task, "never trained", "stax-nt", seed, 20_000, parameters={"emitters": False})


SPACES: dict[str, dict[str, Any]] = {
    "stax": {},
    "triplet": {"autoencoder": "triplet"},
    "temporal": {"autoencoder": "temporal"},
    "spatial": {"autoencoder": "spatial"},
    "principal": {"autoencoder": "principal"},
    "whitened": {"whiten_codes": True},
    "three changing moments": {"descriptor_samples": 3, "descriptor_moments": "changing"},
    "sequence": {"sequence_size": 10},
}
"""Learned spaces, each of which differs from that of stax in one thing."""


FOR_PICTURES = ("spatial", "principal")
"""Learned spaces that vectors cannot have."""
RIVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "ns, ground truth": ("ns", {}),
    "aurora": ("aurora", {"container_size": 2_000}),
}
"""Methods that learned spaces are compared with: label, method, parameters."""
GYMNASIUM_TASKS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "mountain-car": ("gym:MountainCarContinuous-v0", 3_000, {"task.ground_truth": [0, 1]}),
    "point-maze": (
        "gym:gymnasium_robotics:PointMaze_Medium-v3",
        2_500,
        {
            "task.horizon": 300,
            "task.make": {"continuing_task": True, "reset_target": False},
            "task.reset": {"reset_cell": [1, 6], "goal_cell": [6, 6]},
            "task.observation_key": "observation",
            "task.ground_truth_key": "achieved_goal",
            "task.ground_truth": [0, 1],
            "task.ground_truth_bounds": [[-4, 4], [-4, 4]],
        },
    ),
}
"""Tasks of Gymnasium by their names in the table: id, budget and options, as in examples/."""
SPACE_SEEDS = 5
SPACE_FINALISTS: tuple[str, ...] = ("stax", "principal")
"""Learned spaces that are tried with 100,000 evaluations, and in the complete method, too: those that did not lose at 20,000."""


def _spaces() -> Iterator[Run]:
    """Yield the complete method in the finalists' spaces, on which the verdict depends, then novelty search in the ground truth and AURORA.

    Exploration alone in these and the other spaces follows.
    """
    for seed in range(SPACE_SEEDS):
        for task in TASKS:
            for name in SPACE_FINALISTS:
                yield Run(task, f"{name}, complete", "stax", seed, 100_000, parameters=SPACES[name])
    for spaces, budget in (((), 100_000), (SPACE_FINALISTS, 20_000), (tuple(SPACES), 20_000), (SPACE_FINALISTS, 100_000)):
        for seed in range(SPACE_SEEDS):
            for task in TASKS:
                yield from _space_runs(task, task, budget, seed, spaces, {})
    for seed in range(SPACE_SEEDS):
        for label, (task, budget, options) in GYMNASIUM_TASKS.items():
            yield from _space_runs(label, task, budget, seed, [name for name in SPACES if name not in FOR_PICTURES], options)


def _space_runs(label: str, task: str, budget: int, seed: int, spaces: Sequence[str], options: dict[str, Any]) -> Iterator[Run]:
    """Yield exploration alone in these learned spaces, and the methods that they are compared with."""
    for name in spaces:
        parameters = {**SPACES[name], "emitters": False, **options}
        yield Run(label, name, "stax", seed, budget, parameters=parameters, made_from=task)
    for name, (algo, own) in RIVALS.items():
        yield Run(label, name, algo, seed, budget, parameters={**own, **options}, made_from=task)


STUDIES = {
    "spaces": _spaces,
    "learning": _learning,
    "differences": _differences,
    "emitters": lambda: _variants(EMITTERS, ("redundant-arm", "curling")),
    "schedulers": lambda: _variants(SCHEDULERS, ("redundant-arm",)),
    "ground-truth": lambda: _methods(("ns", "serene", "map-elites", "moo-nr"), 100_000, 3),
    "paper-budget": _paper_budget,
    "learned": lambda: _methods(("taxons", "stax", "stax-nt"), 20_000, 2),
    "ceiling": _ceiling,
    "training": _training,
}


def search(run: Run) -> list[dict[str, Any]]:
    """Do the run and return its course."""
    import stax

    began, cores_began = time.perf_counter(), time.process_time()
    wanted = [run.budget * point // CURVE_POINTS for point in range(1, CURVE_POINTS + 1)]
    rows: list[dict[str, Any]] = []
    images = [0]

    class Course(stax.Callback):
        """Adds a row whenever a wanted number of evaluations is reached."""

        def after_training(self, search: Any) -> None:
            images[0] += search.space.last_episode.images_seen

        def after_chunk(self, search: Any) -> None:
            if search.evaluations >= wanted[len(rows)]:
                add_row(search)

    def add_row(state: Any) -> None:
        seconds = state.record.stopwatch.seconds
        row = {
            "task": run.task,
            "label": run.label,
            "seed": run.seed,
            "budget": run.budget,
            "evaluations": state.evaluations,
            "coverage": round(state.coverage, 4),
            "max_reward": json.dumps([round(reward, 4) for reward in state.max_reward]),
            "novelty_archive": len(state.novelty_archive),
            "reward_archive": len(state.reward_archive),
            "training_episodes": state.training_episodes,
            "images_seen": images[0],
            "validation_error": state.metrics[-1]["validation_error"],
            "seconds": round(time.perf_counter() - began, 1),
            "core_seconds": round(time.process_time() - cores_began, 1),
            "seconds_training": round(seconds["training"], 1),
            "seconds_encoding": round(seconds["encoding"], 1),
        }
        rows.append(row)
        while len(rows) < CURVE_POINTS and wanted[len(rows)] <= state.evaluations:
            rows.append({**row})

    result = stax.run(
        run.made_from or run.task,
        algo=run.algo,
        budget=run.budget,
        seed=run.seed,
        preset=run.preset,
        workers=1,
        device="cpu",
        callbacks=[Course()],
        **run.parameters,
    )
    # A chunk may have leapt over several wanted points; the table needs each only once.
    rows = list({row["evaluations"]: row for row in rows}.values())
    rows[-1] |= _ends(result)
    return rows


def _ends(result: Any) -> dict[str, Any]:
    """Return the measures that depend on the final archives, or on what each evaluation was for."""
    import numpy as np

    from stax.analysis.measures import descriptor_similarity, final_policies, measure, reconstruction_error

    archived_ids = np.union1d(result.novelty_archive.id, result.reward_archive.id)
    cells = result.config.parameters.grid_cells
    measured = measure(result.task, result.ledger, grid_cells=cells, archived_ids=archived_ids)
    explored = measured.exploration_coverage
    ends: dict[str, Any] = {}
    for name, reward in (("all_found", 1e-300), ("all_high", HIGH_REWARD)):
        reached = [curve.first_reaching(reward) for curve in measured.max_reward]
        ends[name] = None if None in reached else max(evaluations or 0 for evaluations in reached)
    if result.config.parameters.descriptor == "learned":
        policies = final_policies(result)
        similarity = descriptor_similarity(policies).similarity
        ends["similarity"] = None if similarity is None else round(similarity, 4)
        ends["reconstruction_error"] = reconstruction_error(result.space, result.task, policies)
    return ends | {
        "exploration_coverage": None if explored is None else round(explored.last, 4),
        "archived_reward": json.dumps([round(curve.last, 4) for curve in measured.archived_reward]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--processes", type=int, default=2, help="searches at a time (default 2)")
    parser.add_argument("--out", type=Path, help="the table (default studies/results/STUDY.csv)")
    options = parser.parse_args()
    table = options.out or RESULTS / f"{options.study}.csv"
    done: set[tuple[str, ...]] = set()
    columns: Sequence[str] = COLUMNS
    if table.exists():
        with table.open(newline="") as file:
            reader = csv.DictReader(file)
            done = {(row["task"], row["label"], row["seed"], row["budget"]) for row in reader}
            # A table of an earlier version keeps the columns that it has.
            columns = reader.fieldnames or COLUMNS
    else:
        table.parent.mkdir(parents=True, exist_ok=True)
        with table.open("w", newline="") as file:
            csv.DictWriter(file, COLUMNS).writeheader()
    missing = list({run.key: run for run in STUDIES[options.study]() if run.key not in done}.values())
    print(f"{options.study}: {len(missing)} runs to do, {len(done)} done before", file=sys.stderr)
    # A process for each run: its core-seconds are its own.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, max_tasks_per_child=1, mp_context=context) as pool:
        running = {pool.submit(search, run): run for run in missing}
        for future in as_completed(running):
            rows, run = future.result(), running[future]
            with table.open("a", newline="") as file:
                csv.DictWriter(file, columns, extrasaction="ignore").writerows(rows)
            last = rows[-1]
            print(
                f"{run.task:<14} {run.label:<26} seed {run.seed}: coverage {last['coverage']:.3f}, rewards {last['max_reward']},"
                f" {last['seconds']:.0f} s",
                file=sys.stderr,
                flush=True,
            )


if __name__ == "__main__":
    main()
