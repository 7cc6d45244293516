"""Many runs compared: measured, and each group of them tested against a reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stax.analysis.grouping import RunGroup, TaskRuns, group_runs
from stax.analysis.measures import Curve, Measured, evaluations_to, highest_reward, measure_recorded
from stax.analysis.recorded import AnyRun
from stax.analysis.statistics import Comparison, Spread, compare_with, median_interval, spread
from stax.search.grid import PROFILE_LEVELS
from stax.search.parameters import Parameters

COVERAGE, EXPLORATION_COVERAGE = "coverage", "coverage by exploration"
"""Share of the grid's cells reached: by all evaluations, and by those of exploration alone."""
QD_SCORE = "QD-score"
"""Sum over the grid's cells of the best reward that ended there."""
PROFILE = tuple(f"cells with reward {level:g}" for level in PROFILE_LEVELS)
"""Share of the grid's cells whose best reward is at or above a level: the archive profile."""
SHARES_OF_CELLS = (COVERAGE, EXPLORATION_COVERAGE, *PROFILE)
"""Measures that are shares of the grid's cells."""
BEST_REWARD, ARCHIVED_REWARD = "best reward", "best archived reward"
"""Best reward in an area: of all evaluations, and of the policies that are in the final archives."""
SOON = "evaluations to 80 %"
"""Evaluations until 80 % of the highest reward in an area, see `highest_reward`."""
SOON_SHARE = 0.8

Progress = Callable[[int, int], None]
"""Called with how many runs have been read, and how many there are."""


@dataclass(frozen=True)
class Finding:
    """One measure of one group, and how it compares with the same of the reference."""

    measure: str
    """Name of the measure."""
    area: str
    """The reward area; empty for measures on the grid."""
    label: str
    """Label of the group."""
    values: list[float]
    """One per run, by seed; infinite for what was never reached."""
    spread: Spread
    interval: tuple[float, float] | None
    """A confidence interval of the median."""
    comparison: Comparison | None
    """None for the reference itself."""

    @property
    def verdict(self) -> str:
        if self.comparison is None:
            return ""
        return self.comparison.verdict("later", "sooner") if self.measure == SOON else self.comparison.verdict()


@dataclass(frozen=True, eq=False)
class MeasuredGroup:
    """A group of runs with their courses, aligned by seed."""

    group: RunGroup
    measured: list[Measured]

    @property
    def label(self) -> str:
        return self.group.label

    def coverage(self) -> list[Curve]:
        """Return the coverage of each run; nothing for a task without a ground-truth descriptor."""
        return [measured.coverage for measured in self.measured if measured.coverage is not None]

    def exploration_coverage(self) -> list[Curve]:
        """Return the coverage of each run by exploration alone; nothing for a task without a ground-truth descriptor."""
        return [run.exploration_coverage for run in self.measured if run.exploration_coverage is not None]

    def qd_score(self) -> list[Curve]:
        """Return the QD-score of each run; nothing for a task without a ground-truth descriptor."""
        found = [run.qd_score for run in self.measured if run.qd_score is not None]
        return found if len(found) == len(self.measured) else []

    def profile(self, level: int) -> list[Curve]:
        """Return the share of cells at or above one of `PROFILE_LEVELS`, given by its number; only if there is a QD-score."""
        return [run.profile[level] for run in self.measured]

    def max_reward(self, area: int) -> list[Curve]:
        return [measured.max_reward[area] for measured in self.measured]

    def archived_reward(self, area: int) -> list[Curve]:
        """Return the best reward among the policies of the final archives."""
        return [measured.archived_reward[area] for measured in self.measured]


@dataclass(frozen=True, eq=False)
class TaskComparison:
    """All that is compared on one task."""

    runs: TaskRuns
    against: str
    """The label of the reference."""
    groups: list[MeasuredGroup]
    families: list[list[Finding]]
    """The findings on one measure of all groups each: what p is corrected over."""

    @property
    def has_coverage(self) -> bool:
        return bool(self.groups[0].coverage())


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """A whole comparison."""

    tasks: list[TaskComparison]
    notes: list[str]
    """Notes for the reader, a sentence each."""


