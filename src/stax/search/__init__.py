"""The search: the paper's three algorithms, and the parts that all methods are composed of."""

from __future__ import annotations

from stax.search.emitters import EmitterKind
from stax.search.making import make_search
from stax.search.methods import METHODS, Method
from stax.search.parameters import PRESETS, Parameters
from stax.search.policy_set import ORIGINS, PolicySet
from stax.search.schedulers import Scheduler
from stax.search.search import Search

__all__ = [
    "METHODS",
    "ORIGINS",
    "PRESETS",
    "EmitterKind",
    "Method",
    "Parameters",
    "PolicySet",
    "Scheduler",
    "Search",
    "make_search",
]
