"""The course of a run: coverage and rewards over its evaluations, and which phase these were spent on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.analysis.measures import Curve, Measured
from stax.analysis.picture import REWARD_COLOR, area_color
from stax.analysis.report.figure import INK, Figure, axis, evaluations_axis, figure
from stax.analysis.report.wording import numbers, plot_words
from stax.errors import InvalidInputError
from stax.runs.result import Result
from stax.search.vocabulary import Phase

MOST_STEPS = 1500
"""Points of a curve; more cannot be seen."""
MOST_CHUNKS = 240
"""Chunks that are drawn one by one; of more, several are drawn together."""
_EXPLORATION_COLOR = "#9fb6d3"
_PHASE_HEIGHT = 0.1
_GAP = 0.05
"""Shares of the figure's height."""


def course_figure(result: Result, measured: Measured) -> Figure:
    """Draw coverage if there is any, rewards, and below them the phases."""
    rows = 1 if measured.coverage is None else 2
    height = (1 - _PHASE_HEIGHT - rows * _GAP) / rows
    tops = [1 - number * (height + _GAP) for number in range(rows)]
    layout: dict[str, Any] = {
        "xaxis": evaluations_axis(result.evaluations, anchor="y3"),
        "yaxis3": axis("phase", domain=[0, _PHASE_HEIGHT], range=[0, 1], showticklabels=False, showgrid=False, fixedrange=True),
        "barmode": "stack",
        "bargap": 0,
        "hovermode": "closest",
    }
    traces = []
    if measured.coverage is not None:
        top = max(measured.coverage.last, 1e-9)
        layout["yaxis"] = axis("coverage", domain=[tops[0] - height, tops[0]], tickformat=".0%", range=[0, min(1.08 * top, 1)])
        traces.append(_curve("coverage", measured.coverage, result.evaluations, INK, "y", "%{y:.1%}"))
        if measured.exploration_coverage is not None and result.config.has_emitters:
            by_exploration = _curve(
                "coverage by exploration", measured.exploration_coverage, result.evaluations, INK, "y", "%{y:.1%}"
            )
            by_exploration["line"] |= {"dash": "dot"}
            traces.append(by_exploration)
    highest = max([1.0, *result.max_reward])
    layout["yaxis2"] = axis("highest reward", domain=[tops[-1] - height, tops[-1]], range=[0, 1.05 * highest])
    for number, (area, curve) in enumerate(zip(result.task.reward_areas, measured.max_reward, strict=True)):
        traces.append(_curve(plot_words(area.name), curve, result.evaluations, area_color(number), "y2", "%{y:.3f}"))
    return figure(traces + _phases(result), layout)


def _curve(name: str, curve: Curve, evaluations: int, color: str, y: str, value: str) -> dict[str, Any]:
    steps = np.append(curve.evaluations, evaluations)
    values = np.append(curve.values, curve.last)
    if len(steps) > MOST_STEPS:
        chosen = np.unique(np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(np.int64))
        steps, values = steps[chosen], values[chosen]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": numbers(steps),
        "y": numbers(values),
        "yaxis": y,
        "line": {"color": color, "width": 2, "shape": "hv"},
        "hovertemplate": f"%{{x:,d}} evaluations: {value}<extra>%{{fullData.name}}</extra>",
    }


def _phases(result: Result) -> list[dict[str, Any]]:
    """Return how much of each part of the budget was exploration, and how much exploitation."""
    ends, exploiting = _chunks(result)
    starts = np.concatenate([[0], ends])[:-1]
    if len(ends) > MOST_CHUNKS:
        starts, ends, share = _gathered(ends, exploiting)
    else:
        share = exploiting.astype(np.float64)
    found = []
    for name, color, parts in ((Phase.EXPLORATION, _EXPLORATION_COLOR, 1 - share), (Phase.EXPLOITATION, REWARD_COLOR, share)):
        found.append(
            {
                "type": "bar",
                "name": name.value,
                "x": numbers((starts + ends) / 2, 9),
                "width": numbers(ends - starts),
                "y": numbers(parts),
                "yaxis": "y3",
                "marker": {"color": color, "line": {"width": 0}},
                "customdata": [[int(start), int(end)] for start, end in zip(starts, ends, strict=True)],
                "hovertemplate": "%{customdata[0]:,d} to %{customdata[1]:,d}: %{y:.0%}<extra>%{fullData.name}</extra>",
            }
        )
    return found


def _chunks(result: Result) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return after how many evaluations each chunk ended, and whether it exploited."""
    ends: list[Any] = [row.get("evaluations") for row in result.metrics]
    whole = all(isinstance(end, int) for end in ends)
    if not whole or sorted(ends) != ends or (ends and (ends[0] < 0 or ends[-1] > result.evaluations)):
        raise InvalidInputError("The table of metrics is damaged: its evaluations are not those of a run.")
    return np.array(ends, np.int64), np.array([row.get("phase") == Phase.EXPLOITATION for row in result.metrics])


def _gathered(
    ends: NDArray[np.int64], exploiting: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return starts, ends and shares of exploitation of fewer, longer stretches."""
    spent = np.diff(ends, prepend=0)
    groups = np.arange(len(ends)) * MOST_CHUNKS // len(ends)
    total = np.bincount(groups, spent, MOST_CHUNKS)
    last = np.cumsum(total).astype(np.int64)
    share = np.bincount(groups, spent * exploiting, MOST_CHUNKS) / np.maximum(total, 1)
    return last - total.astype(np.int64), last, share
