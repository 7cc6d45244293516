"""Figures for Plotly, as the JSON that its JavaScript draws.

The page's style sheet colours text and grid, for light, dark and paper; the traces' colours can be distinguished on all three.
"""

from __future__ import annotations

from typing import Any

Figure = dict[str, Any]
"""`data`, a list of traces, and `layout`."""

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_CLEAR = "rgba(0,0,0,0)"
_GRID = "#8a919c40"
INK = "#768190"
"""Lines that belong to no area or archive."""


def figure(traces: list[dict[str, Any]], layout: dict[str, Any], *, even_legend: bool = False) -> Figure:
    """Return a figure that takes the size of its place on the page.

    Args:
        even_legend: whether dots are of one size in the legend, however small they are in the plot.
    """
    legend = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "bgcolor": _CLEAR,
        "traceorder": "normal",
        "itemsizing": "constant" if even_legend else "trace",
    }
    common = {
        "autosize": True,
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"family": _FONT, "size": 13},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hoverlabel": {"bgcolor": "#ffffff", "font": {"color": "#1c2128", "size": 13}, "align": "left"},
        "modebar": {"bgcolor": _CLEAR, "color": "#8a919c", "activecolor": "#1f62bf"},
        "showlegend": True,
        "legend": legend,
    }
    return {"data": traces, "layout": {**common, **layout}}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis that makes room for its labels."""
    return {
        "title": {"text": title, "standoff": 8},
        "automargin": True,
        "gridcolor": _GRID,
        "zeroline": False,
        **more,
    }


def evaluations_axis(evaluations: int, *, room: float = 0.0, **more: Any) -> dict[str, Any]:
    """Return an axis of evaluations from 0 to the last, and by a share of `room` further, so that a dot at the end is not cut."""
    return axis(
        "evaluations", range=[0, (1 + room) * max(evaluations, 1)], tickformat="~s" if evaluations >= 10_000 else ",d", **more
    )
