"""A part of the terminal that is redrawn, on which live displays are built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stax.cli.display import Display


class LiveScreen(Display):
    """A display that a thread of its own redraws, also while a long training runs.

    What others print meanwhile appears above it; its last state stays.
    """

    redrawn_per_second = 4

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(
            get_renderable=self._picture,
            console=self._console,
            refresh_per_second=self.redrawn_per_second,
            vertical_overflow="crop",
        )

    def _open(self) -> None:
        self._live.start(refresh=True)

    def _close(self) -> None:
        try:
            super()._close()
        finally:
            self._live.stop()

    def _picture(self) -> RenderableType:
        # Room at the right for the ^C that a terminal shows: it must not go on to a new line.
        return Constrain(Group(*self._parts()), self._console.width - 4)

    def _parts(self) -> Iterator[RenderableType]:
        """Yield what is shown, from top to bottom."""
        raise NotImplementedError


def title(subject: str, about: str) -> Text:
    """Return the first line of a display."""
    return Text.assemble((subject, "bold"), f", {about}", overflow="ellipsis", no_wrap=True)


def bar(share: float, words: str, *, failed: bool) -> Table:
    """Return a line with a progress bar and words at its right."""
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(ratio=1)
    row.add_column(no_wrap=True)
    style = "red" if failed else "cyan"
    row.add_row(ProgressBar(total=1.0, completed=share, complete_style=style, finished_style="green"), Text(words))
    return row
