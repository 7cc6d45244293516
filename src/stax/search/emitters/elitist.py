"""The paper's emitter: an elitist evolutionary algorithm on the reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.emitters.emitter_kind import EmitterKind
from stax.tasks.task import Genomes

if TYPE_CHECKING:
    from stax.search.emitters.emitter import Emitter


class ElitistEmitter(EmitterKind):
    """The paper's emitter: m mutated copies of each member of the population; the best of both survive."""

    name = "elitist"
    about = "mutated copies of its best policies, of which the best survive, as in the paper"

    def ask(self, emitter: Emitter, rng: np.random.Generator) -> tuple[Genomes, NDArray[np.int64]]:
        each = np.repeat(np.arange(len(emitter.population)), emitter.parameters.offspring_per_parent)
        parents = emitter.population.take(each)
        return parents.genome + emitter.sigma * rng.normal(size=parents.genome.shape), parents.id
