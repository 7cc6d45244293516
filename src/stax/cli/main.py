"""The `stax` command: thin, and quick to answer. Everything heavy is imported where it is used."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from stax.cli.arguments import build_parser
from stax.cli.exit_codes import DONE, FAILED, INTERRUPTED, WRONG_USAGE
from stax.errors import InvalidInputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code says how it went."""
    try:
        return _run(arguments)
    except InvalidInputError as error:
        print(f"stax: {error}", file=sys.stderr)
        return WRONG_USAGE
    except KeyboardInterrupt as interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(f"stax: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        print(f"stax: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _run(arguments: Sequence[str] | None) -> int:
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
        if not hasattr(options, "command"):
            parser.print_help()
            return DONE
        return _COMMANDS[options.command](options)
    finally:
        # Here rather than at exit, so that a closed pipe is noticed where it is handled.
        sys.stdout.flush()


def _tasks(options: argparse.Namespace) -> int:
    from stax.cli.tasks import tasks_command

    print(tasks_command(as_json=options.json))
    return DONE


def _check_task(options: argparse.Namespace) -> int:
    from stax.cli.tasks import check_task_command

    _find_own()
    return DONE if check_task_command(options) else FAILED


def _new_task(options: argparse.Namespace) -> int:
    from stax.cli.tasks import new_task_command

    print(new_task_command(options))
    return DONE


def _find_own() -> None:
    """A task of your own lies in the folder the command is called from."""
    # Behind the installed packages, so as not to hide one.
    sys.path.append(str(Path.cwd()))


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

    print(export_command(options))
    return DONE


def _report(options: argparse.Namespace) -> int:
    from stax.cli.report import report_command

    return _run_or_fail(report_command, options)


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

    return _run_or_fail(run_command, options)


def _resume(options: argparse.Namespace) -> int:
    from stax.cli.run import resume_command

    return _run_or_fail(resume_command, options)


def _campaign(options: argparse.Namespace) -> int:
    from stax.cli.campaign import campaign_command

    _find_own()
    return DONE if campaign_command(options) else FAILED


def _run_or_fail(command: Callable[[argparse.Namespace], Path], options: argparse.Namespace) -> int:
    """Prints the folder that the command wrote to."""
    _find_own()
    try:
        print(command(options))
    except RuntimeError as error:
        print(f"stax: {error}", file=sys.stderr)
        return FAILED
    except MemoryError as error:
        print(f"stax: there is not enough memory: {error or 'nothing is left'}", file=sys.stderr)
        return FAILED
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
    "replay": _replay,
    "report": _report,
    "reproduce": _reproduce,
    "resume": _resume,
    "run": _search,
    "show": _show,
    "tasks": _tasks,
}


def entry_point() -> None:
    code = main()
    if code == INTERRUPTED:
        # Everything is closed by now; waiting for threads at exit would answer an impatient second Ctrl-C with a traceback.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
