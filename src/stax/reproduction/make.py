"""Figures, tables and a page from the records of a reproduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from matplotlib.figure import Figure

from stax.analysis.comparison_files import markdown_text
from stax.analysis.style import save_figure
from stax.reproduction.answered_claims import AnsweredClaim, answered_claims
from stax.reproduction.answers import AGREES
from stax.reproduction.claims_table import claims_about, claims_csv, claims_table
from stax.reproduction.coverage_table import coverage_table
from stax.reproduction.evidence import Evidence
from stax.reproduction.figures import (
    ablation_figures,
    archive_figures,
    caption,
    coverage_figures,
    reward_figures,
    training_figures,
)
from stax.reproduction.learned_figures import (
    every_split,
    reconstruction_figures,
    similarities,
    similarity_figures,
    split_figures,
    splits,
)
from stax.reproduction.other_settings import settings_section
from stax.reproduction.page import missing_runs, origin_words, runs_table, unused_records
from stax.reproduction.plan import VARIANTS, Item, needed
from stax.reproduction.results import PaperRuns
from stax.runs.files import write_text

Say = Callable[[str], None]


class Choose(Protocol):
    """Chooses the runs that items are made of, from the records there are: `selection.paper_runs` with all but these arguments."""

    def __call__(
        self,
        items: Sequence[Item],
        *,
        budget: int | None = ...,
        longest: bool = ...,
        preset: str = ...,
        changed: Mapping[str, Any] | None = ...,
    ) -> PaperRuns: ...


def figures_of(item: str, runs: PaperRuns) -> dict[str, Figure]:
    """Return the figures of an item, by the names of their files."""
    if item == "fig-similarity":
        return similarity_figures(runs, similarities(runs))
    if item == "fig-split":
        return split_figures(runs, splits(runs))
    return _FIGURES[item](runs) if item in _FIGURES else {}


def answers(runs: PaperRuns) -> list[AnsweredClaim]:
    """Judge all claims by these runs, which must have their whole courses."""
    return answered_claims(Evidence(runs, similarities(runs), every_split(runs), arm_errors(runs)))


_FIGURES: dict[str, Callable[[PaperRuns], dict[str, Figure]]] = {
    "fig-coverage": coverage_figures,
    "fig-reward": reward_figures,
    "fig-archives": archive_figures,
    "fig-ablation": ablation_figures,
    "fig-training": training_figures,
    "fig-reconstruction": reconstruction_figures,
}


def arm_errors(runs: PaperRuns) -> list[float]:
    """Return the mean squared errors of STAX's reconstructions of the arm, by seed, as shares of those of the mean picture."""
    if not runs.has("redundant-arm", "stax"):
        return []
    known = [record.learned for record in runs.records("redundant-arm", "stax") if record.learned]
    errors = [(learned.reconstruction_error, learned.mean_observation_error) for learned in known]
    return [error / of_mean for error, of_mean in errors if error is not None and of_mean]


def make_all(items: Sequence[Item], choose: Choose, out: Path, *, command: str, say: Say) -> list[Path]:
    """Make everything of these items; the page comes last. Return what was written.

    Each figure compares its methods after as many evaluations as they all have; so does each claim.
    """
    every = choose(items, longest=True)
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    shown: dict[str, list[str]] = {}
    tested: list[AnsweredClaim] = []
    unused = set(every.unused)
    for item in items:
        say(f"making {item.name}: {item.about}")
        if item.name == "claims":
            tested = answers(every)
            continue
        shown[item.name] = []
        if _can_be_made(item, every):
            runs = choose([item])
            unused &= set(runs.unused)
            figures = figures_of(item.name, runs)
            shown[item.name] = list(figures)
            for name, figure in figures.items():
                written += save_figure(figure, folder / name)
    coverage = coverage_table(every, lambda budget: choose(items, budget=budget))
    compared: list[str] = []
    for preset, changed in every.other_settings if tested else ():
        other = choose(items, preset=preset, changed=changed)
        common = other.groups.keys() & every.groups.keys()
        if common:
            # The runs of the page may be shorter.
            longest = max(run.evaluations for place in common for run in every.groups[place].measured)
            if longest < other.budget:
                other = choose(items, preset=preset, changed=changed, budget=longest)
            unused &= set(other.unused)
            own, own_answers, other_answers = _compared(items, choose, other)
            compared += ["", *settings_section(own, other, own_answers, other_answers)]
            words = markdown_text(other.settings(own))
            explained = {
                theirs.claim.id
                for mine, theirs in zip(own_answers, other_answers, strict=True)
                if theirs.answer.verdict == AGREES != mine.answer.verdict
            }
            tested = [
                replace(one, agrees_with=(*one.agrees_with, words)) if one.claim.id in explained else one for one in tested
            ]
    if tested:
        write_text(out / "claims.csv", claims_csv(tested))
        written.append(out / "claims.csv")
    lines = _page(items, replace(every, unused=sorted(unused)), shown, tested, coverage, compared, command)
    write_text(out / "README.md", lines)
    return [*written, out / "README.md"]


def _compared(
    items: Sequence[Item], choose: Choose, other: PaperRuns
) -> tuple[PaperRuns, list[AnsweredClaim], list[AnsweredClaim]]:
    """Return the runs with the page's parameters after as many evaluations as all runs with others have, and how both answer."""
    own = choose(items, budget=other.budget)
    mine, theirs = (
        answers(choose(items, budget=other.budget, longest=True, preset=runs.preset, changed=runs.changed))
        for runs in (own, other)
    )
    return own, mine, theirs


def _can_be_made(item: Item, runs: PaperRuns) -> bool:
    """Return whether there are runs of at least two methods of an item; of one, if that is all it shows."""
    there = {variant.key for task, variant in needed([item]) if runs.has(task, variant.key)}
    return len(there) >= min(2, len(item.variants))


def _page(
    items: Sequence[Item],
    runs: PaperRuns,
    shown: dict[str, list[str]],
    tested: Sequence[AnsweredClaim],
    coverage: Sequence[str],
    compared: Sequence[str],
    command: str,
) -> str:
    lines = ["# The paper's results, made again", "", f"**{markdown_text(caption(runs, tuple(VARIANTS)))}.**"]
    if runs.quick:
        lines += [
            "",
            "This is a quick look, to see that everything works and what it looks like; it says little about the methods.",
        ]
    lines += ["", f"Made by `{command}`. {origin_words(runs)} {_LINES}", "", "## Coverage", "", *coverage]
    lines += ["", "## Runs", "", *runs_table(runs)]
    for item in items:
        if item.name in shown:
            lines += ["", f"## {item.name}: {item.about}", ""]
            lines += [f"![{item.about}](figures/{name}.png)" for name in shown[item.name]]
            lines += missing_runs(item, runs, is_shown=bool(shown[item.name]))
            lines += claims_about(item.figures, tested) if shown[item.name] else []
    if tested or any(item.name == "claims" for item in items):
        lines += ["", *claims_table(tested)]
    return "\n".join([*lines, *compared, *unused_records(runs), ""])


_LINES = "Solid lines: methods that learn the behaviour space; dashed: those that are given it."
