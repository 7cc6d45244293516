"""`stax campaign`: many runs; or, with --dry-run, what there would be to do."""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from stax.cli.arguments import CommandParser, Commands, shell_command
from stax.cli.outcome import DONE, FAILED
from stax.streams import print_message, print_path
from stax.wording import counted
from stax.working_folder import code_allowed

if TYPE_CHECKING:
    from stax.runs.campaign import Campaign

_REPLACEABLE = ("out", "processes", "backend", "address")
"""Options that replace what the campaign's file says."""


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "campaign",
        help="many runs: tasks x methods x seeds, in parallel",
        description="Does all runs that a TOML file describes, several at a time, each in a folder of its own. Called again, it does"
        " only what is missing. Ctrl-C saves all runs, a second one ends them at once.",
        epilog="The file and an example: docs/campaigns.md, examples/campaign.toml.",
    )
    parser.add_argument("file", metavar="FILE", help="the campaign's TOML file")
    parser.add_out("DIR", "the folder of the runs (default: the file's, or runs/NAME_OF_THE_FILE)")
    parser.add_processes("default: the file's, or all cores")
    parser.add_backend("where runs are done: this machine, or a Ray cluster")
    parser.add_flag("--skip-failed", "leave out runs that failed before, instead of trying again")
    parser.add_flag("--dry-run", "only list what would be done, and estimate the time; nothing is written")
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Do what is missing of the campaign, and print the path of its folder."""
    from stax.runs.campaign import read_campaign

    # A campaign's file may name code, as arguments on the command line may.
    with code_allowed():
        # Standard output carries only the path of the folder: what a user's own task prints goes to standard error.
        with redirect_stdout(sys.stderr):
            campaign = read_campaign(Path(options.file), {name: getattr(options, name) for name in _REPLACEABLE})
            campaign.look()
        return _plan(campaign, options) if options.dry_run else _do(campaign, options)


def _plan(campaign: Campaign, options: argparse.Namespace) -> int:
    from stax.cli.campaign_plan import plan_lines

    print(*plan_lines(campaign, skip_failed=options.skip_failed, quiet=options.quiet), sep="\n")
    return DONE


def _do(campaign: Campaign, options: argparse.Namespace) -> int:
    from stax.cli.watched_campaign import do_watched, report_missing
    from stax.runs.status import RunStatus

    command = shell_command(["campaign", options.file], options, _REPLACEABLE)
    todo = campaign.to_do(skip_failed=options.skip_failed)
    if todo:
        do_watched(campaign, todo, quiet=options.quiet, command=command, skip_failed=options.skip_failed)
    elif not options.quiet and all(run.status is RunStatus.FINISHED for run in campaign.runs):
        runs = counted(len(campaign.runs), "run")
        print_message(f"all {runs} of the campaign in {campaign.out} are finished; there is nothing to do.")
    complete = report_missing(campaign, command)
    print_path(campaign.out)
    return DONE if complete else FAILED
