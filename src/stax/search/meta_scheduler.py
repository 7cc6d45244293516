"""Algorithm 1: the meta-scheduler, which gives chunks of the budget to exploration and exploitation, by turns in the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.search.exploitation import exploit
from stax.search.vocabulary import Phase

if TYPE_CHECKING:
    from stax.search.explorers.explorer import Asking
    from stax.search.search import Search

REST = None
"""What is yielded at rest, instead of a batch: nothing is under way, and the attributes of the search are all there is to it."""


def schedule(search: Search) -> Asking:
    """Run Algorithm 1. A search that is restored enters it at the head of the loop."""
    explorer, containers = search.method.explorer, search.containers
    if not search.evaluations:
        # Sample and evaluate the initial population Gamma_0
        yield from explorer.start(search)
        search.end_chunk()

    while search.budget_left:
        yield REST
        # If rewarding policies have been found: Q_Cand_Em or Q_Em is not empty
        rewards_found = len(containers.candidates) or len(containers.emitters)
        if rewards_found and search.next_phase() == Phase.EXPLOITATION:
            yield from exploit(search)
        else:
            search.phase = Phase.EXPLORATION
            yield from explorer.explore(search)

            # Update autoencoder and descriptors, at intervals that grow by one chunk each time
            search.chunks_since_training += 1
            if search.trains and search.chunks_since_training == search.training_interval:
                search.phase = Phase.TRAINING
                search.train_autoencoder()
                containers.update_descriptors(surprise=search.uses_surprise)
                explorer.after_training(search)
                search.training_interval = search.next_training_interval()
                search.chunks_since_training = 0
        search.end_chunk()
