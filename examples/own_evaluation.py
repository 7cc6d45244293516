"""Evaluate the policies of a search with your own code: here a plain loop, elsewhere a robot or a cluster."""

from __future__ import annotations

import argparse
import sys

import stax


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="redundant-arm", help="default redundant-arm")
    parser.add_argument("--algo", default="serene", help="default serene")
    parser.add_argument("--budget", type=int, default=2000, help="evaluations (default 2000)")
    options = parser.parse_args()
    try:
        task = stax.make_task(options.task)
        search = stax.make_search(options.algo, task, budget=options.budget, seed=0)
    except stax.InvalidInputError as error:
        parser.error(str(error))

    while not search.done:
        genomes = search.ask()
        # A row's outcome depends on its genome alone, so genomes can be evaluated anywhere and in any order.
        rollouts = [task.evaluate(genomes[row : row + 1]) for row in range(len(genomes))]
        search.tell(stax.Rollouts.concat(rollouts))

    best = ", ".join(f"{area.name} {reward:.3f}" for area, reward in zip(task.reward_areas, search.max_reward, strict=True))
    print(f"{search.evaluations} evaluations, coverage {search.coverage or 0:.3f}, best reward {best}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
