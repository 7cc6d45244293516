"""`stax show`: sums up a run folder, whatever state the run is in."""

from __future__ import annotations

import argparse

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "show",
        help="sum up a run folder",
        description="Shows what a run is, how far it has come and what it has found, with a small plot. It runs nothing.",
    )
    parser.add_run_folder()
    parser.add_json("print the summary as JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the overview of the run."""
    from stax.cli.run_overview import run_overview

    print(run_overview(options.dir, as_json=options.json))
    return DONE
