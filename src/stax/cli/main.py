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

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, others = super().parse_known_args(args, namespace)
        # To some versions of Python the first option ends a list of IDs, and those behind it are unknown.
        if others and hasattr(known, "ids") and all(word.isascii() and word.isdecimal() for word in others):
            known.ids, others = [*known.ids, *map(int, others)], []
        return known, others

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
    _add_campaign(commands)

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

    _add_replay(commands)
    _add_report(commands)

    _add_compare(commands)

    completion = commands.add_parser(
        "completion",
        help="print a script that completes the command's words in your shell",
        description='Prints a script for your shell. For bash, put this into ~/.bashrc: eval "$(stax completion bash)"',
    )
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh")
    completion.set_defaults(command=_completion)

    again = commands.add_parser(
        "reproduce",
        help="make the paper's figures and test its claims",
        description="Does the runs that the paper's figures need, or what is missing of them, then makes the figures and a table of the"
        " paper's claims beside ours. It can be stopped and called again.",
        epilog="Items: fig-coverage, fig-reward, fig-archives, fig-ablation, fig-training, fig-reconstruction, fig-similarity, fig-split,"
        " claims, all. By default the paper's own budget and seeds: months of computing time. With --quick: minutes.",
    )
    again.add_argument("item", metavar="ITEM", nargs="?", default="all", help="a figure, claims or all (default all)")
    again.add_argument("--quick", action="store_true", help="1,500 evaluations and 2 seeds, to see how it looks")
    again.add_argument("--budget", type=_whole(1), metavar="N", help="evaluations of each run (default 500,000, the paper's)")
    again.add_argument("--seeds", type=_whole(1), metavar="N", help="runs of each method and task (default 15, the paper's)")
    again.add_argument("--preset", metavar="NAME", help="default, paper or published-code (default default)")
    again.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of all runs, told in every caption (repeatable)",
    )
    again.add_argument("--out", metavar="DIR", help="the folder for runs, figures and tables (default reproduction[-quick])")
    again.add_argument("--processes", type=_whole(1), metavar="N", help="runs at a time (default as many as cores)")
    again.add_argument("--workers", type=_whole(1), metavar="N", help="cores of each run (default 1)")
    again.add_argument("--dry-run", action="store_true", help="only tell what there is to do and how long it will take")
    again.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    again.set_defaults(command=_reproduce)

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


def _add_campaign(commands: Any) -> None:
    campaign = commands.add_parser(
        "campaign",
        help="many runs: tasks x methods x seeds, in parallel",
        description="Does all runs that a TOML file describes, several at a time, each in a folder of its own. Called again, it does"
        " only what is missing. Ctrl-C saves all runs, a second one ends them at once.",
        epilog="The file and an example: docs/campaigns.md, examples/campaign.toml.",
    )
    campaign.add_argument("file", metavar="FILE", help="the campaign's TOML file")
    campaign.add_argument("--out", metavar="DIR", help="the folder of the runs (default: the file's, or runs/NAME_OF_THE_FILE)")
    campaign.add_argument("--processes", type=_whole(1), metavar="N", help="runs at a time (default: the file's, or all cores)")
    campaign.add_argument("--backend", choices=("local", "ray"), help="where runs are done: this machine, or a Ray cluster")
    campaign.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster (default: one on this machine)")
    campaign.add_argument("--skip-failed", action="store_true", help="leave alone what failed before, instead of trying again")
    campaign.add_argument(
        "--dry-run", action="store_true", help="only list what would be done, with an estimate of the time; nothing is written"
    )
    campaign.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    campaign.set_defaults(command=_campaign)


def _add_replay(commands: Any) -> None:
    replay = commands.add_parser(
        "replay",
        help="a policy's rollout as a picture or a film",
        description="Plays policies of a run's archives again, several in a grid, and writes a film (.gif, .mp4) or moments side"
        " by side (.png). The file's path is printed. It also tells whether they still do what was recorded.",
        epilog="Example: stax replay runs/hard-maze-stax-0-1 --best 'far end' --out best.mp4",
    )
    replay.add_argument("dir", metavar="DIR", help="the run's folder")
    replay.add_argument("ids", metavar="ID", nargs="*", type=_whole(0), help="policies, by the numbers of their evaluations")
    replay.add_argument("--best", metavar="AREA", help="the best policy of a reward area, by its name or number")
    replay.add_argument("--random", metavar="N", type=_whole(1), help="so many policies, drawn from the archives")
    replay.add_argument("--seed", metavar="S", type=_whole(0), help="of --random (default 0)")
    replay.add_argument("--out", metavar="FILE", help=".gif, .mp4 or .png (default DIR/replays/NAME.gif)")
    replay.add_argument(
        "--size", metavar="N", type=_whole(0), help="pixels of a scene's sides (default 480, fewer in a grid; 256 in a .png)"
    )
    replay.add_argument("--fps", metavar="N", type=_whole(0), help="frames a second (default 20, fewer for a short episode)")
    replay.add_argument(
        "--every",
        metavar="N",
        type=_whole(1),
        help="steps from one picture to the next (default: a film of 5 to 8 s, or five moments)",
    )
    replay.add_argument("--trust", action="store_true", help="import the task's code if the run's configuration names any")
    replay.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    replay.set_defaults(command=_replay)


def _add_report(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="one HTML page about a run, complete in itself",
        description="Writes a page about a finished or interrupted run: what was run and how it went, both archives to hover over,"
        " curves, films of the best policies, the autoencoder, the emitters. It opens in any browser without a network. The"
        " file's path is printed.",
        epilog="Example: stax report runs/hard-maze-stax-0-1 --out maze.html",
    )
    report.add_argument("dir", metavar="DIR", help="the run's folder")
    report.add_argument("--out", metavar="FILE", help="the .html file to write (default DIR/report.html)")
    report.add_argument("--trust", action="store_true", help="import the task's code if the run's configuration names any")
    report.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    report.set_defaults(command=_report)


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare many runs: a table with tests and effect sizes, and plots",
        description="Groups finished runs by task and method, measures coverage and rewards after the same number of evaluations, and"
        " tests each method against one of them over its seeds. What the words mean: docs/compare.md.",
        epilog="Example: stax compare runs/my-campaign --against ns --out comparison",
    )
    compare.add_argument(
        "dirs", metavar="DIR", nargs="+", help="a run's folder, or one that has runs in it, as a campaign's has"
    )
    compare.add_argument(
        "--against", metavar="METHOD", help="the method that the others are tested against (default: the first)"
    )
    compare.add_argument(
        "--budget",
        type=_whole(1),
        metavar="N",
        help="compare after so many evaluations, which all runs must have (default: all)",
    )
    compare.add_argument(
        "--finished-only", action="store_true", help="leave out runs that are not finished, instead of refusing"
    )
    compare.add_argument(
        "--mix-options", action="store_true", help="compare runs of a task together though the task's options differ"
    )
    compare.add_argument(
        "--out", metavar="DIR", help="write comparison.csv, comparison.md and plots (PNG and PDF) into this folder"
    )
    compare.add_argument("--csv", metavar="FILE", help="write the table as CSV")
    compare.add_argument("--json", action="store_true", help="as JSON on stdout instead of a table")
    compare.set_defaults(command=_compare)


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


def entry_point() -> None:
    code = main()
    if code == INTERRUPTED:
        # Everything is closed by now; waiting for threads at exit would answer an impatient second Ctrl-C with a traceback.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
