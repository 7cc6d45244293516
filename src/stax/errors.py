"""The exception for bad input, and functions that put what is wrong into one sentence."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_TEXT = 500
"""Characters kept of a text that somebody else's code provides: exceptions, reasons for failures."""
_LONGEST_NAME = 200
"""Characters of a name that is compared with those that exist."""
_LONGEST_VALUE = 200
"""Characters of a value shown in a sentence."""
_LONGEST_NUMBER = 256
"""Bits of an integer that is shown digit by digit."""


class InvalidInputError(ValueError):
    """Something given by the user cannot be used; the message names it, the value given and what is allowed."""


def no_such(what: str, given: object, known: Iterable[str]) -> str:
    """Return a sentence about a name that does not exist, with the names that do, and the nearest of them.

    An option of a task, `task.NAME`, is also found by its name alone.
    """
    names = list(known)
    text = given if isinstance(given, str) and len(given) <= _LONGEST_NAME else ""
    by_plain_name = {name.removeprefix("task."): name for name in reversed(names)}
    begun = sorted((plain for plain in by_plain_name if text and plain.startswith(text)), key=len)
    near = begun or difflib.get_close_matches(text, by_plain_name, n=1, cutoff=0.5)
    hint = f"did you mean {by_plain_name[near[0]]!r}? " if near else ""
    return f"There is no {what} {shown(given)}; {hint}there are {', '.join(names)}."


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
