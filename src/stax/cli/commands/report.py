"""`stax report`: writes one page about a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import print_written
from stax.streams import print_message


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "report",
        help="one HTML page about a run, complete in itself",
        description="Writes a page about a finished or interrupted run: what was run and how it went, both archives to hover over,"
        " curves, films of the best policies, the autoencoder, the emitters. It opens in any browser without a network. The"
        " file's path is printed.",
        epilog="Example: stax report runs/hard-maze-stax-0-1 --out maze.html",
    )
    parser.add_run_folder()
    parser.add_out("FILE", "the .html file to write (default DIR/report.html)")
    parser.add_trust()
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the page, and print its path."""
    return print_written(_write, options)


def _write(options: argparse.Namespace) -> Path:
    from stax.analysis.report import check_page, write_report
    from stax.cli.status import status
    from stax.runs.result import load

    if options.out is not None:
        check_page(Path(options.out))
    with status("reading the run, drawing the page", quiet=options.quiet):
        written = write_report(load(options.dir, trust=options.trust), options.dir, options.out)
    for failure in written.failures:
        print_message(f"warning: {failure}")
    if not options.quiet:
        print_message(f"{written.size / 1e6:.1f} MB; it opens in any browser and needs nothing else")
    return written.path
