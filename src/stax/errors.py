"""What goes wrong, in one sentence each."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any

LONGEST_TEXT = 500
"""Characters kept of a text that somebody else's code provides: exceptions, reasons for failures."""
_LONGEST_VALUE = 200
"""Characters of a value shown in a sentence."""
_LONGEST_NUMBER = 256
"""Bits of an integer that is shown digit by digit."""


class InvalidInputError(ValueError):
    """Something given by the user cannot be used; the message names it, the value given and what is allowed."""


def check_choice(what: str, given: object, allowed: Sequence[str]) -> str:
    """The value given, if it is one of the allowed words."""
    if not isinstance(given, str) or given not in allowed:
        raise InvalidInputError(f"{what} must be one of {', '.join(repr(word) for word in allowed)}, not {shown(given)}.")
    return given


def check_whole(what: str, given: Any, least: int, most: int | None = None) -> int:
    """The value given, if it is a whole number within the bounds."""
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most if most < 10_000 else f'{most:,}'}"
        raise InvalidInputError(f"{what} must be a whole number {bounds}, not {shown(given)}.")
    return int(given)


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Cut a text to its first characters; an ellipsis shows that something is missing."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def shown(value: object) -> str:
    """Return the `repr` of a value for a sentence, shortened; a value without a `repr` is shown by its type."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        return f"a whole number of {value.bit_length():,} bits"
    try:
        return shortened(" ".join(repr(value).split()), _LONGEST_VALUE)
    except Exception:  # a user's own class may raise anything
        return f"an object of type {type(value).__name__}"


def in_one_line(error: BaseException) -> str:
    """Describe an exception of somebody else's code, and where it was raised, for a sentence; long texts are cut."""
    try:
        message = shortened(" ".join(str(error)[: 2 * LONGEST_TEXT].split()))
    except Exception:  # a user's own exception may be unable to describe itself
        message = "an exception without a message"
    text = f"{type(error).__name__}: {message}"
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


def printable(text: object, most: int | None = None) -> str:
    """Return a stranger's words in one line of at most so many characters, without anything that a terminal would obey."""
    words = str(text) if most is None else shortened(str(text), most)
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(words.split()))
