"""`stax reproduce`: does the runs that the paper's figures need and makes the figures, or makes these from records of runs."""

from __future__ import annotations

import argparse
import secrets
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stax.cli.arguments import CommandParser, Commands, shell_command, whole_number
from stax.cli.outcome import DONE, FAILED
from stax.cli.settings import parse_settings
from stax.errors import InvalidInputError, printable
from stax.extras import require_extra
from stax.input_limits import MOST_RUNS
from stax.streams import print_message, print_path
from stax.wording import counted

if TYPE_CHECKING:
    from stax.analysis.records.record import Record
    from stax.reproduction.plan import Item

_ONLY_FOR_RUNS = ("quick", "seeds", "processes", "workers", "keep", "dry_run")
"""Options that decide which runs are done, and how."""


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "reproduce",
        help="make the paper's figures and test its claims",
        description="Does the runs that the paper's figures need, or what is missing of them, then makes the figures and a table of the"
        " paper's claims beside ours. It can be stopped and called again. A record of every run is kept in DIR/records; with --records,"
        " everything is made from records alone.",
        epilog="Items: fig-coverage, fig-reward, fig-archives, fig-ablation, fig-training, fig-reconstruction, fig-similarity, fig-split,"
        " claims, all. By default the paper's own budget and seeds: months of computing time. With --quick: minutes.",
    )
    parser.add_argument("item", metavar="ITEM", nargs="?", default="all", help="a figure, claims or all (default all)")
    parser.add_flag("--quick", "1,500 evaluations and 2 seeds, to see how it looks")
    parser.add_budget("evaluations of each run (default 500,000, the paper's)")
    parser.add_argument(
        "--seeds", type=whole_number(1, 100), metavar="N", help="runs of each method and task (default 15, the paper's)"
    )
    parser.add_preset("default default")
    parser.add_settings("a parameter of all runs, named in every caption")
    parser.add_out("DIR", "the folder for runs, figures and tables (default reproduction[-quick])")
    parser.add_processes("default as many as cores")
    parser.add_number("--workers", "cores of each run (default 1)")
    parser.add_argument(
        "--keep",
        choices=("all", "records"),
        help="keep the folder and the record of every finished run, or only the record (default all)",
    )
    parser.add_argument(
        "--records",
        metavar="DIR",
        help="make everything from the records in this folder, and do no runs; --budget, --preset and --set choose among them",
    )
    parser.add_argument(
        "--verify",
        type=whole_number(1, MOST_RUNS),
        metavar="N",
        help="do N recorded runs again and report which agree with their records, those of --records or else of DIR/records",
    )
    parser.add_seed("seed for choosing the runs of --verify (default: drawn, and printed)")
    parser.add_flag("--dry-run", "only show what there is to do and how long it will take")
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Do what is missing and make the figures, or make them from records, or verify records."""
    from stax.analysis.recorded import find_records
    from stax.reproduction.plan import chosen_items

    items = chosen_items(options.item)
    if options.seed is not None and options.verify is None:
        raise InvalidInputError("--seed is that of the choice of --verify; the runs' own are given by --seeds.")
    if options.verify is not None:
        return DONE if _verify(options) else FAILED
    if not options.dry_run:
        require_extra("plots", "reproduce, which draws figures,")
    if options.records is None:
        return DONE if _run_and_make(items, options) else FAILED
    for name in _ONLY_FOR_RUNS:
        if getattr(options, name) not in (None, False):
            option = f"--{name.replace('_', '-')}"
            raise InvalidInputError(
                f"{option} is about runs to be done, and with --records none is done; leave out one of them."
            )
    _make(items, find_records(options.records), options, budget=options.budget)
    return DONE


def _run_and_make(items: list[Item], options: argparse.Namespace) -> bool:
    """Do the runs that are missing, then make everything; return whether all runs are finished."""
    from stax.cli.campaign_plan import outlook
    from stax.cli.watched_campaign import do_watched, report_missing
    from stax.reproduction.keeping import KeptRecords
    from stax.reproduction.plan import PAPER_BUDGET, PAPER_SEEDS, QUICK_BUDGET, QUICK_SEEDS, plan

    budget = options.budget or (QUICK_BUDGET if options.quick else PAPER_BUDGET)
    campaign = plan(
        items,
        out=_out(options),
        budget=budget,
        seeds=options.seeds or (QUICK_SEEDS if options.quick else PAPER_SEEDS),
        preset=options.preset or "default",
        changed=parse_settings(options.set),
        processes=options.processes,
        workers=options.workers or 1,
    )
    kept = KeptRecords(_out(options), options.keep or "all")
    kept.look(campaign)
    todo = campaign.to_do()
    command = _command(options, ("budget", "seeds", "preset", "out", "processes", "workers", "keep"))
    if not options.quiet or options.dry_run:
        for line in outlook(campaign, todo):
            print_message(line)
    if options.dry_run:
        return True
    if todo:
        do_watched(campaign, todo, quiet=options.quiet, command=command, finished=kept.try_to_keep)
    if not report_missing(campaign, command):
        return False
    unrecorded = [run for run in campaign.runs if kept.record(run) is None]
    if unrecorded and not options.quiet:
        print_message(f"recording {counted(len(unrecorded), 'run')}, which takes some seconds each")
    _make(items, kept.keep_all(campaign), options, budget=budget)
    return True


def _make(items: list[Item], records: list[Record], options: argparse.Namespace, *, budget: int | None) -> None:
    """Make figures, claims and the page from records. What they show does not depend on the machine that makes them."""
    from stax.reproduction.make import make_all
    from stax.reproduction.selection import paper_runs

    out = _out(options)
    choose = partial(
        paper_runs,
        records,
        budget=budget,
        preset=options.preset or "default",
        changed=parse_settings(options.set) or None,
        quick=options.quick,
    )
    # Where the page and the records are decides nothing.
    command = _command(options, ("budget", "seeds", "preset"))
    words = command if options.records is None else f"{command} --records FOLDER"
    written = make_all(
        items, choose, out, command=printable(words), say=(lambda line: None) if options.quiet else print_message
    )
    if not options.quiet:
        print_message(f"wrote {len(written)} files; begin with {out / 'README.md'}")
    print_path(out)


def _out(options: argparse.Namespace) -> Path:
    return Path(options.out or ("reproduction-quick" if options.quick else "reproduction"))


def _command(options: argparse.Namespace, names: tuple[str, ...]) -> str:
    """Return the command to call again, with those of its options that are named."""
    words = ["reproduce", options.item, *(["--quick"] if options.quick else [])]
    settings = "".join(f" {shlex.join(['--set', setting])}" for setting in options.set)
    return shell_command(words, options, names) + settings


def _verify(options: argparse.Namespace) -> bool:
    """Do some recorded runs again, say which agree with their records, and return whether all do."""
    from stax.analysis.recorded import find_records
    from stax.analysis.records.verifying import can_be_verified, chosen_records, verify
    from stax.reproduction.keeping import FOLDER

    folder = Path(options.records) if options.records is not None else _out(options) / FOLDER
    records = find_records(folder)
    others = sum(not can_be_verified(record) for record in records)
    if others and not options.quiet:
        print_message(
            f"{others} of {len(records)} records are of runs with a user's own code, which is not run; they are left out"
        )
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    chosen = chosen_records(records, options.verify, seed)
    if not chosen:
        raise InvalidInputError(f"No record in {str(folder)!r} is of a run that can be done again from its record alone.")
    if not options.quiet:
        evaluations = sum(record.evaluations for record in chosen)
        print_message(
            f"doing {len(chosen)} of {len(records)} recorded runs again, {evaluations:,} evaluations (drawn with --seed {seed})"
        )
    agree = True
    for verified in verify(chosen):
        agree &= verified.agrees
        words = (
            f"could not be done again: {verified.failure}"
            if verified.failure
            else f"differs in {', '.join(verified.differing)}"
        )
        name = printable(verified.record.path.name)
        print(f"{name}: {'agrees' if verified.agrees else printable(words, 500)}", flush=True)
        if verified.otherwise:
            print_message(f"{name}: {verified.otherwise}")
    return agree
