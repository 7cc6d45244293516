"""The `stax` command: thin, and quick to answer. Everything heavy is imported where it is used."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

from stax.cli.arguments import build_parser
from stax.cli.exit_codes import DONE, FAILED, INTERRUPTED, WRONG_USAGE
from stax.cli.interruption import exit_on_signals, raise_on_signals, was_interrupted
from stax.errors import InvalidInputError, printable
from stax.streams import OutputError, print_path, protect_streams, silence_output
from stax.working_folder import code_allowed, ignore_matplotlib_settings

_LONGEST_MESSAGE = 4000
"""Characters of an error message that are printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code says how it went."""
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
        print(f"stax: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except OutputError as error:
        silence_output()
        if error.reader_has_gone:
            return code
        print(f"stax: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        if was_interrupted():
            print("stax: interrupted", file=sys.stderr)
            return INTERRUPTED
        return _explain(error)


def _explain(error: Exception) -> int:
    """Print what went wrong in one line, and return the exit code for it; errors that nobody foresaw are raised again."""
    if not isinstance(error, (InvalidInputError, OSError)):
        raise error
    if isinstance(error, PermissionError) and error.filename is not None:
        error = InvalidInputError(f"{os.fsdecode(error.filename)!r} cannot be used: {error.strerror}.")
    # A message may quote a stranger's file, or what a task says.
    print(f"stax: {printable(error, _LONGEST_MESSAGE)}", file=sys.stderr)
    return WRONG_USAGE if isinstance(error, InvalidInputError) else FAILED


def _run(arguments: Sequence[str] | None) -> int:
    parser = build_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "command"):
        parser.print_help()
        return DONE
    ignore_matplotlib_settings()
    return _COMMANDS[options.command](options)


def _tasks(options: argparse.Namespace) -> int:
    from stax.cli.tasks import tasks_command

    print(tasks_command(as_json=options.json))
    return DONE


def _check_task(options: argparse.Namespace) -> int:
    from stax.cli.tasks import check_task_command

    with code_allowed():
        text, is_well = check_task_command(options)
    try:
        print(text, flush=True)
    except OutputError as error:
        # The verdict is the exit code too, for whoever has seen enough of the text.
        if is_well or not error.reader_has_gone:
            raise
        silence_output()
    return DONE if is_well else FAILED


def _new_task(options: argparse.Namespace) -> int:
    from stax.cli.tasks import new_task_command

    print(new_task_command(options))
    return DONE


def _algos(options: argparse.Namespace) -> int:
    from stax.cli.algos import algos_command

    print(algos_command(options.name, as_json=options.json))
    return DONE


def _reproduce(options: argparse.Namespace) -> int:
    from stax.cli.reproduce import reproduce_command

    return DONE if reproduce_command(options) else FAILED


def _show(options: argparse.Namespace) -> int:
    from stax.cli.show import show_command

    print(show_command(options.dir, as_json=options.json))
    return DONE


def _replay(options: argparse.Namespace) -> int:
    from stax.cli.replay import replay_command

    return _run_or_fail(replay_command, options)


def _export(options: argparse.Namespace) -> int:
    from stax.cli.export import export_command

    print_path(export_command(options))
    return DONE


def _report(options: argparse.Namespace) -> int:
    from stax.cli.report import report_command

    return _run_or_fail(report_command, options)


def _record(options: argparse.Namespace) -> int:
    from stax.cli.record import record_command

    with code_allowed() if options.trust else nullcontext():
        for path in record_command(options):
            print_path(path)
    return DONE


def _compare(options: argparse.Namespace) -> int:
    from stax.cli.compare import compare_command

    compare_command(options)
    return DONE


def _completion(options: argparse.Namespace) -> int:
    from stax.cli.completion import completion_script

    print(completion_script(build_parser(), options.shell))
    return DONE


def _search(options: argparse.Namespace) -> int:
    from stax.cli.run import run_command

    # Code is named on the command line, or by a file that is only obeyed with --trust.
    with code_allowed():
        return _run_or_fail(run_command, options)


def _resume(options: argparse.Namespace) -> int:
    from stax.cli.run import resume_command

    return _run_or_fail(resume_command, options)


def _campaign(options: argparse.Namespace) -> int:
    from stax.cli.campaign import campaign_command

    # A campaign's file may name code, as words on the command line may.
    with code_allowed():
        return DONE if campaign_command(options) else FAILED


def _run_or_fail(command: Callable[[argparse.Namespace], Path], options: argparse.Namespace) -> int:
    """Print the path that the command wrote to."""
    try:
        with code_allowed() if options.trust else nullcontext():
            path = command(options)
    except (RuntimeError, MemoryError) as error:
        if was_interrupted():
            raise
        lack = "there is not enough memory: " if isinstance(error, MemoryError) else ""
        print(f"stax: {lack}{error or 'nothing is left'}", file=sys.stderr)
        return FAILED
    print_path(path)
    return DONE


def _bench(options: argparse.Namespace) -> int:
    from stax.benchmarks.tasks import run_benchmarks

    return run_benchmarks(as_json=options.json, quick=options.quick)


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "algos": _algos,
    "bench": _bench,
    "campaign": _campaign,
    "check-task": _check_task,
    "compare": _compare,
    "completion": _completion,
    "export": _export,
    "new-task": _new_task,
    "record": _record,
    "replay": _replay,
    "report": _report,
    "reproduce": _reproduce,
    "resume": _resume,
    "run": _search,
    "show": _show,
    "tasks": _tasks,
}


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
