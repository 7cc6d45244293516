"""Values given to the command as `--set name=value`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stax.errors import InvalidInputError

_LONGEST_NUMBER = 1000
"""Digits of a number at most; Python refuses to convert thousands of them."""
_WORDS = {"true": True, "false": False, "none": None}


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return the settings by name.

    A value is a number, true, false, none, numbers with commas between them (`-2,2`), a list (`["a", "b"]`) or a table (`{a = 1}`);
    everything else is text.
    """
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"--set takes OPTION=VALUE, not {setting!r}.")
        parsed[name.strip()] = _value(text.strip(), setting)
    return parsed


def _value(text: str, setting: str) -> Any:
    if text.startswith(("[", "{")):
        return _structure(text, setting)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    number = _number(text)
    if number is not None:
        return number
    several = [_number(part) for part in text.split(",")]
    return tuple(several) if len(several) > 1 and None not in several else text


def _structure(text: str, setting: str) -> Any:
    """Parse a list or a table in TOML or JSON."""
    for read in (_from_toml, json.loads):
        try:
            return _with_tuples(read(text))
        except (ValueError, RecursionError):
            continue
    raise InvalidInputError(f"--set {setting}: what begins like a list or a table must be one, in TOML or JSON.")


def _from_toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(f"value = {text}")["value"]


def _with_tuples(value: Any) -> Any:
    """Replace lists by tuples, as the reader of configuration files does."""
    if isinstance(value, dict):
        return {name: _with_tuples(inner) for name, inner in value.items()}
    return tuple(_with_tuples(item) for item in value) if isinstance(value, list) else value


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST_NUMBER and text.lstrip("+-").replace("_", "").isdecimal():
        raise InvalidInputError(f"--set was given a whole number of {len(text):,} digits; at most {_LONGEST_NUMBER} are read.")
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None
