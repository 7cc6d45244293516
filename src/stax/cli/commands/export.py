"""`stax export`: writes a policy as a file for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from stax.cli.arguments import CommandParser, Commands, whole_number
from stax.cli.outcome import DONE
from stax.errors import InvalidInputError
from stax.extras import require_extra
from stax.streams import print_message, print_path


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "export",
        help="a policy as an ONNX file, for other programs",
        description="Writes the network of a policy of a run's archives as an ONNX file: observations in, actions out. The file's path is"
        " printed.",
        epilog="Example: stax export runs/hard-maze-stax-0-1 --best 'far end' --out policy.onnx",
    )
    parser.add_run_folder()
    parser.add_argument("id", metavar="ID", nargs="?", type=whole_number(0), help="the policy, by the number of its evaluation")
    parser.add_best()
    parser.add_out("FILE", "the .onnx file (default DIR/policies/NAME.onnx)")
    parser.add_flag("--float32", "32-bit numbers instead of the 64-bit numbers of the search")
    parser.add_quiet()
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the policy that the options ask for, and print the path of its file."""
    from stax.ecosystem.onnx_policies import check_policy_file
    from stax.runs.archived_policies import best_policy, find_policies
    from stax.runs.reader import RunReader
    from stax.runs.result import load

    if (options.id is None) == (options.best is None):
        raise InvalidInputError("Say which policy to export in one way: by ID or with --best AREA.")
    require_extra("onnx", "An ONNX file")
    run = RunReader(options.dir)
    if options.out is not None:
        check_policy_file(options.out)
    # No code of the task is needed: the folder says what network the policies are.
    result = load(options.dir)
    policy = best_policy(result, options.best) if options.id is None else find_policies(result, [options.id])
    number = int(policy.id[0])
    target = run.file("policies", f"policy-{number}.onnx") if options.out is None else Path(options.out)
    precision = "float32" if options.float32 else "float64"
    result.export_policy(number, target, precision=precision)
    if not options.quiet:
        sizes = result.task.policy_sizes or ()
        layers = " x ".join(str(size) for size in sizes)
        print_message(
            f"policy {number}, reward {float(policy.reward[0]):.3f}, a network of {layers}: input 'observation' (n, {sizes[0]}) and"
            f" output 'action' (n, {sizes[-1]}) of {precision}"
        )
    print_path(target)
    return DONE
