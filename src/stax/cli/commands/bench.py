"""`stax bench`: measures speed."""

from __future__ import annotations

import argparse

from stax.cli.arguments import CommandParser, Commands


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "bench",
        help="measure speed",
        description="Measures the simulators and the drawing, as ratios within one run where a comparison exists.",
    )
    parser.add_json("print JSON instead of a table")
    parser.add_flag("--quick", "fewer rollouts and no compiling: a first impression")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the measurements."""
    from stax.benchmarks.tasks import run_benchmarks

    return run_benchmarks(as_json=options.json, quick=options.quick)
