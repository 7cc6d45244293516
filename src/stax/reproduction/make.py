"""Figures, tables and a page from the finished runs of a reproduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
from matplotlib.figure import Figure

from stax.analysis.measures import final_policies, reconstruction_error
from stax.analysis.style import save_figure
from stax.representation.learned import LearnedSpace
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
    Split,
    every_split,
    reconstruction_figures,
    similarities,
    similarity_figures,
    split_figures,
    splits,
)
from stax.reproduction.plan import Item
from stax.reproduction.results import PaperRuns
from stax.runs.config import machine, versions
from stax.runs.files import write_text
from stax.runs.result import Result, load
from stax.search.policy_set import PolicySet

Say = Callable[[str], None]
_MOST_PICTURED = 300
"""Policies whose pictures the reconstruction error is measured on."""


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
        return answered_claims(Evidence(self.runs, self.similarities(), every_split(self.runs), arm_errors(self.runs)))


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
    return [_arm_error(load(run.path)) for run in runs.group("redundant-arm", "stax").group.runs]


def _arm_error(result: Result) -> float:
    policies: PolicySet = final_policies(result, _MOST_PICTURED)
    error = reconstruction_error(cast(LearnedSpace, result.space), result.task, policies)
    pictures = result.task.observe(policies.rollouts()).reshape(-1, *result.task.observation_shape) / 255
    return float(error or 0.0) / float(np.square(pictures - pictures.mean(axis=0)).mean())


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
        figures = making.figures(item.name)
        shown[item.name] = list(figures)
        for name, figure in figures.items():
            written += save_figure(figure, folder / name)
    write_text(out / "README.md", _page(items, runs, shown, tested, command))
    return [*written, out / "README.md"]


def _page(
    items: Sequence[Item], runs: PaperRuns, shown: dict[str, list[str]], tested: Sequence[AnsweredClaim], command: str
) -> str:
    lines = ["# The paper's results, made again", "", f"**{caption(runs)}.**"]
    if runs.quick:
        lines += [
            "",
            "This is a quick look, to see that everything works and what it looks like; it says little about the methods.",
        ]
    used, made = machine(), versions()
    lines += [
        "",
        f"Made by `{command}`, with stax {made['stax']}, Python {made['python']}, torch {made.get('torch', 'none')}, on"
        f" {used['cores']} cores ({used['processor']}). Solid lines: methods that learn the behaviour space; dashed: those that are given it.",
    ]
    for item in items:
        if item.name in shown:
            lines += ["", f"## {item.name}: {item.about}", ""]
            lines += [f"![{item.about}](figures/{name}.png)" for name in shown[item.name]]
    if tested:
        lines += ["", *claims_table(tested)]
    return "\n".join([*lines, ""])