def compare_runs(
    runs: Sequence[AnyRun],
    *,
    against: str | None = None,
    budget: int | None = None,
    mix_options: bool = False,
    progress: Progress | None = None,
) -> ComparedRuns:
    """Group finished runs by task and method, measure them, and test every group against the reference of its task.

    Args:
        runs: those to compare, by their folders or their records.
        against: the reference, a method or a group's label; the first group of each task if None.
        budget: see `group_runs`.
        mix_options: see `group_runs`.
        progress: called while the ledgers are read.
    """
    for run in runs:
        run.require_finished()
    tasks, notes = group_runs(runs, budget=budget, mix_options=mix_options)
    references = [task.groups[0].label if against is None else task.find(against).label for task in tasks]
    compared = []
    read = 0
    for task, reference in zip(tasks, references, strict=True):
        cells = _grid_cells(task, notes)
        groups = []
        for group in task.groups:
            measured = []
            for run in group.runs:
                measured.append(measure_recorded(run, grid_cells=cells))
                read += 1
                if progress:
                    progress(read, len(runs))
            groups.append(MeasuredGroup(group, measured))
        families = [_family(measure, area, values, reference) for measure, area, values in _values(task, groups)]
        compared.append(TaskComparison(task, reference, groups, families))
    return ComparedRuns(compared, notes)


def _grid_cells(task: TaskRuns, notes: list[str]) -> int:
    """Return the grid for all runs: their own or, if they differ, the paper's."""
    own = {run.config.parameters.grid_cells for group in task.groups for run in group.runs}
    if len(own) == 1:
        return own.pop()
    cells = Parameters().grid_cells
    notes.append(
        f"The runs of {task.task} have different grid_cells, {', '.join(map(str, sorted(own)))}: coverage is counted on"
        f" {cells} cells along each dimension for all of them."
    )
    return cells


def _values(task: TaskRuns, groups: Sequence[MeasuredGroup]) -> Iterator[tuple[str, str, dict[str, list[float]]]]:
    """Yield every measure with its area and the values of every group, by seed, after the evaluations to compare at."""
    end = task.evaluations

    def ends(curves: Sequence[Curve]) -> list[float]:
        return [float(curve.at(end)) for curve in curves]

    if groups[0].coverage():
        yield COVERAGE, "", {group.label: ends(group.coverage()) for group in groups}
    # Without emitters all evaluations are exploration.
    if groups[0].coverage() and any(run.config.has_emitters for group in groups for run in group.group.runs):
        yield EXPLORATION_COVERAGE, "", {group.label: ends(group.exploration_coverage()) for group in groups}
    if all(group.qd_score() for group in groups):
        yield QD_SCORE, "", {group.label: ends(group.qd_score()) for group in groups}
        for number, name in enumerate(PROFILE):
            yield name, "", {group.label: ends(group.profile(number)) for group in groups}
    for number, area in enumerate(task.areas):
        yield BEST_REWARD, area, {group.label: ends(group.max_reward(number)) for group in groups}
        yield ARCHIVED_REWARD, area, {group.label: ends(group.archived_reward(number)) for group in groups}
        highest = highest_reward(task.task, (float(curve.at(end)) for group in groups for curve in group.max_reward(number)))
        soon = {group.label: [_reached(curve, highest, end) for curve in group.max_reward(number)] for group in groups}
        yield SOON, area, soon


def _reached(curve: Curve, highest: float, end: int) -> float:
    reached = evaluations_to(curve, (SOON_SHARE,), highest)[SOON_SHARE]
    return math.inf if reached is None or reached > end else float(reached)


def _family(measure: str, area: str, values: dict[str, list[float]], reference: str) -> list[Finding]:
    others = {label: some for label, some in values.items() if label != reference}
    comparisons = compare_with(values[reference], others)
    return [
        Finding(
            measure=measure,
            area=area,
            label=label,
            values=some,
            spread=spread(some),
            interval=median_interval(some),
            comparison=comparisons.get(label),
        )
        for label, some in values.items()
    ]
