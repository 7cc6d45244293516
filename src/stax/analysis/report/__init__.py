"""One self-contained HTML page about a run.

result = readable_run("runs/first")
write_report(result, "runs/first", "report.html")
"""

from __future__ import annotations

from stax.analysis.report.page import Written, check_page, readable_run, write_report

__all__ = ["Written", "check_page", "readable_run", "write_report"]
