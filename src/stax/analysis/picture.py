"""A picture of one result: where the policies of both archives end, and the course of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Ellipse
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator, ScalarFormatter
from numpy.typing import NDArray

from stax.analysis.style import without_math
from stax.errors import exits_as_failures
from stax.runs.files import atomic_write
from stax.tasks.task import Scene, Task

if TYPE_CHECKING:
    from stax.runs.result import Result
    from stax.search.policy_set import PolicySet

NOVELTY_COLOR, REWARD_COLOR = "#1f62bf", "#f08c14"
AREA_COLORS = ("#28965a", "#8c50aa", "#d62828", "#0096a0", "#7a5c3a", "#6e737d")
"""Colours of the curves per reward area, none of which is an archive's colour."""
_INK, _PALE = "#33363d", "#e4e6ea"
_SCENE_SIZE = 1024
_MARGIN = 0.012
"""Share of the axes beyond the bounds."""

Place = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From ground-truth descriptors (n, d) to places in the axes (n, 2)."""


def draw_result(result: Result, path: str | Path) -> None:
    """Draw a result into a PNG file, which is written atomically."""
    with exits_as_failures(f"Task {result.task.name!r}"):
        figure = without_math(result_figure(result))
    with atomic_write(Path(path)) as file:
        figure.savefig(file, format="png", dpi=110)


def result_figure(result: Result) -> Figure:
    """Plot the ends of both archives' policies on the left, and coverage and rewards over the evaluations on the right.

    Without a ground truth, policies lie where the search saw them, and there is no coverage.
    """
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(13, 6.6), layout=layout)
    figure.suptitle(_title(result), color=_INK, fontsize=14)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.05, 1))
    if result.task.ground_truth_bounds is None:
        _draw_descriptors(figure.add_subplot(grid[:, 0]), result)
        _draw_rewards(figure.add_subplot(grid[:, 1]), result)
        return figure
    _draw_ends(figure.add_subplot(grid[:, 0]), result)
    coverage = figure.add_subplot(grid[0, 1])
    _draw_coverage(coverage, result)
    coverage.tick_params(labelbottom=False)
    _draw_rewards(figure.add_subplot(grid[1, 1], sharex=coverage), result)
    return figure


def _title(result: Result) -> str:
    parts = [f"{result.algo} on {result.task.name}", f"{result.evaluations:,} evaluations", f"seed {result.seed}"]
    if result.coverage is not None:
        parts.append(f"coverage {100 * result.coverage:.1f} %")
    return "    ".join([parts[0], ", ".join(parts[1:])])


# Where policies end


def _archives(result: Result) -> tuple[tuple[str, PolicySet, str], ...]:
    return (
        ("novelty archive", result.novelty_archive, NOVELTY_COLOR),
        ("reward archive", result.reward_archive, REWARD_COLOR),
    )


def _draw_ends(axes: Axes, result: Result) -> None:
    task = result.task
    dimensions = len(task.ground_truth_bounds or ())
    if dimensions == 1:
        _draw_histogram(axes, result)
        return
    scene, place = draw_world(axes, task)
    _draw_policies(axes, result, [place(archive.ground_truth) for _, archive, _ in _archives(result)])
    if scene is not None and scene.start is not None:
        start = place(np.array([scene.start]))[0]
        axes.plot(*start, "x", color=_INK, markersize=11, markeredgewidth=2.5, linestyle="none", label="start", zorder=4)
    _legend_below(axes, -0.01 if scene else -0.1)


def draw_world(axes: Axes, task: Task, size: int = _SCENE_SIZE, *, names: bool = True) -> tuple[Scene | None, Place]:
    """Draw the task's world and its reward areas, and return the scene, if there is one, and where descriptors lie in the axes.

    Args:
        axes: the axes.
        task: a task with at least two ground-truth numbers.
        size: pixels of the scene's picture.
        names: whether the areas and the axes get their names.
    """
    bounds = task.ground_truth_bounds or ()
    scene = task.scene(size) if task.picture_place(np.zeros((1, len(bounds)))) is not None else None
    place = _places(task, scene)
    if scene is not None:
        axes.imshow(scene.picture, extent=(0, 1, 1, 0), interpolation="antialiased")
        axes.set(xlim=with_margin((0, 1)), ylim=with_margin((1, 0)), aspect="equal", xticks=[], yticks=[])
    else:
        axes.set(xlim=with_margin(bounds[0]), ylim=with_margin(bounds[1]))
        if names:
            axes.set(xlabel=truth_names(task)[0], ylabel=truth_names(task)[1])
    for spine in axes.spines.values():
        spine.set_color(_PALE)
    _draw_areas(axes, task, place, names=names)
    return scene, place


def truth_names(task: Task) -> tuple[str, ...]:
    """Return the names of the ground-truth numbers for the axes of plots: those that the task has, or general ones."""
    if task.ground_truth_names is not None:
        return tuple(task.ground_truth_names)
    numbers = len(task.ground_truth_bounds or ())
    if numbers == 1:
        return ("ground truth",)
    return tuple(f"ground truth, {word} number" for word in ("first", "second")) + ("",) * (numbers - 2)


def with_margin(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return bounds that are a bit wider, so that dots at the border are not cut."""
    margin = _MARGIN * (bounds[1] - bounds[0])
    return bounds[0] - margin, bounds[1] + margin


