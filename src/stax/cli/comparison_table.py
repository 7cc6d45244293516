"""The table of a comparison on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from stax.analysis.comparison import SOON, ComparedRuns, Finding, TaskComparison
from stax.analysis.comparison_files import footnote, p_words, spread_words, superiority_words, title_words, verdict_words
from stax.analysis.measures import highest_reward_words

_WIDE = 1000
"""Columns of a table that is not for a terminal: nothing is wrapped."""
_GAP = 2
_SHORTEST_LABEL = 14
"""Columns that labels have at least; longer ones stand in a line of their own."""


def print_comparison(compared: ComparedRuns) -> None:
    """Print a table for each task, as wide as the terminal if there is one."""
    terminal = sys.stdout.isatty()
    console = Console(highlight=False, width=None if terminal else _WIDE)
    with console.capture() as capture:
        for number, task in enumerate(compared.tasks):
            if number:
                console.print()
            console.print(Text(title_words(task), "bold"))
            console.print(Text("\n").join(_lines(task, console.width)), no_wrap=True, overflow="ignore", crop=False)
            if len(task.groups) > 1:
                console.print(Text(footnote(task), "dim"))
    print(*(line.rstrip() for line in capture.get().splitlines()), sep="\n")


_Section = tuple[str, list[tuple[list[str], bool]]]
"""A title, and rows of cells, each with whether it is to be noticed."""


def _lines(task: TaskComparison, columns: int) -> Iterator[Text]:
    """Return a section per measure and area with a row per group, in so many columns if they fit."""
    sections = _sections(task, beside=True)
    if sum(_widths(sections, task)) > columns:
        sections = _sections(task, beside=False)
    widths = _widths(sections, task)
    # Long labels give way first.
    widths[0] = max(widths[0] - max(sum(widths) - columns, 0), min(widths[0], _SHORTEST_LABEL))
    yield Text(_aligned(_header(task, len(widths)), widths), "dim")
    for title, rows in sections:
        yield Text(title, "cyan")
        for cells, noticed in rows:
            if len(cells[0]) > widths[0] - _GAP:
                yield Text(cells[0])
                cells = ["", *cells[1:]]
            yield Text(_aligned(cells, widths), "bold" if noticed else "")


def _sections(task: TaskComparison, *, beside: bool) -> list[_Section]:
    """Return the sections of the table. With `beside`, evaluations to 80 % are a column beside the best rewards."""
    soon = {family[0].area: family for family in task.families if family[0].measure == SOON}
    sections = []
    for family in task.families:
        first = family[0]
        if beside and first.measure == SOON:
            continue
        rows = []
        for number, finding in enumerate(family):
            cells = [f"  {finding.label}", str(finding.spread.count), spread_words(finding)]
            if len(task.groups) > 1:
                cells += [p_words(finding), superiority_words(finding), _short_verdict(task, finding)]
            if beside:
                cells.append(spread_words(soon[first.area][number]) if first.area in soon else "")
            rows.append((cells, finding.comparison is not None and finding.comparison.significant))
        measure = f"{SOON} {highest_reward_words(task.runs.task)}" if first.measure == SOON else first.measure
        sections.append((f"{measure}, {first.area}" if first.area else measure, rows))
    return sections


def _short_verdict(task: TaskComparison, finding: Finding) -> str:
    return verdict_words(task, finding).partition(" (")[0]


def _header(task: TaskComparison, columns: int) -> list[str]:
    tested = ["p (Holm)", "A", "verdict"] if len(task.groups) > 1 else []
    return ["", "seeds", "median (range)", *tested, f"{SOON} {highest_reward_words(task.runs.task)}"][:columns]


def _widths(sections: Sequence[_Section], task: TaskComparison) -> list[int]:
    rows = [cells for _, rows in sections for cells, _ in rows]
    header = _header(task, len(rows[0]))
    return [max(len(cells[number]) for cells in [header, *rows]) + _GAP for number in range(len(header))]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Align counts, p and A to the right."""
    parts = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        right = number in (1, 3, 4) and not (number == 3 and len(cells) == 4)
        parts.append(f"{cell:>{width - _GAP}}{' ' * _GAP}" if right else f"{cell:<{width}}")
    return "".join(parts).rstrip()
