"""The live display of a search on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stax.cli.progress import Progress, archives, heading, rewards
from stax.wording import clock_time, counted

if TYPE_CHECKING:
    from stax.search.search import Search

_PHASES = {
    "initial population": "initial population",
    "exploration": "exploration",
    "training": "training the autoencoder",
    "bootstrap": "bootstrap of new emitters",
    "emitters": "emitters climb rewards",
}
_MOST_AREA_LINES = 4


class LiveProgress(Progress):
    """Redrawn eight times a second by a thread of its own, so that it lives while a long training runs.

    It appears when the search has been made; what others print meanwhile appears above it; its last state stays.
    """

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(get_renderable=self._picture, console=self._console, refresh_per_second=8, vertical_overflow="crop")
        self._ending = ""
        self._stopping = ""

    def stopping(self, words: str) -> str:
        self._stopping = words
        return ""

    def _begin(self, search: Search) -> None:
        self._live.start(refresh=True)

    def _end(self, search: Search, ending: str) -> None:
        self._ending = ending

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            super().__exit__(kind, error, traceback)
        finally:
            self._live.stop()

    def _picture(self) -> RenderableType:
        search = self._search
        if search is None:
            return ""
        self._pace.note(search.evaluations)
        title = Text.assemble((heading(search), "bold"), f", {self._about}", overflow="ellipsis", no_wrap=True)
        # Room at the right for the ^C that a terminal shows: it must not go on to a new line.
        return Constrain(Group(title, self._bar(search), self._facts(search)), self._console.width - 4)

    def _bar(self, search: Search) -> Table:
        share = search.evaluations / search.budget
        count = f"{100 * share:.0f} %  {search.evaluations:,} of {search.budget:,}"
        row = Table.grid(padding=(0, 1), expand=True)
        row.add_column(ratio=1)
        row.add_column(no_wrap=True)
        style = "red" if self._ending not in ("", "done") else "cyan"
        row.add_row(
            ProgressBar(total=search.budget, completed=search.evaluations, complete_style=style, finished_style="green"),
            Text(count),
        )
        return row

    def _facts(self, search: Search) -> Table:
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", no_wrap=True)
        facts.add_column(overflow="fold")
        left = clock_time(self._pace.seconds_left(search.budget))
        if self._ending:
            facts.add_row("phase", Text(self._ending, "red" if self._ending != "done" else "green"))
            facts.add_row("time", f"{clock_time(self._pace.elapsed)}, {self._pace.mean_rate():,.0f} a second")
        else:
            phase = Text(_PHASES.get(search.phase, search.phase), "cyan")
            facts.add_row("phase", Text(self._stopping, "yellow") if self._stopping else phase)
            pace = f"{clock_time(self._pace.elapsed)} gone, {left} left, {self._pace.rate():,.0f} a second"
            facts.add_row("time", pace)
        if search.coverage is not None:
            facts.add_row("coverage", f"{100 * search.coverage:.1f} %")
        best = rewards(search)
        lines = best if len(best) <= _MOST_AREA_LINES else [", ".join(best)]
        for number, line in enumerate(lines):
            facts.add_row("" if number else "best reward", Text(line))
        facts.add_row("archives", archives(search))
        if search.method.emitters:
            waiting = len(getattr(search, "candidates", ()))
            facts.add_row("emitters", f"{len(search.emitters):,} running, {waiting:,} candidates waiting")
        if search.trains:
            facts.add_row("training", _last_training(search))
        return facts


def _last_training(search: Search) -> str:
    episode = getattr(search.space, "last_episode", None)
    if episode is None:
        return "none yet"
    epochs = counted(episode.epochs, "epoch")
    return (
        f"episode {search.training_episodes}: {episode.images_seen:,} images in {epochs},"
        f" validation error {episode.validation_error:.4g}, {episode.seconds:.1f} s"
    )
