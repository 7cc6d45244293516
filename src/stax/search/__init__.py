"""The search: the paper's three algorithms, and the parts that all methods are composed of.

| module | holds |
|---|---|
| `meta_scheduler`, `explorers.population`, `exploitation` | Algorithms 1, 2 and 3, each a generator |
| `explorers/` | the ways of exploring, one a file: a population, alternating objectives, dominated novelty, the grid of MAP-Elites, the container of AURORA, random search |
| `emitters/` | the kinds of emitters, one a file, and their registry; the state of an emitter, its turns, the emitter buffer |
| `schedulers/`, `bandit` | the schedulers, one a file, and their registry; the rule of the bandits |
| `methods`, `parameters` | the table of methods; every parameter with its default and constraint, the presets |
| `search` | `Search`: `ask`, `tell`, `done`, `at_rest` and the results |
| `containers` | population, offspring, archives, candidates and emitters; describing them again after training |
| `record`, `metrics` | ledger, metrics, coverage and stopwatch; the one list of the columns of metrics |
| `state`, `state_checks` | the state of a search at rest: capturing, restoring and checking it |
| `making`, `random_numbers` | `make_search`, and what is refused; one generator of random numbers per role |
| `seeds` | policies and weights that a search starts from |
| `policy_set` | `PolicySet`, aligned arrays with `take`, `concat` and `union`; `GrowingSet`, of which archives are made |
| `neighbours`, `novelty` | exact nearest neighbours; novelty against all references; the buffer of emitter candidates |
| `selection`, `variation`, `grid` | NSGA-II and dominated novelty; mutation and iso+line variation; coverage and elites |
| `distance_container`, `principal_axes` | the container of AURORA, and the extent of points that its first threshold follows from |
| `repeated_rewards` | mean, spread and area of the rewards of policies that were evaluated several times |
| `vocabulary` | `Phase` and `Origin`, the words that the search, its files and its readers share |

Decisions:

- The algorithms are generators that yield genomes and receive rollouts. Between two passes of the loop of Algorithm 1 the
  generator yields None: the search is at rest, everything that matters is in its attributes, and `tell` returns. The next `ask`
  continues.
- A policy that failed never reaches an algorithm: `Search.evaluate` returns only the others, so none can be selected, archived
  or mutated. It has used up budget and an id, and it is in the ledger.
- New policies are described in `Search.tell`, before the search takes anything in. Only then is it known whether a policy has a
  finite descriptor, since the space draws its observations and codes may overflow. `tell` raises `UndescribedError` while
  nothing has changed. A run that discards failures marks these policies and tells the rest.
- Where an algorithm stores policies in an archive, it first asks `Search.reevaluate` which of them may be stored. Without the
  parameter `reevaluations` that is all of them at once. Otherwise the policies get the mean of their rewards in place, so that
  all containers that hold them afterwards agree.
- Classes below `Search` have no defaults of their own for parameters; see `parameters`.
"""

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
