"""The search: the paper's three algorithms, and the parts that all methods are composed of."""

from __future__ import annotations

from stax.search.emitters import EmitterKind
from stax.search.making import make_search
from stax.search.methods import METHODS, Method
from stax.search.parameters import PRESETS, Parameters
from stax.search.policy_set import PolicySet
from stax.search.schedulers import Scheduler
from stax.search.search import Search
from stax.search.vocabulary import ORIGINS, Origin, Phase

__all__ = [
    "METHODS",
    "ORIGINS",
    "PRESETS",
    "EmitterKind",
    "Method",
    "Origin",
    "Parameters",
    "Phase",
    "PolicySet",
    "Scheduler",
    "Search",
    "make_search",
]
