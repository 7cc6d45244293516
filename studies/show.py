"""Makes tables and plots of the studies' results, and puts the tables into studies/README.md.

python studies/show.py
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stax.analysis.statistics import Comparison, compare_with

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent / "README.md"
TASKS = {"curling": "Curling", "hard-maze": "HardMaze", "redundant-arm": "Redundant Arm"}
COLORS = {
    "ns": "#0072B2",
    "serene": "#D55E00",
    "map-elites": "#009E73",
    "moo-nr": "#999999",
    "stax": "#CC79A7",
    "taxons": "#E69F00",
    "stax-nt": "#56B4E9",
    "true states": "#0072B2",
    "stax, exploration only": "#CC79A7",
    "default training": "#CC79A7",
    "paper's training": "#0072B2",
    "elitist": "#D55E00",
    "cma-es": "#0072B2",
    "novelty": "#009E73",
    "bandit of the three": "#000000",
    "alternating": "#D55E00",
    "a quarter explores": "#0072B2",
    "adaptive": "#009E73",
    "ns, ground truth": "#0072B2",
    "stax, complete": "#CC79A7",
    "principal, complete": "#117733",
    "aurora": "#3377EE",
}
RIVALS = {"ns, ground truth", "aurora"}
"""Labels of the study of learned spaces that are other methods."""
COMPLETE = ", stax"
"""End of the labels of the study of learning that stand for the complete method, with emitters."""
COMPLETE_SPACE = ", complete"
"""End of the labels of the study of learned spaces that stand for the complete method."""
UNTRAINED = ("true states", "never trained")
"""Labels of the study of learning without an autoencoder that is trained."""
GROUND_TRUTH = ("ns", "serene", "map-elites", "moo-nr", "true states", "ns, ground truth")
"""Drawn dashed, as in the paper."""
HIGH_REWARD = 0.8

Rows = list[dict[str, Any]]
Runs = dict[tuple[str, str, int], Rows]


def load(study: str, budget: int | None = None) -> Runs:
    """Return the rows of each run, by task, label and seed; only of runs with this budget, if one is given."""
    runs: Runs = {}
    with (RESULTS / f"{study}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if budget is not None and int(row["budget"]) != budget:
                continue
            rewards = json.loads(row["max_reward"])
            parsed = {
                "evaluations": int(row["evaluations"]),
                "coverage": 100 * float(row["coverage"]),
                "rewards": rewards,
                "reward": float(np.mean(rewards)),
                "reward_archive": int(row["reward_archive"]),
                "images_seen": int(row["images_seen"]),
                "episodes": int(row["training_episodes"]),
                "seconds": float(row["seconds"]),
                "seconds_training": float(row["seconds_training"]),
            }
            if row.get("core_seconds"):
                parsed["core_seconds"] = float(row["core_seconds"])
            for name in ("all_found", "all_high", "similarity", "reconstruction_error"):
                parsed[name] = float(row[name]) if row.get(name) else None
            if row.get("archived_reward"):
                parsed["exploration_coverage"] = 100 * float(row["exploration_coverage"])
                parsed["archived_reward"] = json.loads(row["archived_reward"])
            runs.setdefault((row["task"], row["label"], int(row["seed"])), []).append(parsed)
    return runs


def labels_of(runs: Runs) -> list[str]:
    return list(dict.fromkeys(label for _, label, _ in sorted(runs, key=lambda run: list(COLORS).index(run[1]))))


def tasks_of(runs: Runs) -> list[str]:
    return [task for task in TASKS if any(task == of_task for of_task, _, _ in runs)]


def seeds_of(runs: Runs, task: str, label: str) -> list[Rows]:
    return [rows for (of_task, of_label, _), rows in sorted(runs.items()) if (of_task, of_label) == (task, label)]


def mean_and_range(values: list[float], form: str = ".1f") -> str:
    """Return the mean, and the lowest and the highest in brackets."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{np.mean(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def markdown(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def coverage_table(runs: Runs) -> str:
    lines = []
    for label in labels_of(runs):
        cells = [mean_and_range([rows[-1]["coverage"] for rows in seeds_of(runs, task, label)]) for task in tasks_of(runs)]
        lines.append([label, *cells])
    return markdown(["coverage, %", *(TASKS[task] for task in tasks_of(runs))], lines)


