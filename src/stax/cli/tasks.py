"""`stax tasks`, `stax check-task` and `stax new-task`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from stax.cli.settings import parse_settings
from stax.tasks import BUILT_IN, in_tables, make_task, task_options
from stax.tasks.contract import check_task
from stax.tasks.starting_point import write_task


def tasks_command(*, as_json: bool) -> str:
    """The built-in tasks and their options."""
    rows = [_row(name) for name in BUILT_IN]
    if as_json:
        return json.dumps(rows, indent=2)
    lines: list[str] = []
    for row in rows:
        lines.append(
            f"{row['name']:<14} {row['genome_size']} parameters, {row['steps']} steps, {len(row['reward_areas'])} reward areas"
        )
        lines.append(f"{'':<14} {row['about']}")
        for key, value in row["options"].items():
            others = [word for word in row["choices"].get(key, ()) if word != value]
            lines.append(f"{'':<14} --set task.{key}={value} (default{''.join(', or ' + word for word in others)})")
    lines.append("Any Gymnasium environment: gym:ID, for instance gym:MountainCarContinuous-v0.")
    lines.append(
        "Your own: module:Class or module:function. 'stax new-task NAME' writes one to start from, 'stax check-task' tests it."
    )
    return "\n".join(lines)


def _row(name: str) -> dict[str, Any]:
    task = make_task(name)
    return {
        "name": name,
        "about": (type(task).__doc__ or "").strip().splitlines()[0],
        "genome_size": task.genome_size,
        "steps": getattr(task, "horizon", None),
        "reward_areas": [{"name": area.name, "center": area.center, "radius": area.radius} for area in task.reward_areas],
        "ground_truth_bounds": task.ground_truth_bounds,
        "options": {key: value for key, value in task_options(type(task)).items() if key != "threads"},
        "choices": dict(getattr(task, "choices", {})),
    }


def check_task_command(options: argparse.Namespace) -> tuple[str, bool]:
    """Check a task; return what was looked at and what is wrong with it, and whether all is well."""
    settings = in_tables({name.removeprefix("task."): value for name, value in parse_settings(options.set).items()})
    findings = check_task(make_task(options.name, **settings), seed=options.seed)
    lines = []
    for finding in findings:
        verdict, words = ("ok", "")
        if finding.problem:
            verdict, words = "WRONG", finding.problem
        elif finding.note:
            verdict, words = "note", finding.note
        lines.append(f"{verdict:<6} {finding.what}{': ' + words if words else ''}")
    wrong = sum(bool(finding.problem) for finding in findings)
    if wrong:
        lines.append(f"{options.name}: {wrong} of {len(findings)} checks found something wrong.")
    else:
        lines.append(f"{options.name} keeps the contract ({sum(not finding.note for finding in findings)} checks).")
    return "\n".join(lines), not wrong


def new_task_command(options: argparse.Namespace) -> str:
    """Writes a task to start from; the commands to go on with."""
    written = write_task(options.name, Path(options.out), function=options.function)
    folder = "" if options.out == "." else f"cd {options.out}\n"
    return f"{folder}stax check-task {written.target}\nstax run {written.target} --budget 5000\npython -m pytest {written.test.name}"
