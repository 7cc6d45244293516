"""The base of the displays of a run and of a campaign."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Display:
    """A context manager around the work that it shows. This one shows nothing; others are built on it."""

    prints_lines = False
    """Whether it prints lines, rather than redrawing a part of the terminal or showing nothing."""

    def __init__(self) -> None:
        self._stopping = ""
        self._ending = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._ending = "done" if kind is None else "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
        self._close()

    def stopping(self, words: str) -> str:
        """Note that the work is about to stop; return the message to print, which is empty if the display shows it."""
        self._stopping = words
        return words if self.prints_lines else ""

    def _close(self) -> None:
        """Show the end of the work: done, interrupted or failed."""


def can_redraw() -> bool:
    """Return whether messages go to a terminal that can show a live display."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown", "")