def reward_table(runs: Runs, high: float = HIGH_REWARD) -> str:
    """Return the table of best rewards per area, means over seeds, and of when every area had a high one."""
    lines = []
    for label in labels_of(runs):
        cells = []
        for task in tasks_of(runs):
            seeds = seeds_of(runs, task, label)
            best = np.mean([rows[-1]["rewards"] for rows in seeds], axis=0)
            soon = median_reached([first_high(rows, high) for rows in seeds])
            cells.append(f"{', '.join(f'{reward:.2f}' for reward in best)}; {soon}")
        lines.append([label, *cells])
    names = [TASKS[task] for task in tasks_of(runs)]
    return markdown([f"best reward per area; evaluations until all reach {high}", *names], lines)


def archive_table(runs: Runs) -> str:
    """Return the table of how many rewarding policies were kept."""
    lines = []
    for label in labels_of(runs):
        cells = []
        for task in tasks_of(runs):
            last = [rows[-1] for rows in seeds_of(runs, task, label)]
            cells.append(mean_and_range([row["reward_archive"] for row in last], ",.0f"))
        lines.append([label, *cells])
    return markdown(["policies in the reward archive", *(TASKS[task] for task in tasks_of(runs))], lines)


def differences_table(runs: Runs) -> str:
    """Return the table of coverage, by all evaluations and by exploration, and of best rewards, of all evaluations and of archives."""
    tables = []
    for task in tasks_of(runs):
        lines = []
        for label in sorted({of_label for of_task, of_label, _ in runs if of_task == task}):
            last = [rows[-1] for rows in seeds_of(runs, task, label)]
            explored = [row["exploration_coverage"] for row in last]
            rewards, archived = (
                ", ".join(f"{reward:.2f}" for reward in np.mean([row[name] for row in last], axis=0))
                for name in ("rewards", "archived_reward")
            )
            cells = [mean_and_range([row["coverage"] for row in last]), f"{np.mean(explored):.1f}", rewards, archived]
            lines.append([label, *cells, str(len(last))])
        header = [TASKS[task], "coverage, %", "by exploration, %", "best rewards", "best archived rewards", "seeds"]
        tables.append(markdown(header, lines))
    return "\n\n".join(tables)


def learning_tables(_: Runs) -> str:
    """Return a table for each task and budget of the study of learning: of exploration alone, then of the complete method."""
    tables = []
    for complete in (False, True):
        for budget in (20_000, 100_000):
            every = load("learning", budget)
            runs = {run: rows for run, rows in every.items() if run[1].endswith(COMPLETE) == complete}
            what = "complete method" if complete else "exploration alone"
            tables += [learning_table(runs, task, f"{TASKS[task]}, {budget:,} evaluations, {what}") for task in tasks_of(runs)]
    return "\n\n".join(tables)


def load_spaces(budget: int, *, complete: bool) -> Runs:
    """Return the runs of the study of learned spaces with this budget: the complete method or exploration alone, and other methods."""
    every = load("spaces", budget)
    return {run: rows for run, rows in every.items() if run[1] in RIVALS or run[1].endswith(COMPLETE_SPACE) == complete}


def spaces_tables(_: Runs) -> str:
    """Return a table for each budget and task of the study of learned spaces: of exploration alone, then of the complete method."""
    tables = []
    for complete in (False, True):
        for budget in (20_000, 3_000, 2_500, 100_000):
            runs = load_spaces(budget, complete=complete)
            what = "complete method" if complete else "exploration alone"
            for task in sorted({of_task for of_task, label, _ in runs if label not in RIVALS}):
                tables.append(spaces_table(runs, task, f"{budget:,} evaluations, {what}"))
    return "\n\n".join(tables)


def spaces_table(runs: Runs, task: str, title: str) -> str:
    """Return the table of what was found in each space, with tests of its coverage against that of stax, corrected by Holm."""
    labels = list(dict.fromkeys(label for of_task, label, _ in runs if of_task == task))
    coverages = {label: [rows[-1]["coverage"] for rows in seeds_of(runs, task, label)] for label in labels}
    stax = next((label for label in labels if label.removesuffix(COMPLETE_SPACE) == "stax"), "stax")
    reference = coverages.get(stax, [])
    tests: dict[str, Comparison] = {}
    # Other spaces are one family of comparisons, and other methods another.
    for family in (coverages.keys() - {stax} - RIVALS, coverages.keys() & RIVALS):
        tests |= compare_with(reference, {label: coverages[label] for label in sorted(family)}) if reference else {}
    lines = []
    for label in labels:
        last = [rows[-1] for rows in seeds_of(runs, task, label)]
        test = tests.get(label)
        lines.append(
            [
                label,
                mean_and_range(coverages[label]),
                f"{np.mean(coverages[label]) - np.mean(reference):+.1f}" if test else "",
                f"{test.p_holm:.3f}" if test and test.p_holm is not None else "",
                median_reached([row["all_found"] for row in last]),
                median_reached([row["all_high"] for row in last]),
                f"{np.mean([row['core_seconds'] for row in last]):,.0f}",
                str(len(last)),
            ]
        )
    header = [f"{TASKS.get(task, task)}, {title}", "coverage, %", "against stax, points", "p"]
    header += ["until all areas are found", f"until all have {HIGH_REWARD}", "core-seconds", "seeds"]
    return markdown(header, lines)


