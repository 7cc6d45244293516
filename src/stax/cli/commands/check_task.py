"""`stax check-task`: tests a task against the contract."""

from __future__ import annotations

import argparse

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE, FAILED
from stax.cli.settings import parse_settings
from stax.streams import OutputError, silence_output
from stax.working_folder import code_allowed


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "check-task",
        help="test a task, your own above all, against the contract",
        description="Tests a task against the contract that the search relies on, and says in plain words what is wrong.",
    )
    parser.add_argument("name", metavar="NAME", help="a task's name, gym:ID, or module:Class or module:function for your own")
    parser.add_settings("an option of the task", "OPTION=VALUE")
    parser.add_seed("seed of the policies tried (default 0)", default=0)
    return parser


def run(options: argparse.Namespace) -> int:
    """Print what was checked and what is wrong."""
    with code_allowed():
        lines, is_well = _check(options)
    try:
        print(*lines, sep="\n", flush=True)
    except OutputError as error:
        # The exit code holds the verdict too, for a reader that has gone after the first lines.
        if is_well or not error.reader_has_gone:
            raise
        silence_output()
    return DONE if is_well else FAILED


def _check(options: argparse.Namespace) -> tuple[list[str], bool]:
    """Return a line for each check and one for the verdict, and whether the task keeps the contract."""
    from stax.tasks import in_tables, make_task
    from stax.tasks.contract import check_task

    settings = in_tables({name.removeprefix("task."): value for name, value in parse_settings(options.set).items()})
    findings = check_task(make_task(options.name, **settings), seed=options.seed)
    lines = []
    for finding in findings:
        verdict, words = ("ok", "")
        if finding.problem:
            verdict, words = "WRONG", finding.problem
        elif finding.note:
            verdict, words = "note", finding.note
        lines.append(f"{verdict:<6} {finding.what}{': ' + words if words else ''}")
    wrong = sum(bool(finding.problem) for finding in findings)
    if wrong:
        lines.append(f"{options.name}: {wrong} of {len(findings)} checks found something wrong.")
    else:
        lines.append(f"{options.name} keeps the contract ({sum(not finding.note for finding in findings)} checks).")
    return lines, not wrong
