"""`stax replay`: what recorded policies do, as a picture or a film."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

from stax.analysis.replay import Replay, best_policy, check_target, find_policies, play, random_policies, write_replay
from stax.compiling import compile_quietly
from stax.errors import InvalidInputError
from stax.runs.described_task import DescribedTask
from stax.runs.folder import RunFolder
from stax.runs.result import Result, load
from stax.search.policy_set import PolicySet

_NAMED = 6
"""Policies that a file's name names at most."""


def replay_command(options: argparse.Namespace) -> Path:
    """Replays the policies that the options ask for, and returns the file it wrote."""
    if options.quiet:
        compile_quietly()
    target = _target(options)
    check_target(target)
    # What a task of the user's own prints is no result: stdout carries the file's name alone.
    with redirect_stdout(sys.stderr):
        result = _loaded(options)
        replays = play(result.task, _policies(result, options))
        about = write_replay(result.task, replays, target, size=options.size, fps=options.fps, every=options.every)
    _tell(replays, quiet=options.quiet)
    if not options.quiet:
        print(f"stax: {about}", file=sys.stderr)
    return target


def _target(options: argparse.Namespace) -> Path:
    """The file to write; by default one in the run's folder that is named after what it shows."""
    asked = [bool(options.ids), options.best is not None, options.random is not None]
    if sum(asked) != 1:
        raise InvalidInputError("Say which policies to replay in one way: by ID, with --best AREA or with --random N.")
    if options.seed is not None and options.random is None:
        raise InvalidInputError("--seed is of the policies that --random draws, which was not given.")
    folder = RunFolder.existing(options.dir)
    return Path(options.out) if options.out is not None else folder.file("replays", f"{_name(options)}.gif")


def _name(options: argparse.Namespace) -> str:
    if options.best is not None:
        return "best-" + (re.sub(r"[^A-Za-z0-9_]+", "-", options.best).strip("-") or "area")
    if options.random is not None:
        return f"random-{options.random}-seed-{options.seed or 0}"
    named = "-".join(str(one) for one in options.ids[:_NAMED])
    more = len(options.ids) - _NAMED
    return f"{'policy' if len(options.ids) == 1 else 'policies'}-{named}{f'-and-{more}-more' if more > 0 else ''}"


def _loaded(options: argparse.Namespace) -> Result:
    result = load(options.dir, trust=options.trust)
    if isinstance(result.task, DescribedTask):
        if result.config.task_given:
            raise InvalidInputError(
                f"The task of the run in {options.dir!r} was given as an object; replay it in Python, see stax.analysis.replay,"
                " with what stax.load(folder, task=...) returns."
            )
        raise InvalidInputError(
            f"The run in {options.dir!r} names code as its task, {result.config.task!r}. If you trust it, say so: --trust."
        )
    return result


def _policies(result: Result, options: argparse.Namespace) -> PolicySet:
    if options.best is not None:
        return best_policy(result, options.best)
    if options.random is not None:
        return random_policies(result, options.random, options.seed or 0)
    return find_policies(result, options.ids)


def _tell(replays: list[Replay], *, quiet: bool) -> None:
    """Whether the policies did what was recorded of them; that they did not is said in any case."""
    same = [replay for replay in replays if not replay.differences]
    if same and not quiet:
        if len(replays) == 1:
            words = f"policy {same[0].id}, {same[0].steps} steps, {same[0].outcome()[0]}: the replay equals the recording"
        else:
            words = f"{len(same)} of {len(replays)} policies: the replay equals the recording"
        print(f"stax: {words}", file=sys.stderr)
    for replay in replays:
        if replay.differences:
            print(
                f"stax: warning: the replay of policy {replay.id} differs from the recording: {', '.join(replay.differences)};"
                " the task, a package or the archive has changed since",
                file=sys.stderr,
            )
