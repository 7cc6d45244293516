"""The plots of a comparison, of the kind that the paper has: medians over evaluations with bands, and the ends as violins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from stax.analysis.comparison import BEST_REWARD, COVERAGE, ComparedRuns, Finding, MeasuredGroup, TaskComparison
from stax.analysis.measures import Curve
from stax.analysis.statistics import band, evaluation_grid
from stax.analysis.style import (
    INK,
    LINE_STYLES,
    LINE_WIDTH,
    MARKERS,
    band_opacity,
    legend_below,
    method_color,
    start_at_zero,
    tidy,
    wrapped,
)
from stax.search.methods import line_style

_MOST_COLUMNS = 3
_TITLE = 34
"""Letters that fit above a panel."""
_LEAST_FOR_VIOLIN = 5
"""Runs from which on a violin says more than the points alone."""


def comparison_figures(compared: ComparedRuns) -> dict[str, Figure]:
    """Return the plots by the name of their file; those of coverage are left out if no task has any."""
    covered = [task for task in compared.tasks if task.has_coverage]
    figures = {}
    if covered:
        figures["coverage-over-evaluations"] = coverage_figure(covered)
        figures["coverage-at-the-end"] = final_coverage_figure(covered)
    figures["reward-over-evaluations"] = reward_figure(compared.tasks)
    return figures


def coverage_figure(tasks: Sequence[TaskComparison]) -> Figure:
    """Plot the median coverage over evaluations with a band from the 10th to the 90th percentile, a panel per task."""
    figure, panels = _panels(len(tasks), 3.6)
    for axes, task in zip(panels, tasks, strict=True):
        for group in task.groups:
            draw_course(axes, group, group.coverage(), evaluations=task.runs.evaluations, groups=len(task.groups), unit=100)
        axes.set(title=_title(task, tasks), ylabel="coverage in %", xlim=(0, task.runs.evaluations))
        start_at_zero(axes)
        tidy(axes)
    legend_below(figure, panels)
    return figure


def reward_figure(tasks: Sequence[TaskComparison]) -> Figure:
    """Plot the median highest reward over evaluations with a band, a row per task and a column per reward area."""
    columns = max(len(task.runs.areas) for task in tasks)
    figure = Figure(figsize=(3.6 * columns + 0.6, 2.9 * len(tasks) + 0.9), layout="constrained")
    grid = figure.add_gridspec(len(tasks), columns)
    panels = []
    for row, task in enumerate(tasks):
        highest = max(1.0, *(max(finding.values) for family in task.families for finding in family if _is_reward(finding)))
        for column, area in enumerate(task.runs.areas):
            axes = figure.add_subplot(grid[row, column])
            for group in task.groups:
                draw_course(axes, group, group.max_reward(column), evaluations=task.runs.evaluations, groups=len(task.groups))
            # From below 0, so that a line of those who found nothing is seen.
            axes.set(xlim=(0, task.runs.evaluations), ylim=(-0.025 * highest, 1.04 * highest))
            axes.set_title(_title(task, tasks, f": {area}"))
            axes.set_ylabel("highest reward" if column == 0 else "")
            tidy(axes)
            panels.append(axes)
    legend_below(figure, panels)
    return figure


def _is_reward(finding: Finding) -> bool:
    return finding.measure == BEST_REWARD


def final_coverage_figure(tasks: Sequence[TaskComparison]) -> Figure:
    """Plot the coverage of every run at the end, with medians and extremes, a panel per task."""
    most = max(len(task.groups) for task in tasks)
    figure, panels = _panels(len(tasks), 3.8, wide=float(np.clip(0.62 * most + 1.2, 3.6, 5.4)))
    for axes, task in zip(panels, tasks, strict=True):
        findings = next(family for family in task.families if family[0].measure == COVERAGE)
        for place, (group, finding) in enumerate(zip(task.groups, findings, strict=True)):
            draw_ends(axes, place, group, [100 * value for value in finding.values])
        labels = [wrapped(group.label, 30) for group in task.groups]
        axes.set(title=_title(task, tasks), ylabel="coverage in %", xlim=(-0.6, len(labels) - 0.4))
        start_at_zero(axes)
        tidy(axes, evaluations=False)
        if any("\n" in label for label in labels):
            axes.set_xticks(range(len(labels)), labels, rotation=90)
        else:
            axes.set_xticks(range(len(labels)), labels, rotation=40, ha="right", rotation_mode="anchor")
        axes.grid(visible=False, axis="x")
    return figure


def _title(task: TaskComparison, tasks: Sequence[TaskComparison], more: str = "") -> str:
    """Return the task's name with its options, in a few lines; without the options if they are many and no other task has this name."""
    full = task.runs.task
    name = full.partition(" (")[0]
    if len(full + more) > _TITLE and sum(other.runs.task.partition(" (")[0] == name for other in tasks) == 1:
        full = name
    # A name may be longer than a line, and has no spaces to break it at.
    return wrapped(full.replace(":", ": ") if len(full) > _TITLE else full, _TITLE) + more


