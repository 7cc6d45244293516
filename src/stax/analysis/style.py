"""The style of plots of many runs: one colour for each method, dashed lines for methods that are given the ground truth."""

from __future__ import annotations

import colorsys
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stax.runs.files import atomic_write
from stax.search.methods import METHODS

METHOD_COLORS = {method.name: method.color for method in METHODS.values()}
INK, PALE = "#33363d", "#e4e6ea"
LINE_STYLES: dict[str, Any] = {"solid": "-", "dashed": (0, (5, 2))}
"""Matplotlib's values for the line styles of methods."""
MARKERS = ("", "o", "s", "^", "D", "v", "P", "X")
"""Markers on the lines of one method, one for each set of parameters."""
FORMATS = ("png", "pdf")
LINE_WIDTH = 2.0
_SHADES = (0.0, -0.35, 0.35, -0.65, 0.7)
"""Shade of the n-th set of parameters of a method: darker (below 0) or lighter than the method's colour."""


def method_color(algo: str, number: int = 0) -> tuple[float, float, float]:
    """Return the colour of a method; each of several sets of parameters has its own shade."""
    red, green, blue = to_rgb(METHOD_COLORS.get(algo, INK))
    change = _SHADES[number % len(_SHADES)]
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    light = light * (1 + change) if change < 0 else light + (1 - light) * change
    return colorsys.hls_to_rgb(hue, light, saturation) if change else (red, green, blue)


def tidy(axes: Axes, *, evaluations: bool = True) -> None:
    """Give axes the style that all our plots have.

    Args:
        evaluations: whether the horizontal axis counts evaluations.
    """
    axes.grid(color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelsize=9.5)
    axes.title.set(color=INK, size=12)
    axes.xaxis.label.set(color=INK, size=10.5)
    axes.yaxis.label.set(color=INK, size=10.5)
    if evaluations:
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
        axes.xaxis.set_major_formatter(FuncFormatter(short_number))
        axes.set_xlabel("evaluations")


def start_at_zero(axes: Axes) -> None:
    """Let the vertical axis begin at zero and end a little above the highest value, so that nothing drawn there is cut."""
    axes.set_ylim(0, 1.04 * axes.get_ylim()[1])


def short_number(value: float, _: Any = None) -> str:
    """Return a number as text, with k for thousands and M for millions, so that labels fit side by side."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def band_opacity(groups: int) -> float:
    """Return the opacity of the band around one of so many lines: bands of many lines would hide each other."""
    return min(0.2, max(0.4 / max(groups, 1), 0.07))


def method_order(label: str) -> tuple[int, str]:
    """Return a key that sorts labels, which begin with a method's name, in the usual order of the methods."""
    names = list(METHOD_COLORS)
    algo = label.partition(" (")[0]
    return names.index(algo) if algo in names else len(names), label


def legend_below(figure: Figure, axes: Sequence[Axes]) -> None:
    """Draw one legend for all axes, each name once, in the order of the methods; the figure grows by its second line and more."""
    found: dict[str, Any] = {}
    for one in axes:
        handles, names = one.get_legend_handles_labels()
        found |= {name: handle for name, handle in zip(names, handles, strict=True) if name not in found}
    entries = {name: found[name] for name in sorted(found, key=method_order)}
    if entries:
        names = [wrapped(name, 40) for name in entries]
        longest = max(len(line) for name in names for line in name.splitlines())
        # By inches: a letter's width, and that of the line before each name.
        fitting = int(figure.get_figwidth() // (0.085 * longest + 0.7))
        columns = max(min(fitting, len(entries)), 1)
        lines = sum(name.count("\n") + 1 for name in names) / columns
        figure.set_figheight(figure.get_figheight() + 0.22 * (math.ceil(lines) - 1))
        figure.legend(
            list(entries.values()),
            names,
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=10,
            labelcolor=INK,
            handlelength=2.6,
        )


def wrapped(label: str, width: int) -> str:
    """Return a long label in several lines."""
    return "\n".join(textwrap.wrap(label, width, break_on_hyphens=False))


def without_math(figure: Figure) -> Figure:
    """Return the figure with all its texts shown as they are: a name with dollar signs is not a formula."""
    for text in figure.findobj(Text):
        if isinstance(text, Text) and "$" in text.get_text():
            text.set_parse_math(False)
    return figure


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Save a figure as PNG and as PDF under this name, and return both files; the same figure gives the same bytes."""
    written = []
    without_math(figure)
    for kind in FORMATS:
        target = path.with_name(f"{path.name}.{kind}")
        # Letters as letters, so that they can be searched and edited; no date, so that nothing changes but the data.
        with mpl.rc_context({"pdf.fonttype": 42}), atomic_write(target) as file:
            figure.savefig(file, format=kind, dpi=150, metadata={"CreationDate": None} if kind == "pdf" else None)
        # Found once: the other format has the same.
        figure.set_layout_engine("none")
        written.append(target)
    return written
