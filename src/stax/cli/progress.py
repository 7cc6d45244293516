"""What is shown while a search runs: a live display on a terminal, a line now and then elsewhere, or nothing.

All three are callbacks of the run, and context managers around it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from stax.cli.display import Display, can_redraw
from stax.runs.callbacks import Callback
from stax.streams import print_message
from stax.wording import clock_time, counted, percent

if TYPE_CHECKING:
    from stax.search.search import Search

_RECENT = 15.0
"""Seconds that the rate shown is taken over."""
_BETWEEN_LINES = 10.0
"""Seconds between two lines at least."""


class Progress(Display, Callback):
    """A display that shows nothing; the other two are built on it."""

    def __init__(self) -> None:
        super().__init__()
        self._search: Search | None = None
        self._pace = Pace()
        self._counted = (0, 0)
        """Evaluations before the batch under way, and those of the batch that are finished."""

    def after_rollouts(self, search: Search, finished: int) -> None:
        """Note that so many policies of the batch under way have been evaluated."""
        self._counted = (search.evaluations, finished)
        self._pace.note(self._done(search))
        self._continue(search)

    def _done(self, search: Search) -> int:
        """Return the evaluations so far, those of the batch under way included."""
        before, finished = self._counted
        return search.evaluations + (finished if before == search.evaluations else 0)

    def at_start(self, search: Search) -> None:
        self._pace.note(self._done(search))
        self._search = search
        self._begin(search)

    def after_chunk(self, search: Search) -> None:
        self._pace.note(self._done(search))
        self._continue(search)

    @property
    def begun(self) -> bool:
        """Whether there is anything that would be lost."""
        return self._search is not None and self._search.evaluations > 0

    def _begin(self, search: Search) -> None:
        """Show that the search has been made."""

    def _continue(self, search: Search) -> None:
        """Show that a chunk of the budget is done."""

    def _close(self) -> None:
        if self._search is not None:
            self._pace.note(self._search.evaluations)
            self._end(self._search)

    def _end(self, search: Search) -> None:
        """Show how the run has ended."""


def choose_progress(*, quiet: bool, preset: str, workers: int) -> Progress:
    """Return a display that shows nothing if quiet, a live one if the terminal can show it, and one that prints lines otherwise."""
    if quiet:
        return Progress()
    if can_redraw():
        from stax.cli.live import LiveProgress

        return LiveProgress(f"preset {preset}")
    return PlainProgress(f"preset {preset}, {counted(workers, 'worker')}")


class PlainProgress(Progress):
    """A line at the start and at the end, and between them one for every tenth of the budget, 10 seconds apart at least."""

    prints_lines = True

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

    def _continue(self, search: Search) -> None:
        tenth = 10 * self._done(search) // search.budget
        if self._last_tenth < tenth < 10 and time.monotonic() >= self._last_line + _BETWEEN_LINES:
            self._last_line, self._last_tenth = time.monotonic(), tenth
            left = clock_time(self._pace.seconds_left(search.budget))
            course = _course(search, self._done(search))
            print_message(f"{course}; {self._pace.rate():,.0f} a second, {left} left; {search.phase}")

    def _end(self, search: Search) -> None:
        print_message(f"{_course(search, search.evaluations)}; {self._ending} after {clock_time(self._pace.elapsed)}")


def _course(search: Search, done: int) -> str:
    facts = [f"{done:,} of {search.budget:,} evaluations ({100 * done / search.budget:.0f} %)"]
    if search.coverage is not None:
        facts.append(f"coverage {percent(search.coverage)}")
    return "; ".join([*facts, f"best reward {', '.join(rewards(search))}", f"archives {archives(search)}"])


class Pace:
    """The rate of evaluations: the recent one, and that of the last third of the time, which evens out the training episodes.

    The threads of the search and of a live display may use it at the same time.
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
        """Return the recent evaluations a second."""
        return self._rate_over(_RECENT)

    def mean_rate(self) -> float:
        """Return the evaluations a second since the start."""
        done = self._noted[-1][1] - self._first if self._noted else 0
        return done / max(self.elapsed, 1e-3)

    def seconds_left(self, budget: int) -> float | None:
        """Return the seconds until the budget is spent; None while nothing is known."""
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
    """Return the method, the task and the seed of a search."""
    return f"{search.method.name} on {search.task.name}, seed {search.seed}"


def rewards(search: Search) -> list[str]:
    """Return the best reward of each area, in words."""
    pairs = zip(search.task.reward_areas, search.max_reward, strict=True)
    return [f"{area.name} {reward:.3f}" if reward > 0 else f"{area.name} none" for area, reward in pairs]


def archives(search: Search) -> str:
    """Return the sizes of the archives, in words."""
    # There are none before the first rollouts have come back.
    novelty, reward = (len(getattr(search, f"{name}_archive", ())) for name in ("novelty", "reward"))
    return f"{novelty:,} novelty, {reward:,} reward" if search.method.emitters else f"{novelty:,} novelty"
