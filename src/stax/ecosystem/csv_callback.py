"""Callback that writes the metrics of a run to a CSV file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError
from stax.runs.callbacks import Callback
from stax.runs.files import atomic_write, open_regular, open_to_append
from stax.search.search import Search

_ROW_BYTES = 2**20
"""Most bytes read of a row of metrics."""


class CsvCallback(Callback):
    """Callback that writes a row of metrics after every chunk, with the columns of a run folder's `metrics.csv`.

    When a run is resumed, rows after the checkpoint are removed and the file is continued, so that it ends as if the run had never
    been interrupted.

    Args:
        path: the file, which must not exist yet when a run begins. Its folder is made if it does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._written = 0

    def at_start(self, search: Search) -> None:
        if self.path.is_dir() or (self.path.exists() and self.path.stat().st_size):
            raise InvalidInputError(f"The file {str(self.path)!r} for metrics exists already; give another one.")
        self._begin([])

    def at_resume(self, search: Search) -> None:
        if self.path.is_file() and self.path.stat().st_size and not self._belongs_to(search):
            raise InvalidInputError(f"The file {str(self.path)!r} does not hold the metrics of this run; give another one.")
        self._begin(search.metrics)

    def after_chunk(self, search: Search) -> None:
        with open_to_append(self.path) as file:
            file.write(self._text(search.metrics[self._written :], header=not self._written))
        self._written = len(search.metrics)

    def _belongs_to(self, search: Search) -> bool:
        """Return whether the file begins with this run's metrics, apart from columns of seconds."""
        with open_regular(self.path, "The file for metrics") as file:
            # Read no more than two rows, since the file may be anything.
            lines = [file.readline(_ROW_BYTES).decode(errors="replace") for _ in range(2)]
        try:
            columns, first = [next(csv.reader([line]), []) for line in lines]
        except csv.Error:
            return False
        if not search.metrics:
            return columns[:1] == ["evaluations"]
        ours = {name: "" if value is None else str(value) for name, value in search.metrics[0].items()}
        if columns != list(ours) or len(first) not in (0, len(columns)):
            return False
        known = dict(zip(columns, first, strict=False))
        return all(known.get(name, text) == text for name, text in ours.items() if not name.startswith("seconds_"))

    def _begin(self, rows: list[dict[str, Any]]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                file.write(self._text(rows, header=bool(rows)))
            self._written = len(rows)
        except OSError as error:
            raise InvalidInputError(f"The file {str(self.path)!r} for metrics cannot be written: {error.strerror}.") from None

    @staticmethod
    def _text(rows: list[dict[str, Any]], *, header: bool) -> bytes:
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
