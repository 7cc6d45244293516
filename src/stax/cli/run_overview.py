"""The overview of a run folder: its state and results in words and a small plot."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stax.cli.summary import emitters_in_words, policies, table, time_shares, written_files
from stax.errors import InvalidInputError
from stax.runs.config import RunConfig
from stax.runs.described_task import DescribedTask
from stax.runs.files import NONSENSE
from stax.runs.folder import RunFolder, how_to_resume
from stax.runs.tables import load_metrics, read_emitters
from stax.search.methods import find_method
from stax.wording import clock_time, percent

_WIDTH, _HEIGHT = 60, 8
_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS = " .:-=+*#@"
"""Characters for a terminal that cannot show the others."""


def run_overview(path: str, *, as_json: bool) -> str:
    """Return what the run in this folder is, how far it has come and what it has found."""
    folder = RunFolder.existing(path)
    config, description = folder.read_config()
    summary = folder.summary()
    if summary.get("status") == "running" and not folder.in_use:
        summary["status"] = "killed"
    if as_json:
        return json.dumps(summary or {"status": "not begun"}, indent=2)
    metrics = load_metrics(folder) if folder.file("metrics.csv").is_file() else []
    try:
        lines = _lines(folder, config, DescribedTask(description), summary, metrics)
        return "\n".join("".join(letter if letter.isprintable() else "?" for letter in line) for line in lines)
    except InvalidInputError:
        raise
    except NONSENSE as error:
        raise InvalidInputError(
            f"The summary or the metrics in {path!r} are damaged ({type(error).__name__}: {error})."
        ) from None


def _lines(
    folder: RunFolder, config: RunConfig, task: DescribedTask, summary: dict[str, Any], metrics: list[dict[str, Any]]
) -> Iterator[str]:
    yield f"{config.algo} on {task.name}, seed {config.seed}, preset {config.preset}, {config.budget:,} evaluations"
    yield from table([*_status(folder, config, summary), *_found(folder, config, task, summary)], None)
    coverage = [(row["evaluations"], row["coverage"]) for row in metrics if row.get("coverage") is not None]
    if len(coverage) > 1:
        yield ""
        yield from plot("coverage", coverage, config.budget)
    for number, area in enumerate(task.reward_areas):
        course = [(row["evaluations"], row.get(f"max_reward_{number}") or 0.0) for row in metrics]
        if len(course) > 1 and course[-1][1] > 0:
            yield f"  {'':>7} {sparkline(course, config.budget)} best reward, {area.name}: {course[-1][1]:.3f}"
    yield ""
    yield f"in {folder.path}:"
    yield from table(list(written_files(folder.path)), None)


def _status(folder: RunFolder, config: RunConfig, summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    status = summary.get("status", "not begun")
    done = int(summary.get("evaluations", 0))
    course = f"{status}, {done:,} of {config.budget:,} evaluations ({100 * done / config.budget:.0f} %)"
    if "seconds" in summary:
        course += f" in {clock_time(summary['seconds']['total'])}"
    yield "status", course
    if "error" in summary:
        yield "", str(summary["error"])
    kept = folder.checkpoints()
    if status in ("interrupted", "failed", "killed") or (not summary and not folder.in_use):
        after = f"after {int(kept[0].stem):,} evaluations" if kept else "at the beginning"
        yield "", f"go on {after}: {how_to_resume(folder.path, config)}"


def _found(folder: RunFolder, config: RunConfig, task: DescribedTask, summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if not summary:
        return
    if summary["coverage"] is not None:
        yield "coverage", percent(summary["coverage"])
    widest = max(len(area.name) for area in task.reward_areas)
    for number, (area, reward) in enumerate(zip(task.reward_areas, summary["max_reward"], strict=True)):
        yield "" if number else "best reward", f"{area.name:<{widest}}  {f'{reward:.3f}' if reward else 'none found'}"
    yield "novelty archive", policies(summary["novelty_archive_size"])
    if find_method(config.algo).emitters:
        yield "reward archive", policies(summary["reward_archive_size"])
        if folder.file("emitters.csv").is_file():
            yield "emitters", emitters_in_words(read_emitters(folder))
    if summary["training_episodes"]:
        yield "trainings", f"{summary['training_episodes']:,}"
    failures = summary.get("failed_evaluations") or {}
    if failures:
        yield "failed", f"{sum(failures.values()):,} evaluations; " + "; ".join(f"{n:,} x {why}" for why, n in failures.items())
    yield "time", time_shares(summary["seconds"])


def plot(name: str, course: Sequence[tuple[float, float]], budget: int) -> Iterator[str]:
    """Yield the lines of a plot of a curve over the budget, from 0 to a bit above its highest value."""
    heights = _columns(course, budget)
    top = _round_up(max(heights, default=0.0))
    blocks = _blocks()
    for line in range(_HEIGHT, 0, -1):
        label = f"{100 * top * line / _HEIGHT:5.1f} %" if line in (_HEIGHT, _HEIGHT // 2) else ""
        eighths = [int(np.clip(round(8 * (_HEIGHT * height / top - (line - 1))), 0, 8)) for height in heights]
        yield f"  {label:>7} " + "".join(blocks[eighth] for eighth in eighths)
    left, right = "0", f"{budget:,} evaluations"
    yield f"  {'0 %':>7} {left:<{_WIDTH - len(right)}}{right}   {name}"


def sparkline(course: Sequence[tuple[float, float]], budget: int) -> str:
    """Return a curve over the budget in one line, from 0 to 1."""
    blocks = _blocks()
    return "".join(blocks[int(np.clip(np.ceil(8 * height), 0, 8))] for height in _columns(course, budget))


def _columns(course: Sequence[tuple[float, float]], budget: int) -> list[float]:
    """Return the value at the end of each column of the plot, as far as the run has come."""
    evaluations = np.array([point[0] for point in course], float)
    values = np.array([point[1] for point in course], float)
    ends = budget * np.arange(1, _WIDTH + 1) / _WIDTH
    reached = ends[ends <= max(evaluations[-1], ends[0])]
    return [float(value) for value in values[np.maximum(np.searchsorted(evaluations, reached, side="right") - 1, 0)]]


def _round_up(share: float) -> float:
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
    return next((step for step in steps if share <= step), 1.0)


def _blocks() -> str:
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return _BLOCKS if encoding.startswith("utf") else _PLAIN_BLOCKS
