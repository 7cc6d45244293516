"""The search: the paper's three algorithms, and the parts that all methods are composed of."""

from __future__ import annotations

from stax.search.methods import METHODS, Method
from stax.search.parameters import PRESETS, Parameters
from stax.search.policy_set import ORIGINS, PolicySet
from stax.search.search import Search, make_search

__all__ = ["METHODS", "ORIGINS", "PRESETS", "Method", "Parameters", "PolicySet", "Search", "make_search"]
