"""The standard streams of the command: a lost terminal does not end a run, and a lost standard output is reported as an error."""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TextIO

import stax_command


class OutputError(Exception):
    """Error: standard output cannot be written to."""

    def __init__(self, cause: Exception) -> None:
        self.reason = getattr(cause, "strerror", None) or str(cause)
        self.reader_has_gone = getattr(cause, "errno", None) == errno.EPIPE
        """Whether it was a pipe whose reader has ended, such as `| head`."""
        super().__init__(f"standard output cannot be written to: {self.reason}")


class _Stream:
    """Text stream that behaves like another one, except for errors when it is written to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except (OSError, ValueError) as error:  # the second is raised by a closed stream
            self._fail(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Handle an error."""
        raise NotImplementedError


class LossyStream(_Stream):
    """Stream for messages: those that cannot be written are dropped."""

    def _fail(self, error: Exception) -> None:
        pass


class OutputStream(_Stream):
    """Stream for results: an error is an `OutputError`, which cannot be confused with an error of a file or a worker."""

    def _fail(self, error: Exception) -> None:
        raise OutputError(error) from error


def protect_streams() -> None:
    """Replace the standard streams: messages that cannot be written are dropped, and lost results raise `OutputError`."""
    stax_command.open_standard_streams()
    codecs.register_error("stax.path", _encode_path_bytes)
    if not isinstance(sys.stdout, OutputStream):
        if getattr(sys.stdout, "errors", None) == "strict":
            sys.stdout.reconfigure(errors="stax.path")  # type: ignore[union-attr]
        sys.stdout = OutputStream(sys.stdout)
    if not isinstance(sys.stderr, LossyStream):
        sys.stderr = LossyStream(sys.stderr)


def silence_output() -> None:
    """Drop what is still to be written to standard output, so that Python does not fail on it when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(null, sys.stdout.fileno())
    os.close(null)


def print_message(text: object) -> None:
    """Print a message on a line of standard error."""
    print(f"stax: {text}", file=sys.stderr, flush=True)


def print_path(path: object) -> None:
    """Print the path of what a command has written. The work is done, so a lost standard output is only reported."""
    try:
        print(path, flush=True)
    except OutputError as error:
        silence_output()
        if not error.reader_has_gone:
            print_message(f"everything is written to {path}, but {error}")


def _encode_path_bytes(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encode bytes of a path that are not text as they are, and characters that the terminal cannot show as question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return b"".join(bytes([ord(letter) - 0xDC00]) if 0xDC80 <= ord(letter) <= 0xDCFF else b"?" for letter in letters), error.end
