"""Tables in CSV format for people, who open them in a spreadsheet program.

Such a program takes a text that begins with '=', '+', '-' or '@' for a formula and computes it. A quotation mark before it prevents
that.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@")


def csv_for_people(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a table with these columns; no text in it is a formula."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _quoted(value) if isinstance(value, str) else value for name, value in row.items()})
    return text.getvalue()


def _quoted(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def without_quote(text: str) -> str:
    """Return a text of such a table as it was before it was written."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text
