"""The finished runs of a reproduction, by their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stax.analysis.comparison import MeasuredGroup
from stax.analysis.grouping import in_words
from stax.analysis.recorded import AnyRun
from stax.analysis.records.record import LearnedMeasures, Record
from stax.errors import printable
from stax.reproduction.plan import TASKS, VARIANTS


@dataclass(frozen=True, eq=False)
class PaperRuns:
    """Runs by task and method, each with its course up to the same number of evaluations."""

    budget: int
    """Evaluations after which all runs are compared; some may have gone on for longer."""
    seeds: int
    """Runs that each method has at least."""
    preset: str
    quick: bool
    changed: dict[str, Any]
    """Parameters that are not the preset's."""
    groups: dict[tuple[str, str], MeasuredGroup]
    unused: list[str] = field(default_factory=list)
    """Records that there are besides those used, in words."""
    other_settings: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Further presets, and parameters that are not theirs, that there are records of, of the same methods."""

    def group(self, task: str, key: str) -> MeasuredGroup:
        """Return the runs of a method on a task, which must exist."""
        return self.groups[task, key]

    def has(self, task: str, *keys: str) -> bool:
        return all((task, key) in self.groups for key in keys)

    def keys(self, task: str, keys: Sequence[str]) -> list[str]:
        """Return those of the methods that have runs on a task."""
        return [key for key in keys if self.has(task, key)]

    def tasks(self, keys: Sequence[str]) -> list[str]:
        """Return the tasks on which any of these methods has runs."""
        return [task for task in TASKS if self.keys(task, keys)]

    def records(self, task: str, key: str) -> list[Record]:
        """Return the records of a method on a task, by seed."""
        return [run for run in self.group(task, key).group.runs if isinstance(run, Record)]

    def learned(self, task: str, key: str) -> LearnedMeasures | None:
        """Return what is known of the learned space of the run with the highest coverage; None if nothing is."""
        best = self.best(task, key)
        return best.learned if isinstance(best, Record) else None

    def coverage(self, task: str, key: str) -> list[float]:
        """Return the coverage at the end, by seed, in percent."""
        return [100 * curve.last for curve in self.group(task, key).coverage()]

    def reward(self, task: str, key: str, area: int) -> list[float]:
        """Return the highest value at the end, by seed."""
        return [curve.last for curve in self.group(task, key).max_reward(area)]

    def areas(self, task: str) -> list[str]:
        group = next(group for (of_task, _), group in self.groups.items() if of_task == task)
        return [area.name for area in group.group.runs[0].task.reward_areas]

    def best(self, task: str, key: str) -> AnyRun:
        """Return the run with the highest coverage."""
        group = self.group(task, key)
        number = max(range(len(group.measured)), key=lambda run: group.coverage()[run].last)
        return group.group.runs[number]

    @property
    def words(self) -> str:
        """Return what was run, for captions."""
        return self.words_about({self.budget})

    def words_about_ends(self, keys: Sequence[str]) -> str:
        """Return what was run, for captions about the ends of runs, however many evaluations they have."""
        runs = [run for (_, key), group in self.groups.items() if key in keys for run in group.group.runs]
        return self.words_about({run.evaluations for run in runs} or {self.budget})

    def words_about(self, evaluations: set[int]) -> str:
        """Return what was run, with these evaluations, seeds, preset and changed parameters."""
        most = max((len(group.measured) for group in self.groups.values()), default=self.seeds)
        seeds = f"{_range(self.seeds, most)} {'seed' if most == 1 else 'seeds'}"
        return f"{_range(min(evaluations), max(evaluations))} evaluations, {seeds}, preset {self.settings()}"

    @property
    def has_defaults(self) -> bool:
        """Whether the runs have the preset `default`, and nothing else was changed."""
        return self.preset == "default" and not self.changed

    def settings(self, other: PaperRuns | None = None) -> str:
        """Name the preset and the parameters that are not the preset's; only those that other runs do not have, if some are given."""
        known = other.changed if other else {}
        changed = {name: value for name, value in self.changed.items() if name not in known or known[name] != value}
        preset = "" if other and other.preset == self.preset and changed else self.preset
        # Records may come from a stranger, and these texts with them.
        return ", ".join(filter(None, (preset, printable(in_words(changed), 500))))


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def title(task: str) -> str:
    return TASKS[task]


def name_of(key: str) -> str:
    """Return the paper's name of a method; other keys stand for themselves."""
    return VARIANTS[key].name if key in VARIANTS else key
