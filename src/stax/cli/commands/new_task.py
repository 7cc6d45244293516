"""`stax new-task`: writes a task to start from, with its test."""

from __future__ import annotations

import argparse
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "new-task",
        help="write a task of your own to start from, with its test",
        description="Writes NAME.py, a small working task, and test_NAME.py, which tests it. What to do next is printed.",
    )
    parser.add_argument("name", metavar="NAME", help="what the task is called: letters, digits and dashes")
    parser.add_flag("--function", "a function from genomes to rewards and observations instead of a class")
    parser.add_out("DIR", "the folder to write to (default this one)", ".")
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the task, and print the commands to go on with."""
    from stax.tasks.starting_point import write_task

    written = write_task(options.name, Path(options.out), function=options.function)
    if options.out != ".":
        print(f"cd {options.out}")
    print(f"stax check-task {written.target}\nstax run {written.target} --budget 5000\npython -m pytest {written.test.name}")
    return DONE
