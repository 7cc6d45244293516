"""What is given to the command as `--set name=value`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stax.errors import InvalidInputError

_WORDS = {"true": True, "false": False, "none": None}


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Settings by name: numbers, true, false, none and pairs of numbers (`-2,2`) are understood, the rest is text."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"--set takes OPTION=VALUE, not {setting!r}.")
        parsed[name.strip()] = _value(text.strip())
    return parsed


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    number = _number(text)
    if number is not None:
        return number
    pair = [_number(part) for part in text.split(",")]
    return tuple(pair) if len(pair) == 2 and None not in pair else text


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None
