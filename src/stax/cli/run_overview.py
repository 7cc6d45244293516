"""The overview of a run folder: its state and results in words and a small plot."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from stax.cli.summary import findings, table, written_files
from stax.cli.text_plots import plot, sparkline
from stax.errors import InvalidInputError
from stax.runs.files import BAD_VALUE_ERRORS
from stax.runs.reader import RunReader
from stax.runs.status import RunStatus
from stax.wording import clock_time


def run_overview(path: str, *, as_json: bool) -> str:
    """Return what the run in this folder is, how far it has come and what it has found."""
    run = RunReader(path)
    if as_json:
        return json.dumps({**run.summary, "status": run.status}, indent=2)
    try:
        return "\n".join("".join(letter if letter.isprintable() else "?" for letter in line) for line in _lines(run))
    except InvalidInputError:
        raise
    except BAD_VALUE_ERRORS as error:
        raise InvalidInputError(f"The metrics in {path!r} are damaged ({type(error).__name__}: {error}).") from None


def _lines(run: RunReader) -> Iterator[str]:
    config, task = run.config, run.task
    metrics = run.metrics if run.file("metrics.csv").is_file() else []
    yield f"{config.algo} on {task.name}, seed {config.seed}, preset {config.preset}, {config.budget:,} evaluations"
    found = findings(run, run.archive_sizes, {}) if run.summary else ()
    yield from table([*_status(run), *found], None)
    coverage = [(row["evaluations"], row["coverage"]) for row in metrics if row.get("coverage") is not None]
    if len(coverage) > 1:
        yield ""
        yield from plot("coverage", coverage, config.budget, sys.stdout.encoding)
    for number, area in enumerate(task.reward_areas):
        course = [(row["evaluations"], row.get(f"max_reward_{number}") or 0.0) for row in metrics]
        if len(course) > 1 and course[-1][1] > 0:
            yield f"  {'':>7} {sparkline(course, config.budget, sys.stdout.encoding)} best reward, {area.name}: {course[-1][1]:.3f}"
    yield ""
    yield f"in {run.path}:"
    yield from table(list(written_files(run.path)), None)


def _status(run: RunReader) -> Iterator[tuple[str, str]]:
    done, budget = run.evaluations, run.config.budget
    course = f"{run.status}, {done:,} of {budget:,} evaluations ({100 * done / budget:.0f} %)"
    yield "status", course + (f" in {clock_time(run.seconds['total'])}" if run.summary else "")
    if run.error:
        yield "", run.error
    if run.status not in (RunStatus.RUNNING, RunStatus.FINISHED):
        after = f"after {run.resumes_from:,} evaluations" if run.resumes_from else "at the beginning"
        yield "", f"go on {after}: {run.resume_command}"