def learning_table(runs: Runs, task: str, title: str) -> str:
    """Return the table of amounts of training: what was found with each, how good its space is, and what it cost."""
    labels = list(dict.fromkeys(label for of_task, label, _ in runs if of_task == task))
    per_evaluation, per_image = unit_costs(runs, task)
    trained = [rows for label in labels if label not in UNTRAINED for rows in seeds_of(runs, task, label)]
    for rows in trained:
        for row in rows:
            row["cost"] = per_evaluation * row["evaluations"] + per_image * row["images_seen"]
    equal = min((rows[-1]["cost"] for rows in trained), default=0.0)
    lines = []
    for label in labels:
        seeds = seeds_of(runs, task, label)
        last = [rows[-1] for rows in seeds]
        at_equal = [coverage_after(rows, equal) for rows in seeds] if label not in UNTRAINED else []
        lines.append(
            [
                label,
                mean_and_range([row["coverage"] for row in last]),
                mean_of(at_equal, ".1f"),
                median_reached([row["all_found"] for row in last]),
                median_reached([row["all_high"] for row in last]),
                mean_of([row["similarity"] for row in last], ".2f"),
                mean_of([row["reconstruction_error"] for row in last], ".4f"),
                f"{np.mean([row['core_seconds'] for row in last]):,.0f}",
                str(len(seeds)),
            ]
        )
    header = [title, "coverage, %", f"coverage after {equal:,.0f} core-seconds, %"]
    header += ["until all areas are found", f"until all have {HIGH_REWARD}", "similarity", "reconstruction error"]
    return markdown([*header, "core-seconds", "seeds"], lines)


def steps_table(_: Runs) -> str:
    """Return the table of error and similarity of a new autoencoder by the steps it was trained."""
    with (RESULTS / "steps.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_steps: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        by_steps.setdefault(f"{int(row['max_images_per_episode']):,} | {row['steps']}", {})[row["task"]] = row
    lines = [
        [steps, *(f"{of_task[task]['validation_error'] or 'none'}; {of_task[task]['similarity']}" for task in TASKS)]
        for steps, of_task in by_steps.items()
    ]
    header = ["`max_images_per_episode` | steps", *(f"{name}: validation error; similarity" for name in TASKS.values())]
    return markdown(header, lines).replace("| --- |", "| --- | --- |", 1)


def unit_costs(runs: Runs, task: str) -> tuple[float, float]:
    """Return the core-seconds of an evaluation and of an observation trained on, fitted to all runs of the task that were trained.

    The core-seconds of single runs depend on what else the machine was doing.
    """
    last = [rows[-1] for (of_task, label, _), rows in runs.items() if of_task == task and label not in UNTRAINED]
    if len(last) < 2:
        return 0.0, 0.0
    amounts = np.array([[row["evaluations"], row["images_seen"]] for row in last], np.float64)
    (per_evaluation, per_image), *_ = np.linalg.lstsq(amounts, np.array([row["core_seconds"] for row in last]), rcond=None)
    return float(per_evaluation), float(per_image)


def coverage_after(rows: Rows, cost: float) -> float:
    """Return the coverage of a run when it had cost so many core-seconds, by the unit costs of its task."""
    return float(np.interp(cost, [row["cost"] for row in rows], [row["coverage"] for row in rows]))


def median_reached(evaluations: list[float | None]) -> str:
    """Return the median number of evaluations if all runs got there, otherwise how many did."""
    reached = [number for number in evaluations if number is not None]
    return f"{np.median(reached):,.0f}" if len(reached) == len(evaluations) else f"{len(reached)} of {len(evaluations)} runs"


def mean_of(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):{form}}" if known else ""


def first_high(rows: Rows, high: float) -> int | None:
    for row in rows:
        if min(row["rewards"]) >= high:
            return int(row["evaluations"])
    return None


