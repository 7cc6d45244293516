"""`stax algos`: lists the methods, or describes one with all its parameters."""

from __future__ import annotations

import argparse

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "algos",
        help="list the methods, or all parameters of one",
        description="Lists the methods; with a NAME, what the method is and all its parameters with their values.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="a method")
    parser.add_json()
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the list of methods, or the page of one."""
    from stax.cli.method_pages import method_page

    print(method_page(options.name, as_json=options.json))
    return DONE
