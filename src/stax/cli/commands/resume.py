"""`stax resume`: goes on with an interrupted run, or with a finished one that gets a larger budget."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import print_written
from stax.streams import print_message

if TYPE_CHECKING:
    from stax.cli.interruption import Requests
    from stax.cli.progress import Progress
    from stax.runs.reader import RunReader
    from stax.runs.result import Result


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "resume",
        help="go on with an interrupted run, or give a finished one a larger budget",
        description="Goes on with a run from its last checkpoint, to the same end as if it had never been interrupted. With --budget"
        " it ends like a run that had this larger budget from the start.",
    )
    parser.add_run_folder()
    parser.add_budget("a larger budget for the run, finished or not (default: its own)")
    parser.add_resources()
    parser.add_argument(
        "--numerics",
        choices=("portable", "native"),
        help="go on with these numerics even if the run had others before (default: refuse; see docs/runs.md)",
    )
    parser.add_trust()
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Go on with the run, and print the path of its folder."""
    return print_written(_resume, options)


def _resume(options: argparse.Namespace) -> Path:
    from stax.cli.watched_run import make_callbacks, watch
    from stax.runs.extension import extended
    from stax.runs.folder import RunFolder
    from stax.runs.reader import RunReader
    from stax.runs.run import resume
    from stax.runs.status import RunStatus

    there = RunReader(options.dir)
    config, path = extended(there.config, options.budget, options.dir), there.path
    if there.status is RunStatus.FINISHED and config.budget == there.config.budget:
        RunFolder(path).tidy()
        _complete(there, options)
        return path

    def search(progress: Progress, requests: Requests) -> Result:
        return resume(
            path,
            budget=options.budget,
            trust=options.trust,
            workers=options.workers,
            device=options.device,
            backend=options.backend,
            address=options.address,
            numerics=options.numerics,
            callbacks=[*make_callbacks(options, path), progress],
            stop=lambda: requests.count() > 0,
        )

    watch(search, path, config, quiet=options.quiet, workers=options.workers or config.workers)
    return path


def _complete(finished: RunReader, options: argparse.Namespace) -> None:
    """Draw the picture of a finished run if it is missing: the process may have been killed meanwhile."""
    from stax.cli.watched_run import draw
    from stax.runs.extension import PICTURE
    from stax.runs.result import load

    config, missing = finished.config, not finished.file(PICTURE).exists()
    if "task" in config.code and not options.trust:
        hint = f"; its {PICTURE} is missing, and drawing it takes the task's code, {config.task!r}: say --trust if you trust it"
    else:
        hint = f"; its {PICTURE} is missing and will be drawn now"
    if not options.quiet:
        print_message(f"the run in {options.dir} is finished{hint if missing else '; there is nothing to do'}.")
    if missing and ("task" not in config.code or options.trust):
        draw(load(finished.path, trust=options.trust), finished.path, config)
