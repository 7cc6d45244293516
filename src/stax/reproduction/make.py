"""Figures, tables and a page from the records of a reproduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from stax.analysis.comparison_files import markdown_text
from stax.analysis.splits import Split
from stax.analysis.style import save_figure
from stax.reproduction.claims import AnsweredClaim, answered_claims
from stax.reproduction.claims_table import claims_csv, claims_table
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
    SimilarityValues,
    every_split,
    reconstruction_figures,
    similarities,
    similarity_figures,
    split_figures,
    splits,
)
from stax.reproduction.page import missing_runs, origin_words, runs_table, unused_records
from stax.reproduction.plan import Item, needed
from stax.reproduction.results import PaperRuns
from stax.runs.files import write_text

Say = Callable[[str], None]


@dataclass
class Making:
    """What several items have in common is computed once."""

    runs: PaperRuns
    _similarities: dict[str, SimilarityValues] | None = field(default=None, init=False)
    _splits: list[Split] | None = field(default=None, init=False)

    def similarities(self) -> dict[str, SimilarityValues]:
        if self._similarities is None:
            self._similarities = similarities(self.runs)
        return self._similarities

    def splits(self) -> list[Split]:
        if self._splits is None:
            self._splits = splits(self.runs)
        return self._splits

    def figures(self, item: str) -> dict[str, Figure]:
        """The figures of an item, by the name of their files."""
        if item == "fig-similarity":
            return similarity_figures(self.runs, self.similarities())
        if item == "fig-split":
            return split_figures(self.runs, self.splits())
        return _FIGURES[item](self.runs) if item in _FIGURES else {}

    def claims(self) -> list[AnsweredClaim]:
        runs = self.runs.uncut()
        return answered_claims(Evidence(runs, self.similarities(), every_split(runs), arm_errors(runs)))


_FIGURES: dict[str, Callable[[PaperRuns], dict[str, Figure]]] = {
    "fig-coverage": coverage_figures,
    "fig-reward": reward_figures,
    "fig-archives": archive_figures,
    "fig-ablation": ablation_figures,
    "fig-training": training_figures,
    "fig-reconstruction": reconstruction_figures,
}


def arm_errors(runs: PaperRuns) -> list[float]:
    """Errors of STAX's reconstructions of the arm, by seed, as shares of the errors of the mean picture, both mean squared."""
    if not runs.has("redundant-arm", "stax"):
        return []
    known = [record.learned for record in runs.records("redundant-arm", "stax") if record.learned]
    errors = [(learned.reconstruction_error, learned.mean_observation_error) for learned in known]
    return [error / of_mean for error, of_mean in errors if error is not None and of_mean]


def make_all(items: Sequence[Item], runs: PaperRuns, out: Path, *, command: str, say: Say) -> list[Path]:
    """Makes everything of these items; the page comes last. Returns what was written."""
    making = Making(runs)
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    shown: dict[str, list[str]] = {}
    tested: list[AnsweredClaim] = []
    for item in items:
        say(f"making {item.name}: {item.about}")
        if item.name == "claims":
            tested = making.claims()
            write_text(out / "claims.csv", claims_csv(tested))
            written.append(out / "claims.csv")
            continue
        figures = making.figures(item.name) if _can_be_made(item, runs) else {}
        shown[item.name] = list(figures)
        for name, figure in figures.items():
            written += save_figure(figure, folder / name)
    write_text(out / "README.md", _page(items, runs, shown, tested, command))
    return [*written, out / "README.md"]


def _can_be_made(item: Item, runs: PaperRuns) -> bool:
    """Whether there are runs of two methods of an item at least; of one, if that is all it shows."""
    there = {variant.key for task, variant in needed([item]) if runs.has(task, variant.key)}
    return len(there) >= min(2, len(item.variants))


def _page(
    items: Sequence[Item], runs: PaperRuns, shown: dict[str, list[str]], tested: Sequence[AnsweredClaim], command: str
) -> str:
    lines = ["# The paper's results, made again", "", f"**{markdown_text(caption(runs))}.**"]
    if runs.quick:
        lines += [
            "",
            "This is a quick look, to see that everything works and what it looks like; it says little about the methods.",
        ]
    lines += ["", f"Made by `{command}`. {origin_words(runs)} {_LINES}", "", *runs_table(runs)]
    for item in items:
        if item.name in shown:
            lines += ["", f"## {item.name}: {item.about}", ""]
            lines += [f"![{item.about}](figures/{name}.png)" for name in shown[item.name]]
            lines += missing_runs(item, runs, is_shown=bool(shown[item.name]))
    if tested or any(item.name == "claims" for item in items):
        lines += ["", *claims_table(tested)]
    return "\n".join([*lines, *unused_records(runs), ""])


_LINES = "Solid lines: methods that learn the behaviour space; dashed: those that are given it."
