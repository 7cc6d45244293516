"""The part of the page about further presets: do their parameters explain where our runs differ from the paper?"""

from __future__ import annotations

from collections.abc import Sequence

from stax.analysis.statistics import shift, shift_interval
from stax.reproduction.answers import CANNOT
from stax.reproduction.claims import AnsweredClaim
from stax.reproduction.coverage_table import coverage_cell
from stax.reproduction.plan import PAPER_COVERAGE, TASKS, VARIANTS
from stax.reproduction.results import PaperRuns, name_of, title


def preset_section(
    own: PaperRuns, other: PaperRuns, own_claims: Sequence[AnsweredClaim], other_claims: Sequence[AnsweredClaim]
) -> list[str]:
    """Compare two presets after the same number of evaluations, as Markdown.

    Args:
        own, other: runs of the page's preset and of another one, compared after as many evaluations.
        own_claims, other_claims: the claims as either judges them.
    """
    lines = [
        f"## Preset {other.preset} instead of {own.preset}",
        "",
        f"Coverage in % after {other.budget:,} evaluations with the parameters of either preset, and how much more {other.preset} covers,"
        " with a 90 % interval in brackets.",
        "",
        f"| task | method | paper | {own.preset} | {other.preset} | difference |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(own, other, task, key) for task in TASKS for key in VARIANTS if own.has(task, key) and other.has(task, key)]
    judged = [
        pair for pair in zip(own_claims, other_claims, strict=True) if pair[1].answer.verdict != CANNOT and pair[1].counted
    ]
    if not judged:
        return [*lines, "", "There are too few runs of it to judge a claim."]
    lines += ["", f"Claims that {other.preset} can judge, both presets after {other.budget:,} evaluations:", ""]
    lines += [f"| claim | {own.preset} | {other.preset} |", "|---|---|---|"]
    lines += [f"| {mine.claim.words} | {mine.answer.verdict} | {theirs.answer.verdict} |" for mine, theirs in judged]
    return lines


def _row(own: PaperRuns, other: PaperRuns, task: str, key: str) -> str:
    mine, theirs = own.coverage(task, key), other.coverage(task, key)
    interval = shift_interval(theirs, mine)
    within = f" [{interval[0]:+.1f}, {interval[1]:+.1f}]" if interval else ""
    paper = PAPER_COVERAGE.get((task, key))
    cells = (coverage_cell(own, task, key), coverage_cell(other, task, key), f"{shift(theirs, mine):+.1f}{within}")
    return "| " + " | ".join((title(task), name_of(key), "" if paper is None else f"{paper:.1f}", *cells)) + " |"