def ceiling_table(runs: Runs) -> str:
    """Return coverage of exploration in a learned space as a share of that in the space of true states, seed by seed."""
    lines = []
    for label in labels_of(runs):
        cells = []
        for task in TASKS:
            own = [rows[-1]["coverage"] for rows in seeds_of(runs, task, label)]
            most = [rows[-1]["coverage"] for rows in seeds_of(runs, task, "true states")]
            cells.append(f"{', '.join(f'{value:.1f}' for value in own)}: {np.mean(own) / np.mean(most):.2f}")
        images = [rows[-1]["images_seen"] for (_, of_label, _), rows in runs.items() if of_label == label]
        lines.append([label, *cells, f"{np.mean(images):,.0f}"])
    return markdown(["coverage of each seed, %: share of the ceiling", *TASKS.values(), "images trained on in a run"], lines)


def training_table(runs: Runs) -> str:
    lines = []
    for label in labels_of(runs):
        task = next(task for task, of_label, _ in runs if of_label == label)
        last = [rows[-1] for rows in seeds_of(runs, task, label)]
        lines.append(
            [
                label,
                mean_and_range([row["coverage"] for row in last]),
                f"{np.mean([row['images_seen'] for row in last]):,.0f}",
                f"{np.mean([row['seconds_training'] for row in last]):,.0f}",
                f"{np.mean([row['seconds'] for row in last]):,.0f}",
            ]
        )
    header = ["training", "coverage, %", "images trained on", "seconds of training", "seconds of the whole run"]
    return markdown(header, lines)


def draw(study: str, runs: Runs, what: str, axis: str) -> None:
    """Draw the course of one measure: the mean over seeds as a line, their range as a band."""
    tasks = tasks_of(runs)
    figure = Figure(figsize=(4.2 * len(tasks), 3.4), layout="constrained")
    axes: list[Axes] = list(np.ravel(figure.subplots(1, len(tasks), sharey=True)))
    for place, task in zip(axes, tasks, strict=True):
        for label in labels_of(runs):
            seeds = seeds_of(runs, task, label)
            if not seeds:
                continue
            at = np.linspace(0, seeds[0][-1]["evaluations"], 60)[1:]
            curves = [np.interp(at, [r["evaluations"] for r in rows], [r[what] for r in rows]) for rows in seeds]
            style = "--" if label in GROUND_TRUTH else "-"
            place.plot(at, np.mean(curves, axis=0), style, color=COLORS[label], label=label)
            place.fill_between(at, np.min(curves, axis=0), np.max(curves, axis=0), color=COLORS[label], alpha=0.15, lw=0)
        place.set_title(TASKS[task])
        place.set_xlabel("evaluations")
        place.grid(alpha=0.3)
        place.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    axes[0].set_ylabel(axis)
    axes[-1].legend(fontsize=8)
    figure.savefig(RESULTS / f"{study}-{what}.png", dpi=110)


def main() -> None:
    tables: dict[str, Callable[[Runs], str]] = {
        "ground-truth": lambda runs: coverage_table(runs) + "\n\n" + reward_table(runs),
        "paper-budget": lambda runs: coverage_table(runs) + "\n\n" + reward_table(runs),
        "learned": lambda runs: coverage_table(runs) + "\n\n" + reward_table(runs),
        "emitters": lambda runs: coverage_table(runs) + "\n\n" + reward_table(runs, 0.95) + "\n\n" + archive_table(runs),
        "schedulers": lambda runs: coverage_table(runs) + "\n\n" + reward_table(runs, 0.95) + "\n\n" + archive_table(runs),
        "ceiling": ceiling_table,
        "differences": differences_table,
        "training": training_table,
        "learning": learning_tables,
        "spaces": spaces_tables,
        "steps": steps_table,
    }
    page = PAGE.read_text()
    for study, table in tables.items():
        if f"<!-- {study} -->" not in page:
            continue
        runs = load(study) if study not in ("learning", "spaces", "steps") else {}
        if study == "spaces":
            draw(study, load_spaces(100_000, complete=True), "coverage", "coverage, %")
        if study not in ("differences", "learning", "spaces", "steps"):
            draw(study, runs, "coverage", "coverage, %")
        if study not in ("ceiling", "training", "differences", "learning", "spaces", "steps"):
            draw(study, runs, "reward", "best reward, mean over areas")
        start, end = f"<!-- {study} -->\n", f"<!-- end of {study} -->"
        before, rest = page.split(start)
        page = before + start + table(runs) + "\n" + rest[rest.index(end) :]
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
