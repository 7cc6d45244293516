"""`stax replay`: shows what recorded policies do, as a picture or a film."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from stax.cli.arguments import CommandParser, Commands, whole_number
from stax.cli.outcome import print_written
from stax.errors import InvalidInputError
from stax.streams import print_message

if TYPE_CHECKING:
    from stax.analysis.replay import Replay
    from stax.runs.result import Result
    from stax.search.policy_set import PolicySet

_NAMED = 6
"""Policies that a file's name lists at most."""


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "replay",
        help="a policy's rollout as a picture or a film",
        description="Plays policies of a run's archives again, several in a grid, and writes a film (.gif, .mp4) or moments side"
        " by side (.png). The file's path is printed. It also reports whether they still do what was recorded.",
        epilog="Example: stax replay runs/hard-maze-stax-0-1 --best 'far end' --out best.mp4",
    )
    parser.add_run_folder()
    parser.add_argument(
        "ids", metavar="ID", nargs="*", type=whole_number(0), help="policies, by the numbers of their evaluations"
    )
    parser.add_best()
    parser.add_number("--random", "N policies drawn from the archives")
    parser.add_seed("seed of --random (default 0)")
    parser.add_out("FILE", ".gif, .mp4 or .png (default DIR/replays/NAME.gif)")
    parser.add_number("--size", "pixels of each side of a scene (default 480, fewer in a grid; 256 in a .png)", least=0)
    parser.add_number("--fps", "frames a second (default 20, fewer for a short episode)", least=0)
    parser.add_number("--every", "steps from one picture to the next (default: a film of 5 to 8 s, or five moments)")
    parser.add_trust()
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Replay the policies that the options ask for, and print the path of the file."""
    return print_written(_replay, options)


def _replay(options: argparse.Namespace) -> Path:
    from stax.analysis.replay import check_target, play, write_replay

    target = _target(options)
    check_target(target)
    result = _loaded(options)
    replays = play(result.task, _policies(result, options))
    about = write_replay(result.task, replays, target, size=options.size, fps=options.fps, every=options.every)
    _report_agreement(replays, quiet=options.quiet)
    if not options.quiet:
        print_message(about)
    return target


def _target(options: argparse.Namespace) -> Path:
    """Return the file to write; by default one in the run's folder that is named after what it shows."""
    from stax.analysis.replay import check_count
    from stax.runs.reader import RunReader

    asked = [bool(options.ids), options.best is not None, options.random is not None]
    if sum(asked) != 1:
        raise InvalidInputError("Say which policies to replay in one way: by ID, with --best AREA or with --random N.")
    if options.seed is not None and options.random is None:
        raise InvalidInputError("--seed is of the policies that --random draws, which was not given.")
    if options.best is None:
        check_count(options.random or len(set(options.ids)))
    run = RunReader(options.dir)
    return Path(options.out) if options.out is not None else run.file("replays", f"{_name(options)}.gif")


def _name(options: argparse.Namespace) -> str:
    if options.best is not None:
        return "best-" + (re.sub(r"[^A-Za-z0-9_]+", "-", options.best).strip("-") or "area")
    if options.random is not None:
        return f"random-{options.random}-seed-{options.seed or 0}"
    named = "-".join(str(one) for one in options.ids[:_NAMED])
    more = len(options.ids) - _NAMED
    return f"{'policy' if len(options.ids) == 1 else 'policies'}-{named}{f'-and-{more}-more' if more > 0 else ''}"


def _loaded(options: argparse.Namespace) -> Result:
    from stax.runs.described_task import DescribedTask
    from stax.runs.result import load

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
    from stax.runs.archived_policies import best_policy, find_policies, random_policies

    if options.best is not None:
        return best_policy(result, options.best)
    if options.random is not None:
        return random_policies(result, options.random, options.seed or 0)
    return find_policies(result, options.ids)


def _report_agreement(replays: list[Replay], *, quiet: bool) -> None:
    """Say whether the policies did what was recorded of them; a difference is reported even if `quiet`."""
    same = [replay for replay in replays if replay.repeatable and not replay.differences]
    if same and not quiet:
        if len(replays) == 1:
            words = f"policy {same[0].id}, {same[0].steps} steps, {same[0].outcome()[0]}"
        else:
            words = f"{len(same)} of {len(replays)} policies"
        print_message(f"{words}: the replay equals the recording")
    changing = [replay for replay in replays if not replay.repeatable]
    if changing:
        who = f"policy {changing[0].id} does" if len(replays) == 1 else f"{len(changing)} of {len(replays)} policies do"
        print_message(
            f"warning: {who} something else whenever it is evaluated, so nobody can tell whether this is what was recorded; seed all"
            " random numbers of the task"
        )
    for replay in replays:
        if replay.repeatable and replay.differences:
            print_message(
                f"warning: the replay of policy {replay.id} differs from the recording: {', '.join(replay.differences)};"
                " the task, a package or the archive has changed since"
            )
