"""`stax report`: one page about a run."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from rich.console import Console

from stax.analysis.report import check_page, readable_run, write_report
from stax.compiling import compile_quietly


def report_command(options: argparse.Namespace) -> Path:
    """Writes the page about the run, and returns its file."""
    if options.quiet:
        compile_quietly()
    if options.out is not None:
        check_page(Path(options.out))
    # It tells at length about its fonts when it is used for the first time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # What a task of the user's own prints is no result: stdout carries the file's name alone.
    with redirect_stdout(sys.stderr), _watched(quiet=options.quiet):
        written = write_report(readable_run(options.dir, trust=options.trust), options.dir, options.out)
    for failure in written.failures:
        print(f"stax: warning: {failure}", file=sys.stderr)
    if not options.quiet:
        print(f"stax: {written.size / 1e6:.1f} MB; it opens in any browser and needs nothing else", file=sys.stderr)
    return written.path


@contextmanager
def _watched(*, quiet: bool) -> Iterator[None]:
    """On a terminal, a sign of life."""
    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal or console.is_dumb_terminal:
        yield
        return
    with console.status("reading the run, drawing the page"):
        yield
