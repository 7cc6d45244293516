"""Algorithm 1: the meta-scheduler, which gives chunks of the budget to exploration and exploitation, by turns in the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.search.exploitation import exploit
from stax.search.explorers.explorer import Asking
from stax.search.vocabulary import Phase

if TYPE_CHECKING:
    from stax.search.search import Search


def schedule(search: Search) -> Asking:
    """Algorithm 1. Between two passes of the loop, all that matters is in the search's attributes."""
    explorer = search.method.explorer
    if not search.evaluations:
        search.enter_phase(Phase.INITIAL_POPULATION)
        yield from explorer.start(search)
        search.end_chunk()

    while search.budget_left:
        search.rest()
        # If rewarding policies have been found: candidates or emitters
        if (len(search.candidates) or search.emitters) and search.next_phase() == Phase.EXPLOITATION:
            yield from exploit(search)
        else:
            search.enter_phase(Phase.EXPLORATION)
            yield from explorer.explore(search)

            # Train the autoencoder and update descriptors, at intervals that grow by one chunk each time
            search.chunks_since_training += 1
            if search.trains and search.chunks_since_training == search.training_interval:
                search.enter_phase(Phase.TRAINING)
                search.train_autoencoder()
                search.update_descriptors()
                search.training_interval += 1
                search.chunks_since_training = 0
        search.end_chunk()