def _draw_policies(axes: Axes, result: Result, points: list[NDArray[np.float64]]) -> None:
    """Draw a dot for each policy of both archives."""
    for (name, archive, color), places in zip(_archives(result), points, strict=True):
        if len(archive):
            # Smaller dots for more of them, so that dense regions do not become one blot.
            size = float(np.clip(3000 / len(archive), 5, 26))
            label = f"{name}: {len(archive):,} policies"
            axes.scatter(places[:, 0], places[:, 1], size, color, alpha=0.65, linewidths=0, label=label, zorder=3)


def _draw_descriptors(axes: Axes, result: Result) -> None:
    points, what = by_components([archive for _, archive, _ in _archives(result)])
    axes.set(xlabel=f"first principal component of {what}", ylabel="second principal component")
    _tidy(axes)
    # The components are no counts of evaluations.
    axes.xaxis.set_major_formatter(ScalarFormatter())
    _draw_policies(axes, result, points)
    _legend_below(axes, -0.1)


def by_components(archives: Sequence[PolicySet]) -> tuple[list[NDArray[np.float64]], str]:
    """Return places of policies for tasks without a ground truth, (n, 2) for each archive, and in words what they show.

    The places lie along the two directions in which the policies' descriptors differ most; for methods that compare no behaviours,
    those in which their genomes do.
    """
    described = archives[0].descriptor.shape[1] > 0
    values = [archive.descriptor if described else archive.genome for archive in archives]
    both = np.concatenate(values)
    known = both[np.isfinite(both).all(axis=1)]
    center = known.mean(axis=0) if len(known) else np.zeros(both.shape[1])
    _, _, directions = np.linalg.svd(known - center, full_matrices=False)
    plane = np.zeros((both.shape[1], 2))
    plane[:, : len(directions[:2])] = directions[:2].T
    return [(part - center) @ plane for part in values], "the descriptors" if described else "the genomes"


def _legend_below(axes: Axes, place: float) -> None:
    entries, names = axes.get_legend_handles_labels()
    if not entries:
        return
    legend = axes.legend(
        entries,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, place),
        ncols=3,
        frameon=False,
        fontsize=10.5,
        handletextpad=0.2,
        columnspacing=1.0,
    )
    for handle in legend.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set(sizes=[40], alpha=1)


