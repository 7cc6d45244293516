"""Short runs of every method on every task, whose digests are committed in tests/data/digests.json.

python tests/digest_runs.py               # compare all runs with the table; exit code 1 if any differs
python tests/digest_runs.py --write       # make the table anew: see "Frozen results" in CONTRIBUTING.md
python tests/digest_runs.py "stax on hard-maze" "ns on curling"
python tests/digest_runs.py --write "dns on curling"    # add the rows of new runs, and leave the others as they are
"""

from __future__ import annotations

import stax_command

if __name__ == "__main__":
    # Before NumPy is loaded, as the command does it.
    stax_command.limit_libraries()

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import stax
from stax.numerics import PORTABLE
from stax.runs.digests import result_digests

TABLE = Path(__file__).parent / "data" / "digests.json"
METHODS = (
    *("stax", "stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset", "taxons"),
    *("serene", "ns", "map-elites", "moo-nr", "random"),
    *("dns", "dns-learned", "aurora", "stax-plus"),
)
SEEDS = {"curling": 5, "hard-maze": 3, "redundant-arm": 3}
"""Tasks, each with a seed that finds rewards early."""
SHORT: dict[str, Any] = {
    "budget": 700,
    "population_size": 40,
    "parents_per_generation": None,
    "emitter_population": 4,
    "bootstrap_generations": 2,
    "max_images_per_episode": 200,
    "batch_size": 32,
}
"""Parameters with which a short run does all that a long one does."""


def _run(task: str, algo: str, **changes: Any) -> dict[str, Any]:
    return {"task": task, "algo": algo, "seed": SEEDS.get(task, 0), **SHORT, **changes}


RUNS: dict[str, dict[str, Any]] = {
    **{f"{algo} on {task}": _run(task, algo) for algo in METHODS for task in SEEDS},
    **{
        f"serene on redundant-arm with {emitters} emitters": _run("redundant-arm", "serene", emitter_kinds=emitters)
        for emitters in ("cma-es", "sep-cma-es", "novelty")
    },
    "stax on redundant-arm with a variational autoencoder": _run(
        "redundant-arm", "stax", autoencoder="variational", descriptor_samples=1
    ),
    "stax on redundant-arm with a triplet autoencoder": _run(
        "redundant-arm", "stax", autoencoder="triplet", descriptor_samples=1, budget=300
    ),
    "stax on redundant-arm with a spatial autoencoder": _run(
        "redundant-arm", "stax", autoencoder="spatial", descriptor_samples=1, budget=300
    ),
    "stax on redundant-arm with principal components": _run("redundant-arm", "stax", autoencoder="principal", budget=300),
    "stax on redundant-arm with sequences of whitened codes": _run(
        "redundant-arm",
        "stax",
        autoencoder="temporal",
        sequence_size=6,
        whiten_codes=True,
        descriptor_samples=3,
        descriptor_moments="changing",
        budget=300,
    ),
    "stax on gym:MountainCarContinuous-v0": _run("gym:MountainCarContinuous-v0", "stax", isolation="none"),
}


def differences(names: list[str]) -> dict[str, str]:
    """Do these runs, and return what is wrong with each whose digests are not those of the table."""
    known = json.loads(TABLE.read_text())["runs"]
    wrong: dict[str, str] = {}
    for name in names:
        found = digests_of(name)
        parts = [part for part, value in found.items() if value != known.get(name, {}).get(part)]
        if name not in known:
            wrong[name] = "is not in the table"
        elif parts:
            wrong[name] = f"differs in {', '.join(parts)}"
    return wrong


def digests_of(name: str) -> dict[str, str]:
    """Do one run, and return its numerics and digests."""
    result = stax.run(**RUNS[name], device="cpu")
    return {"numerics": result.config.numerics or "", **result_digests(result)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", help="names of runs (default all)")
    parser.add_argument("--write", action="store_true", help="make the table anew, or the rows of the runs named")
    options = parser.parse_args()
    if not stax_command.processor_has_avx2():
        print(f"There are no digests for this processor: the table is for {PORTABLE} numerics, which need AVX2 on Linux.")
        return 3
    if options.write:
        known = json.loads(TABLE.read_text())["runs"] if options.runs else {}
        found = {name: digests_of(name) for name in options.runs or RUNS}
        runs = {name: found.get(name, known.get(name)) for name in RUNS if name in found or name in known}
        table = {"results_version": stax.RESULTS_VERSION, "runs": runs}
        TABLE.write_text(json.dumps(table, indent=1) + "\n")
        return 0
    wrong = differences(options.runs or list(RUNS))
    for name, how in wrong.items():
        print(f"{name}: {how}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
