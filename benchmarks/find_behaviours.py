"""Measures how well a picture finds a policy: how near the found policy ends to where the wanted picture was taken.

    stax run redundant-arm --budget 10000 --seed 0 --out runs/arm
    python benchmarks/find_behaviours.py runs/arm

The wanted pictures are the last observations of policies of another search: novelty search on the ground truth with another seed,
whose archive is spread over what can be reached. None of its policies is in the archives that are asked.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import stax
from stax.runs.archived_policies import kept_policies


@dataclass(frozen=True)
class Errors:
    """Distances in the ground truth between wanted ends and those of chosen policies, (questions,) each."""

    found: NDArray[np.float64]
    random: NDArray[np.float64]
    possible: NDArray[np.float64]


def measure(result: stax.Result, questions: int, seed: int, budget: int) -> Errors:
    """Ask the run for the pictures of another search.

    Args:
        result: the run with a learned space.
        questions: number of wanted pictures.
        seed: seed of the other search, of the choice of its policies, and of the random policies.
        budget: evaluations of the other search.
    """
    other = stax.run(result.task, algo="ns", budget=budget, seed=seed, workers=1)
    generator = np.random.default_rng(seed)
    known = set(map(bytes, kept_policies(result).genome))
    strangers = [row for row, genome in enumerate(other.novelty_archive.genome) if bytes(genome) not in known]
    wanted = other.novelty_archive.take(generator.choice(strangers, questions, replace=False))
    pictures = result.task.observe(wanted.rollouts())[:, -1]
    ends = kept_policies(result).ground_truth
    found = np.stack([result.find(observation=picture, count=1).policies.ground_truth[0] for picture in pictures])
    chosen = ends[generator.integers(len(ends), size=questions)]
    distances = np.linalg.norm(ends[None] - wanted.ground_truth[:, None], axis=2)
    return Errors(
        found=np.linalg.norm(found - wanted.ground_truth, axis=1),
        random=np.linalg.norm(chosen - wanted.ground_truth, axis=1),
        possible=distances.min(axis=1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="DIR", nargs="+", help="folders of runs with a learned space")
    parser.add_argument("--questions", type=int, default=100, metavar="N", help="wanted pictures (default 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the wanted pictures (default 1)")
    parser.add_argument(
        "--budget", type=int, default=10_000, metavar="N", help="evaluations of the other search (default 10,000)"
    )
    options = parser.parse_args()
    print("| task | policies | nearest possible | found by picture | random policy |\n|---|---|---|---|---|")
    for folder in options.runs:
        result = stax.load(folder)
        low, high = np.array(result.task.ground_truth_bounds, np.float64).T
        errors = measure(result, options.questions, options.seed, options.budget)
        cells = [_cell(values, float(np.linalg.norm(high - low))) for values in (errors.possible, errors.found, errors.random)]
        print(f"| {result.task.name} | {len(kept_policies(result))} | {' | '.join(cells)} |", flush=True)


def _cell(values: NDArray[np.float64], diagonal: float) -> str:
    low, middle, high = 100 * np.quantile(values, [0.25, 0.5, 0.75]) / diagonal
    return f"{middle:.1f} % ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    main()
