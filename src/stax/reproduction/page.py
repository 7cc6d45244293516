"""Parts of the page about the runs: what stands behind it, where it was computed, and what is missing."""

from __future__ import annotations

from collections import Counter

from stax.analysis.comparison_files import markdown_text
from stax.reproduction.plan import Item, needed
from stax.reproduction.results import PaperRuns, name_of, title
from stax.reproduction.selection import describe_groups
from stax.wording import counted

_PACKAGES = ("stax", "python", "numpy", "torch")
"""Packages whose versions the page shows."""


def runs_table(runs: PaperRuns) -> list[str]:
    """Return the runs of every method, as Markdown."""
    groups = describe_groups(runs)
    lines = ["| task | method | seeds | evaluations |", "|---|---|---|---|"]
    lines += [f"| {task} | {method} | {seeds} | {evaluations:,} |" for task, method, seeds, evaluations in groups]
    if len({evaluations for *_, evaluations in groups}) > 1:
        lines += [
            "",
            "Each figure and each claim compares its methods after as many evaluations as they all have, and says how many. Archives, the"
            " best archived rewards, similarities, reconstructions and parts of reward areas are those at the end of each run.",
        ]
    return lines


def origin_words(runs: PaperRuns) -> str:
    """Return where and with what the runs were done, by their records, in sentences."""
    places: Counter[str] = Counter()
    seconds: list[float] = []
    for task, key in runs.groups:
        for record in runs.records(task, key):
            packages = ", ".join(f"{name} {record.versions[name]}" for name in _PACKAGES if name in record.versions)
            version, numerics = record.config.results_version, record.config.numerics
            results = "" if version is None else f", results version {version}, {numerics} numerics"
            processor = f"{record.machine.get('cores', '?')} cores ({record.machine.get('processor', 'unknown')})"
            places[f"with {packages}{results} on {processor}"] += 1
            if record.core_seconds is not None:
                seconds.append(record.core_seconds)
    words = [f"{counted(count, 'run')} {place}" for place, count in sorted(places.items())]
    where = markdown_text("; ".join(words))
    total = sum(places.values())
    cost = f" {_of(len(seconds), total)} took {sum(seconds) / 3600:,.1f} core hours." if seconds else ""
    return f"Runs were done here: {where}.{cost}" if places else ""


def _of(known: int, total: int) -> str:
    return "They" if known == total else f"{known} of the {total} runs"


def missing_runs(item: Item, runs: PaperRuns, *, is_shown: bool) -> list[str]:
    """Return what an item lacks, as Markdown; empty if all its runs are there."""
    missing: dict[str, list[str]] = {}
    for task, variant in needed([item]):
        if not runs.has(task, variant.key):
            missing.setdefault(title(task), []).append(name_of(variant.key))
    words = "; ".join(f"{', '.join(names)} on {task}" for task, names in missing.items())
    if is_shown:
        return ["", f"Not shown, because there are no records of them: {words}."] if missing else []
    why = f"There are no records of {words}." if missing else "The records lack what it shows."
    return [f"This figure is left out. {why}"]


def unused_records(runs: PaperRuns) -> list[str]:
    """Return the records besides those used, as Markdown."""
    if not runs.unused:
        return []
    return ["", "## Records that no figure and no claim uses", "", *(f"- {markdown_text(words)}" for words in runs.unused)]
