"""What goes wrong, in one sentence each."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any


class InvalidInputError(ValueError):
    """Something given by the user cannot be used; the message names it, the value given and what is allowed."""


def check_choice(what: str, given: object, allowed: Sequence[str]) -> str:
    """The value given, if it is one of the allowed words."""
    if not isinstance(given, str) or given not in allowed:
        raise InvalidInputError(f"{what} must be one of {', '.join(repr(word) for word in allowed)}, not {given!r}.")
    return given


def check_whole(what: str, given: Any, least: int, most: int | None = None) -> int:
    """The value given, if it is a whole number within the bounds."""
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidInputError(f"{what} must be a whole number {bounds}, not {given!r}.")
    return int(given)


def in_one_line(error: BaseException) -> str:
    """An exception of somebody else's code, and where it was raised, for a sentence."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text


@contextmanager
def exits_as_failures(what: str) -> Iterator[None]:
    """Turn the attempt of a user's code to end the program, as `sys.exit` does, into a `RuntimeError`.

    Exceptions of other kinds are passed on, and so is the interrupt of the person at the keyboard.

    Args:
        what: whose code runs inside, to begin the sentence with.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"{what} tried to end the program: {in_one_line(error)}.") from error


def printable(text: object) -> str:
    """Words of a stranger's in one line, without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(str(text).split()))
