"""`stax find`: finds the policies of a run whose behaviour comes closest to a wanted one."""

from __future__ import annotations

import argparse
import json
import re
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from stax.cli.arguments import CommandParser, Commands, whole_number
from stax.cli.outcome import DONE
from stax.errors import InvalidInputError, shortened
from stax.streams import print_message

if TYPE_CHECKING:
    from stax.analysis.finding import Found
    from stax.runs.result import Result


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "find",
        help="the policies that come closest to a wanted behaviour",
        description="Finds the policies of a run's archives whose observations, ground truth or descriptor come closest to a wanted one,"
        " and prints them, the nearest first.",
        epilog="Example: stax find runs/hard-maze-stax-0-1 --picture goal.png",
    )
    # Otherwise argparse would take the point -0.5,0.2 for an option.
    parser._negative_number_matcher = re.compile(r"^-[\d.][\d.,eE+-]*$")
    parser.add_run_folder()
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--picture", metavar="FILE", help="a picture of what is wanted, as the autoencoder would see it")
    wanted.add_argument("--observation", metavar="FILE", help="an observation as an .npy file, for tasks that observe numbers")
    wanted.add_argument("--ground-truth", metavar="X,Y", help="a point of the ground-truth space")
    wanted.add_argument("--like", metavar="ID", type=whole_number(0), help="another policy of the archives")
    parser.add_argument(
        "--moment", metavar="WHEN", help="observation to compare a picture with: last (default), any, or its number from 1"
    )
    parser.add_number("--count", "policies to find (default 5)", default=5)
    parser.add_json()
    parser.add_trust("import the autoencoder's or the task's code if the run's configuration names any")
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Find the policies, and print them."""
    from stax.analysis.finding import find_behaviour
    from stax.compiling import compile_quietly
    from stax.runs.result import load

    if options.quiet:
        compile_quietly()
    truth = None if options.ground_truth is None else _point(options.ground_truth)
    # Standard output carries only what was found: what a user's own code prints goes to standard error.
    with redirect_stdout(sys.stderr):
        result = load(options.dir, trust=options.trust)
        found = find_behaviour(
            result,
            picture=options.picture,
            observation=options.observation,
            ground_truth=truth,
            like=options.like,
            moment=options.moment,
            count=options.count,
        )
    print(json.dumps(_as_json(result, found), indent=2) if options.json else "\n".join(_lines(result, found)))
    if not options.quiet:
        print_message(f"the median distance of the policies in the archives is {found.median_distance:.4g}")
    return DONE


def _point(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--ground-truth must be numbers with commas between them, for instance 0.5,1.2, not {shortened(text, 50)!r}."
        ) from None


def _rows(result: Result, found: Found) -> list[dict[str, Any]]:
    policies, areas = found.policies, result.task.reward_areas
    return [
        {
            "id": int(policies.id[row]),
            "distance": float(found.distance[row]),
            "moment": int(found.moment[row]) or None,
            "reward": float(policies.reward[row]),
            "reward_area": areas[policies.reward_area[row]].name if policies.reward_area[row] >= 0 else None,
            "ground_truth": [float(number) for number in policies.ground_truth[row]],
        }
        for row in range(len(found))
    ]


def _as_json(result: Result, found: Found) -> dict[str, Any]:
    return {"median_distance": found.median_distance, "policies": _rows(result, found)}


def _lines(result: Result, found: Found) -> list[str]:
    titles = ["id", "distance", "moment", "reward", "reward area", "ground truth"]
    cells = [
        [
            str(row["id"]),
            f"{row['distance']:.4g}",
            str(row["moment"] or "-"),
            f"{row['reward']:.3f}",
            row["reward_area"] or "-",
            ", ".join(f"{number:.4g}" for number in row["ground_truth"]) or "-",
        ]
        for row in _rows(result, found)
    ]
    widths = [max(len(line[column]) for line in [titles, *cells]) for column in range(len(titles))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in [titles, *cells]
    ]
