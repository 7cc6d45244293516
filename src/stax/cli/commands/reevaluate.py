"""`stax reevaluate`: evaluates the archives of a run again on fresh seeds, and says what survives."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands, whole_number
from stax.cli.outcome import DONE, FAILED
from stax.streams import print_message, print_path
from stax.working_folder import code_allowed

_MOST_EPISODES = 10_000


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "reevaluate",
        help="evaluate the archives of a run again on fresh seeds",
        description="Evaluates every policy of a run's archives in several episodes with fresh seeds, and prints what survives of each"
        " reward area. Nothing is written to the run's folder. See docs/stochastic-tasks.md.",
        epilog="Example: stax reevaluate runs/noisy --episodes 50 --out rewards.csv",
    )
    parser.add_run_folder()
    parser.add_argument(
        "--episodes",
        type=whole_number(2, _MOST_EPISODES),
        metavar="N",
        default=20,
        help="episodes of each policy, with a seed each (default 20)",
    )
    parser.add_seed("seed of the first episode (default: one that lies far from those of the search)")
    parser.add_out("FILE.csv", "write a row for each policy to this file (default: write nothing)")
    parser.add_number("--workers", "cores to use (default: as the run)")
    parser.add_json("print everything as JSON")
    parser.add_trust()
    return parser


def run(options: argparse.Namespace) -> int:
    """Print what survives, and the path of the file if one was asked for."""
    from stax.errors import InvalidInputError
    from stax.runs.reevaluation import reevaluate, reevaluation_lines, reevaluation_table, write_reevaluation

    out = None if options.out is None else Path(options.out)
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise InvalidInputError(f"The file {str(out)!r} cannot be written: give a file in a folder that exists.")
    try:
        # What a user's own task prints goes to standard error.
        with code_allowed() if options.trust else nullcontext(), redirect_stdout(sys.stderr):
            found = reevaluate(
                options.dir, episodes=options.episodes, seed=options.seed, trust=options.trust, workers=options.workers
            )
    except RuntimeError as error:
        print_message(str(error))
        return FAILED
    print(json.dumps(reevaluation_table(found), indent=2) if options.json else "\n".join(reevaluation_lines(found)))
    if out is not None:
        write_reevaluation(out, found)
        if not options.json:
            print_path(out)
    return DONE
