"""The live display of a search on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from stax.cli.live_screen import LiveScreen, bar, title
from stax.cli.progress import Progress, archives, heading, rewards
from stax.cli.text_plots import plot, sparkline
from stax.search.vocabulary import Phase
from stax.wording import clock_time, counted, percent

if TYPE_CHECKING:
    from stax.search.search import Search

_PHASES = {
    Phase.INITIAL_POPULATION: "initial population",
    Phase.EXPLORATION: "exploration",
    Phase.TRAINING: "training the autoencoder",
    Phase.BOOTSTRAP: "bootstrap of new emitters",
    Phase.EMITTERS: "emitters climb rewards",
}
_MOST_AREA_LINES = 4
_FACTS_WIDTH = 86
"""Columns of a terminal that are not for the curves."""
_NARROWEST_CURVE, _WIDEST_CURVE = 24, 80
_CURVE_HEIGHT = 6
_LONGEST_NAME = 16
"""Characters of the name of a reward area beside its curve."""


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
        done = self._done(search)
        self._pace.note(done)
        share = done / search.budget
        count = f"{100 * share:.0f} %  {done:,} of {search.budget:,}"
        yield title(heading(search), self._about)
        yield bar(share, count, failed=self._ending not in ("", "done"))
        curves = self._curves(search)
        if not curves:
            yield self._facts(search)
            return
        row = Table.grid(padding=(0, 2), expand=True)
        row.add_column(ratio=1)
        row.add_column(no_wrap=True)
        row.add_row(self._facts(search), Text("\n".join(curves), "cyan"))
        yield row

    def _curves(self, search: Search) -> list[str]:
        """Return the lines of the curves of coverage and of the best rewards; none on a narrow terminal and in the beginning."""
        width = min(self._console.width - _FACTS_WIDTH, _WIDEST_CURVE)
        metrics = list(search.metrics)
        if width < _NARROWEST_CURVE or len(metrics) < 2:
            return []
        lines: list[str] = []
        if search.coverage is not None:
            course = [(row["evaluations"], row["coverage"]) for row in metrics]
            lines += plot("coverage", course, search.budget, self._console.encoding, width=width, height=_CURVE_HEIGHT)
        for number, area in enumerate(search.task.reward_areas[:_MOST_AREA_LINES]):
            rewards = [(row["evaluations"], row[f"max_reward_{number}"]) for row in metrics]
            lines.append(
                f"{'':10}{sparkline(rewards, search.budget, self._console.encoding, width=width):<{width}}   {area.name[:_LONGEST_NAME]}"
            )
        return lines

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
            waiting = len(getattr(search.containers, "candidates", ()))
            facts.add_row("emitters", f"{len(search.containers.emitters):,} running, {waiting:,} candidates waiting")
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
