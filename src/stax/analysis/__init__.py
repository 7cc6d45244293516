"""What can be seen in results: measures, statistics and comparisons of many runs, pictures and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stax.analysis.comparison import compare_runs
    from stax.analysis.measures import measure, measure_recorded
    from stax.analysis.picture import draw_result
    from stax.analysis.recorded import RecordedRun, find_runs
    from stax.analysis.records.making import write_record
    from stax.analysis.records.record import Record, read_record

__all__ = [
    "Record",
    "RecordedRun",
    "compare_runs",
    "draw_result",
    "find_runs",
    "measure",
    "measure_recorded",
    "read_record",
    "write_record",
]

_LATER = {
    "Record": "records.record",
    "RecordedRun": "recorded",
    "compare_runs": "comparison",
    "draw_result": "picture",
    "find_runs": "recorded",
    "measure": "measures",
    "measure_recorded": "measures",
    "read_record": "records.record",
    "write_record": "records.making",
}


def __getattr__(name: str) -> Any:
    # Matplotlib and SciPy take a while to import, and whoever only reads or only draws does without the other.
    if name not in _LATER:
        raise AttributeError(f"module 'stax.analysis' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"stax.analysis.{_LATER[name]}"), name)
