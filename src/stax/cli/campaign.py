"""`stax campaign`: many runs, watched and summed up; or, with --dry-run, what there would be to do."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from stax.cli.campaign_display import Course, Display, choose_display, say
from stax.cli.interruption import Requests
from stax.cli.progress import duration
from stax.errors import InvalidInputError, in_one_line
from stax.runs.campaign import TABLE, Campaign, CampaignRun, read_campaign
from stax.runs.campaign_estimate import Estimate, seconds_by_kind, seconds_together, try_out
from stax.runs.campaign_processes import LOGS, LocalProcesses
from stax.runs.campaign_work import Place, do_campaign
from stax.streams import print_path


def campaign_command(options: argparse.Namespace) -> bool:
    """Does what is missing of a campaign, prints its folder and returns whether all of it is finished."""
    changed = {name: getattr(options, name) for name in ("out", "processes", "backend", "address")}
    # What a task of the user's own prints when it is made is no result.
    with redirect_stdout(sys.stderr):
        campaign = read_campaign(Path(options.file), changed)
        campaign.look()
    if options.dry_run:
        print(*_plan(campaign, options), sep="\n")
        return True
    todo = [run for run in campaign.runs if _is_to_do(run, options)]
    if todo:
        do_watched(campaign, todo, quiet=options.quiet, command=_command(options), skip_failed=options.skip_failed)
    elif not options.quiet and all(run.status == "finished" for run in campaign.runs):
        say(f"all {runs_in_words(campaign.runs)} of the campaign in {campaign.out} are finished; there is nothing to do.")
    complete = tell_what_is_missing(campaign, _command(options))
    print_path(campaign.out)
    return complete


def _is_to_do(run: CampaignRun, options: argparse.Namespace) -> bool:
    return run.status not in ("finished", "elsewhere") and not (options.skip_failed and run.status == "failed")


def do_watched(
    campaign: Campaign,
    todo: Sequence[CampaignRun],
    *,
    quiet: bool,
    command: str,
    skip_failed: bool = False,
    finished: Callable[[CampaignRun], None] = lambda run: None,
) -> None:
    """Does these runs of a campaign with everything a person sees of it.

    Args:
        campaign: as it was found when it was last looked at.
        todo: those of its runs that are to be done.
        quiet: whether nothing is shown.
        command: told to whoever interrupts it, to be called again.
        skip_failed: whether runs that have failed before are left alone.
        finished: called with every run that is finished, while others go on.
    """
    place = _place(campaign, quiet=quiet)
    course = Course(campaign, place.room, set(campaign.runs) - set(todo))
    display = choose_display(course, quiet=quiet)

    def watch(event: str, run: CampaignRun | None) -> None:
        display(event, run)
        if event == "end" and run is not None and run.status == "finished":
            finished(run)

    with _requests_to_stop(display) as requests, display:
        do_campaign(campaign, place, watch=watch, asked=requests.count, skip_failed=skip_failed)
    if requests.count():
        begun = sum(run.status == "interrupted" for run in campaign.runs)
        kept = f", {begun} of these begun" if begun else ""
        raise KeyboardInterrupt(f"interrupted, {course.in_words()}{kept}; do the rest with: {command}")
    if not quiet:
        say(f"{course.in_words()}, in {duration(course.elapsed)}; the table of all runs is {campaign.out / TABLE}")


def _place(campaign: Campaign, *, quiet: bool) -> Place:
    if campaign.backend == "ray":
        from stax.evaluation.ray_connection import import_ray
        from stax.runs.campaign_ray import RayTasks

        import_ray()
        if not quiet:
            where = (
                f"connecting to the Ray cluster at {campaign.address}" if campaign.address else "starting Ray on this machine"
            )
            say(f"{where}, which may take a moment")
        return RayTasks(room=campaign.processes, workers=campaign.workers, address=campaign.address)
    return LocalProcesses(campaign.out, campaign.local_processes)


def tell_what_is_missing(campaign: Campaign, command: str) -> bool:
    """Says which runs failed or are done elsewhere; returns whether there are none."""
    failed = [run for run in campaign.runs if run.status == "failed"]
    elsewhere = [run for run in campaign.runs if run.status == "elsewhere"]
    if failed:
        say(f"{runs_in_words(failed)} of {len(campaign.runs)} failed:")
        for run in failed:
            log = campaign.out / LOGS / f"{run.name}.log"
            where = f" (what it printed: {log})" if log.is_file() else ""
            print(f"  {run.name}: {run.error}{where}", file=sys.stderr)
        say(f"once that is repaired, do what is missing with: {command}")
    if elsewhere:
        names = ", ".join(run.name for run in elsewhere)
        say(f"{runs_in_words(elsewhere)} of {len(campaign.runs)} {_are(elsewhere)} being done by another process: {names}")
    return not failed and not elsewhere


def runs_in_words(runs: Sequence[CampaignRun]) -> str:
    """So many of them."""
    return f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"


def _are(runs: Sequence[CampaignRun]) -> str:
    return "is" if len(runs) == 1 else "are"


def _command(options: argparse.Namespace) -> str:
    """What was called, to be called again."""
    words = ["stax", "campaign", options.file]
    for name in ("out", "processes", "backend", "address"):
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    return shlex.join(words)


def _requests_to_stop(display: Display) -> Requests:
    """At the first request the runs are saved, at the second they are ended."""

    def answer(count: int) -> str:
        words = "stopping: each run finishes its chunk and is saved; Ctrl-C again stops at once"
        return display.stopping(words if count == 1 else "ending the runs where they are")

    return Requests(answer)


# --dry-run


def _plan(campaign: Campaign, options: argparse.Namespace) -> Iterator[str]:
    """Every run with what would be done, and how long it would take."""
    widest = max(len(run.name) for run in campaign.runs)
    for run in campaign.runs:
        yield f"{run.name:<{widest}}  {_what_would_be_done(run, options)}"
    counts = {status: sum(run.status == status for run in campaign.runs) for status in ("finished", "elsewhere")}
    todo = [run for run in campaign.runs if _is_to_do(run, options)]
    words = [f"{len(todo)} to do"] + [f"{count} {word}" for word, count in counts.items() if count]
    yield f"{runs_in_words(campaign.runs)} in {campaign.out}: {', '.join(words)}"
    if todo:
        yield from _how_long(campaign, todo, options)


def _what_would_be_done(run: CampaignRun, options: argparse.Namespace) -> str:
    if run.status == "finished":
        return "done"
    if run.status == "elsewhere":
        return "left alone: another process is working on it"
    kept = run.resumes_from if run.begun else 0
    what = f"resume from {kept:,} of {run.config.budget:,} evaluations" if kept else f"begin, {run.config.budget:,} evaluations"
    if run.status == "failed":
        why = f"failed before: {run.error}"
        return f"left alone; {why}" if options.skip_failed else f"{what}; {why}"
    return what


def _how_long(campaign: Campaign, todo: Sequence[CampaignRun], options: argparse.Namespace) -> Iterator[str]:
    finished = seconds_by_kind(campaign.runs)
    estimates = {kind: Estimate(seconds) for kind, seconds in finished.items()}
    tried = {run.kind: run for run in reversed(todo) if run.kind not in finished}
    for number, (kind, run) in enumerate(reversed(tried.items()), start=1):
        if not options.quiet:
            say(f"trying {' '.join(word for word in kind if word)} for a moment ({number} of {len(tried)})")
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
    seconds = [estimates[run.kind].seconds * (1 - run.resumes_from / run.config.budget) for run in known]
    at_least = any(estimates[run.kind].at_least for run in known)
    sources = []
    if any(run.kind in finished for run in known):
        sources.append("from the finished runs")
    if any(run.kind not in finished for run in known):
        sources.append("from a short trial of each task and method")
    times = [f"{duration(sum(seconds))} one after another"]
    if campaign.backend == "local" or campaign.processes:
        times.insert(0, f"{duration(seconds_together(seconds, room))} with {room} at a time")
    unknown = "" if len(known) == len(todo) else f" for {len(known)} of them"
    yield (
        f"about{' or more than' if at_least else ''} {', '.join(times)}{unknown} ({' and '.join(sources)});"
        " each takes a few seconds more to start"
    )
