"""An emitter that climbs novelty among rewarded policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.emitters.elitist import ElitistEmitter
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.search.emitters.emitter import Emitter


class NoveltyEmitter(ElitistEmitter):
    """An emitter that looks for other ways to be rewarded: the most novel of the rewarded policies survive, whatever their reward.

    Policies without reward survive only where too few are rewarded. Its progress is the novelty of its rewarded policies as a
    multiple of its ancestor's, which stays comparable when the autoencoder is trained and all distances change.
    """

    name = "novelty"
    about = "climbs novelty among rewarded policies, to find other ways to be rewarded"
    uses_novelty = True

    def tell(self, emitter: Emitter, offspring: PolicySet) -> PolicySet:
        both = PolicySet.concat([emitter.population, offspring])
        rewarded_first = np.lexsort((-both.novelty, both.reward <= 0))
        return both.take(rewarded_first[: emitter.parameters.emitter_population])

    def keeps(self, emitter: Emitter, offspring: PolicySet) -> NDArray[np.bool_]:
        """Return which offspring have a higher reward than all before them, or are rewarded and more novel than all before them."""
        novel = (offspring.reward > 0) & (offspring.novelty > emitter.highest_novelty)
        return novel | (offspring.reward > emitter.best_reward)

    def progress(self, emitter: Emitter, population: PolicySet) -> NDArray[np.float64]:
        unit = float(emitter.ancestor.novelty[0])
        return np.where(population.reward > 0, population.novelty, 0.0) / (unit if 0 < unit < np.inf else 1.0)
