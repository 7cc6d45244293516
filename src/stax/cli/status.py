"""A line on the terminal that shows that a command is working."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def status(text: str, *, quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Show the text on a terminal while inside; yield a function that changes it, or None if nothing is shown."""
    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal or console.is_dumb_terminal:
        yield None
        return
    with console.status(text) as line:
        yield line.update
