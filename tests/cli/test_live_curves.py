"""The curves of the live display."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import stax
from stax.cli.live import LiveProgress
from stax.cli.text_plots import plot, sparkline
from toy_tasks import NoTruthTask, SquareTask


def shown(width: int, height: int, task: stax.Task) -> list[str]:
    """The lines of the display of a search that is done."""
    algo = "ns" if task.ground_truth_bounds else "random"
    search = stax.make_search(algo, task, budget=96, seed=1, population_size=12, chunk_size=12)
    while not search.done:
        search.tell(task.evaluate(search.ask()))
    progress = LiveProgress("preset default")
    progress._search = search
    progress._console = Console(file=io.StringIO(), width=width, height=height)
    with progress._console.capture() as captured:
        progress._console.print(progress._picture())
    return captured.get().splitlines()


@pytest.mark.parametrize("task", [SquareTask(), NoTruthTask()])
def test_a_wide_terminal_shows_curves(task):
    lines = shown(200, 50, task)
    assert len(lines) < 20
    assert any(set("▃▄▅▆▇█") & set(line) for line in lines)
    assert any("coverage" in line and "evaluations" in line for line in lines) == (task.ground_truth_bounds is not None)
    assert any(line.rstrip().endswith("near") for line in lines)


def test_a_narrow_terminal_shows_none():
    lines = shown(80, 24, SquareTask())
    assert len(lines) <= 24
    assert not any(set("▃▄▅▆▇█") & set(line) for line in lines)


def test_curves_end_where_the_run_is():
    course = [(25, 0.1), (50, 0.3)]
    lines = list(plot("coverage", course, 100, "utf-8", width=20, height=4))
    assert len(lines) == 5
    assert {len(line) for line in lines[:-1]} == {20}
    assert len(sparkline(course, 100, "utf-8", width=20)) == 10
    assert sparkline([(1, 50.0), (2, 100.0)], 2, None, width=2) == "=@"
