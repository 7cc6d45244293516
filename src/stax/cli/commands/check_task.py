"""`stax check-task`: tests a task against the contract."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE, FAILED
from stax.cli.settings import parse_settings
from stax.streams import OutputError, silence_output
from stax.working_folder import code_allowed

if TYPE_CHECKING:
    from stax.tasks.contract import Finding


class _TimeIsUp(KeyboardInterrupt):
    """The time limit has passed. It is an interrupt, which all code that calls tasks passes on."""


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "check-task",
        help="test a task, your own above all, against the contract",
        description="Tests a task against the contract that the search relies on, does what a run does with it before it begins,"
        " and says in plain words what is wrong. Each check is printed as soon as it is done.",
    )
    parser.add_argument("name", metavar="NAME", help="a task's name, gym:ID, or module:Class or module:function for your own")
    parser.add_argument("--algo", metavar="METHOD", default="stax", help="the method that the task is for (default stax)")
    parser.add_settings("an option of the task", "OPTION=VALUE")
    parser.add_seed("seed of the policies tried (default 0)", default=0)
    parser.add_number("--time-limit", "seconds after which checking stops (default none)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print what was checked and what is wrong."""
    found: list[Finding] = []
    is_done = False
    with code_allowed(), suppress(_TimeIsUp), _limited(options.time_limit):
        for finding in _findings(options):
            found.append(finding)
            _print(_line(finding))
        is_done = True
    wrong = sum(bool(finding.problem) for finding in found)
    passed = sum(not finding.note and not finding.problem for finding in found)
    if not is_done:
        after = f"the check that follows {found[-1].what!r}" if found else "making the task"
        _print(f"{options.name}: {after} was not done within the time limit of {options.time_limit} s.")
    elif wrong:
        _print(f"{options.name}: {wrong} of {len(found)} checks found something wrong.")
    else:
        _print(f"{options.name} keeps the contract ({passed} checks).")
    return DONE if is_done and not wrong else FAILED


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield a finding per check."""
    from stax.runs.task_check import check_for_search
    from stax.search.methods import find_method
    from stax.tasks import in_tables, make_task

    find_method(options.algo)
    settings: dict[str, Any] = in_tables(
        {name.removeprefix("task."): value for name, value in parse_settings(options.set).items()}
    )
    return check_for_search(make_task(options.name, **settings), algo=options.algo, seed=options.seed)


def _line(finding: Finding) -> str:
    verdict, words = "ok", ""
    if finding.problem:
        verdict, words = "WRONG", finding.problem
    elif finding.note:
        verdict, words = "note", finding.note
    return f"{verdict:<6} {finding.what}{': ' + words if words else ''}"


def _print(line: str) -> None:
    try:
        print(line, flush=True)
    except OutputError as error:
        # The checks go on without a reader, because the exit code holds the verdict too.
        if not error.reader_has_gone:
            raise
        silence_output()


@contextmanager
def _limited(seconds: int | None) -> Iterator[None]:
    """Raise `_TimeIsUp` inside after so many seconds, where the system has a clock for that."""

    def stop(*_: object) -> None:
        raise _TimeIsUp

    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
