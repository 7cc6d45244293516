"""The paper's results made again: the runs that its figures need, the figures, and its claims beside ours.

| module | holds |
|---|---|
| `plan`, `keeping` | the runs that each figure needs, as a campaign; the records kept of them |
| `results`, `selection` | the finished runs by their records; which records a page is made of |
| `make`, `page` | figures, tables and the page; the parts of the page about the runs |
| `figures`, `learned_figures`, `coverage_table` | the paper's figures, and the table of coverage |
| `claims`, `answers`, `evidence`, `claims_table` | the claims of the paper, how they are judged, by which measures, and their table |

The page is made from records alone, also right after the runs. There is then one way to make it, and it does not depend on the
machine that makes it.
"""