def _panels(count: int, high: float, wide: float = 4.2) -> tuple[Figure, list[Axes]]:
    columns = min(count, _MOST_COLUMNS)
    rows = -(-count // columns)
    figure = Figure(figsize=(wide * columns, high * rows + 0.5), layout="constrained")
    grid = figure.add_gridspec(rows, columns)
    return figure, [figure.add_subplot(grid[number // columns, number % columns]) for number in range(count)]


def draw_course(
    axes: Axes, group: MeasuredGroup, curves: Sequence[Curve], *, evaluations: int, groups: int, unit: float = 1
) -> None:
    """Draw the median of several runs over their evaluations, and the band from the 10th to the 90th percentile.

    Args:
        axes: where to draw.
        group: whose curves these are.
        curves: one a run.
        evaluations: up to where.
        groups: how many are drawn in all; the more, the paler the bands.
        unit: what to multiply values by.
    """
    course = band(curves, evaluation_grid(evaluations))
    color = _color(group)
    axes.plot(
        course.evaluations,
        unit * course.median,
        color=color,
        linestyle=LINE_STYLES[line_style(is_learned=group.group.learned)],
        linewidth=LINE_WIDTH,
        marker=MARKERS[group.group.number % len(MARKERS)],
        markevery=(10 + 7 * group.group.number % 20, 40),
        markersize=5,
        label=group.label,
        zorder=3,
    )
    if len(curves) > 1:
        low, high = unit * course.tenth, unit * course.ninetieth
        opacity = band_opacity(groups)
        axes.fill_between(course.evaluations, low, high, color=color, alpha=opacity, linewidth=0, zorder=2)


def draw_ends(axes: Axes, place: float, group: MeasuredGroup, values: Sequence[float]) -> None:
    """Draw one group's values: a violin if there are enough, every run as a point, the median and the extremes as lines."""
    color = _color(group)
    if len(values) >= _LEAST_FOR_VIOLIN and len(set(values)) > 1:
        bodies: Any = axes.violinplot([list(values)], [place], widths=0.8, showextrema=False)["bodies"]
        for body in bodies:
            assert isinstance(body, PolyCollection)
            body.set(facecolor=color, edgecolor=color, alpha=0.28, zorder=1)
    # Side by side by their number, not at random, so that the same runs give the same picture.
    beside = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)
    axes.plot(place + beside, values, "o", color=color, markersize=4, alpha=0.85, markeredgewidth=0, zorder=4, clip_on=False)
    if len(values) == 1:
        return
    axes.hlines([min(values), max(values)], place - 0.13, place + 0.13, color=color, linewidth=1.2, zorder=2)
    axes.vlines(place, min(values), max(values), color=color, linewidth=1.2, zorder=2)
    axes.hlines(float(np.median(values)), place - 0.28, place + 0.28, color=INK, linewidth=2, zorder=3)


def _color(group: MeasuredGroup) -> tuple[float, float, float]:
    return method_color(group.group.algo, group.group.number)
