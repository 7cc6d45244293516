"""The `stax` command: thin, and quick to answer. Everything heavy is imported where it is used."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from stax.cli.settings import parse_settings
from stax.errors import InvalidInputError

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """Answers wrong usage with one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: {message} (see '{self.prog} --help')\n")


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


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.replace("_", "")
        if not (digits.isascii() and digits.isdecimal()) or int(digits) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return int(digits)

    return parse


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stax",
        description="Discover and exploit sparse rewards in a learned behaviour space.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 130 interrupted.",
    )
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_run(commands)

    tasks = commands.add_parser("tasks", help="list the tasks", description="Lists the built-in tasks and their options.")
    tasks.add_argument("--json", action="store_true", help="as JSON")
    tasks.set_defaults(command=_tasks)

    algos = commands.add_parser(
        "algos",
        help="list the methods, or all parameters of one",
        description="Lists the methods; with a NAME, what the method is and all its parameters with their values.",
    )
    algos.add_argument("name", metavar="NAME", nargs="?", help="a method")
    algos.add_argument("--json", action="store_true", help="as JSON")
    algos.set_defaults(command=_algos)

    show = commands.add_parser(
        "show",
        help="sum up a run folder",
        description="Tells what a run is, how far it has come and what it has found, with a small plot. It runs nothing.",
    )
    show.add_argument("dir", metavar="DIR", help="the run's folder")
    show.add_argument("--json", action="store_true", help="the summary as JSON")
    show.set_defaults(command=_show)

    completion = commands.add_parser(
        "completion",
        help="print a script that completes the command's words in your shell",
        description='Prints a script for your shell. For bash, put this into ~/.bashrc: eval "$(stax completion bash)"',
    )
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh")
    completion.set_defaults(command=_completion)

    check = commands.add_parser(
        "check-task",
        help="test a task, your own above all, against the contract",
        description="Tests a task against the contract that the search relies on, and says in plain words what is wrong.",
    )
    check.add_argument("name", metavar="NAME", help="a task's name, or module:Class for your own")
    check.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of the task (repeatable)")
    check.add_argument("--seed", type=_whole(0), default=0, help="of the policies tried (default 0)")
    check.set_defaults(command=_check_task)

    bench = commands.add_parser(
        "bench",
        help="measure speed",
        description="Measures the simulators and the drawing, as ratios within one run where a comparison exists.",
    )
    bench.add_argument("--json", action="store_true", help="as JSON on stdout instead of a table")
    bench.add_argument("--quick", action="store_true", help="fewer rollouts and no compiling: a first impression")
    bench.set_defaults(command=_bench)
    return parser


def _add_run(commands: Any) -> None:
    search = commands.add_parser(
        "run",
        help="search with one method on one task",
        description="Searches until the budget is spent, and writes what was found into a folder, whose path is printed."
        " Ctrl-C finishes the chunk and saves; 'stax resume' goes on from there.",
        epilog="Example: stax run hard-maze --budget 50000 --seed 1 --set population_size=50 --set task.sensors=published-code",
    )
    search.add_argument(
        "task", metavar="TASK", nargs="?", help="a task's name (see 'stax tasks'), or module:Class for your own; or in --config"
    )
    search.add_argument(
        "--config", metavar="FILE", help="a TOML file with what is not given here, a run's own config.toml for instance"
    )
    search.add_argument("--algo", metavar="NAME", help="the method (default stax; see 'stax algos')")
    # The number is that of stax.runs.config, which takes too long to import for a help text.
    search.add_argument(
        "--budget", type=_whole(1), metavar="N", help="evaluations to spend (default 20,000; the paper's runs spend 500,000)"
    )
    search.add_argument("--seed", type=_whole(0), metavar="S", help="of all randomness (default 0)")
    search.add_argument("--preset", metavar="NAME", help="default, paper or published-code (explained by 'stax algos')")
    search.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the search (see 'stax algos NAME') or of the run (see docs/runs.md), or task.OPTION=VALUE for one of the"
        " task's (repeatable)",
    )
    search.add_argument(
        "--out", metavar="DIR", help="a new or empty folder to write to (default runs/TASK-ALGO-SEED-n with the first free n)"
    )
    _add_where(search)
    search.add_argument("--trust", action="store_true", help="import the task's code although only --config names it")
    search.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    search.set_defaults(command=_search)

    again = commands.add_parser(
        "resume",
        help="go on with an interrupted run",
        description="Goes on with a run from its last checkpoint, to the same end as if it had never been interrupted.",
    )
    again.add_argument("dir", metavar="DIR", help="the run's folder")
    _add_where(again)
    again.add_argument("--trust", action="store_true", help="import the task's code if the run's configuration names any")
    again.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    again.set_defaults(command=_resume)


