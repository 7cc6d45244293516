"""The metrics: one list of columns, for rows that are measured, saved and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from searches import finish, quick_search

from stax.errors import InvalidInputError
from stax.search.metrics import METRICS, TEXT_COLUMNS, checked_metrics, metric_columns

FORMATS = Path(__file__).parents[2] / "docs" / "file-formats.md"


@pytest.fixture(scope="module")
def rows():
    search = quick_search("serene", budget=150, chunk_size=24)
    finish(search)
    return search.metrics, len(search.task.reward_areas)


def test_every_row_has_all_columns_in_order(rows):
    metrics, areas = rows
    assert [list(row) for row in metrics] == [metric_columns(areas)] * len(metrics)
    assert "phase" in TEXT_COLUMNS
    assert checked_metrics(metrics, areas) == metrics


def test_every_column_is_documented():
    table = FORMATS.read_text().split("## `summary.json`")[0]
    assert [metric.name for metric in METRICS if f"| `{metric.name}" not in table] == []


@pytest.mark.parametrize("column", ["coverage", "max_reward_1", "seconds_storage"])
def test_a_column_that_an_earlier_version_did_not_have_is_empty(rows, column):
    metrics, areas = rows
    older = [{name: value for name, value in row.items() if name != column} for row in metrics]
    filled = checked_metrics(older, areas)
    assert [list(row) for row in filled] == [metric_columns(areas)] * len(metrics)
    assert {row[column] for row in filled} == {None}


def test_rows_that_no_search_writes_are_refused(rows):
    metrics, areas = rows
    first, *others = metrics
    without = {name: value for name, value in first.items() if name != "coverage"}
    for row, words in [
        (without, "Row 0 of the state's metrics has no coverage"),
        ({**first, "mood": 1}, "has 'mood', which is no metric"),
        ({**first, "coverage": "high"}, "has the coverage 'high'"),
        ({**first, "phase": "training"}, "has the phase 'training'"),
        ({**first, "phase": None}, "has the phase None"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            checked_metrics([row, *others], areas)
