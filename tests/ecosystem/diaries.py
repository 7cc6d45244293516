"""What the tests of callbacks share: one that writes down what it hears, and what a table of metrics says."""

from __future__ import annotations

import csv

import stax

BUDGET = 300
"""Of the runs that are watched."""


class Diary(stax.Callback):
    """Writes down all it is told, and fails or asks to stop where it shall."""

    def __init__(self, fails_in: str = "", at: int = 1) -> None:
        self.heard: list[str] = []
        self.rows: list[int] = []
        self.result: stax.Result | None = None
        self._fails_in, self._at = fails_in, at

    def _hear(self, what: str) -> None:
        self.heard.append(what)
        if what == self._fails_in and self.heard.count(what) == self._at:
            raise OSError(28, "No space left on device")

    def at_start(self, search):
        assert search.evaluations == 0
        self._hear("at_start")

    def at_resume(self, search):
        self.rows = [row["evaluations"] for row in search.metrics]
        self._hear("at_resume")

    def after_chunk(self, search):
        assert search.metrics[-1]["evaluations"] == search.evaluations
        self.rows.append(search.evaluations)
        self._hear("after_chunk")

    def after_training(self, search):
        assert search.space.last_episode is not None
        self._hear("after_training")

    def at_end(self, result):
        self.result = result
        self._hear("at_end")

    def close(self):
        self._hear("close")


def rows(path):
    with path.open() as file:
        return [{name: value for name, value in row.items() if not name.startswith("seconds")} for row in csv.DictReader(file)]
