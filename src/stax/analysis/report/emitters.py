"""The emitters of a run: a row for each, and a plot of all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from stax.analysis.report.figure import Figure, axis, evaluations_axis, figure
from stax.analysis.report.wording import Missing, numbers, plot_words
from stax.errors import InvalidInputError
from stax.runs.result import Result
from stax.search.emitters.emitter import EmitterRecord
from stax.wording import counted

MOST_EMITTERS = 1500
"""Emitters that are listed and drawn: those that spent the most evaluations."""
_COLORS = {
    "no improvement": "#8a919c",
    "stagnation": "#1f62bf",
    "still running": "#28965a",
    "evaluations failed": "#d62828",
    "convergence": "#0096a0",
}
_OTHER_COLOR = "#8c50aa"
_SYMBOLS = ("circle", "diamond", "triangle-up", "square", "cross", "x")
"""Symbols of the kinds of emitters, in the order of the run's parameter."""


@dataclass(frozen=True)
class EmitterRow:
    """One emitter, and when it was last seen."""

    emitter: EmitterRecord
    area: str
    """Name of the reward area of its ancestor."""
    ended_by: str
    """Reason why it ended, or "still running" at the end of the run."""
    last: int
    """Evaluations the run had done when this one did its last."""


@dataclass(frozen=True, eq=False)
class EmitterHistories:
    """All emitters that are shown."""

    rows: list[EmitterRow]
    figure: Figure
    about: str


def emitter_histories(result: Result) -> EmitterHistories | Missing:
    if not result.config.has_emitters:
        return Missing(f"{result.algo} has no emitters.")
    if not result.emitters:
        rewarded = bool((result.ledger["reward"] > 0).any())
        return Missing("No emitter was made: " + ("the budget ended before." if rewarded else "no policy was rewarded."))
    _check(result)
    last, areas = _last_seen(result), result.task.reward_areas
    rows = [
        EmitterRow(
            emitter,
            area=areas[emitter.reward_area].name if 0 <= emitter.reward_area < len(areas) else "none",
            ended_by=emitter.ended_by or "still running",
            last=last.get(emitter.id, emitter.born),
        )
        for emitter in sorted(result.emitters, key=lambda emitter: emitter.id)
    ]
    kinds = result.parameters.emitter_kinds
    about = _about(rows, kinds)
    if len(rows) > MOST_EMITTERS:
        longest = sorted(rows, key=lambda row: (-row.emitter.evaluations, row.emitter.id))[:MOST_EMITTERS]
        rows = sorted(longest, key=lambda row: row.emitter.id)
        about += f" Shown are the {MOST_EMITTERS:,} that spent the most evaluations."
    return EmitterHistories(rows, emitter_figure(rows, result.evaluations, kinds), about)


def _check(result: Result) -> None:
    for record in result.emitters:
        for entry in fields(record):
            value = getattr(record, entry.name)
            if entry.name not in ("ended_by", "kind") and not (isinstance(value, (int, float)) and math.isfinite(value)):
                raise InvalidInputError(f"The list of emitters is damaged: {entry.name} of emitter {record.id} is {value!r}.")


def _last_seen(result: Result) -> dict[int, int]:
    """Return the number of evaluations when each emitter did its last."""
    emitter = result.ledger["emitter"]
    ids, first_from_the_end = np.unique(emitter[::-1], return_index=True)
    last = len(emitter) - first_from_the_end
    return {int(number): int(end) for number, end in zip(ids, last, strict=True) if number >= 0}


def _about(rows: Sequence[EmitterRow], kinds: Sequence[str]) -> str:
    reasons = Counter(row.ended_by for row in rows)
    words = ", ".join(f"{count:,} {_reason_words(reason)}" for reason, count in reasons.items())
    sentences = [f"{counted(len(rows), 'emitter')}: {words}."]
    for kind in kinds if tuple(kinds) != ("elitist",) else ():
        some = [row.emitter for row in rows if row.emitter.kind == kind]
        raised = sum(emitter.best_reward > emitter.first_reward for emitter in some)
        spent = sum(emitter.evaluations for emitter in some)
        sentences.append(f"{kind}: {counted(len(some), 'emitter')}, {spent:,} evaluations, {raised:,} raised their reward.")
    return " ".join(sentences)


def _reason_words(reason: str) -> str:
    return reason if reason == "still running" else f"ended by {reason}"


def emitter_figure(rows: Sequence[EmitterRow], evaluations: int, kinds: Sequence[str]) -> Figure:
    """Draw a line per emitter from its birth and first reward to its last evaluation and best reward, coloured by why it ended, with a mark
    for its kind."""
    traces = []
    for kind, reason in dict.fromkeys((row.emitter.kind, row.ended_by) for row in rows):
        some = [row for row in rows if (row.emitter.kind, row.ended_by) == (kind, reason)]
        symbol = _SYMBOLS[kinds.index(kind) % len(_SYMBOLS)] if kind in kinds else _SYMBOLS[0]
        color = _COLORS.get(reason, _OTHER_COLOR)
        lines: tuple[list[Any], list[Any]] = ([], [])
        for row in some:
            lines[0].extend((row.emitter.born, row.last, None))
            lines[1].extend((*numbers([row.emitter.first_reward, row.emitter.best_reward]), None))
        name = plot_words(_reason_words(reason) if len(kinds) == 1 else f"{kind}, {_reason_words(reason)}")
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "legendgroup": name,
                "showlegend": False,
                "x": lines[0],
                "y": lines[1],
                "line": {"color": color, "width": 1.5 if len(rows) < 300 else 0.7},
                "opacity": 0.6,
                "hoverinfo": "skip",
            }
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "legendgroup": name,
                "x": [row.last for row in some],
                "y": numbers([row.emitter.best_reward for row in some]),
                "text": [_hover(row) for row in some],
                "marker": {"color": color, "size": 7 if len(rows) < 300 else 4, "symbol": symbol},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    layout = {
        "xaxis": evaluations_axis(evaluations, room=0.02),
        "yaxis": axis("reward, from first to best", rangemode="tozero"),
        "hovermode": "closest",
    }
    return figure(traces, layout)


def _hover(row: EmitterRow) -> str:
    emitter = row.emitter
    lines = [
        f"emitter {emitter.id} ({plot_words(emitter.kind)}), {plot_words(row.area)}",
        f"born after {emitter.born:,} evaluations from policy {emitter.ancestor}",
        f"{counted(emitter.evaluations, 'evaluation')}, the last after {row.last:,}",
        f"reward {emitter.first_reward:.3f} to {emitter.best_reward:.3f}",
        plot_words(_reason_words(row.ended_by)),
    ]
    return "<br>".join(lines)
