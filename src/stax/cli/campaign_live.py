"""The live table of a campaign on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from stax.cli.campaign_display import CampaignDisplay, at_a_time
from stax.cli.live_screen import LiveScreen, bar, title
from stax.runs.campaign import CampaignRun
from stax.runs.status import RunStatus
from stax.wording import clock_time, percent

_STYLES = {"done": "green", "running": "cyan", "waiting": "dim", "failed": "red", "elsewhere": "yellow"}
_MOST_FAILURES = 3
"""Failures that are shown with their reason while it goes on."""
_NARROW = 90
"""Columns below which rates are left out."""


class LiveCampaign(LiveScreen, CampaignDisplay):
    """A row per run or, if these are too many for the terminal, a row per task, method and override, and those running."""

    def _end(self, run: CampaignRun) -> None:
        """Print nothing: the table shows how a run has ended."""

    def _parts(self) -> Iterator[RenderableType]:
        course = self.course
        failures = list(self._failures())
        # The title, the total of two lines, and the line that the cursor is left in.
        room = self._console.height - 4 - len(failures)
        runs = course.campaign.runs
        yield title(f"campaign in {course.campaign.out}", at_a_time(course))
        yield self._runs(sorted(runs, key=lambda run: run.kind)) if len(runs) <= room else self._kinds(room)
        yield from failures
        yield self._total()

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
        elif run.status is RunStatus.INTERRUPTED and run in self.course.ended:
            middle = Text("interrupted", "yellow")
        elif state == "waiting" and run.status in (RunStatus.INTERRUPTED, RunStatus.FAILED):
            middle = Text(f"waiting ({run.status} before)", "dim")
        coverage = "" if run.coverage is None or not run.evaluations else f"coverage {percent(run.coverage)}"
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
        columns = [*states, "mean coverage"]
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, overflow="ellipsis")
        for name in columns:
            table.add_column(justify="right", no_wrap=True, min_width=len(name))
        table.add_row(hidden, *(Text(name, "dim") for name in columns))
        for kind, runs in list(kinds.items())[:fitting]:
            counts = self.course.counts(runs)
            coverages = [run.coverage for run in runs if run.status is RunStatus.FINISHED and run.coverage is not None]
            mean = percent(sum(coverages) / len(coverages)) if coverages else ""
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
        words = f"{100 * course.share:.0f} %  {course.in_words()}"
        total.add_row("total", bar(course.share, words, failed=course.counts()["failed"] > 0))
        if self._ending:
            total.add_row("time", clock_time(course.elapsed))
        elif self._stopping:
            total.add_row("time", Text(self._stopping, "yellow"))
        else:
            total.add_row("time", f"{clock_time(course.elapsed)} gone, {clock_time(course.all_seconds_left())} left")
        return total
