"""The `stax` command: runs the command that was asked for, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Any, NoReturn

from stax.cli.arguments import CommandParser
from stax.cli.commands import COMMANDS
from stax.cli.interruption import exit_on_signals, raise_on_signals, was_interrupted
from stax.cli.outcome import DONE, FAILED, INTERRUPTED, WRONG_USAGE
from stax.errors import InvalidInputError, printable
from stax.streams import OutputError, print_message, protect_streams, silence_output
from stax.working_folder import ignore_matplotlib_settings

_LONGEST_MESSAGE = 4000
"""Characters of an error message that are printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    code = DONE
    try:
        try:
            code = _run(arguments)
        finally:
            # Here rather than when Python ends, so that a closed pipe is noticed where it is handled.
            sys.stdout.flush()
        return code
    except KeyboardInterrupt as interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print_message(str(interrupt) or "interrupted")
        return INTERRUPTED
    except OutputError as error:
        silence_output()
        if error.reader_has_gone:
            return code
        print_message(error)
        return FAILED
    except Exception as error:
        if was_interrupted():
            print_message("interrupted")
            return INTERRUPTED
        return _explain(error)


def _explain(error: Exception) -> int:
    """Print what went wrong in one line, and return the exit code for it; errors that nobody foresaw are raised again."""
    if not isinstance(error, (InvalidInputError, OSError)):
        raise error
    if isinstance(error, PermissionError) and error.filename is not None:
        error = InvalidInputError(f"{os.fsdecode(error.filename)!r} cannot be used: {error.strerror}.")
    # A message may quote a stranger's file, or what a task says.
    print_message(printable(error, _LONGEST_MESSAGE))
    return WRONG_USAGE if isinstance(error, InvalidInputError) else FAILED


def build_parser() -> CommandParser:
    """Build the parser; the attribute `run` of the options that it returns is the function of the command."""
    parser = CommandParser(
        prog="stax",
        description="Discover and exploit sparse rewards in a learned behaviour space.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 130 interrupted.",
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=CommandParser)
    for name in COMMANDS:
        command = import_module(f"stax.cli.commands.{name}")
        command.add_parser(commands).set_defaults(run=command.run)
    return parser


def _version() -> str:
    from stax import __version__

    packages = []
    for package in ("numpy", "numba", "torch", "gymnasium"):
        try:
            packages.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            packages.append(f"{package} missing")
    return f"stax {__version__} (Python {sys.version.split()[0]}, {', '.join(packages)})"


class _PrintVersion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(_version())
        parser.exit(DONE)


def _run(arguments: Sequence[str] | None) -> int:
    parser = build_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "run"):
        parser.print_help()
        return DONE
    import logging

    ignore_matplotlib_settings()
    # Matplotlib would print warnings about its fonts when it is used for the first time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    return int(options.run(options))


def entry_point() -> None:
    """Run the command in a process of its own, and end the process with its exit code."""
    protect_streams()
    raise_on_signals()
    code = main()
    exit_on_signals(code)
    if code == INTERRUPTED:
        # Everything is closed by now; waiting for threads at exit would answer an impatient second Ctrl-C with a traceback.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
