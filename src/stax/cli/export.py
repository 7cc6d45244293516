"""`stax export`: a policy as a file for other programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stax.analysis.replay import best_policy, find_policies
from stax.ecosystem.onnx_policies import check_policy_file
from stax.errors import InvalidInputError
from stax.runs.folder import RunFolder
from stax.runs.result import load


def export_command(options: argparse.Namespace) -> Path:
    """Exports the policy that the options ask for, and returns the file it wrote."""
    if (options.id is None) == (options.best is None):
        raise InvalidInputError("Say which policy to export in one way: by ID or with --best AREA.")
    folder = RunFolder.existing(options.dir)
    if options.out is not None:
        check_policy_file(options.out)
    # Nobody's code is needed: the folder says what network the policies are.
    result = load(options.dir)
    policy = best_policy(result, options.best) if options.id is None else find_policies(result, [options.id])
    number = int(policy.id[0])
    target = folder.file("policies", f"policy-{number}.onnx") if options.out is None else Path(options.out)
    precision = "float32" if options.float32 else "float64"
    result.export_policy(number, target, precision=precision)
    if not options.quiet:
        sizes = result.task.policy_sizes or ()
        layers = " x ".join(str(size) for size in sizes)
        print(
            f"stax: policy {number}, reward {float(policy.reward[0]):.3f}, a network of {layers}: input 'observation' (n, {sizes[0]}) and"
            f" output 'action' (n, {sizes[-1]}) of {precision}",
            file=sys.stderr,
        )
    return target
