"""Exploration with alternating objectives, as in TAXONS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.search.explorers.population import PopulationExplorer
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.search.search import Search


class AlternatingExplorer(PopulationExplorer):
    """Algorithm 2 with selection by one of the objectives, drawn at random in each generation."""

    name = "alternating"
    selections = ("pareto",)
    selections_because = "which selects by one objective at a time"

    def __init__(self, *objectives: str) -> None:
        super().__init__(*objectives)
        self.selection_about = f"by {' or '.join(objectives)}, one drawn at random each generation"

    def objective_values(self, search: Search, policies: PolicySet) -> NDArray[np.float64]:
        drawn = search.random.objective.integers(len(self.objectives))
        return super().objective_values(search, policies)[:, [drawn]]
