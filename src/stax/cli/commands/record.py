"""`stax record`: writes the evidence of finished runs, a small file each."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE
from stax.streams import print_path
from stax.working_folder import code_allowed


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "record",
        help="keep the evidence of finished runs in one small file each",
        description="Writes a record of every finished run: configuration, curves, ends of the archives, measures of the learned space and"
        " digests, in a file of some ten thousand bytes that 'stax compare' and 'stax reproduce' take instead of the run's folder."
        " The path of each is printed.",
        epilog="Example: stax record runs/my-campaign --out records",
    )
    parser.add_argument(
        "dirs", metavar="DIR", nargs="+", help="a run's folder, or a folder that contains runs, such as that of a campaign"
    )
    parser.add_out("DIR", "the folder to write records to (default records)", "records")
    parser.add_trust("import a task's code if a run's configuration names any")
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the records, and print the path of each; an unfinished run is refused before the first one is written."""
    from stax.analysis.recorded import find_run_folders
    from stax.analysis.records.making import write_record
    from stax.cli.output_folders import check_is_no_file

    out = Path(options.out)
    check_is_no_file(out)
    with code_allowed() if options.trust else nullcontext():
        runs = find_run_folders(options.dirs)
        for found in runs:
            found.require_finished()
        for found in runs:
            print_path(write_record(found.path, out, trust=options.trust))
    return DONE
