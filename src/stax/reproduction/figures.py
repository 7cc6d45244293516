"""The paper's figures of coverage, rewards and archives, from our runs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stax.analysis.comparison_plots import draw_course, draw_ends
from stax.analysis.measures import archive_ends
from stax.analysis.picture import draw_world
from stax.analysis.style import INK, legend_below, start_at_zero, tidy
from stax.reproduction.plan import ABLATIONS, BASELINES, PAPER_BUDGET, PAPER_SEEDS, REGIMES
from stax.reproduction.results import PaperRuns, name_of, title
from stax.tasks import make_task

EXPLORING, REWARDED = "#3B6FB6", "#E8820C"
"""As in the paper: blue for the novelty archive, orange for the reward archive."""
_SCENE_SIZE = 384
"""Pixels of the picture behind a panel of archives."""
_PANEL = 3.8
"""Inches that a panel is wide."""


def coverage_figures(runs: PaperRuns) -> dict[str, Figure]:
    """Draw the final coverage, a panel per task."""
    tasks = runs.tasks((*BASELINES, "stax-ef"))
    if not tasks:
        return {}
    figure = Figure(figsize=(_PANEL * len(tasks), 3.9), layout="constrained")
    for axes, task in zip(_row(figure, len(tasks)), tasks, strict=True):
        keys = runs.keys(task, (*BASELINES, "stax-ef"))
        for place, key in enumerate(keys):
            draw_ends(axes, place, runs.group(task, key), runs.coverage(task, key))
        _name_places(axes, [name_of(key) for key in keys])
        axes.set(title=title(task), ylabel="coverage in %")
        start_at_zero(axes)
    head(figure, runs, "Final coverage; lines: medians and extremes")
    return {"fig-coverage": figure}


def reward_figures(runs: PaperRuns) -> dict[str, Figure]:
    """Draw for each task the median highest reward per area over the budget, and below it that at the end."""
    figures = {}
    for task in runs.tasks(BASELINES):
        areas, keys = runs.areas(task), runs.keys(task, BASELINES)
        figure = Figure(figsize=(3.9 * len(areas), 6.6), layout="constrained")
        grid = figure.add_gridspec(2, len(areas))
        panels = []
        for number, area in enumerate(areas):
            above, below = figure.add_subplot(grid[0, number]), figure.add_subplot(grid[1, number])
            for place, key in enumerate(keys):
                group = runs.group(task, key)
                draw_course(above, group, group.max_reward(number), evaluations=runs.budget, groups=len(keys))
                draw_ends(below, place, group, runs.reward(task, key, number))
            for axes in (above, below):
                axes.set_ylim(-0.03, 1.05)
                axes.set_ylabel("highest reward" if number == 0 else "")
            above.set(title=f"{title(task)}: area {number + 1} ({area})", xlim=(0, runs.budget))
            tidy(above)
            _name_places(below, [name_of(key) for key in keys])
            panels.append(above)
        legend_below(figure, panels)
        head(figure, runs, "Median highest reward per area over the budget (band: 10th to 90th percentile), and at the end")
        figures[f"fig-reward-{task}"] = figure
    return figures


def archive_figures(runs: PaperRuns) -> dict[str, Figure]:
    """Draw where the policies of the final archives end, for the run of each method that covered the most."""
    tasks = runs.tasks(BASELINES)
    keys = [key for key in BASELINES if any(runs.has(task, key) for task in tasks)]
    if not tasks:
        return {}
    figure = Figure(figsize=(2.35 * len(tasks) + 0.9, 2.3 * len(keys) + 0.9), layout="constrained")
    grid = figure.add_gridspec(len(keys), len(tasks))
    panels = []
    for row, key in enumerate(keys):
        for column, task in enumerate(tasks):
            if not runs.has(task, key):
                continue
            run = runs.best(task, key)
            axes = figure.add_subplot(grid[row, column])
            ends = archive_ends(run)
            size = 2.5 if len(ends.exploring) > 500 else 5.0
            _, place = draw_world(axes, make_task(task), _SCENE_SIZE, names=False)
            for points, color, name in ((ends.exploring, EXPLORING, "novelty"), (ends.rewarded, REWARDED, "reward")):
                places = place(points) if len(points) else points
                axes.scatter(places[:, 0], places[:, 1], s=size, color=color, linewidths=0, zorder=3)
                axes.plot([], [], "o", markersize=5, color=color, label=f"{name} archive")
            axes.spines[:].set_color(INK)
            if run.evaluations != runs.budget:
                axes.set_xlabel(f"{run.evaluations:,} evaluations", color=INK, size=8)
            axes.set_title(title(task) if key == runs.keys(task, keys)[0] else "", color=INK, size=12)
            first = next(one for one in tasks if runs.has(one, key))
            axes.set_ylabel(name_of(key) if task == first else "", color=INK, size=11)
            panels.append(axes)
    legend_below(figure, panels)
    about = "Ends of the archived policies in the ground-truth space, of the runs that covered the most"
    head(figure, runs, about, BASELINES)
    return {"fig-archives": figure}


def ablation_figures(runs: PaperRuns) -> dict[str, Figure]:
    return _courses(runs, "fig-ablation", ABLATIONS)


def training_figures(runs: PaperRuns) -> dict[str, Figure]:
    return _courses(runs, "fig-training", REGIMES)


def _courses(runs: PaperRuns, name: str, keys: Sequence[str]) -> dict[str, Figure]:
    """Draw the median coverage, and the median highest reward per area, over the budget."""
    tasks = runs.tasks(keys)
    return {f"{name}-coverage": _coverage(runs, tasks, keys), f"{name}-reward": _reward(runs, tasks, keys)} if tasks else {}


def _coverage(runs: PaperRuns, tasks: Sequence[str], keys: Sequence[str]) -> Figure:
    coverage = Figure(figsize=(_PANEL * len(tasks), 3.9), layout="constrained")
    panels = _row(coverage, len(tasks))
    for axes, task in zip(panels, tasks, strict=True):
        for key in runs.keys(task, keys):
            group = runs.group(task, key)
            draw_course(axes, group, group.coverage(), evaluations=runs.budget, groups=len(keys), unit=100)
        axes.set(title=title(task), ylabel="coverage in %", xlim=(0, runs.budget))
        start_at_zero(axes)
        tidy(axes)
    legend_below(coverage, panels)
    head(coverage, runs, "Median coverage over the budget; band: 10th to 90th percentile")
    return coverage


def _reward(runs: PaperRuns, tasks: Sequence[str], keys: Sequence[str]) -> Figure:
    columns = max(len(runs.areas(task)) for task in tasks)
    reward = Figure(figsize=(_PANEL * columns, 2.7 * len(tasks) + 0.7), layout="constrained")
    grid = reward.add_gridspec(len(tasks), columns)
    panels = []
    for row, task in enumerate(tasks):
        for number, area in enumerate(runs.areas(task)):
            axes = reward.add_subplot(grid[row, number])
            for key in runs.keys(task, keys):
                group = runs.group(task, key)
                draw_course(axes, group, group.max_reward(number), evaluations=runs.budget, groups=len(keys))
            axes.set(title=f"{title(task)}: area {number + 1} ({area})", xlim=(0, runs.budget), ylim=(-0.03, 1.05))
            axes.set_ylabel("highest reward" if number == 0 else "")
            tidy(axes)
            panels.append(axes)
    legend_below(reward, panels)
    head(reward, runs, "Median highest reward per area over the budget; band: 10th to 90th percentile")
    return reward


def _row(figure: Figure, count: int) -> list[Axes]:
    grid = figure.add_gridspec(1, count)
    return [figure.add_subplot(grid[0, number]) for number in range(count)]


def _name_places(axes: Axes, names: Sequence[str]) -> None:
    tidy(axes, evaluations=False)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.grid(visible=False, axis="x")
    axes.set_xlim(-0.6, len(names) - 0.4)


def head(figure: Figure, runs: PaperRuns, about: str, ends_of: Sequence[str] = ()) -> None:
    """Set the figure's title: what is shown, and what was run, so that a quick look is not taken for the paper's experiment.

    Args:
        figure: the figure.
        runs: all runs.
        about: what is shown.
        ends_of: methods of which the ends of their runs are shown, however many evaluations they have.
    """
    width = int(13 * figure.get_figwidth())
    lines = [line for text in (about, caption(runs, ends_of)) for line in textwrap.wrap(text, width)]
    figure.suptitle("\n".join(lines), color=INK, size=9.5)


def caption(runs: PaperRuns, ends_of: Sequence[str] = ()) -> str:
    """Return what was run, beside the paper's experiment."""
    words = runs.words_about_ends(ends_of) if ends_of else runs.words
    same = runs.budget == PAPER_BUDGET and runs.seeds == PAPER_SEEDS
    instead = "" if same else f" (the paper: {PAPER_BUDGET:,} and {PAPER_SEEDS})"
    return f"{'QUICK LOOK: ' if runs.quick else ''}{words}{instead}"
