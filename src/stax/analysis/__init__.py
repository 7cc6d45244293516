"""Analysis of results: measures, statistics and comparisons of many runs, pictures, replays and reports.

| module | holds |
|---|---|
| `recorded` | `find_runs`: runs found in folders, by their run folders and by their records |
| `records/` | the record of a run: reading, making and verifying it |
| `measures` | functions of one run: coverage and rewards as `Curve`, archives, similarity of descriptors, budget, emitters |
| `splits` | whether a reward area of the ground truth lies in several places of the learned space |
| `statistics` | functions of many runs: spread, intervals, tests, Holm, effect sizes, curves aligned by evaluations |
| `grouping`, `comparison` | which runs belong together and how they are labelled; each group measured and tested against a reference |
| `comparison_files`, `comparison_plots`, `style` | table, page and JSON of a comparison; its plots; colours and lines of all plots |
| `picture` | the picture of one result |
| `finding`, `wanted_observation` | policies that come closest to a wanted behaviour; a picture or an array as an observation |
| `replay`, `replay_pictures`, `film_files` | policies played again; pictures and films of them |
| `report/` | the page about a run |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from stax.analysis.comparison import compare_runs
    from stax.analysis.measures import measure, measure_recorded
    from stax.analysis.picture import draw_result
    from stax.analysis.recorded import find_runs
    from stax.analysis.records.making import write_record
    from stax.analysis.records.record import Record, read_record

__all__ = [
    "Record",
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
