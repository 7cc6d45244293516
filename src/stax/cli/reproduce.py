"""`stax reproduce`: the runs that the paper's figures need, then the figures and the claims; or these from records of runs."""

from __future__ import annotations

import argparse
import secrets
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from stax.analysis.recorded import find_records
from stax.analysis.records.record import Record
from stax.cli.campaign import do_watched, runs_in_words, tell_what_is_missing
from stax.cli.campaign_display import say
from stax.cli.progress import duration
from stax.cli.settings import parse_settings
from stax.errors import InvalidInputError, printable
from stax.reproduction.keeping import FOLDER, KeptRecords
from stax.reproduction.plan import (
    PAPER_BUDGET,
    PAPER_SEEDS,
    QUICK_BUDGET,
    QUICK_SEEDS,
    Item,
    chosen_items,
    plan,
)
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.campaign_estimate import Estimate, seconds_by_kind, seconds_together, try_out
from stax.streams import print_path

_ONLY_FOR_RUNS = ("quick", "seeds", "processes", "workers", "keep", "dry_run")
"""Options that decide which runs are done, and how."""


def reproduce_command(options: argparse.Namespace) -> bool:
    """Do what is missing and make the figures, or make them from records, or verify records; return whether all is well."""
    items = chosen_items(options.item)
    if options.seed is not None and options.verify is None:
        raise InvalidInputError("--seed is that of the choice of --verify; the runs' own are given by --seeds.")
    if options.verify is not None:
        return _verify(options)
    if options.records is not None:
        for name in _ONLY_FOR_RUNS:
            if getattr(options, name) not in (None, False):
                word = f"--{name.replace('_', '-')}"
                raise InvalidInputError(
                    f"{word} is about runs to be done, and with --records none is done; leave out one of them."
                )
        _make(items, find_records(options.records), options, budget=options.budget)
        return True
    return _run_and_make(items, options)


def _run_and_make(items: list[Item], options: argparse.Namespace) -> bool:
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
    todo = [run for run in campaign.runs if run.status not in ("finished", "elsewhere")]
    command = _command(options, ("budget", "seeds", "preset", "out", "processes", "workers", "keep"))
    if not options.quiet or options.dry_run:
        for line in _outlook(campaign, todo):
            say(line)
    if options.dry_run:
        return True
    if todo:
        do_watched(campaign, todo, quiet=options.quiet, command=command, finished=kept.try_to_keep)
    if not tell_what_is_missing(campaign, command):
        return False
    unrecorded = [run for run in campaign.runs if not kept.path(run).is_file()]
    if unrecorded and not options.quiet:
        say(f"recording {runs_in_words(unrecorded)}, which takes some seconds each")
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
    written = make_all(items, choose, out, command=printable(words), say=(lambda line: None) if options.quiet else say)
    if not options.quiet:
        say(f"wrote {len(written)} files; begin with {out / 'README.md'}")
    print_path(out)


def _out(options: argparse.Namespace) -> Path:
    return Path(options.out or ("reproduction-quick" if options.quick else "reproduction"))


def _command(options: argparse.Namespace, names: tuple[str, ...]) -> str:
    """What was called, to be called again, with those of its options that are asked for."""
    words = ["stax", "reproduce", options.item]
    if options.quick:
        words.append("--quick")
    for name in names:
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    for setting in options.set:
        words += ["--set", setting]
    return shlex.join(words)


def _verify(options: argparse.Namespace) -> bool:
    """Do some recorded runs again, say which agree with their records, and return whether all do."""
    from stax.analysis.records.verifying import can_be_verified, chosen_records, verify

    folder = Path(options.records) if options.records is not None else _out(options) / FOLDER
    records = find_records(folder)
    others = sum(not can_be_verified(record) for record in records)
    if others and not options.quiet:
        say(f"{others} of {len(records)} records are of runs with code of somebody's own, which is not run; they are left out")
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    chosen = chosen_records(records, options.verify, seed)
    if not chosen:
        raise InvalidInputError(f"No record in {str(folder)!r} is of a run that can be done again from its record alone.")
    if not options.quiet:
        evaluations = sum(record.evaluations for record in chosen)
        say(
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
            say(f"{name}: {verified.otherwise}")
    return agree


def _outlook(campaign: Campaign, todo: list[CampaignRun]) -> Iterator[str]:
    """What there is to do, and how long it will take; told by finished runs, or by trying one method of each sort on each task."""
    done = len(campaign.runs) - len(todo)
    if not todo:
        yield f"all {runs_in_words(campaign.runs)} are finished; only figures and tables are made"
        return
    yield f"{runs_in_words(todo)} of {todo[0].config.budget:,} evaluations to do, {done} done; they can be stopped and taken up again"
    finished = seconds_by_kind(campaign.runs)
    tried: dict[tuple[str, bool], Estimate] = {}
    seconds = []
    for run in todo:
        sort = run.config.task, run.config.parameters.descriptor == "learned"
        if run.kind not in finished and sort not in tried:
            tried[sort] = try_out(run.config)
        whole = finished.get(run.kind) or tried[sort].seconds
        seconds.append(whole * (1 - run.resumes_from / run.config.budget))
    together = duration(seconds_together(seconds, campaign.local_processes))
    source = "by a short trial" if tried else "by the finished runs"
    yield f"about {together} with {campaign.local_processes} at a time, {source} (methods that learn differ among each other)"
