"""Numbers, durations and values in words, as messages, tables and pages show them."""

from __future__ import annotations

from typing import Any


def clock_time(seconds: float | None) -> str:
    """Return a duration as 1:05 or 2:03:04, for displays that change; an unknown duration is a question mark."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float) -> str:
    """Return a duration as 45 s, 2 min 5 s or 3 h 12 min, for text."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    return f"{rounded // 60} min {rounded % 60} s" if rounded < 3600 else f"{rounded // 3600} h {rounded % 3600 // 60} min"


def percent(share: float) -> str:
    """Return a share between 0 and 1 as 12.3 %."""
    return f"{100 * share:.1f} %"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun, as 1 run or 2,000 runs."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def setting_text(value: Any) -> str:
    """Return a value as `--set` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        is_nested = any(isinstance(item, (tuple, dict)) for item in value)
        if is_nested:
            return f"[{', '.join(_item_text(item) for item in value)}]"
        return ",".join(setting_text(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _item_text(value: Any) -> str:
    """Return an item of a list that holds lists or tables."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_item_text(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(_item_text(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else setting_text(value)
