"""A check of TOML texts before they are parsed.

The parser of Python's standard library takes memory and time that grow with the square of the parts of a dotted key, and some hundred
bytes for every table it meets. A configuration has neither long keys nor tens of thousands of them.
"""

from __future__ import annotations

import re

_KEY_PARTS = 16
"""Largest number of parts of a dotted key."""
_KEYS = 20_000
"""Largest number of keys and headers of tables; each part of a long key counts."""
_STRINGS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)'  # every alternative also matches an unfinished string, so nothing is looked at twice
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:\\[^\n]|[^"\\\n])*["\n\\]?'
    r"|'[^'\n]*['\n]?"
    r"|\#[^\n]*",
    re.DOTALL,
)
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){2,}")
"""Matches keys of three parts or more; a number has one dot at most."""
_HEADER = re.compile(r"^[ \t]*\[[^\]\n]+\]", re.MULTILINE)


def check_toml(text: str) -> None:
    """Raise `ValueError` for a text that would take more memory or time to parse than a configuration does."""
    # Keys, numbers and dates are left; a quoted key becomes a word like any other.
    bare = _STRINGS.sub("s", text)
    keys = bare.count("=") + sum(1 for _ in _HEADER.finditer(bare))
    for found in _LONG_KEY.finditer(bare):
        parts = found.group().count(".") + 1
        if parts > _KEY_PARTS:
            raise ValueError(f"a key has more than {_KEY_PARTS} parts")
        keys += parts
    if keys > _KEYS:
        raise ValueError(f"it has more than {_KEYS:,} keys")
