"""Ctrl-C, as people use it: once to stop well, twice to stop at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from stax.cli.progress import Progress

if TYPE_CHECKING:
    from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Requests:
    """While inside, Ctrl-C and requests to end are only counted, and answered.

    Args:
        answer: called with how many there have been; what it returns is said, unless it is empty. It may raise instead.
    """

    def __init__(self, answer: Callable[[int], str]) -> None:
        self._answer = answer
        self._count = 0
        self._before: list[object] = []

    def count(self) -> int:
        return self._count

    def __enter__(self) -> Self:
        self._before = [signal.signal(number, self._handle) for number in _SIGNALS]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for number, before in zip(_SIGNALS, self._before, strict=True):
            signal.signal(number, before)  # type: ignore[arg-type]

    def _handle(self, _: int, __: FrameType | None) -> None:
        self._count += 1
        line = self._answer(self._count)
        if line:
            # Not by print, which may be in the middle of a line of its own.
            os.write(2, f"stax: {line}\n".encode())


def requests_to_stop(progress: Progress) -> Requests:
    """At the first request a run stops at its next rest; at the second where it is, as at the first while there is nothing to
    save yet."""

    def answer(count: int) -> str:
        if count > 1 or not progress.begun:
            raise KeyboardInterrupt
        return progress.stopping("finishing this chunk, then saving; Ctrl-C again stops at once")

    return Requests(answer)
