"""The displays of a campaign: a live table on a terminal, lines elsewhere, or only failures."""

from __future__ import annotations

import time
from collections import Counter

from stax.cli.display import Display, can_redraw
from stax.cli.progress import Pace
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.campaign_estimate import Kind, seconds_by_kind, seconds_together
from stax.runs.status import RunStatus
from stax.streams import print_message
from stax.wording import clock_time, percent

_LINE_SECONDS = 30.0
"""Least seconds between two lines about the whole campaign."""


class Course:
    """The course of a campaign, from which the displays take what they show."""

    def __init__(self, campaign: Campaign, room: int, ended: set[CampaignRun]) -> None:
        self.campaign, self.room = campaign, room
        self.ended = ended
        """Runs that will not be started again, those that were done or left out at the start included."""
        self._began = time.monotonic()
        self._paces: dict[CampaignRun, tuple[Pace, int]] = {}
        self._evaluations_before: dict[CampaignRun, int] = {}

    def begin(self, run: CampaignRun) -> None:
        """Note that a run has been started."""
        self._paces.pop(run, None)
        self._evaluations_before[run] = run.evaluations

    def turn(self) -> None:
        """Note how far the running runs have come."""
        for run in self.running:
            if run in self._paces:
                pace, first = self._paces[run]
                pace.note(run.evaluations - first)
            elif run.evaluations != self._evaluations_before[run]:
                # The rate is taken from the first report on: until then the run was being started.
                self._paces[run] = Pace(), run.evaluations

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def running(self) -> list[CampaignRun]:
        return [run for run in self.campaign.runs if run.status is RunStatus.RUNNING]

    def started(self, run: CampaignRun) -> bool:
        """Return whether a run has reported any evaluations."""
        return run in self._paces

    def rate(self, run: CampaignRun) -> float:
        """Return the recent evaluations a second of a run."""
        return self._paces[run][0].rate() if run in self._paces else 0.0

    def state(self, run: CampaignRun) -> str:
        """Return the state of a run in a word."""
        if run.status in (RunStatus.RUNNING, RunStatus.ELSEWHERE):
            return run.status
        if run.status is RunStatus.FINISHED:
            return "done"
        return run.status if run.status is RunStatus.FAILED and run in self.ended else "waiting"

    def counts(self, runs: list[CampaignRun] | None = None) -> Counter[str]:
        """Return the number of runs in each state."""
        return Counter(self.state(run) for run in (self.campaign.runs if runs is None else runs))

    def in_words(self) -> str:
        """Return how many runs are done, and the states of the others."""
        counts = self.counts()
        words = [f"{counts['done']} of {len(self.campaign.runs)} done"]
        words += [f"{counts[state]} {state}" for state in ("running", "waiting", "failed", "elsewhere") if counts[state]]
        return ", ".join(words)

    @property
    def share(self) -> float:
        """Share of all evaluations that is done."""
        done = sum(run.config.budget if run.status is RunStatus.FINISHED else run.evaluations for run in self.campaign.runs)
        return done / sum(run.config.budget for run in self.campaign.runs)

    def seconds_left(self, run: CampaignRun) -> float | None:
        """Return the seconds left for a run that is running; None while nothing is known."""
        # From all that it has done so far: training comes in episodes, and a run reports only now and then.
        whole = self._seconds_by_kind().get(run.kind)
        own = seconds_by_kind([run], (RunStatus.RUNNING,)).get(run.kind, whole)
        return None if own is None else own * (1 - run.evaluations / run.config.budget)

    def all_seconds_left(self) -> float | None:
        """Return the seconds left for the whole campaign; None while nothing is known."""
        known = self._seconds_by_kind()
        budgets = {run.kind: run.config.budget for run in self.campaign.runs}
        if not known:
            return None
        # For a task and method without any report, an evaluation is taken to last as long as the average.
        average = sum(known.values()) / sum(budgets[kind] for kind in known)
        left = []
        for run in sorted(self.campaign.runs, key=lambda run: run.status is not RunStatus.RUNNING):
            if self.state(run) in ("running", "waiting"):
                whole = known.get(run.kind, average * run.config.budget)
                seconds = self.seconds_left(run) if run.status is RunStatus.RUNNING else None
                left.append(whole * (1 - run.evaluations / run.config.budget) if seconds is None else seconds)
        return seconds_together(left, self.room)

    def _seconds_by_kind(self) -> dict[Kind, float]:
        runs = self.campaign.runs
        return {**seconds_by_kind(runs, (RunStatus.RUNNING,)), **seconds_by_kind(runs)}


