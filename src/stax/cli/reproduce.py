"""`stax reproduce`: the runs that the paper's figures need, then the figures and the claims."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from stax.cli.campaign import do_watched, runs_in_words, tell_what_is_missing
from stax.cli.campaign_display import say
from stax.cli.progress import duration
from stax.cli.settings import parse_settings
from stax.errors import printable
from stax.reproduction.plan import (
    PAPER_BUDGET,
    PAPER_SEEDS,
    QUICK_BUDGET,
    QUICK_SEEDS,
    chosen_items,
    plan,
)
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.campaign_estimate import Estimate, seconds_by_kind, seconds_together, try_out
from stax.streams import print_path


def reproduce_command(options: argparse.Namespace) -> bool:
    """Does what is missing and makes the figures; returns whether all is there."""
    items = chosen_items(options.item)
    budget = options.budget or (QUICK_BUDGET if options.quick else PAPER_BUDGET)
    seeds = options.seeds or (QUICK_SEEDS if options.quick else PAPER_SEEDS)
    preset = options.preset or "default"
    out = Path(options.out or ("reproduction-quick" if options.quick else "reproduction"))
    changed = parse_settings(options.set)
    campaign = plan(
        items,
        out=out,
        budget=budget,
        seeds=seeds,
        preset=preset,
        changed=changed,
        processes=options.processes,
        workers=options.workers or 1,
    )
    campaign.look()
    todo = [run for run in campaign.runs if run.status not in ("finished", "elsewhere")]
    command = _command(options)
    if not options.quiet or options.dry_run:
        for line in _outlook(campaign, todo):
            say(line)
    if options.dry_run:
        return True
    if todo:
        do_watched(campaign, todo, quiet=options.quiet, command=command)
    if not tell_what_is_missing(campaign, command):
        return False

    from stax.reproduction.make import make_all
    from stax.reproduction.results import measure_runs

    runs = measure_runs(items, out=out, budget=budget, seeds=seeds, preset=preset, changed=changed, quick=options.quick)
    written = make_all(items, runs, out, command=printable(command), say=(lambda line: None) if options.quiet else say)
    if not options.quiet:
        say(f"wrote {len(written)} files; begin with {out / 'README.md'}")
    print_path(out)
    return True


def _command(options: argparse.Namespace) -> str:
    """What was called, to be called again."""
    words = ["stax", "reproduce", options.item]
    if options.quick:
        words.append("--quick")
    for name in ("budget", "seeds", "preset", "out", "processes", "workers"):
        if getattr(options, name) is not None:
            words += [f"--{name}", str(getattr(options, name))]
    for setting in options.set:
        words += ["--set", setting]
    return shlex.join(words)


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
