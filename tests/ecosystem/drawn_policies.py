"""Sets of policies drawn at random."""

from __future__ import annotations

import numpy as np

from stax.search.policy_set import PolicySet
from stax.search.vocabulary import POLICY_ORIGINS
from toy_tasks import SquareTask


def some_policies(count: int, seed: int, descriptor_size: int = 3) -> PolicySet:
    rng = np.random.default_rng(seed)
    task = SquareTask()
    genome = rng.normal(size=(count, task.genome_size))
    made = PolicySet.newborn(
        task.evaluate(genome) if count else task.evaluate(np.zeros((1, 6))).take(slice(0, 0)),
        first_id=0,
        genome=genome,
        parent=rng.integers(-1, 10_000, count),
        born=int(rng.integers(100)),
        origin=int(rng.integers(len(POLICY_ORIGINS))),
        emitter=int(rng.integers(-1, 50)),
        descriptor_size=descriptor_size,
    )
    made.id[:] = rng.permutation(10_000)[:count]
    made.descriptor[:] = rng.normal(size=made.descriptor.shape)
    made.novelty[::2] = rng.exponential(size=made.novelty[::2].shape)
    return made
