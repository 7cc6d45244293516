"""What a person sees of a campaign: one live table on a terminal, lines elsewhere, or nothing but what goes wrong."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING

from stax.cli.progress import Pace
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.campaign_estimate import Kind, seconds_by_kind, seconds_together
from stax.streams import print_message
from stax.wording import clock_time

if TYPE_CHECKING:
    from typing import Self

_BETWEEN_LINES = 30.0
"""Seconds between two lines on the whole campaign at least."""


class Course:
    """How a campaign is coming along: what the displays show is computed here."""

    def __init__(self, campaign: Campaign, room: int, ended: set[CampaignRun]) -> None:
        self.campaign, self.room = campaign, room
        self.ended = ended
        """Runs that are not done, or not again: those that were done or left alone at the start too."""
        self._began = time.monotonic()
        self._paces: dict[CampaignRun, tuple[Pace, int]] = {}
        self._evaluations_before: dict[CampaignRun, int] = {}

    def begin(self, run: CampaignRun) -> None:
        self._paces.pop(run, None)
        self._evaluations_before[run] = run.evaluations

    def turn(self) -> None:
        for run in self.running:
            if run in self._paces:
                pace, first = self._paces[run]
                pace.note(run.evaluations - first)
            elif run.evaluations != self._evaluations_before[run]:
                # From the first sign of life on: until then it was being started.
                self._paces[run] = Pace(), run.evaluations

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def running(self) -> list[CampaignRun]:
        return [run for run in self.campaign.runs if run.status == "running"]

    def started(self, run: CampaignRun) -> bool:
        """Whether a run has given a sign of life."""
        return run in self._paces

    def rate(self, run: CampaignRun) -> float:
        """Evaluations a second, lately."""
        return self._paces[run][0].rate() if run in self._paces else 0.0

    def state(self, run: CampaignRun) -> str:
        """In a word for people."""
        if run.status in ("running", "elsewhere"):
            return run.status
        if run.status == "finished":
            return "done"
        return "failed" if run.status == "failed" and run in self.ended else "waiting"

    def counts(self, runs: list[CampaignRun] | None = None) -> Counter[str]:
        return Counter(self.state(run) for run in (self.campaign.runs if runs is None else runs))

    def in_words(self) -> str:
        """How many are done, and what is with the others."""
        counts = self.counts()
        words = [f"{counts['done']} of {len(self.campaign.runs)} done"]
        words += [f"{counts[state]} {state}" for state in ("running", "waiting", "failed", "elsewhere") if counts[state]]
        return ", ".join(words)

    @property
    def share(self) -> float:
        """Of all evaluations that there are to do."""
        done = sum(run.config.budget if run.status == "finished" else run.evaluations for run in self.campaign.runs)
        return done / sum(run.config.budget for run in self.campaign.runs)

    def seconds_left(self, run: CampaignRun) -> float | None:
        """Of one that is running; None while nothing is known."""
        # By all it has done so far: training comes in episodes, and a run tells of itself only now and then.
        whole = self._seconds_by_kind().get(run.kind)
        own = seconds_by_kind([run], ("running",)).get(run.kind, whole)
        return None if own is None else own * (1 - run.evaluations / run.config.budget)

    def all_seconds_left(self) -> float | None:
        """Of the whole campaign; None while nothing is known."""
        known = self._seconds_by_kind()
        budgets = {run.kind: run.config.budget for run in self.campaign.runs}
        if not known:
            return None
        # Of a kind that nothing is known of, an evaluation takes as long as on average.
        average = sum(known.values()) / sum(budgets[kind] for kind in known)
        left = []
        for run in sorted(self.campaign.runs, key=lambda run: run.status != "running"):
            if self.state(run) in ("running", "waiting"):
                whole = known.get(run.kind, average * run.config.budget)
                seconds = self.seconds_left(run) if run.status == "running" else None
                left.append(whole * (1 - run.evaluations / run.config.budget) if seconds is None else seconds)
        return seconds_together(left, self.room)

    def _seconds_by_kind(self) -> dict[Kind, float]:
        runs = self.campaign.runs
        return {**seconds_by_kind(runs, ("running",)), **seconds_by_kind(runs)}


class Display:
    """Shows nothing but what goes wrong; what the other two are built on. It is called as `do_campaign` calls it."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        pass

    def __call__(self, event: str, run: CampaignRun | None) -> None:
        if not self._open:
            self._open = True
            self._start()
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

    def stopping(self, words: str) -> str:
        """The campaign is about to stop; returns what is to be said of it, nothing if it is shown otherwise or not at all."""
        return ""

    def _start(self) -> None:
        """Everything is ready, and the first run has been started."""

    def _begin(self, run: CampaignRun) -> None:
        """A run has been started."""

    def _end(self, run: CampaignRun) -> None:
        """A run is done, interrupted or failed."""
        if run.status == "failed":
            print_message(f"{run.name} failed: {run.error}")

    def _turn(self) -> None:
        """A moment has gone by."""


def choose_display(course: Course, *, quiet: bool) -> Display:
    """Next to nothing if quiet, a live table if stderr is a terminal that can show one, lines otherwise."""
    if quiet:
        return Display(course)
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", ""):
        from stax.cli.campaign_live import LiveDisplay

        return LiveDisplay(course)
    return PlainDisplay(course)


class PlainDisplay(Display):
    """A line when a run begins, ends or fails, and one on the whole campaign now and then."""

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self._last_line = time.monotonic()

    def _start(self) -> None:
        done = self.course.counts()["done"]
        before = f", {done} of them done before" if done else ""
        print_message(
            f"campaign in {self.course.campaign.out}: {len(self.course.campaign.runs)} runs{before}, {at_a_time(self.course)}"
        )

    def stopping(self, words: str) -> str:
        return words

    def _begin(self, run: CampaignRun) -> None:
        kept = run.resumes_from
        print_message(f"{run.name} {f'goes on after {kept:,} evaluations' if kept else 'begins'}")

    def _end(self, run: CampaignRun) -> None:
        if run.status == "failed":
            print_message(f"{run.name} failed: {run.error}")
        elif run.status == "elsewhere":
            print_message(f"{run.name} is being done by another process")
        else:
            verb = "done" if run.status == "finished" else "interrupted"
            print_message(
                f"{run.name} {verb}: {', '.join([f'{run.evaluations:,} evaluations', *found(run), clock_time(run.seconds)])}"
            )

    def _turn(self) -> None:
        if time.monotonic() < self._last_line + _BETWEEN_LINES:
            return
        self._last_line = time.monotonic()
        left = clock_time(self.course.all_seconds_left())
        print_message(f"{self.course.in_words()}; {clock_time(self.course.elapsed)} gone, {left} left")


def found(run: CampaignRun) -> list[str]:
    """What a run has found, in words."""
    words = [] if run.coverage is None else [f"coverage {100 * run.coverage:.1f} %"]
    if run.max_reward:
        words.append("best reward " + " ".join(f"{reward:.3f}" if reward > 0 else "none" for reward in run.max_reward))
    return words


def at_a_time(course: Course) -> str:
    workers = course.campaign.workers
    return f"{course.room} at a time{f' with {workers} workers each' if workers > 1 else ''}"
