"""The live table of a campaign on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stax.cli.campaign_display import Course, Display, at_a_time
from stax.runs.campaign import CampaignRun
from stax.wording import clock_time

_STYLES = {"done": "green", "running": "cyan", "waiting": "dim", "failed": "red", "elsewhere": "yellow"}
_MOST_FAILURES = 3
"""Failures that are shown with their reason while it goes on."""
_NARROW = 90
"""Columns below which rates are left out."""


class LiveDisplay(Display):
    """A row per run or, if these are too many for the terminal, a row per task, method and override, and those running.

    It is redrawn four times a second by a thread of its own; its last state stays.
    """

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self._stopping = ""
        self._over = False
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(get_renderable=self._picture, console=self._console, refresh_per_second=4, vertical_overflow="crop")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._over = True
        self._live.stop()

    def _start(self) -> None:
        self._live.start(refresh=True)

    def stopping(self, words: str) -> str:
        self._stopping = words
        return ""

    def _end(self, run: CampaignRun) -> None:
        """It is in the table."""

    def _picture(self) -> RenderableType:
        course = self.course
        title = Text.assemble((f"campaign in {course.campaign.out}", "bold"), f", {at_a_time(course)}", no_wrap=True)
        title.overflow = "ellipsis"
        failures = list(self._failures())
        # The title, the total of two lines, and the line that the cursor is left in.
        room = self._console.height - 4 - len(failures)
        runs = course.campaign.runs
        table = self._runs(sorted(runs, key=lambda run: run.kind)) if len(runs) <= room else self._kinds(room)
        # Room at the right for the ^C that a terminal shows: it must not go on to a new line.
        return Constrain(Group(title, table, *failures, self._total()), self._console.width - 4)

    def _runs(self, runs: list[CampaignRun]) -> Table:
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(self._console.width // 3, 24))
        table.add_column(no_wrap=True, ratio=1)
        for _ in range(4 if self._wide else 3):
            table.add_column(no_wrap=True, justify="right")
        for run in runs:
            table.add_row(*self._row(run))
        return table

    @property
    def _wide(self) -> bool:
        return self._console.width >= _NARROW

    def _row(self, run: CampaignRun) -> list[RenderableType]:
        state = self.course.state(run)
        middle: RenderableType = Text(state, _STYLES[state], overflow="ellipsis")
        share = f"{100 * run.evaluations / run.config.budget:.0f} %" if run.evaluations and state != "done" else ""
        rate = last = ""
        if state == "running":
            if self.course.started(run):
                middle = ProgressBar(total=run.config.budget, completed=run.evaluations, complete_style="cyan")
                rate = f"{self.course.rate(run):,.0f} a second" if self.course.rate(run) else ""
                left = self.course.seconds_left(run)
                last = "" if left is None else f"{clock_time(left)} left"
            else:
                middle = Text("starting", "cyan")
        elif state == "done":
            last = clock_time(run.seconds)
        elif state == "failed":
            middle = Text(f"failed: {run.error}", "red", overflow="ellipsis", no_wrap=True)
        elif run.status == "interrupted" and run in self.course.ended:
            middle = Text("interrupted", "yellow")
        elif state == "waiting" and run.status in ("interrupted", "failed"):
            middle = Text(f"waiting ({run.status} before)", "dim")
        coverage = "" if run.coverage is None or not run.evaluations else f"coverage {100 * run.coverage:.1f} %"
        return [Text(run.name, _STYLES[state] if state == "waiting" else ""), middle, share] + (
            [rate, coverage, last] if self._wide else [coverage, last]
        )

    def _kinds(self, room: int) -> RenderableType:
        counts = self.course.counts()
        states = [state for state in _STYLES if counts[state] or state in ("done", "running", "waiting")]
        kinds: dict[tuple[str, str, str], list[CampaignRun]] = {}
        for run in self.course.campaign.runs:
            kinds.setdefault(run.kind, []).append(run)
        running = self.course.running[: max(room // 2, 1)]
        fitting = max(room - 1 - len(running), 1)
        hidden = Text(f"{len(kinds) - fitting} more not shown" if len(kinds) > fitting else "", "dim")
        titles = [*states, "mean coverage"]
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, overflow="ellipsis")
        for title in titles:
            table.add_column(justify="right", no_wrap=True, min_width=len(title))
        table.add_row(hidden, *(Text(title, "dim") for title in titles))
        for kind, runs in list(kinds.items())[:fitting]:
            counts = self.course.counts(runs)
            coverages = [run.coverage for run in runs if run.status == "finished" and run.coverage is not None]
            mean = f"{100 * sum(coverages) / len(coverages):.1f} %" if coverages else ""
            numbers = [Text(str(counts[state] or "-"), _STYLES[state] if counts[state] else "dim") for state in states]
            table.add_row(Text(" ".join(word for word in kind if word)), *numbers, mean)
        return Group(table, self._runs(running))

    def _failures(self) -> Iterator[Text]:
        failed = [run for run in self.course.campaign.runs if self.course.state(run) == "failed"]
        if len(self.course.campaign.runs) <= self._console.height - 4:
            return  # Each has a row of its own.
        for run in failed[-_MOST_FAILURES:]:
            yield Text(f"{run.name} failed: {run.error}", "red", no_wrap=True, overflow="ellipsis")

    def _total(self) -> Table:
        course = self.course
        total = Table.grid(padding=(0, 2), expand=True)
        total.add_column(style="dim", no_wrap=True)
        total.add_column(ratio=1)
        bar = Table.grid(padding=(0, 1), expand=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True)
        failed = course.counts()["failed"]
        bar.add_row(
            ProgressBar(total=1.0, completed=course.share, complete_style="red" if failed else "cyan", finished_style="green"),
            Text(f"{100 * course.share:.0f} %  {course.in_words()}"),
        )
        total.add_row("total", bar)
        if self._over:
            total.add_row("time", clock_time(course.elapsed))
        elif self._stopping:
            total.add_row("time", Text(self._stopping, "yellow"))
        else:
            total.add_row("time", f"{clock_time(course.elapsed)} gone, {clock_time(course.all_seconds_left())} left")
        return total