def _add_where(parser: argparse.ArgumentParser) -> None:
    """Where and with how much a run is done."""
    parser.add_argument(
        "--backend", choices=("local", "ray"), help="where evaluations run (default local: this machine; ray: a cluster)"
    )
    parser.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster (default: one on this machine)")
    parser.add_argument("--workers", type=_whole(1), metavar="N", help="cores to use (default all)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), help="where the autoencoder is (default auto)")


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
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    finally:
        # Here rather than at exit, so that a closed pipe is noticed where it is handled.
        sys.stdout.flush()


def _tasks(options: argparse.Namespace) -> int:
    from stax.tasks import BUILT_IN, make_task, task_options

    rows: list[dict[str, Any]] = []
    for name in BUILT_IN:
        task = make_task(name)
        defaults = {key: value for key, value in task_options(type(task)).items() if key != "threads"}
        about = (type(task).__doc__ or "").strip().splitlines()[0]
        areas = [{"name": area.name, "center": area.center, "radius": area.radius} for area in task.reward_areas]
        rows.append(
            {
                "name": name,
                "about": about,
                "genome_size": task.genome_size,
                "steps": getattr(task, "horizon", None),
                "reward_areas": areas,
                "ground_truth_bounds": task.ground_truth_bounds,
                "options": defaults,
                "choices": dict(getattr(task, "choices", {})),
            }
        )
    if options.json:
        import json

        print(json.dumps(rows, indent=2))
        return DONE
    for row in rows:
        print(
            f"{row['name']:<14} {row['genome_size']} parameters, {row['steps']} steps, {len(row['reward_areas'])} reward areas"
        )
        print(f"{'':<14} {row['about']}")
        for key, value in row["options"].items():
            others = [word for word in row["choices"].get(key, ()) if word != value]
            print(f"{'':<14} --set task.{key}={value} (default{''.join(', or ' + word for word in others)})")
    print("Your own: module:Class. Test it with 'stax check-task module:Class'.")
    return DONE


def _check_task(options: argparse.Namespace) -> int:
    from stax.tasks import make_task
    from stax.tasks.contract import check_task

    _find_own()
    settings = {name.removeprefix("task."): value for name, value in parse_settings(options.set).items()}
    task = make_task(options.name, **settings)
    findings = check_task(task, seed=options.seed)
    for finding in findings:
        verdict, words = (
            ("WRONG", finding.problem) if finding.problem else ("note", finding.note) if finding.note else ("ok", "")
        )
        print(f"{verdict:<6} {finding.what}{': ' + words if words else ''}")
    wrong = sum(bool(finding.problem) for finding in findings)
    if wrong:
        print(f"{options.name}: {wrong} of {len(findings)} checks found something wrong.")
        return FAILED
    print(f"{options.name} keeps the contract ({sum(not finding.note for finding in findings)} checks).")
    return DONE


def _find_own() -> None:
    """A task of your own lies in the folder the command is called from."""
    # Behind the installed packages, so as not to hide one.
    sys.path.append(str(Path.cwd()))


def _algos(options: argparse.Namespace) -> int:
    from stax.cli.algos import algos_command

    print(algos_command(options.name, as_json=options.json))
    return DONE


def _show(options: argparse.Namespace) -> int:
    from stax.cli.show import show_command

    print(show_command(options.dir, as_json=options.json))
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


def entry_point() -> None:
    code = main()
    if code == INTERRUPTED:
        # Everything is closed by now; waiting for threads at exit would answer an impatient second Ctrl-C with a traceback.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
