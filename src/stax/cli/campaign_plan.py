"""The plan of a campaign: what there is to do, and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout

from stax.errors import InvalidInputError, in_one_line
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.campaign_estimate import Estimate, seconds_by_kind, seconds_together, start_seconds, try_out
from stax.runs.status import RunStatus
from stax.streams import print_message
from stax.wording import clock_time, counted


def plan_lines(campaign: Campaign, *, skip_failed: bool, quiet: bool) -> Iterator[str]:
    """Yield a line for every run with what would be done, then how long it would take."""
    widest = max(len(run.name) for run in campaign.runs)
    for run in campaign.runs:
        yield f"{run.name:<{widest}}  {_what_would_be_done(run, skip_failed=skip_failed)}"
    counts = {
        status: sum(run.status == status for run in campaign.runs) for status in (RunStatus.FINISHED, RunStatus.ELSEWHERE)
    }
    todo = campaign.to_do(skip_failed=skip_failed)
    words = [f"{len(todo)} to do"] + [f"{count} {word}" for word, count in counts.items() if count]
    yield f"{counted(len(campaign.runs), 'run')} in {campaign.out}: {', '.join(words)}"
    if todo:
        yield from _how_long(campaign, todo, quiet=quiet)


def _what_would_be_done(run: CampaignRun, *, skip_failed: bool) -> str:
    if run.status is RunStatus.FINISHED:
        return "done"
    if run.status is RunStatus.ELSEWHERE:
        return "left alone: another process is working on it"
    kept = run.folder.resumes_from if run.begun else 0
    what = f"resume from {kept:,} of {run.config.budget:,} evaluations" if kept else f"begin, {run.config.budget:,} evaluations"
    if run.status is RunStatus.FAILED:
        why = f"failed before: {run.error}"
        return f"left alone; {why}" if skip_failed else f"{what}; {why}"
    return what


def _how_long(campaign: Campaign, todo: Sequence[CampaignRun], *, quiet: bool) -> Iterator[str]:
    finished = seconds_by_kind(campaign.runs)
    estimates = {kind: Estimate(seconds) for kind, seconds in finished.items()}
    tried = {run.kind: run for run in reversed(todo) if run.kind not in finished}
    for number, (kind, run) in enumerate(reversed(tried.items()), start=1):
        if not quiet:
            print_message(f"trying {' '.join(word for word in kind if word)} for a moment ({number} of {len(tried)})")
        try:
            with redirect_stdout(sys.stderr):
                estimates[kind] = try_out(run.config)
        except Exception as error:  # a user's task may raise anything
            reason = str(error) if isinstance(error, InvalidInputError) else in_one_line(error)
            yield f"{run.name} fails at once: {reason}"
    known = [run for run in todo if run.kind in estimates]
    if not known:
        return
    room = campaign.local_processes
    starts = [start_seconds(learns=run.config.learns and run.kind not in finished) for run in known]
    seconds = [
        estimates[run.kind].seconds * (1 - run.folder.resumes_from / run.config.budget) + start
        for run, start in zip(known, starts, strict=True)
    ]
    at_least = any(estimates[run.kind].at_least for run in known)
    sources = []
    if any(run.kind in finished for run in known):
        sources.append("from the finished runs")
    if any(run.kind not in finished for run in known):
        sources.append("from a short trial of each task and method")
    times = [f"{clock_time(sum(seconds))} one after another"]
    if campaign.backend == "local" or campaign.processes:
        times.insert(0, f"{clock_time(seconds_together(seconds, room))} with {room} at a time")
    unknown = "" if len(known) == len(todo) else f" for {len(known)} of them"
    yield (
        f"about{' or more than' if at_least else ''} {', '.join(times)}{unknown} ({' and '.join(sources)}; with"
        f" {max(starts):.0f} s to start each)"
    )


def outlook(campaign: Campaign, todo: list[CampaignRun]) -> Iterator[str]:
    """Yield what there is to do and about how long it will take, judging by finished runs or by a trial of one method of each sort
    on each task."""
    done = len(campaign.runs) - len(todo)
    if not todo:
        yield f"all {counted(len(campaign.runs), 'run')} are finished; only figures and tables are made"
        return
    yield f"{counted(len(todo), 'run')} of {todo[0].config.budget:,} evaluations to do, {done} done; they can be stopped and taken up again"
    finished = seconds_by_kind(campaign.runs)
    tried: dict[tuple[str, bool], Estimate] = {}
    seconds = []
    for run in todo:
        sort = run.config.task, run.config.parameters.descriptor == "learned"
        if run.kind not in finished and sort not in tried:
            tried[sort] = try_out(run.config)
        whole = finished.get(run.kind) or tried[sort].seconds
        start = start_seconds(learns=run.config.learns and run.kind not in finished)
        seconds.append(whole * (1 - run.folder.resumes_from / run.config.budget) + start)
    together = clock_time(seconds_together(seconds, campaign.local_processes))
    source = "by a short trial" if tried else "by the finished runs"
    yield f"about {together} with {campaign.local_processes} at a time, {source} (methods that learn differ among each other)"
