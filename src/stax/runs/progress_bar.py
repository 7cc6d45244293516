"""A progress bar for runs that are started from Python, in a terminal or in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from stax.runs.callbacks import Callback
from stax.wording import clock_time, percent

if TYPE_CHECKING:
    from stax.search.search import Search

_SECONDS = 0.5
"""Seconds from one redrawing to the next."""
_WIDTH = 30


class ProgressBar(Callback):
    """A bar on standard error that is redrawn in its line: evaluations, time left, coverage, best rewards."""

    def __init__(self) -> None:
        self._search: Search | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._longest = 0

    def at_start(self, search: Search) -> None:
        self._search, self._began, self._first = search, time.monotonic(), search.evaluations
        # A thread, so that the time goes on during a long training or a slow batch.
        self._thread = threading.Thread(target=self._redraw, daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None
            self._draw("\n")

    def _redraw(self) -> None:
        while not self._ended.wait(_SECONDS):
            self._draw("")

    def _draw(self, end: str) -> None:
        assert self._search is not None
        line = self._line(self._search)
        self._longest = max(self._longest, len(line))
        print(f"\r{line:<{self._longest}}", end=end, file=sys.stderr, flush=True)

    def _line(self, search: Search) -> str:
        share = search.evaluations / search.budget
        elapsed, done = time.monotonic() - self._began, search.evaluations - self._first
        left = (search.budget - search.evaluations) * elapsed / done if done else None
        filled = int(_WIDTH * share)
        facts = [f"{search.evaluations:,} of {search.budget:,}", f"{clock_time(elapsed)} gone, {clock_time(left)} left"]
        if search.coverage is not None:
            facts.append(f"coverage {percent(search.coverage)}")
        facts.append(f"best reward {max(search.max_reward):.3f}")
        return f"{100 * share:3.0f} % [{'#' * filled}{'.' * (_WIDTH - filled)}] {', '.join(facts)}"