def _places(task: Task, scene: Scene | None) -> Place:
    if scene is None:
        return lambda ground_truth: ground_truth[:, :2]

    def in_picture(ground_truth: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(task.picture_place(ground_truth), np.float64)

    return in_picture


def area_ellipses(task: Task, place: Place) -> Iterator[tuple[str, str, NDArray[np.float64], float, float]]:
    """Yield every reward area as what it is in a picture: name, colour, middle, and half of its width and height."""
    for number, area in enumerate(task.reward_areas):
        if area.center is None or area.radius is None or len(area.center) != 2:
            continue
        corners = np.array([area.center] * 3, np.float64)
        corners[1, 0] += area.radius
        corners[2, 1] += area.radius
        middle, beside, above = place(corners)
        yield (
            area.name,
            area_color(number),
            middle,
            float(np.linalg.norm(beside - middle)),
            float(np.linalg.norm(above - middle)),
        )


def _draw_areas(axes: Axes, task: Task, place: Place, *, names: bool) -> None:
    """Draw every reward area as what it is in the picture, with its name if `names`."""
    for name, color, middle, width, height in area_ellipses(task, place):
        for fill, opacity, order in ((True, 0.18, 1), (False, 1.0, 3.5)):
            axes.add_patch(
                Ellipse(
                    (middle[0], middle[1]),
                    2 * width,
                    2 * height,
                    fill=fill,
                    color=color,
                    alpha=opacity,
                    linewidth=1.6,
                    zorder=order,
                )
            )
        if not names:
            continue
        # Below the area, where it hides none of the area's policies.
        low = middle[1] + height * (1 if axes.yaxis_inverted() else -1)
        text = axes.annotate(name, (middle[0], low), (0, -4), textcoords="offset points", ha="center", va="top", zorder=5)
        text.set(color=color, fontsize=11, path_effects=[withStroke(linewidth=3.5, foreground="white")])


def _draw_histogram(axes: Axes, result: Result) -> None:
    """Draw a histogram of each archive, for a descriptor of one number."""
    low, high = (result.task.ground_truth_bounds or ())[0]
    bins = np.linspace(low, high, 51)
    for name, archive, color in _archives(result):
        if len(archive):
            ends = np.clip(archive.ground_truth[:, 0], low, high)
            axes.hist(ends, bins.tolist(), color=color, alpha=0.65, label=f"{name}: {len(archive):,} policies")
    for number, area in enumerate(result.task.reward_areas):
        if area.center is not None and area.radius is not None:
            left, right = area.center[0] - area.radius, area.center[0] + area.radius
            axes.axvspan(left, right, color=area_color(number), alpha=0.18, linewidth=0, label=area.name)
    axes.set(xlim=(low, high), xlabel=truth_names(result.task)[0], ylabel="policies")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    _tidy(axes)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    _legend_below(axes, -0.1)


# The course of the search


def _draw_coverage(axes: Axes, result: Result) -> None:
    evaluations = [row["evaluations"] for row in result.metrics]
    axes.plot(evaluations, [100 * row["coverage"] for row in result.metrics], color=_INK, linewidth=2)
    axes.set(ylabel="coverage in %", xlim=(0, max(result.evaluations, 1)))
    axes.set_ylim(bottom=0)
    _tidy(axes)


def _draw_rewards(axes: Axes, result: Result) -> None:
    evaluations = [row["evaluations"] for row in result.metrics]
    for number, area in enumerate(result.task.reward_areas):
        rewards = [row[f"max_reward_{number}"] for row in result.metrics]
        best = f"{rewards[-1]:.3f}" if rewards and rewards[-1] > 0 else "none"
        axes.plot(
            evaluations,
            rewards,
            color=area_color(number),
            linewidth=2,
            drawstyle="steps-post",
            label=f"{area.name}: {best}",
            clip_on=False,
        )
    axes.set(xlabel="evaluations", ylabel="highest reward", xlim=(0, max(result.evaluations, 1)))
    highest = max([0.0, *result.max_reward])
    axes.set_ylim(0, 1.05 * highest if highest > 1 else 1.05)
    axes.legend(frameon=False, fontsize=10, loc="best", ncols=1 if len(result.task.reward_areas) < 4 else 2)
    _tidy(axes)


def area_color(number: int) -> str:
    """Return the colour of a reward area."""
    return AREA_COLORS[number % len(AREA_COLORS)]


def _thousands(value: float, _: Any) -> str:
    return f"{value:,.0f}"


def _tidy(axes: Axes) -> None:
    axes.grid(color=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_INK)
    axes.tick_params(colors=_INK, labelsize=10)
    axes.xaxis.label.set(color=_INK, size=11)
    axes.yaxis.label.set(color=_INK, size=11)
    axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
