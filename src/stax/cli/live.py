"""The live display of a search on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from stax.cli.live_screen import LiveScreen, bar, title
from stax.cli.progress import Progress, archives, heading, rewards
from stax.wording import clock_time, counted, percent

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


class LiveProgress(LiveScreen, Progress):
    """The state of a search; it appears when the search has been made."""

    redrawn_per_second = 8

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about

    def _begin(self, search: Search) -> None:
        self._open()

    def _parts(self) -> Iterator[RenderableType]:
        search = self._search
        if search is None:
            return
        self._pace.note(search.evaluations)
        share = search.evaluations / search.budget
        count = f"{100 * share:.0f} %  {search.evaluations:,} of {search.budget:,}"
        yield title(heading(search), self._about)
        yield bar(share, count, failed=self._ending not in ("", "done"))
        yield self._facts(search)

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
            facts.add_row("coverage", percent(search.coverage))
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
