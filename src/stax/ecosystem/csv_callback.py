"""The metrics of a run as a CSV file that grows with every chunk."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError
from stax.runs.callbacks import Callback
from stax.runs.files import whole
from stax.search.search import Search


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
        with self.path.open("a", encoding="utf-8", newline="") as file:
            self._write(file, search.metrics[-1:], header=len(search.metrics) == 1)

    def _is_ours(self, search: Search) -> bool:
        """Whether it begins as this run did; how long that took does not count."""
        with self.path.open(encoding="utf-8", errors="replace", newline="") as file:
            reader = csv.DictReader(file)
            columns, first = reader.fieldnames or [], next(reader, None)
        if not search.metrics:
            return columns[:1] == ["evaluations"]
        ours = {name: "" if value is None else str(value) for name, value in search.metrics[0].items()}
        same = (first is None or first[name] == ours[name] for name in ours if not name.startswith("seconds_"))
        return columns == list(ours) and all(same)

    def _begin(self, rows: list[dict[str, Any]]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with whole(self.path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
                self._write(file, rows, header=bool(rows))
        except OSError as error:
            raise InvalidInputError(f"The file {str(self.path)!r} for metrics cannot be written: {error.strerror}.") from None

    @staticmethod
    def _write(file: Any, rows: list[dict[str, Any]], *, header: bool) -> None:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
