"""Curves over the budget of a run, drawn with characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

WIDTH, HEIGHT = 60, 8
_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN_BLOCKS = " .:-=+*#@"
"""Characters for a terminal that cannot show the others."""

Course = Sequence[tuple[float, float]]
"""Evaluations and the value after them, in order."""


def plot(
    name: str, course: Course, budget: int, encoding: str | None, *, width: int = WIDTH, height: int = HEIGHT
) -> Iterator[str]:
    """Yield the lines of a plot of shares over the budget, from 0 to a bit above the highest one.

    Args:
        name: the name of the curve.
        course: the curve.
        budget: evaluations of the whole run.
        encoding: the encoding of the terminal.
        width: characters of the plot.
        height: lines of the plot.
    """
    heights = _columns(course, budget, width)
    top = _round_up(max(heights, default=0.0))
    blocks = _blocks(encoding)
    for line in range(height, 0, -1):
        label = f"{100 * top * line / height:5.1f} %" if line in (height, height // 2) else ""
        eighths = [int(np.clip(round(8 * (height * value / top - (line - 1))), 0, 8)) for value in heights]
        yield f"  {label:>7} " + "".join(blocks[eighth] for eighth in eighths)
    left, right = "0", f"{budget:,} evaluations"
    yield f"  {'0 %':>7} {left:<{width - len(right)}}{right}   {name}"


def sparkline(course: Course, budget: int, encoding: str | None, *, width: int = WIDTH) -> str:
    """Return a curve over the budget in one line, from 0 to 1, or to its highest value if that is above 1."""
    blocks = _blocks(encoding)
    heights = _columns(course, budget, width)
    top = max(1.0, *heights)
    return "".join(blocks[int(np.clip(np.ceil(8 * value / top), 0, 8))] for value in heights)


def _columns(course: Course, budget: int, width: int) -> list[float]:
    """Return the value at the end of each column of the plot, as far as the run has come."""
    evaluations = np.array([point[0] for point in course], float)
    values = np.array([point[1] for point in course], float)
    ends = budget * np.arange(1, width + 1) / width
    reached = ends[ends <= max(evaluations[-1], ends[0])]
    return [float(value) for value in values[np.maximum(np.searchsorted(evaluations, reached, side="right") - 1, 0)]]


def _round_up(share: float) -> float:
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
    return next((step for step in steps if share <= step), 1.0)


def _blocks(encoding: str | None) -> str:
    return _BLOCKS if (encoding or "ascii").lower().startswith("utf") else _PLAIN_BLOCKS
