"""The metrics of a run as a CSV file that grows with every chunk."""

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
"""Bytes of a row of metrics."""


class CsvCallback(Callback):
    """Writes a row of metrics after every chunk, with the columns of a run folder's `metrics.csv`.

    The file of a run that is resumed is brought to where the run goes on, and then continued: it ends as if the run had never been
    interrupted.

    Args:
        path: of the file, which must not exist yet when a run begins; its folder is made if need be.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def at_start(self, search: Search) -> None:
        if self.path.is_dir() or (self.path.exists() and self.path.stat().st_size):
            raise InvalidInputError(f"The file {str(self.path)!r} for metrics is there already; give a new one.")
        self._begin([])

    def at_resume(self, search: Search) -> None:
        if self.path.is_file() and self.path.stat().st_size and not self._is_ours(search):
            raise InvalidInputError(f"The file {str(self.path)!r} does not hold the metrics of this run; give another one.")
        self._begin(search.metrics)

    def after_chunk(self, search: Search) -> None:
        with open_to_append(self.path) as file:
            file.write(self._text(search.metrics[-1:], header=len(search.metrics) == 1))

    def _is_ours(self, search: Search) -> bool:
        """Whether it begins as this run did; how long that took does not count."""
        with open_regular(self.path, "The file for metrics") as file:
            # No more than two rows: what follows may be anything.
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
