"""The table of claims, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from stax.reproduction.answered_claims import AnsweredClaim
from stax.reproduction.answers import AGREES, CANNOT, DIFFERS, Answer, Verdict
from stax.reproduction.evidence import (
    COVERAGE_MARGIN,
    HIGH_COVERAGE,
    HIGH_REWARD,
    HIGH_SIMILARITY,
    REWARD_MARGIN,
)
from stax.reproduction.plan import MINIMUM_SEEDS

_INSTEAD = ("counted_instead", "ours_counted_instead", "verdict_counted_instead")
COLUMNS = ("id", "place", "quote", "claim", "paper", "ours", "verdict", *_INSTEAD, "why")
_PLURAL: dict[Verdict, str] = {AGREES: "agree", DIFFERS: "differ", CANNOT: "cannot be told"}


def claims_csv(answered: Sequence[AnsweredClaim]) -> str:
    """Return all claims with both answers, one per row."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in answered:
        claim = one.claim
        ours = ("; ".join(_lines(one.answer)), one.answer.verdict)
        instead = (claim.published, "; ".join(_lines(one.published)), one.published.verdict) if one.published else ("", "", "")
        rows.writerow((claim.id, claim.place, claim.quote, claim.words, claim.paper, *ours, *instead, one.why))
    return text.getvalue()


def claims_table(answered: Sequence[AnsweredClaim]) -> list[str]:
    """Return all claims as tables, one per section, below the rules and the counts of verdicts."""
    lines = ["## claims: every sentence of the paper's Section 5 that can be tested", "", *_counts(answered), "", *_rules()]
    section = ""
    for one in answered:
        if one.claim.section != section:
            section = one.claim.section
            lines += [
                "",
                f"### {section}",
                "",
                "| the paper says | its figures | ours | verdict | why we differ |",
                "|---|---|---|---|---|",
            ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(one)) + " |")
    return lines


def claims_about(figures: Sequence[str], answered: Sequence[AnsweredClaim]) -> list[str]:
    """Return what the paper says about some of its figures, with our verdicts, as Markdown."""
    about = [one for one in answered if one.claim.figure in figures]
    quotes = [f"- “{one.claim.quote}” *Tested:* {one.claim.words}. **{one.answer.verdict.capitalize()}.**" for one in about]
    return ["", f"What the paper says about its {' and '.join(figures)}:", "", *quotes] if quotes else []


def _cells(one: AnsweredClaim) -> tuple[str, ...]:
    ours, verdict = _lines(one.answer), f"**{one.answer.verdict}**"
    if one.published:
        verdict += f"<br>by {one.claim.published}: {one.published.verdict}"
        if one.published.verdict != one.answer.verdict:
            ours += [f"*By {one.claim.published}:*", *_lines(one.published)]
    says = f"“{one.claim.quote}” ({one.claim.figure})<br>*Tested:* {one.claim.words}"
    return says, one.claim.paper, "<br>".join(ours), verdict, one.why


def _lines(answer: Answer) -> list[str]:
    return [part.words for part in answer.parts]


def _counts(answered: Sequence[AnsweredClaim]) -> list[str]:
    counted = [one for one in answered if one.counted]
    lines = [f"{len(counted)} claims: {_count([one.answer.verdict for one in counted])}."]
    instead = [one.published.verdict for one in counted if one.published]
    lines.append(
        f"The {len(instead)} of them on coverage and rewards, counted as the authors' published code counts (coverage by exploration"
        f" alone, rewards of the policies in the final archives): {_count(instead)}."
    )
    if len(counted) < len(answered):
        lines.append(f"{len(answered) - len(counted)} more holds in any run by construction and is not counted.")
    return [" ".join(lines)]


def _count(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{sum(one == verdict for one in verdicts)} {words}" for verdict, words in _PLURAL.items())


def _rules() -> list[str]:
    return [
        "Ours are medians over seeds with a 95 % interval in brackets, after the number of evaluations given. An order agrees only with a"
        " significant difference (two-sided Mann-Whitney U, Holm, 5 %). Methods are the same if the 90 % interval of their difference lies"
        f" within {COVERAGE_MARGIN:g} points of coverage or {REWARD_MARGIN:g} of reward. High means a reward of {HIGH_REWARD:g},"
        f" {100 * HIGH_COVERAGE:.0f} % of NS's coverage, a similarity of {HIGH_SIMILARITY:g}. With fewer than {MINIMUM_SEEDS} seeds there is no"
        " verdict."
    ]
