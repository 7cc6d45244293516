"""The finished runs of a reproduction, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from stax.analysis.comparison import MeasuredGroup
from stax.analysis.grouping import RunGroup
from stax.analysis.measures import measure_recorded
from stax.analysis.recorded import RecordedRun
from stax.reproduction.plan import TASKS, VARIANTS, Item, needed, run_name


@dataclass(frozen=True, eq=False)
class PaperRuns:
    """Runs by task and method, each with its course."""

    budget: int
    seeds: int
    preset: str
    quick: bool
    changed: dict[str, Any]
    """Parameters that are not the preset's."""
    groups: dict[tuple[str, str], MeasuredGroup]

    def group(self, task: str, key: str) -> MeasuredGroup:
        return self.groups[task, key]

    def has(self, task: str, *keys: str) -> bool:
        return all((task, key) in self.groups for key in keys)

    def coverage(self, task: str, key: str) -> list[float]:
        """At the end, by seed, in percent."""
        return [100 * curve.last for curve in self.group(task, key).coverage()]

    def reward(self, task: str, key: str, area: int) -> list[float]:
        """The highest at the end, by seed."""
        return [curve.last for curve in self.group(task, key).max_reward(area)]

    def areas(self, task: str) -> list[str]:
        group = next(group for (of_task, _), group in self.groups.items() if of_task == task)
        return [area.name for area in group.group.runs[0].task.reward_areas]

    def best(self, task: str, key: str) -> RecordedRun:
        """The run with the highest coverage."""
        group = self.group(task, key)
        number = max(range(len(group.measured)), key=lambda run: group.coverage()[run].last)
        return group.group.runs[number]

    @cached_property
    def words(self) -> str:
        """What was run, for captions."""
        seeds = f"{self.seeds} {'seed' if self.seeds == 1 else 'seeds'}"
        changes = "".join(f", {name}={value}" for name, value in self.changed.items())
        return f"{self.budget:,} evaluations, {seeds}, preset {self.preset}{changes}"


def measure_runs(
    items: Sequence[Item],
    *,
    out: Path,
    budget: int,
    seeds: int,
    preset: str = "default",
    changed: Mapping[str, Any] | None = None,
    quick: bool = False,
) -> PaperRuns:
    """Reads what the items need, of runs done by `plan` with the same arguments; every run must be finished."""
    groups: dict[tuple[str, str], MeasuredGroup] = {}
    for task, variant in needed(items):
        runs = [RecordedRun(out / "runs" / run_name(task, variant.key, seed)) for seed in range(seeds)]
        measured = [measure_recorded(run) for run in runs]
        number = 1 if variant.key == "stax-ef" else 0
        group = RunGroup(label=variant.name, algo=variant.algo, number=number, learned=variant.learned, runs=runs)
        groups[task, variant.key] = MeasuredGroup(group, measured)
    return PaperRuns(budget, seeds, preset, quick, dict(changed or {}), groups)


def title(task: str) -> str:
    return TASKS[task]


def name_of(key: str) -> str:
    return VARIANTS[key].name
