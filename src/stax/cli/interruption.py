"""Ctrl-C, as people use it: once to stop well, twice to stop at once."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from stax.cli.progress import Progress

if TYPE_CHECKING:
    from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """While inside, the first Ctrl-C, or request to end, only makes `asked` true: the run then stops at its next rest.

    The second stops it where it is, as does the first one while there is nothing to save yet.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asked = False
        self._before: list[object] = []

    def asked(self) -> bool:
        return self._asked

    def __enter__(self) -> Self:
        self._before = [signal.signal(number, self._handle) for number in _SIGNALS]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for number, before in zip(_SIGNALS, self._before, strict=True):
            signal.signal(number, before)  # type: ignore[arg-type]

    def _handle(self, _: int, __: FrameType | None) -> None:
        if self._asked or not self._progress.begun:
            raise KeyboardInterrupt
        self._asked = True
        line = self._progress.stopping("finishing this chunk, then saving; Ctrl-C again stops at once")
        if line:
            # Not by print, which may be in the middle of a line of its own.
            os.write(2, f"stax: {line}\n".encode())
