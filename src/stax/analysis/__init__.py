"""What can be seen in a result: pictures, later measures and comparisons."""

from __future__ import annotations

from stax.analysis.picture import draw_result

__all__ = ["draw_result"]