class CampaignDisplay(Display):
    """Shows nothing but failures; the other two are built on it. It is called as `CampaignWork` calls it."""

    def __init__(self, course: Course) -> None:
        super().__init__()
        self.course = course
        self._is_open = False

    def __call__(self, event: str, run: CampaignRun | None) -> None:
        if not self._is_open:
            self._is_open = True
            self._open()
        if run is None:
            self.course.turn()
            self._turn()
        elif event == "begin":
            self.course.begin(run)
            self.course.ended.discard(run)
            self._begin(run)
        else:
            self.course.ended.add(run)
            self._end(run)

    def _open(self) -> None:
        """Show that everything is ready, and that the first run has been started."""

    def _begin(self, run: CampaignRun) -> None:
        """Show that a run has been started."""

    def _end(self, run: CampaignRun) -> None:
        """Show that a run is done, interrupted or failed."""
        if run.status is RunStatus.FAILED:
            print_message(f"{run.name} failed: {run.error}")

    def _turn(self) -> None:
        """Show how far the runs have come; called every moment."""


def choose_display(course: Course, *, quiet: bool) -> CampaignDisplay:
    """Return a display that shows only failures if quiet, a live one if the terminal can show it, and one that prints lines otherwise."""
    if quiet:
        return CampaignDisplay(course)
    if can_redraw():
        from stax.cli.campaign_live import LiveCampaign

        return LiveCampaign(course)
    return PlainCampaign(course)


class PlainCampaign(CampaignDisplay):
    """A line when a run begins, ends or fails, and one on the whole campaign now and then."""

    prints_lines = True

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self._last_line = time.monotonic()

    def _open(self) -> None:
        done = self.course.counts()["done"]
        before = f", {done} of them done before" if done else ""
        print_message(
            f"campaign in {self.course.campaign.out}: {len(self.course.campaign.runs)} runs{before}, {at_a_time(self.course)}"
        )

    def _begin(self, run: CampaignRun) -> None:
        kept = run.folder.resumes_from
        print_message(f"{run.name} {f'goes on after {kept:,} evaluations' if kept else 'begins'}")

    def _end(self, run: CampaignRun) -> None:
        if run.status is RunStatus.FAILED:
            super()._end(run)
        elif run.status is RunStatus.ELSEWHERE:
            print_message(f"{run.name} is being done by another process")
        else:
            verb = "done" if run.status is RunStatus.FINISHED else run.status
            print_message(
                f"{run.name} {verb}: {', '.join([f'{run.evaluations:,} evaluations', *found(run), clock_time(run.seconds)])}"
            )

    def _turn(self) -> None:
        if time.monotonic() < self._last_line + _LINE_SECONDS:
            return
        self._last_line = time.monotonic()
        left = clock_time(self.course.all_seconds_left())
        print_message(f"{self.course.in_words()}; {clock_time(self.course.elapsed)} gone, {left} left")


def found(run: CampaignRun) -> list[str]:
    """Return what a run has found, in words."""
    words = [] if run.coverage is None else [f"coverage {percent(run.coverage)}"]
    if run.max_reward:
        words.append("best reward " + " ".join(f"{reward:.3f}" if reward > 0 else "none" for reward in run.max_reward))
    return words


def at_a_time(course: Course) -> str:
    """Return how many runs are done at the same time, in words."""
    workers = course.campaign.workers
    return f"{course.room} at a time{f' with {workers} workers each' if workers > 1 else ''}"
