"""The options of a task in `config.toml`: which values can be written, and how they are written and read.

TOML holds text, integers of 64 bits, floating-point numbers, truth values, dates and times, and lists and tables of these. Three rules make
the rest unambiguous:

- None is written as the text "none". The text "none" itself is written with a backslash before it, and a "none" with backslashes
  before it gets one more; any other text is written as it is.
- Lists are read as tuples. Scalars and arrays of NumPy become plain numbers and tuples before the task is made, so that a task gets
  the same values when its run begins and when it is resumed.
- Everything else is refused before the run begins. A task that needs such an option is made with `stax.make_task` and given as an object.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

import numpy as np
import tomli_w

from stax.errors import InvalidInputError, shown

NONE = "none"
"""The text for None in TOML, which has no such value."""
MOST_BYTES = 1_000_000
"""Largest number of bytes of all options of a task in `config.toml`."""
_LIKE_NONE = re.compile(r"\\*none")
_DEEPEST = 32
"""Largest depth of lists and tables inside one another."""
_DATES = (date, datetime, time)


class _NotPlain(Exception):
    """The exception for an option that TOML cannot hold; its text says why."""


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with NumPy's numbers and arrays made plain, or refuse one that cannot be written to `config.toml`."""
    found = {name: _plain_option(name, value) for name, value in options.items()}
    sizes = {name: len(tomli_w.dumps({name: encoded(value)}).encode()) for name, value in found.items()}
    if sum(sizes.values()) > MOST_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        raise InvalidInputError(
            f"Option task.{largest} takes {sizes[largest]:,} bytes in config.toml, where all options together may take at most"
            f" {MOST_BYTES:,}; give the name of a file instead, or the task as an object: stax.run(stax.make_task(...))."
        )
    return found


def writable_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options, as they were given to `make_task`, that can be read back from `config.toml` as what they are.

    Values of NumPy are not among them: the task got these, and would get plain numbers and tuples if it were made again. If together
    the options are too large to be written, none is returned.
    """
    kept = {}
    for name, value in options.items():
        try:
            made_plain = _plain(value, 0)
        except _NotPlain:
            continue
        if "." not in name and _is_plain(value):
            kept[name] = made_plain
    fits = len(tomli_w.dumps({name: encoded(value) for name, value in kept.items()}).encode()) <= MOST_BYTES
    return kept if fits else {}


def encoded(value: Any) -> Any:
    """Return a plain value as it is written to TOML."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return f"\\{value}" if _LIKE_NONE.fullmatch(value) else value
    if isinstance(value, Mapping):
        return {name: encoded(inner) for name, inner in value.items()}
    return [encoded(item) for item in value] if isinstance(value, (list, tuple)) else value


def decoded(value: Any) -> Any:
    """Return a value that was read from TOML as a task or a search gets it: the opposite of `encoded`."""
    if isinstance(value, str):
        return None if value == NONE else value[1:] if _LIKE_NONE.fullmatch(value) else value
    if isinstance(value, Mapping):
        return {name: decoded(inner) for name, inner in value.items()}
    return tuple(decoded(item) for item in value) if isinstance(value, (list, tuple)) else value


def as_text(value: Any) -> str:
    """Return a plain value as JSON to compare it by: NaN is equal to itself, and the order of a table does not matter."""
    return json.dumps(value, sort_keys=True, default=_date_text)


def _date_text(value: Any) -> str:
    return f"{type(value).__name__} {value.isoformat()}"


def _plain_option(name: str, value: Any) -> Any:
    try:
        return _plain(value, 0)
    except _NotPlain as problem:
        raise InvalidInputError(
            f"Option task.{name} cannot be written to config.toml: {problem}; give text, numbers, truth values, None, dates, or lists and"
            " tables of these, or the task as an object: stax.run(stax.make_task(...))."
        ) from None


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise _NotPlain(f"it has lists or tables more than {_DEEPEST} deep in one another")
    if isinstance(value, (np.generic, np.ndarray)):
        if value.dtype.kind not in "biufU" or (value.dtype.itemsize > 8 and value.dtype.kind != "U"):
            raise _NotPlain(f"it holds an array of dtype {value.dtype}")
        value = value.tolist()
    if isinstance(value, Mapping):
        return {_plain_key(name): _plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item, depth + 1) for item in value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise _NotPlain(f"it holds {shown(value)}, and TOML holds integers of 64 bits")
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return _plain_text(value)
    if type(value) in _DATES:
        return _plain_date(value)
    raise _NotPlain(f"it holds {shown(value)}, an object of type {type(value).__name__}")


def _plain_key(name: Any) -> str:
    if not isinstance(name, str):
        raise _NotPlain(f"it holds a table with the name {shown(name)}, which is no text")
    return _plain_text(name)


def _plain_text(value: str) -> str:
    text = str.__str__(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _NotPlain(f"it holds the text {shown(text)}, which is not valid Unicode") from None
    return text


def _plain_date(value: Any) -> Any:
    """Return a date or time, unless TOML cannot hold it: a time of day with a time zone, or an offset of seconds from UTC."""
    try:
        read = tomllib.loads(tomli_w.dumps({"value": value}))["value"]
    except ValueError:
        read = None
    if read != value or type(read) is not type(value):
        raise _NotPlain(f"it holds {shown(value)}, which TOML cannot hold")
    return value


def _is_plain(value: Any) -> bool:
    """Return whether writing and reading a value changes nothing but lists, which become tuples."""
    if isinstance(value, Mapping):
        return type(value) is dict and all(_is_plain(inner) for inner in value.values())
    if isinstance(value, (list, tuple)):
        return type(value) in (list, tuple) and all(_is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str, *_DATES)
