"""`stax tasks`: lists the built-in tasks and their options."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser("tasks", help="list the tasks", description="Lists the built-in tasks and their options.")
    parser.add_json()
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the tasks."""
    from stax.tasks import BUILT_IN

    rows = [_row(name) for name in BUILT_IN]
    print(json.dumps(rows, indent=2) if options.json else "\n".join(_lines(rows)))
    return DONE


def _row(name: str) -> dict[str, Any]:
    from stax.tasks import make_task, task_options

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


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        areas = len(row["reward_areas"])
        yield f"{row['name']:<14} {row['genome_size']} parameters, {row['steps']} steps, {areas} reward areas"
        yield f"{'':<14} {row['about']}"
        for key, value in row["options"].items():
            others = [word for word in row["choices"].get(key, ()) if word != value]
            yield f"{'':<14} --set task.{key}={value} (default{''.join(', or ' + word for word in others)})"
    yield "Any Gymnasium environment: gym:ID, for instance gym:MountainCarContinuous-v0."
    yield "Your own: module:Class or module:function. 'stax new-task NAME' writes one to start from, 'stax check-task' tests it."
