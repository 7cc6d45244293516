"""`stax compare`: many runs in one table, with tests and effect sizes, and as plots."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE
from stax.errors import InvalidInputError
from stax.extras import require_extra
from stax.streams import print_message

if TYPE_CHECKING:
    from stax.analysis.recorded import AnyRun


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "compare",
        help="compare many runs: a table with tests and effect sizes, and plots",
        description="Groups finished runs by task and method, measures coverage and rewards after the same number of evaluations, and"
        " tests each method against one of them over its seeds. What the words mean: docs/compare.md.",
        epilog="Example: stax compare runs/my-campaign --against ns --out comparison",
    )
    parser.add_argument(
        "dirs",
        metavar="DIR",
        nargs="+",
        help="a run's folder, a run's record, or a folder that contains some of these, such as that of a campaign",
    )
    parser.add_argument(
        "--against", metavar="METHOD", help="the method that the others are tested against (default: the first)"
    )
    parser.add_number("--budget", "compare after N evaluations, which all runs must have (default: all)")
    parser.add_flag("--finished-only", "leave out runs that are not finished, instead of refusing")
    parser.add_flag("--mix-options", "compare runs of a task together even if the task's options differ")
    parser.add_out("DIR", "write comparison.csv, comparison.md and plots (PNG and PDF) into this folder")
    parser.add_argument("--csv", metavar="FILE", help="write the table as CSV")
    parser.add_json("print JSON instead of a table")
    return parser


def run(options: argparse.Namespace) -> int:
    """Compare the runs in these folders and records, print what was found and write what is asked for."""
    from stax.analysis.comparison import compare_runs
    from stax.analysis.comparison_files import as_json, write_comparison, write_table
    from stax.analysis.recorded import find_runs
    from stax.cli.comparison_table import print_comparison
    from stax.cli.output_folders import check_is_no_file
    from stax.cli.status import status

    if options.out is not None:
        require_extra("plots", "compare --out, which draws plots,")
    runs = _finished(find_runs(options.dirs), finished_only=options.finished_only)
    if options.out is not None:
        check_is_no_file(Path(options.out))
    with status("reading the runs") as update:
        compared = compare_runs(
            runs,
            against=options.against,
            budget=options.budget,
            mix_options=options.mix_options,
            progress=update and (lambda read, there_are: update(f"reading the runs: {read} of {there_are}")),
        )
    for note in compared.notes:
        print_message(note)
    # Files are written before anything is printed: the reader of the output may go away.
    if options.csv is not None:
        write_table(compared, Path(options.csv))
    if options.out is not None:
        names = [path.name for path in write_comparison(compared, Path(options.out))]
        print_message(f"written to {Path(options.out)}: {', '.join(names)}")
    if options.json:
        print(json.dumps(as_json(compared), indent=2))
    else:
        print_comparison(compared)
    return DONE


def _finished(runs: Sequence[AnyRun], *, finished_only: bool) -> list[AnyRun]:
    """Return the finished runs; others are refused, or with `finished_only` left out and counted in a message."""
    missing = [run for run in runs if run.why_unfinished()]
    finished = [run for run in runs if run not in missing]
    if missing and not finished_only:
        how_many = "" if len(missing) == 1 else f"{len(missing)} of {len(runs)} runs are not finished. The first of them: "
        raise InvalidInputError(f"{how_many}{missing[0].why_unfinished()} (--finished-only leaves such runs out.)")
    if missing:
        print_message(f"{len(missing)} of {len(runs)} runs {'is' if len(missing) == 1 else 'are'} not finished and left out.")
    if not finished:
        raise InvalidInputError(f"None of the {len(runs)} runs is finished: there is nothing to compare.")
    return finished
