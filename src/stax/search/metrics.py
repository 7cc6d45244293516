"""The metrics of a run: the one list of their columns. A row is measured at the end of every chunk of the budget.

To add a column, add a `Metric` to `METRICS`, and a line about it to docs/file-formats.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stax.errors import InvalidInputError, shown
from stax.search.grid import PROFILE_LEVELS
from stax.search.record import ACTIVITIES
from stax.search.state_checks import is_number
from stax.search.vocabulary import CHUNK_PHASES

if TYPE_CHECKING:
    from stax.search.search import Search

Row = dict[str, Any]
"""A row of metrics: values by their columns."""


@dataclass(frozen=True)
class Metric:
    """A column of the metrics, or several that are measured together."""

    name: str
    """Name of the column, or the beginning of the names of several."""
    measure: Callable[[Search], Any]
    """Returns the value; of several columns, a list of their values. None where there is nothing to measure."""
    is_text: bool = False
    """Whether its values are words rather than numbers."""
    endings: Callable[[int], Iterable[object]] | None = None
    """Returns the endings of the names of several columns, for a task with so many reward areas; None for one column."""


METRICS = (
    Metric("evaluations", lambda search: search.evaluations),
    Metric("phase", lambda search: search.chunk_phase.value, is_text=True),
    Metric("coverage", lambda search: search.coverage),
    Metric("qd_score", lambda search: search.qd_score),
    Metric("profile", lambda search: search.record.profile, endings=lambda _: PROFILE_LEVELS),
    Metric("novelty_archive_size", lambda search: len(search.novelty_archive)),
    Metric("reward_archive_size", lambda search: len(search.reward_archive)),
    Metric("emitter_candidates", lambda search: len(search.containers.candidates)),
    Metric("emitters", lambda search: len(search.containers.emitters)),
    Metric("max_reward", lambda search: search.max_reward, endings=range),
    Metric("training_episodes", lambda search: search.training_episodes),
    Metric("training_error", lambda search: _of_last_episode(search, "training_error")),
    Metric("validation_error", lambda search: _of_last_episode(search, "validation_error")),
    Metric("seconds", lambda search: list(search.record.stopwatch.seconds.values()), endings=lambda _: ACTIVITIES),
)
"""All metrics, in the order of their columns."""
TEXT_COLUMNS = frozenset(metric.name for metric in METRICS if metric.is_text)
"""Names of the columns whose values are words."""


def metric_columns(reward_areas: int) -> list[str]:
    """Return the names of all columns, in order, for a task with so many reward areas."""
    return [column for metric in METRICS for column in _columns(metric, reward_areas)]


def measure_metrics(search: Search) -> Row:
    """Return the row of metrics of the search as it is now."""
    row: Row = {}
    for metric in METRICS:
        value, columns = metric.measure(search), _columns(metric, len(search.max_reward))
        row |= zip(columns, value if metric.endings else [value], strict=True)
    return row


def checked_metrics(given: Iterable[Any], reward_areas: int) -> list[Row]:
    """Return the rows of metrics of a saved state, or raise `stax.InvalidInputError` if no search can have written them.

    A column that all rows lack was added after the state was saved: it has no values.
    """
    columns, rows = metric_columns(reward_areas), [dict(row) for row in given]
    for number, row in enumerate(rows):
        for name in (*columns, *row):
            if name not in row and any(name in other for other in rows):
                raise InvalidInputError(f"Row {number} of the state's metrics has no {name}.")
            if name not in columns:
                raise InvalidInputError(f"Row {number} of the state's metrics has {shown(name)}, which is no metric.")
            if not _fits(name, row.get(name)):
                raise InvalidInputError(f"Row {number} of the state's metrics has the {name} {shown(row.get(name))}.")
    return [{name: row.get(name) for name in columns} for row in rows]


def _fits(name: str, value: Any) -> bool:
    """Return whether a search can have written this value into the column."""
    if name == "phase":
        return value in CHUNK_PHASES
    return value is None or (isinstance(value, str) if name in TEXT_COLUMNS else is_number(value))


def _columns(metric: Metric, reward_areas: int) -> list[str]:
    return [f"{metric.name}_{ending}" for ending in metric.endings(reward_areas)] if metric.endings else [metric.name]


def _of_last_episode(search: Search, error: str) -> float | None:
    """Return an error of the last training episode; None before the first."""
    return getattr(getattr(search.space, "last_episode", None), error, None)
