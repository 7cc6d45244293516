"""What the `stax` command understands: its commands, their arguments and the words about them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, NoReturn

from stax.cli.exit_codes import DONE, WRONG_USAGE
from stax.errors import shortened
from stax.input_limits import MOST_EVALUATIONS, MOST_RUNS


class _Parser(argparse.ArgumentParser):
    """Answers wrong usage with one line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, others = super().parse_known_args(args, namespace)
        # To some versions of Python the first option ends a list of IDs, and those behind it are unknown.
        if others and hasattr(known, "ids") and all(word.isascii() and word.isdecimal() and len(word) < 19 for word in others):
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


def _whole(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.replace("_", "")
        is_number = digits.isascii() and digits.isdecimal()
        # Looked at by its length first: Python refuses to convert thousands of digits.
        if is_number and (len(digits.lstrip("0")) > len(str(most)) or int(digits) > most):
            raise argparse.ArgumentTypeError(f"must be a whole number of at most {most:,}, not {shortened(text, 50)!r}")
        if not is_number or int(digits) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {shortened(text, 50)!r}")
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
    tasks.set_defaults(command="tasks")

    algos = commands.add_parser(
        "algos",
        help="list the methods, or all parameters of one",
        description="Lists the methods; with a NAME, what the method is and all its parameters with their values.",
    )
    algos.add_argument("name", metavar="NAME", nargs="?", help="a method")
    algos.add_argument("--json", action="store_true", help="as JSON")
    algos.set_defaults(command="algos")

    show = commands.add_parser(
        "show",
        help="sum up a run folder",
        description="Tells what a run is, how far it has come and what it has found, with a small plot. It runs nothing.",
    )
    show.add_argument("dir", metavar="DIR", help="the run's folder")
    show.add_argument("--json", action="store_true", help="the summary as JSON")
    show.set_defaults(command="show")

    _add_replay(commands)
    _add_export(commands)
    _add_report(commands)

    _add_record(commands)
    _add_compare(commands)

    completion = commands.add_parser(
        "completion",
        help="print a script that completes the command's words in your shell",
        description='Prints a script for your shell. For bash, put this into ~/.bashrc: eval "$(stax completion bash)"',
    )
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh")
    completion.set_defaults(command="completion")

    again = commands.add_parser(
        "reproduce",
        help="make the paper's figures and test its claims",
        description="Does the runs that the paper's figures need, or what is missing of them, then makes the figures and a table of the"
        " paper's claims beside ours. It can be stopped and called again. A record of every run is kept in DIR/records; with --records,"
        " everything is made from records alone.",
        epilog="Items: fig-coverage, fig-reward, fig-archives, fig-ablation, fig-training, fig-reconstruction, fig-similarity, fig-split,"
        " claims, all. By default the paper's own budget and seeds: months of computing time. With --quick: minutes.",
    )
    again.add_argument("item", metavar="ITEM", nargs="?", default="all", help="a figure, claims or all (default all)")
    again.add_argument("--quick", action="store_true", help="1,500 evaluations and 2 seeds, to see how it looks")
    again.add_argument(
        "--budget", type=_whole(1, MOST_EVALUATIONS), metavar="N", help="evaluations of each run (default 500,000, the paper's)"
    )
    again.add_argument(
        "--seeds", type=_whole(1, 100), metavar="N", help="runs of each method and task (default 15, the paper's)"
    )
    again.add_argument("--preset", metavar="NAME", help="default, paper or published-code (default default)")
    again.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of all runs, told in every caption (repeatable)",
    )
    again.add_argument("--out", metavar="DIR", help="the folder for runs, figures and tables (default reproduction[-quick])")
    again.add_argument("--processes", type=_whole(1, MOST_RUNS), metavar="N", help="runs at a time (default as many as cores)")
    again.add_argument("--workers", type=_whole(1), metavar="N", help="cores of each run (default 1)")
    again.add_argument(
        "--keep",
        choices=("all", "records"),
        help="of every finished run, its folder and its record, or only the record (default all)",
    )
    again.add_argument(
        "--records",
        metavar="DIR",
        help="make everything from the records in this folder, and do no runs; --budget, --preset and --set choose among them",
    )
    again.add_argument(
        "--verify",
        type=_whole(1, MOST_RUNS),
        metavar="N",
        help="do N recorded runs again and tell which agree with their records, of --records or else of DIR/records",
    )
    again.add_argument("--seed", type=_whole(0), metavar="S", help="of the choice of --verify (default: drawn, and printed)")
    again.add_argument("--dry-run", action="store_true", help="only tell what there is to do and how long it will take")
    again.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    again.set_defaults(command="reproduce")

    check = commands.add_parser(
        "check-task",
        help="test a task, your own above all, against the contract",
        description="Tests a task against the contract that the search relies on, and says in plain words what is wrong.",
    )
    check.add_argument("name", metavar="NAME", help="a task's name, gym:ID, or module:Class or module:function for your own")
    check.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of the task (repeatable)")
    check.add_argument("--seed", type=_whole(0), default=0, help="of the policies tried (default 0)")
    check.set_defaults(command="check-task")

    new = commands.add_parser(
        "new-task",
        help="write a task of your own to start from, with its test",
        description="Writes NAME.py, a small working task, and test_NAME.py, which tests it. What to do next is printed.",
    )
    new.add_argument("name", metavar="NAME", help="what the task is called: letters, digits and dashes")
    new.add_argument(
        "--function", action="store_true", help="a function from genomes to rewards and observations instead of a class"
    )
    new.add_argument("--out", metavar="DIR", default=".", help="the folder to write to (default this one)")
    new.set_defaults(command="new-task")

    bench = commands.add_parser(
        "bench",
        help="measure speed",
        description="Measures the simulators and the drawing, as ratios within one run where a comparison exists.",
    )
    bench.add_argument("--json", action="store_true", help="as JSON on stdout instead of a table")
    bench.add_argument("--quick", action="store_true", help="fewer rollouts and no compiling: a first impression")
    bench.set_defaults(command="bench")
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
        "task",
        metavar="TASK",
        nargs="?",
        help="a task's name (see 'stax tasks'), gym:ID, or module:Class or module:function for your own; or in --config",
    )
    search.add_argument(
        "--config", metavar="FILE", help="a TOML file with what is not given here, a run's own config.toml for instance"
    )
    search.add_argument("--algo", metavar="NAME", help="the method (default stax; see 'stax algos')")
    # The number is that of stax.runs.config, which takes too long to import for a help text.
    search.add_argument(
        "--budget",
        type=_whole(1, MOST_EVALUATIONS),
        metavar="N",
        help="evaluations to spend (default 20,000; the paper's runs spend 500,000)",
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
    search.set_defaults(command="run")

    again = commands.add_parser(
        "resume",
        help="go on with an interrupted run",
        description="Goes on with a run from its last checkpoint, to the same end as if it had never been interrupted.",
    )
    again.add_argument("dir", metavar="DIR", help="the run's folder")
    _add_where(again)
    again.add_argument(
        "--numerics",
        choices=("portable", "native"),
        help="go on with these numerics although the run had others before (default: refuse; see docs/runs.md)",
    )
    again.add_argument("--trust", action="store_true", help="import the task's code if the run's configuration names any")
    again.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    again.set_defaults(command="resume")


def _add_where(parser: argparse.ArgumentParser) -> None:
    """Where and with how much a run is done."""
    parser.add_argument(
        "--backend", choices=("local", "ray"), help="where evaluations run (default local: this machine; ray: a cluster)"
    )
    parser.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster (default: one on this machine)")
    parser.add_argument("--workers", type=_whole(1), metavar="N", help="cores to use (default all)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda", "mps"), help="where the autoencoder is (default auto)")
    parser.add_argument(
        "--tensorboard", metavar="DIR", help="write events for TensorBoard into DIR/NAME, NAME being that of the run's folder"
    )


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
    campaign.add_argument(
        "--processes", type=_whole(1, MOST_RUNS), metavar="N", help="runs at a time (default: the file's, or all cores)"
    )
    campaign.add_argument("--backend", choices=("local", "ray"), help="where runs are done: this machine, or a Ray cluster")
    campaign.add_argument("--address", metavar="ADDRESS", help="of the Ray cluster (default: one on this machine)")
    campaign.add_argument("--skip-failed", action="store_true", help="leave alone what failed before, instead of trying again")
    campaign.add_argument(
        "--dry-run", action="store_true", help="only list what would be done, with an estimate of the time; nothing is written"
    )
    campaign.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    campaign.set_defaults(command="campaign")


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
    replay.set_defaults(command="replay")


