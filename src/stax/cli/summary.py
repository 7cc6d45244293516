"""The results of a run in words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from stax.runs.reader import RunReader
from stax.runs.result import Result, time_parts
from stax.runs.validation import fresh_words
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
    "validation.json": "rewards of the best policies on fresh seeds",
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
    sizes = len(result.novelty_archive), len(result.reward_archive)
    yield from table(list(findings(result, sizes, _details(result))), columns)
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


def findings(run: Result | RunReader, archive_sizes: tuple[int, int], details: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what a run has found and where the time went, as names and values.

    Args:
        run: the run, whose emitters may be missing if it still goes on.
        archive_sizes: policies in the novelty archive and in the reward archive.
        details: words that are added to the reward of an area, by its name, and to the number of `trainings`.
    """
    if run.coverage is not None:
        yield "coverage", percent(run.coverage)
    areas = run.task.reward_areas
    widest = max(len(area.name) for area in areas)
    for number, (area, reward) in enumerate(zip(areas, run.max_reward, strict=True)):
        found = f"{reward:.3f}{details.get(area.name, '')}" if reward else "none found"
        yield "" if number else "best reward", f"{area.name:<{widest}}  {found}"
    if run.validation:
        for number, area in enumerate(areas):
            words = fresh_words(run.validation, number) or "none found"
            yield "" if number else "on fresh seeds", f"{area.name:<{widest}}  {words}"
    yield "novelty archive", policies(archive_sizes[0])
    if find_method(run.config.algo).emitters:
        yield "reward archive", policies(archive_sizes[1])
        if isinstance(run, Result) or run.file("emitters.csv").is_file():
            yield "emitters", emitters_in_words(run.emitters)
    if run.training_episodes:
        yield "trainings", f"{run.training_episodes:,}{details.get('trainings', '')}"
    if run.failures:
        reasons = "; ".join(f"{count:,} x {reason}" for reason, count in run.failures.items())
        yield "failed", f"{sum(run.failures.values()):,} evaluations; {reasons}"
    yield "time", time_shares(run.seconds)


def _details(result: Result) -> dict[str, str]:
    """Return the number of policies that were rewarded in each area, and the error of the last training."""
    areas = result.ledger["reward_area"][result.ledger["reward"] > 0]
    counts = {
        area.name: f"  ({policies(int(np.count_nonzero(areas == number)))} rewarded)"
        for number, area in enumerate(result.task.reward_areas)
    }
    error = result.metrics[-1].get("validation_error") if result.metrics else None
    return counts | ({} if error is None else {"trainings": f", last validation error {error:.4g}"})


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


def time_shares(seconds: dict[str, float]) -> str:
    """Return the share of the time that each activity took; shares below 0.5 % are left out."""
    shares = {activity: 100 * share for activity, (_, share) in time_parts(seconds).items()}
    return ", ".join(f"{activity} {share:.0f} %" for activity, share in shares.items() if share >= 0.5)
