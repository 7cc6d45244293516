"""`stax run`: one search, from the command line or from a configuration file."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import print_written
from stax.cli.settings import parse_settings
from stax.errors import InvalidInputError
from stax.run_settings import DEFAULT_BUDGET
from stax.working_folder import code_allowed

if TYPE_CHECKING:
    from stax.cli.interruption import Requests
    from stax.cli.progress import Progress
    from stax.runs.config import RunConfig
    from stax.runs.result import Result
    from stax.runs.seeding import Start
    from stax.tasks.task import Task


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "run",
        help="search with one method on one task",
        description="Searches until the budget is spent, and writes what was found into a folder, whose path is printed."
        " Ctrl-C finishes the chunk and saves; 'stax resume' goes on from there.",
        epilog="Example: stax run hard-maze --budget 50000 --seed 1 --set population_size=50 --set task.sensors=published-code",
    )
    parser.add_argument(
        "task",
        metavar="TASK",
        nargs="?",
        help="a task's name (see 'stax tasks'), gym:ID, or module:Class or module:function for your own; optional if --config names one",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="a TOML file with what the command line leaves open, such as the config.toml of a run"
    )
    parser.add_argument("--algo", metavar="NAME", help="the method (default stax; see 'stax algos')")
    parser.add_budget(f"evaluations to spend (default {DEFAULT_BUDGET:,}; the paper's runs spend 500,000)")
    parser.add_seed("seed of all random numbers (default 0)")
    parser.add_preset("explained by 'stax algos'")
    parser.add_settings(
        "a parameter of the search (see 'stax algos NAME') or of the run (see docs/runs.md), or task.OPTION=VALUE for an"
        " option of the task",
    )
    parser.add_argument(
        "--from",
        dest="start_from",
        metavar="DIR",
        help="start from what another run on the task has found, in this folder; its policies are evaluated and count for the budget",
    )
    parser.add_argument(
        "--from-parts",
        dest="start_parts",
        metavar="PARTS",
        help="what of it to use: some of population,archives,autoencoder (default: everything that both runs have)",
    )
    parser.add_out("DIR", "a new or empty folder to write to (default runs/TASK-ALGO-SEED-n with the first free n)")
    parser.add_resources()
    parser.add_flag(
        "--explore", "open a page about the run beside it, from which it can be paused and stopped (see 'stax explore')"
    )
    parser.add_trust("import the task's code even if only --config names it")
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the search that the options ask for, and print the path of its folder."""
    # Code is named on the command line, or by a file that is only obeyed with --trust.
    with code_allowed():
        return print_written(_search, options)


def _search(options: argparse.Namespace) -> Path:
    from stax.cli.output_folders import new_folder
    from stax.cli.page_beside import page_beside
    from stax.cli.watched_run import make_callbacks, watch
    from stax.runs.run import begin

    config, start = _configuration(options), _start(options)
    with new_folder(options.out, Path("runs") / _name(config)) as folder, page_beside(folder, options) as stops:

        def search(progress: Progress, requests: Requests) -> Result:
            callbacks = make_callbacks(options, folder)
            return begin(config, out=folder, callbacks=[*callbacks, progress], stop=lambda: stops(requests), start=start)

        watch(search, folder, config, quiet=options.quiet, workers=config.workers)
    return folder


def _start(options: argparse.Namespace) -> Callable[[RunConfig, Task], Start] | None:
    """Return what makes the seeds of the run: those of --from, or those of the run that the configuration file belongs to."""
    from stax.runs.seeding import make_start, start_of_file

    if options.start_from is not None:
        return partial(make_start, options.start_from, options.start_parts)
    if options.start_parts is not None:
        raise InvalidInputError(f"--from-parts {options.start_parts} needs --from DIR, the run to start from.")
    found = None if options.config is None else start_of_file(Path(options.config))
    return None if found is None else lambda _config, _task: found


def _name(config: RunConfig) -> str:
    """Return <task>-<algo>-<seed> without characters that a folder's name should not have."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{config.task}-{config.algo}-{config.seed}").lstrip(".-")


def _configuration(options: argparse.Namespace) -> RunConfig:
    """Return the configuration of the file, changed by the options, then by the settings."""
    from stax.runs.config import RUN_KEYS, make_config, read_config

    settings = parse_settings(options.set)
    for name in settings:
        if name in RUN_KEYS or name == "out":
            raise InvalidInputError(f"{name} is no parameter of the search; give --{name} VALUE instead of --set {name}=VALUE.")
    given: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    if options.config is not None:
        given, parameters = read_config(Path(options.config))
    elif options.task is None:
        raise InvalidInputError("A TASK is needed (see 'stax tasks'), or --config FILE.toml with one.")
    named_by_file = options.task is None
    if options.task is not None and given.get("task") not in (None, options.task):
        # The options of another task mean nothing to this one.
        parameters = {name: value for name, value in parameters.items() if not name.startswith("task.")}
    given |= {name: getattr(options, name) for name in RUN_KEYS if getattr(options, name) is not None}
    config = make_config(given, {**parameters, **settings})
    typed = {*settings, *([] if named_by_file else ["task"])}
    code = {what: name for what, name in config.code.items() if what not in typed}
    if code and not options.trust:
        named = " and ".join(f"its {what}, {name!r}" for what, name in code.items())
        raise InvalidInputError(
            f"{options.config} names code as {named}. If you trust it, say so with --trust, or name the {' and the '.join(code)} yourself."
        )
    return config
