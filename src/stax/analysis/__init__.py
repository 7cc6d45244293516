"""What can be seen in results: measures, statistics and comparisons of many runs, pictures and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.lazy_attributes import lazy_attributes

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
# Matplotlib and SciPy take a while to import, and code that only reads or only draws does without one of them.
__getattr__ = lazy_attributes(__name__, _LATER)