def _add_export(commands: Any) -> None:
    export = commands.add_parser(
        "export",
        help="a policy as an ONNX file, for other programs",
        description="Writes the network of a policy of a run's archives as an ONNX file: observations in, actions out. The file's path is"
        " printed.",
        epilog="Example: stax export runs/hard-maze-stax-0-1 --best 'far end' --out policy.onnx",
    )
    export.add_argument("dir", metavar="DIR", help="the run's folder")
    export.add_argument("id", metavar="ID", nargs="?", type=_whole(0), help="the policy, by the number of its evaluation")
    export.add_argument("--best", metavar="AREA", help="the best policy of a reward area, by its name or number")
    export.add_argument("--out", metavar="FILE", help="the .onnx file (default DIR/policies/NAME.onnx)")
    export.add_argument("--float32", action="store_true", help="numbers of 32 bits instead of the search's own 64")
    export.add_argument("--quiet", action="store_true", help="say nothing but what goes wrong")
    export.set_defaults(command="export")


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
    report.set_defaults(command="report")


def _add_record(commands: Any) -> None:
    record = commands.add_parser(
        "record",
        help="keep the evidence of finished runs in one small file each",
        description="Writes a record of every finished run: configuration, curves, ends of the archives, measures of the learned space and"
        " digests, in a file of some ten thousand bytes that 'stax compare' and 'stax reproduce' take instead of the run's folder."
        " The path of each is printed.",
        epilog="Example: stax record runs/my-campaign --out records",
    )
    record.add_argument(
        "dirs", metavar="DIR", nargs="+", help="a run's folder, or one that has runs in it, as a campaign's has"
    )
    record.add_argument("--out", metavar="DIR", default="records", help="the folder to write records to (default records)")
    record.add_argument("--trust", action="store_true", help="import a task's code if a run's configuration names any")
    record.set_defaults(command="record")


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare many runs: a table with tests and effect sizes, and plots",
        description="Groups finished runs by task and method, measures coverage and rewards after the same number of evaluations, and"
        " tests each method against one of them over its seeds. What the words mean: docs/compare.md.",
        epilog="Example: stax compare runs/my-campaign --against ns --out comparison",
    )
    compare.add_argument(
        "dirs",
        metavar="DIR",
        nargs="+",
        help="a run's folder, a run's record, or a folder that has some of these in it, as a campaign's has",
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
    compare.set_defaults(command="compare")
