"""Measurements of the search without rollouts and autoencoder: time per generation, and memory of a long run."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
from numpy.typing import ArrayLike

from stax.search import make_search
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import Origin
from stax.tasks.task import RewardArea, Rollouts, Task, check_genomes

ARCHIVE_SIZES = (1_000, 10_000, 50_000)
LONG_RUN = 500_000
_GENERATION = 200


class _InstantTask(Task):
    """Task whose behaviour is given by its first two genes; never rewarded. Its five states have ten numbers each."""

    name = "instant"
    genome_size = 80
    observation_shape = (10,)
    observation_dtype = "float32"
    ground_truth_bounds = ((0.0, 1.0), (0.0, 1.0))
    reward_areas = (RewardArea("none"),)

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        array = check_genomes(genomes, self.genome_size)
        return Rollouts(
            reward=np.zeros(len(array)),
            reward_area=np.full(len(array), -1),
            steps=np.ones(len(array), np.int64),
            snapshots=np.tanh(array[:, :50]).reshape(-1, 5, 10).astype(np.float32),
            ground_truth=(np.tanh(array[:, :2]) + 1) / 2,
        )


def measure_overhead(share: float = 1.0) -> dict[str, float]:
    """Measure the milliseconds of a generation of 200 offspring, with archives of several sizes, in 2 and 50 dimensions."""
    generations = max(5, round(40 * share))
    result: dict[str, float] = {}
    for name, descriptor in (("2_dimensions", "ground-truth"), ("50_dimensions", "states")):
        for size in ARCHIVE_SIZES:
            task = _InstantTask()
            budget = 100 + (generations + 1) * _GENERATION
            search = make_search("ns", task, budget=budget, descriptor=descriptor)
            search.tell(task.evaluate(search.ask()))
            search.containers.store_novel(_random_policies(task, size, search.space.size))
            # The first generation also builds the structures that later ones extend.
            search.tell(task.evaluate(search.ask()))
            before = search.record.stopwatch.seconds["selection"]
            while not search.done:
                search.tell(task.evaluate(search.ask()))
            spent = search.record.stopwatch.seconds["selection"] - before
            result[f"milliseconds_{name}_archive_{size}"] = 1000 * spent / generations
    return result


def _random_policies(task: Task, count: int, descriptor_size: int) -> PolicySet:
    """Return random policies to fill an archive with."""
    genomes = np.clip(np.random.default_rng(1).normal(size=(count, task.genome_size)), -5, 5)
    rollouts = task.evaluate(genomes)
    policies = PolicySet.newborn(
        rollouts,
        first_id=1_000_000,
        genome=genomes,
        parent=np.full(count, -1),
        born=0,
        origin=Origin.INITIAL,
        emitter=-1,
        descriptor_size=descriptor_size,
    )
    described = rollouts.ground_truth if descriptor_size == 2 else rollouts.snapshots.reshape(count, -1)
    policies.descriptor[:] = described
    return policies


_MEASURED_RUN = """
import json, resource, stax
seen = []
def size(arrays):
    return sum(array.nbytes for array in arrays.values()) / 1e6
class Measuring(stax.Callback):
    def after_chunk(self, search):
        held = size(search.ledger.columns()) + sum(size(policies.columns()) for policies in search.containers.held())
        held += sum(size(emitter.population.columns()) for emitter in search.containers.emitters)
        seen.append((search.evaluations, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, held))
stax.run("redundant-arm", algo="stax", budget={budget}, seed=0, callbacks=[Measuring()])
print(json.dumps(seen))
"""


def measure_memory(budget: int = 10_000) -> dict[str, float]:
    """Measure the peak memory, in MB, of a `stax` run on Redundant Arm, and estimate that of 500,000 evaluations.

    The policies and snapshots of Redundant Arm are the largest. The estimate assumes that the search's arrays keep growing as over
    the second half of the run. Arrays that grow are copied to twice their size, so they count three times.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", _MEASURED_RUN.format(budget=budget)], capture_output=True, text=True, check=True
    )
    seen = np.array(json.loads(done.stdout))
    half = seen[seen[:, 0] >= budget / 2]
    growth = float((half[-1, 2] - half[0, 2]) / (half[-1, 0] - half[0, 0]))
    return {
        "measured_evaluations": float(budget),
        "megabytes_at_peak": float(half[-1, 1]),
        "megabytes_held_by_the_search": float(half[-1, 2]),
        f"megabytes_estimated_for_{LONG_RUN}": float(half[-1, 1]) + 3 * growth * (LONG_RUN - budget),
    }
