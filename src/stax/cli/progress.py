"""What a person sees while a search runs: a live display on a terminal, a line now and then elsewhere, or nothing.

All three are observers of a search, called as `(search, event)`, and context managers around the run.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from stax.streams import print_message
from stax.wording import clock_time, counted

if TYPE_CHECKING:
    from typing import Self

    from stax.search.search import Search

_RECENT = 15.0
"""Seconds that the rate shown is taken over."""
_BETWEEN_LINES = 10.0


class Progress:
    """Shows nothing; what the other two are built on."""

    def __init__(self) -> None:
        self._search: Search | None = None
        self._pace = Pace()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._search is not None:
            self._pace.note(self._search.evaluations)
            ending = "done" if kind is None else "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
            self._end(self._search, ending)

    def __call__(self, search: Search, event: str) -> None:
        self._pace.note(search.evaluations)
        if self._search is None:
            self._search = search
            self._begin(search)
        else:
            self._go_on(search)

    @property
    def begun(self) -> bool:
        """Whether there is anything that would be lost."""
        return self._search is not None and self._search.evaluations > 0

    def stopping(self, words: str) -> str:
        """The run is about to stop; returns what is to be said of it, nothing if it is shown otherwise or not at all."""
        return ""

    def _begin(self, search: Search) -> None:
        """The search has been made."""

    def _go_on(self, search: Search) -> None:
        """Something has happened in the search."""

    def _end(self, search: Search, ending: str) -> None:
        """The run is done, interrupted or failed."""


def choose_progress(*, quiet: bool, preset: str, workers: int) -> Progress:
    """Nothing if quiet, a live display if stderr is a terminal that can show one, lines otherwise."""
    if quiet:
        return Progress()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", ""):
        from stax.cli.live import LiveProgress

        return LiveProgress(f"preset {preset}")
    return PlainProgress(f"preset {preset}, {counted(workers, 'worker')}")


class PlainProgress(Progress):
    """A line at the start and at the end, and between them one for every tenth of the budget, 10 seconds apart at least."""

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about
        self._last_line = 0.0
        self._last_tenth = 0

    def _begin(self, search: Search) -> None:
        self._last_line = time.monotonic()
        self._last_tenth = 10 * search.evaluations // search.budget
        resumed = f", resumed after {search.evaluations:,}" if search.evaluations else ""
        print_message(f"{heading(search)}, {search.budget:,} evaluations{resumed}, {self._about}")

    def stopping(self, words: str) -> str:
        return words

    def _go_on(self, search: Search) -> None:
        tenth = 10 * search.evaluations // search.budget
        if self._last_tenth < tenth < 10 and time.monotonic() >= self._last_line + _BETWEEN_LINES:
            self._last_line, self._last_tenth = time.monotonic(), tenth
            left = clock_time(self._pace.seconds_left(search.budget))
            print_message(f"{self._course(search)}; {self._pace.rate():,.0f} a second, {left} left; {search.phase}")

    def _end(self, search: Search, ending: str) -> None:
        print_message(f"{self._course(search)}; {ending} after {clock_time(self._pace.elapsed)}")

    def _course(self, search: Search) -> str:
        share = 100 * search.evaluations / search.budget
        facts = [f"{search.evaluations:,} of {search.budget:,} evaluations ({share:.0f} %)"]
        if search.coverage is not None:
            facts.append(f"coverage {100 * search.coverage:.1f} %")
        return "; ".join([*facts, f"best reward {', '.join(rewards(search))}", f"archives {archives(search)}"])


class Pace:
    """How fast evaluations go: lately, and over the last third of the time, which evens out the training episodes.

    The search's thread and that of a live display may use it at the same time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._noted: deque[tuple[float, int]] = deque()
        self._first = 0

    def note(self, evaluations: int) -> None:
        now = time.monotonic()
        with self._lock:
            if not self._noted:
                # A resumed run has some already, which this process did not do.
                self._first = evaluations
                self._noted.append((self._began, evaluations))
            if len(self._noted) > 1 and now - self._noted[-2][0] < 0.5:
                self._noted.pop()
            self._noted.append((now, evaluations))
            while len(self._noted) > 2 and self._noted[1][0] < now - self._long():
                self._noted.popleft()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def rate(self) -> float:
        """Evaluations a second, lately."""
        return self._rate_over(_RECENT)

    def mean_rate(self) -> float:
        """Evaluations a second since the start."""
        done = self._noted[-1][1] - self._first if self._noted else 0
        return done / max(self.elapsed, 1e-3)

    def seconds_left(self, budget: int) -> float | None:
        """None while nothing is known."""
        if not self._noted:
            return None
        evaluations = self._noted[-1][1]
        rate = self._rate_over(self._long()) or self.mean_rate()
        return (budget - evaluations) / rate if rate else None

    def _long(self) -> float:
        return max(2 * _RECENT, self.elapsed / 3)

    def _rate_over(self, seconds: float) -> float:
        with self._lock:
            if not self._noted:
                return 0.0
            now, evaluations = self._noted[-1]
            then, before = next((noted for noted in reversed(self._noted) if noted[0] <= now - seconds), self._noted[0])
        return (evaluations - before) / (now - then) if now > then else 0.0


def heading(search: Search) -> str:
    return f"{search.method.name} on {search.task.name}, seed {search.seed}"


def rewards(search: Search) -> list[str]:
    """The best reward of each area, in words."""
    pairs = zip(search.task.reward_areas, search.max_reward, strict=True)
    return [f"{area.name} {reward:.3f}" if reward > 0 else f"{area.name} none" for area, reward in pairs]


def archives(search: Search) -> str:
    # There are none before the first rollouts have come back.
    novelty, reward = (len(getattr(search, f"{name}_archive", ())) for name in ("novelty", "reward"))
    return f"{novelty:,} novelty, {reward:,} reward" if search.method.emitters else f"{novelty:,} novelty"
