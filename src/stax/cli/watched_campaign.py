"""The runs of a campaign with everything that a person sees of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from stax.cli.campaign_display import CampaignDisplay, Course, choose_display
from stax.cli.interruption import Requests
from stax.runs.campaign import TABLE, Campaign, CampaignRun
from stax.runs.campaign_processes import LOGS, LocalProcesses
from stax.runs.campaign_work import CampaignWork, Place
from stax.runs.status import RunStatus
from stax.streams import print_message
from stax.wording import clock_time, counted


def do_watched(
    campaign: Campaign,
    todo: Sequence[CampaignRun],
    *,
    quiet: bool,
    command: str,
    skip_failed: bool = False,
    finished: Callable[[CampaignRun], None] = lambda run: None,
) -> None:
    """Do these runs of a campaign, and show how they go.

    Args:
        campaign: the campaign, with the states of its runs up to date.
        todo: the runs to do.
        quiet: whether nothing is shown.
        command: the command that does the rest, for the message after an interruption.
        skip_failed: whether runs that failed before are left out.
        finished: called with every run when it has finished, while others go on.
    """
    place = _place(campaign, quiet=quiet)
    course = Course(campaign, place.room, set(campaign.runs) - set(todo))
    display = choose_display(course, quiet=quiet)

    def watch(event: str, run: CampaignRun | None) -> None:
        display(event, run)
        if event == "end" and run is not None and run.status is RunStatus.FINISHED:
            finished(run)

    with _requests_to_stop(display) as requests, display:
        CampaignWork(campaign, place, watch, skip_failed).do(requests.count)
    if requests.count():
        begun = sum(run.status is RunStatus.INTERRUPTED for run in campaign.runs)
        kept = f", {begun} of these begun" if begun else ""
        raise KeyboardInterrupt(f"interrupted, {course.in_words()}{kept}; do the rest with: {command}")
    if not quiet:
        print_message(f"{course.in_words()}, in {clock_time(course.elapsed)}; the table of all runs is {campaign.out / TABLE}")


def _place(campaign: Campaign, *, quiet: bool) -> Place:
    if campaign.backend == "ray":
        from stax.evaluation.ray_connection import import_ray
        from stax.runs.campaign_ray import RayTasks

        import_ray()
        if not quiet:
            where = (
                f"connecting to the Ray cluster at {campaign.address}" if campaign.address else "starting Ray on this machine"
            )
            print_message(f"{where}, which may take a moment")
        return RayTasks(room=campaign.processes, workers=campaign.workers, address=campaign.address)
    return LocalProcesses(campaign.out, campaign.local_processes)


def report_missing(campaign: Campaign, command: str) -> bool:
    """Report the runs that failed or are done by another process; return whether there are none."""
    failed = [run for run in campaign.runs if run.status is RunStatus.FAILED]
    elsewhere = [run for run in campaign.runs if run.status is RunStatus.ELSEWHERE]
    if failed:
        print_message(f"{counted(len(failed), 'run')} of {len(campaign.runs)} failed:")
        for run in failed:
            log = campaign.out / LOGS / f"{run.name}.log"
            where = f" (what it printed: {log})" if log.is_file() else ""
            print(f"  {run.name}: {run.error}{where}", file=sys.stderr)
        print_message(f"once that is repaired, do what is missing with: {command}")
    if elsewhere:
        names = ", ".join(run.name for run in elsewhere)
        print_message(
            f"{counted(len(elsewhere), 'run')} of {len(campaign.runs)} {'is' if len(elsewhere) == 1 else 'are'} being done by another process: {names}"
        )
    return not failed and not elsewhere


def _requests_to_stop(display: CampaignDisplay) -> Requests:
    """Have the first request save the runs, and the second end them."""

    def answer(count: int) -> str:
        words = "stopping: each run finishes its chunk and is saved; Ctrl-C again stops at once"
        return display.stopping(words if count == 1 else "ending the runs where they are")

    return Requests(answer)
