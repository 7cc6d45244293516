"""Requests to stop: Ctrl-C, SIGTERM, and SIGHUP when the terminal is closed. The first saves the run, the second stops it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import stax_command

if TYPE_CHECKING:
    from typing import Self

    from stax.cli.progress import Progress

SECONDS_TO_THE_NEXT_TRY = 0.05
"""Seconds after which a request to stop is raised again that could not be raised when it came."""

_interrupted = False


def raise_on_signals() -> None:
    """Have every request to stop raise `KeyboardInterrupt`, outside of `Requests`."""
    for number in stax_command.stop_signals():
        signal.signal(number, _interrupt)
    sys.unraisablehook = _raise_again


def was_interrupted() -> bool:
    """Return whether a signal raised `KeyboardInterrupt`; a library that is being imported may turn it into another exception."""
    return _interrupted


def _interrupt(_: int, __: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Send a request to stop again that was raised in a callback of C code or in a destructor, where exceptions are lost."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    numbers = stax_command.stop_signals()
    if numbers:
        # To the main thread, which may be asleep: a signal that another thread takes does not wake it.
        again = threading.Timer(SECONDS_TO_THE_NEXT_TRY, signal.pthread_kill, (threading.get_ident(), numbers[0]))
        again.daemon = True
        again.start()


def exit_on_signals(code: int) -> None:
    """Have every request to stop end the process at once with this exit code, once only Python's own cleanup is left."""
    for number in stax_command.stop_signals():
        signal.signal(number, lambda *_: os._exit(code))


class Requests:
    """A context manager that counts and answers requests to stop instead of raising `KeyboardInterrupt`.

    Args:
        answer: called with the number of requests so far; returns the message to print, which may be empty. It may raise instead.
    """

    def __init__(self, answer: Callable[[int], str]) -> None:
        self._answer = answer
        self._count = 0
        self._before: dict[int, object] = {}

    def count(self) -> int:
        """Return the number of requests so far."""
        return self._count

    def __enter__(self) -> Self:
        numbers = {signal.SIGINT, *stax_command.stop_signals()}
        self._before = {number: signal.signal(number, self._handle) for number in numbers}
        if _interrupted:
            # Raised where it was lost: in a callback or a destructor.
            self.__exit__(None, None, None)
            raise KeyboardInterrupt
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]

    def _handle(self, _: int, __: FrameType | None) -> None:
        self._count += 1
        line = self._answer(self._count)
        if line:
            # Not by print, which may be in the middle of a line of its own; and there may be nobody to read it.
            with suppress(OSError):
                os.write(2, f"stax: {line}\n".encode())


def requests_to_stop(progress: Progress) -> Requests:
    """Have a run stop at its next rest after the first request, and at once after the second or while there is nothing to save."""

    def answer(count: int) -> str:
        if count > 1 or not progress.begun:
            raise KeyboardInterrupt
        return progress.stopping("finishing this chunk, then saving; Ctrl-C again stops at once")

    return Requests(answer)
