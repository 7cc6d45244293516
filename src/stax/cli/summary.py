"""The results of a run in words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from stax.runs.result import Result
from stax.search.emitters.emitter import EmitterRecord
from stax.search.methods import find_method
from stax.wording import clock_time, counted, percent

_FILES = {
    "summary.json": "these numbers and all parameters",
    "metrics.csv": "the course of the search, a row per chunk of the budget",
    "ledger.parquet": "every evaluation",
    "emitters.csv": "what became of every emitter",
    "archives/novelty.npz": "the policies of the novelty archive",
    "archives/reward.npz": "the policies of the reward archive",
    "autoencoder.safetensors": "the trained autoencoder",
    "archives.png": "where the policies of both archives end, and the course of the search",
    "report.html": "a page about the run, by 'stax report'",
    "config.toml": "what is needed to run it again: stax run --config",
}


def summary_lines(result: Result, folder: Path, columns: int | None = None) -> Iterator[str]:
    """Yield what was found, where the time went and what was written, in lines of at most `columns` characters."""
    title = (
        f"{result.algo} on {result.task.name}, seed {result.seed}, preset {result.preset}:"
        f" {result.evaluations:,} evaluations in {clock_time(result.seconds['total'])}"
    )
    yield from _wrap("", title, columns)
    yield from table(list(_facts(result)), columns)
    yield f"written to {folder}:"
    yield from table(list(written_files(folder)), columns)


def written_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files that a run folder has, each with what it holds."""
    return ((name, about) for name, about in _FILES.items() if (folder / name).is_file())


def table(rows: list[tuple[str, str]], columns: int | None) -> Iterator[str]:
    """Yield names and values in two columns."""
    widest = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        yield from _wrap(f"  {name:<{widest}}  ", value, columns)


def _wrap(before: str, text: str, columns: int | None) -> list[str]:
    """Return the lines of a text that starts behind its name and stays right of it."""
    if columns is None or len(before) + len(text) <= columns:
        return [before + text]
    return textwrap.wrap(text, max(columns, 60), initial_indent=before, subsequent_indent=" " * max(len(before), 2))


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    if result.coverage is not None:
        yield "coverage", percent(result.coverage)
    rewarded = result.ledger["reward"] > 0
    widest = max(len(area.name) for area in result.task.reward_areas)
    for number, area in enumerate(result.task.reward_areas):
        count = int(np.count_nonzero(rewarded & (result.ledger["reward_area"] == number)))
        found = f"{result.max_reward[number]:.3f}  by {policies(count)}" if count else "none found"
        yield "best reward" if number == 0 else "", f"{area.name:<{widest}}  {found}"
    yield "novelty archive", policies(len(result.novelty_archive))
    if find_method(result.algo).emitters:
        yield "reward archive", policies(len(result.reward_archive))
        yield "emitters", emitters_in_words(result.emitters)
    if result.training_episodes:
        yield "trainings", _trainings(result)
    yield "time", time_shares(result.seconds)


def emitters_in_words(emitters: Sequence[EmitterRecord]) -> str:
    """Return how many emitters were made and ended, and of which kinds if there were several."""
    ended = sum(bool(emitter.ended_by) for emitter in emitters)
    words = f"{len(emitters):,} made, {ended:,} ended, {len(emitters) - ended:,} still running"
    kinds = Counter(emitter.kind for emitter in emitters)
    if set(kinds) <= {"elitist"}:
        return words
    return f"{words} ({', '.join(f'{count:,} {kind}' for kind, count in kinds.items())})"


def policies(count: int) -> str:
    """Return a number of policies, in words."""
    return counted(count, "policy", "policies")


def _trainings(result: Result) -> str:
    error = result.metrics[-1].get("validation_error")
    return f"{result.training_episodes:,}" + (f", last validation error {error:.4g}" if error is not None else "")


def time_shares(seconds: dict[str, float]) -> str:
    """Return the share of the time that each activity took; shares below 0.5 % are left out."""
    parts = {activity: spent for activity, spent in seconds.items() if activity != "total"}
    total = max(seconds["total"], sum(parts.values()))
    parts["start and the rest"] = total - sum(parts.values())
    shares = {activity: 100 * spent / total for activity, spent in parts.items()}
    return ", ".join(f"{activity} {share:.0f} %" for activity, share in shares.items() if share >= 0.5)
