"""The part of the page about further parameters: do they explain where our runs differ from the paper?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stax.analysis.comparison_files import markdown_text
from stax.analysis.statistics import shift, shift_interval
from stax.reproduction.answered_claims import AnsweredClaim
from stax.reproduction.answers import CANNOT
from stax.reproduction.coverage_table import coverage_cell
from stax.reproduction.plan import PAPER_COVERAGE, TASKS, VARIANTS
from stax.reproduction.results import PaperRuns, name_of, title


def settings_section(
    own: PaperRuns, other: PaperRuns, own_claims: Sequence[AnsweredClaim], other_claims: Sequence[AnsweredClaim]
) -> list[str]:
    """Compare two choices of parameters after the same number of evaluations, as Markdown.

    Args:
        own, other: runs with the page's parameters and with others, compared after as many evaluations.
        own_claims, other_claims: the claims as either judges them.
    """
    theirs, ours = markdown_text(other.settings(own)), markdown_text(own.settings(other))
    lines = [
        f"## With {theirs} instead of {ours}",
        "",
        f"Coverage in % after {other.budget:,} evaluations with either, and the difference, with a 90 % interval in brackets;"
        " the best reward of each area, as medians over seeds.",
        "",
        f"| task | method | paper | {ours} | {theirs} | difference | best rewards, {ours} | best rewards, {theirs} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(own, other, task, key) for task in TASKS for key in VARIANTS if own.has(task, key) and other.has(task, key)]
    judged = [
        pair for pair in zip(own_claims, other_claims, strict=True) if pair[1].answer.verdict != CANNOT and pair[1].counted
    ]
    if not judged:
        return [*lines, "", "There are too few of these runs to judge a claim."]
    lines += ["", f"Claims that these runs can judge, both after {other.budget:,} evaluations:", ""]
    lines += [f"| claim | {ours} | {theirs} |", "|---|---|---|"]
    lines += [f"| {one.claim.words} | {one.answer.verdict} | {another.answer.verdict} |" for one, another in judged]
    return lines


def _row(own: PaperRuns, other: PaperRuns, task: str, key: str) -> str:
    mine, theirs = own.coverage(task, key), other.coverage(task, key)
    interval = shift_interval(theirs, mine)
    within = f" [{interval[0]:+.1f}, {interval[1]:+.1f}]" if interval else ""
    paper = PAPER_COVERAGE.get((task, key))
    cells = (coverage_cell(own, task, key), coverage_cell(other, task, key), f"{shift(theirs, mine):+.1f}{within}")
    rewards = (_best_rewards(own, task, key), _best_rewards(other, task, key))
    return "| " + " | ".join((title(task), name_of(key), "" if paper is None else f"{paper:.1f}", *cells, *rewards)) + " |"


def _best_rewards(runs: PaperRuns, task: str, key: str) -> str:
    return ", ".join(f"{np.median(runs.reward(task, key, area)):.2f}" for area in range(len(runs.areas(task))))
