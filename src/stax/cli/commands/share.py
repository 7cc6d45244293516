"""`stax share`: writes a run as a folder for a model hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import print_written
from stax.extras import require_extra
from stax.streams import print_message


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "share",
        help="a run as a folder for a model hub",
        description="Writes a folder with what a model hub wants: a card with the numbers and how to use them, films of the best"
        " policies, both archives as Parquet, the autoencoder and the configuration. Nothing is uploaded. The folder's path is"
        " printed.",
        epilog="Example: stax share runs/hard-maze-stax-0-1 --out maze-policies",
    )
    parser.add_run_folder()
    parser.add_argument("--out", metavar="FOLDER", required=True, help="the folder to write, new or empty")
    parser.add_trust()
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the folder, and print its path."""
    return print_written(_share, options)


def _share(options: argparse.Namespace) -> Path:
    from stax.cli.status import status
    from stax.ecosystem.sharing import share_run
    from stax.runs.folder import empty_folder
    from stax.runs.result import load

    require_extra("plots", "share, which draws films,")
    empty_folder(Path(options.out))
    with status("reading the run, drawing films", quiet=options.quiet):
        shared = share_run(load(options.dir, trust=options.trust), options.dir, options.out)
    for sentence in shared.missing:
        print_message(f"warning: {sentence}")
    if not options.quiet:
        print_message(f"{shared.size / 1e6:.1f} MB; look through README.md and add a licence before you upload the folder")
    return shared.path
