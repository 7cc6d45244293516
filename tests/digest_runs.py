"""The short runs whose digests are committed in tests/data/digests.json, and the command that makes that table anew:

python tests/digest_runs.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import stax
from stax.runs.digests import result_digests

TABLE = Path(__file__).parent / "data" / "digests.json"
TASKS = ("curling", "hard-maze", "redundant-arm")
METHODS = (
    *("stax", "stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset", "taxons"),
    *("serene", "ns", "map-elites", "moo-nr", "random"),
)
SHORT: dict[str, Any] = {
    "population_size": 50,
    "emitter_population": 4,
    "bootstrap_generations": 2,
    "max_images_per_episode": 300,
    "batch_size": 32,
}
"""Parameters with which a short run does all that a long one does."""
RUNS: dict[str, dict[str, Any]] = {
    f"{algo} on {task}": {"task": task, "algo": algo, "budget": 1000, "seed": 3, **SHORT} for algo in METHODS for task in TASKS
}


def digests_of(name: str) -> dict[str, str]:
    """Do one of the runs, and return its digests."""
    return result_digests(stax.run(**RUNS[name], device="cpu"))


def main() -> None:
    names = sys.argv[1:] or list(RUNS)
    import time

    out = {}
    for name in names:
        t = time.time()
        r = stax.run(**RUNS[name], device="cpu")
        out[name] = result_digests(r)
        print(
            name,
            round(time.time() - t, 2),
            len(r.reward_archive),
            len(r.emitters),
            r.training_episodes,
            {k: v[:8] for k, v in out[name].items()},
            flush=True,
        )


if __name__ == "__main__":
    main()
