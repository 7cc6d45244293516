"""A comparison as files: a table for other software, a page for people, and plots."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stax.analysis.comparison import SHARES_OF_CELLS, SOON, ComparedRuns, Finding, TaskComparison
from stax.analysis.statistics import CONFIDENCE, SIGNIFICANCE
from stax.errors import InvalidInputError
from stax.extras import require_extra
from stax.runs.csv_text import csv_for_people
from stax.runs.files import write_text

COLUMNS = (
    "task",
    "evaluations",
    "measure",
    "area",
    "method",
    "seeds",
    "median",
    "lowest",
    "highest",
    "tenth_percentile",
    "ninetieth_percentile",
    "interval_low",
    "interval_high",
    "against",
    "p",
    "p_holm",
    "superiority",
    "effect",
    "verdict",
)
"""Columns of the table."""


def write_comparison(compared: ComparedRuns, folder: Path) -> list[Path]:
    """Write table, page and plots into a folder, which is made if there is none, and return what was written."""
    require_extra("plots", "A comparison's plots")
    # Here, because Matplotlib takes a while to import.
    from stax.analysis.comparison_plots import comparison_figures
    from stax.analysis.style import save_figure

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"The output folder {str(folder)!r} cannot be made: {error.strerror}.") from None
    written = [folder / "comparison.csv", folder / "comparison.md"]
    write_table(compared, written[0])
    plots = {name: save_figure(figure, folder / name) for name, figure in comparison_figures(compared).items()}
    _write(written[1], "\n".join(_page(compared, list(plots))) + "\n")
    return [*written, *(path for paths in plots.values() for path in paths)]


def write_table(compared: ComparedRuns, path: Path) -> None:
    """Write the table as a CSV file."""
    _write(path, csv_for_people(COLUMNS, table_rows(compared)))


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


# Rows


def table_rows(compared: ComparedRuns) -> Iterator[dict[str, Any]]:
    """Yield a row per task, measure, area and group; a value that was never reached or is not known is None."""
    for task in compared.tasks:
        for family in task.families:
            for finding in family:
                yield {"task": task.runs.task, "evaluations": task.runs.evaluations, **_row(task, finding)}


def _row(task: TaskComparison, finding: Finding) -> dict[str, Any]:
    spread, compared = finding.spread, finding.comparison
    low, high = finding.interval or (None, None)
    return {
        "measure": finding.measure,
        "area": finding.area,
        "method": finding.label,
        "seeds": spread.count,
        "median": _finite(spread.median),
        "lowest": _finite(spread.lowest),
        "highest": _finite(spread.highest),
        "tenth_percentile": _finite(spread.tenth),
        "ninetieth_percentile": _finite(spread.ninetieth),
        "interval_low": low,
        "interval_high": high,
        "against": task.against if compared else None,
        "p": compared.p if compared else None,
        "p_holm": compared.p_holm if compared else None,
        "superiority": compared.superiority if compared else None,
        "effect": compared.effect if compared else None,
        "verdict": finding.verdict,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def as_json(compared: ComparedRuns) -> dict[str, Any]:
    """Return everything in a form for JSON, the values of single runs included."""
    return {
        "notes": compared.notes,
        "tasks": [
            {
                "task": task.runs.task,
                "evaluations": task.runs.evaluations,
                "in_common": task.runs.common,
                "against": task.against,
                "reward_areas": task.runs.areas,
                "methods": [
                    {
                        "label": group.label,
                        "algo": group.group.algo,
                        "learned": group.group.learned,
                        "seeds": group.group.seeds,
                        "folders": [str(run.path) for run in group.group.runs],
                    }
                    for group in task.groups
                ],
                "findings": [
                    {**_row(task, finding), "values": [_finite(value) for value in finding.values]}
                    for family in task.families
                    for finding in family
                ],
            }
            for task in compared.tasks
        ],
    }


# Words, for the page and the terminal


def value_words(measure: str, value: float) -> str:
    if measure in SHARES_OF_CELLS:
        return f"{100 * value:.1f} %"
    if measure == SOON:
        return f"{value:,.0f}" if math.isfinite(value) else "never"
    return f"{value:.3f}"


def spread_words(finding: Finding) -> str:
    """Return the median, with the extremes if they differ."""
    spread = finding.spread
    if finding.measure == SOON and not math.isfinite(spread.median):
        never = sum(not math.isfinite(value) for value in finding.values)
        return "never" if never == spread.count else f"never in {never} of {spread.count} runs"
    low, middle, high = (value_words(finding.measure, value) for value in (spread.lowest, spread.median, spread.highest))
    if finding.measure in SHARES_OF_CELLS:
        low, high = low.removesuffix(" %"), high.removesuffix(" %")
    return middle if low == high == middle.removesuffix(" %") else f"{middle} ({low} to {high})"


def p_words(finding: Finding) -> str:
    """Return the corrected p; a dash if there is none."""
    if finding.comparison is None or finding.comparison.p_holm is None:
        return "" if finding.comparison is None else "-"
    p = finding.comparison.p_holm
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def superiority_words(finding: Finding) -> str:
    return "" if finding.comparison is None else f"{finding.comparison.superiority:.2f}"


def title_words(task: TaskComparison) -> str:
    """Describe what is compared on this task, and under which conditions."""
    runs = task.runs
    return f"{runs.task} after {runs.evaluations:,} evaluations" + (f", all with {runs.common}" if runs.common else "")


def verdict_words(task: TaskComparison, finding: Finding) -> str:
    """Return the verdict in words, also for the reference."""
    return finding.verdict if finding.comparison else "the reference" if len(task.groups) > 1 else ""


def footnote(task: TaskComparison) -> str:
    """Explain p, A and the verdict."""
    others = len(task.groups) - 1
    family = "one comparison" if others == 1 else f"{others} comparisons"
    words = (
        f"Each against {task.against}: two-sided Mann-Whitney U test over seeds, p after Holm for the {family} of a measure,"
        f" significant up to {SIGNIFICANCE:g}; A is how often a run is above one of {task.against}, ties counting half."
    )
    findings = [finding for family in task.families for finding in family]
    if any(finding.comparison and finding.comparison.p_holm is None for finding in findings):
        words += " Too few seeds: however clear the difference, p could not be significant."
    return words


def _page(compared: ComparedRuns, plots: list[str]) -> Iterator[str]:
    yield "# Comparison"
    for note in compared.notes:
        yield f"\n{markdown_text(note)}"
    for task in compared.tasks:
        yield f"\n## {markdown_text(title_words(task))}"
        if len(task.groups) > 1:
            yield f"\n{markdown_text(footnote(task))}"
        for family in task.families:
            area = f", {family[0].area}" if family[0].area else ""
            yield f"\n### {markdown_text(family[0].measure + area)}\n"
            yield from _markdown(task, family)
    if plots:
        yield "\n## Plots"
    for plot in plots:
        yield f"\n![{plot.replace('-', ' ')}]({plot}.png)"


def _markdown(task: TaskComparison, family: list[Finding]) -> Iterator[str]:
    interval = f"{100 * CONFIDENCE:g} % interval of the median"
    header = ["method", "seeds", "median (lowest to highest)", interval, "p (Holm)", "A", "verdict"]
    yield _markdown_row(header)
    yield _markdown_row(["---"] * len(header))
    for finding in family:
        yield _markdown_row(
            [
                finding.label,
                str(finding.spread.count),
                spread_words(finding),
                _interval_words(finding),
                p_words(finding),
                superiority_words(finding),
                verdict_words(task, finding),
            ]
        )


def _interval_words(finding: Finding) -> str:
    if finding.interval is None:
        return "-"
    low, high = (value_words(finding.measure, value).removesuffix(" %") for value in finding.interval)
    return f"{low} to {high}"


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(markdown_text(cell) for cell in cells) + " |"


def markdown_text(text: str) -> str:
    """Return a text so that Markdown shows it as it is: no tags, links, emphasis or cells of a table."""
    return re.sub(r"([\\`*\[\]<>|&])", r"\\\1", text)
