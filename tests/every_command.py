"""Does every `stax` command in the working folder, which is that of a finished run, and prints what it came to as JSON.

A script rather than `python -m`, so that the working folder is on the import path only if a command puts it there.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

KEPT_POLICY = "ID"
"""Stands for a policy of the novelty archive."""
COMMANDS = (
    ["--help"],
    ["--version"],
    ["show", "."],
    ["show", ".", "--json"],
    ["resume", "."],
    ["report", "."],
    ["replay", ".", "--random", "1", "--size", "64", "--out", "written/random.gif"],
    ["replay", ".", "--random", "1", "--size", "64", "--out", "written/random.png"],
    ["replay", ".", "--random", "1", "--size", "64", "--out", "written/random.mp4"],
    ["find", ".", "--like", KEPT_POLICY],
    ["find", ".", "--ground-truth", "0,0", "--json"],
    ["export", ".", KEPT_POLICY, "--out", "written/policy.onnx"],
    ["share", ".", "--out", "written/shared"],
    ["compare", ".", "--out", "written/comparison", "--csv", "written/comparison.csv"],
    ["compare", ".", "--json"],
    ["reevaluate", ".", "--episodes", "2"],
    ["record", ".", "--out", "written/records"],
    ["compare", "written/records"],
    ["reproduce", "fig-reconstruction", "--records", "written/records", "--out", "written/page"],
    ["reproduce", "--verify", "1", "--records", "written/records"],
    ["tasks"],
    ["algos"],
    ["algos", "stax"],
    ["completion", "bash"],
    ["completion", "fish"],
    ["new-task", "walk", "--out", "written"],
    ["check-task", "redundant-arm"],
    ["check-task", "gym:MountainCarContinuous-v0"],
    ["campaign", "campaign.toml", "--out", "written/campaign"],
    ["run", "redundant-arm", "--algo", "ns", "--budget", "20", "--set", "population_size=10", "--set", "isolation=process"],
    ["resume", "unfinished"],
)


class Recorder:
    """The last finder that Python asks for a module: notes the names that nobody has found."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if path is None:
            self.names.add(name)


def main() -> None:
    recorder = Recorder()
    sys.meta_path.append(recorder)  # type: ignore[arg-type]
    import numpy as np

    from stax.cli.main import main as stax_command

    codes = []
    on_path = []
    with np.load("archives/novelty.npz") as archive:
        kept = str(archive["id"][0])
    for command in COMMANDS:
        command = [kept if word == KEPT_POLICY else word for word in command]
        Path("archives.png").unlink(missing_ok=True)
        with redirect_stdout(io.StringIO()):
            try:
                codes.append(stax_command(command))
            except SystemExit as ended:
                codes.append(int(ended.code or 0))
        if str(Path.cwd()) in sys.path or "" in sys.path:
            on_path.append(command)
    # All that `stax bench` and `stax reproduce` import; what they do takes minutes.
    import matplotlib
    import numba.core.config

    import stax.benchmarks.autoencoder
    import stax.benchmarks.search
    import stax.benchmarks.tasks
    import stax.cli.commands.reproduce
    import stax.reproduction.make
    import stax.reproduction.results  # noqa: F401

    report = {
        "missing": sorted(recorder.names),
        "codes": codes,
        "on_path": on_path,
        "dpi": matplotlib.rcParams["savefig.dpi"],
        "cache": numba.core.config.CACHE_DIR,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
