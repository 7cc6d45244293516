"""Choosing policies of a run's archives: by id, by reward, or at random. Only archived policies have their genomes kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.search.policy_set import PolicySet
from stax.tasks.task import RewardArea

if TYPE_CHECKING:
    from stax.runs.result import Result

_NAMED = 4
"""Archived policies that are named when one that was not kept is asked for."""


def kept_policies(result: Result) -> PolicySet:
    """Return all policies whose genomes were kept, which are those of the two archives, sorted by id."""
    return PolicySet.union(_archives(result))


def find_policies(result: Result, ids: Sequence[int]) -> PolicySet:
    """Return the policies with these ids, in this order; all must be in one of the archives."""
    kept = kept_policies(result)
    wanted = list(dict.fromkeys(ids))
    for number in wanted:
        if number not in kept.id:
            raise InvalidInputError(_not_kept(result, number, kept.id))
    return kept.take(np.searchsorted(kept.id, wanted))


def best_policy(result: Result, area: str | int) -> PolicySet:
    """Return the policy of both archives with the highest reward in a reward area, which is given by its name or number."""
    areas = result.task.reward_areas
    number = _area_number(areas, area)
    # With the rows of both archives, since they may hold different rewards of the same policy.
    kept = PolicySet.concat(_archives(result))
    rows = np.flatnonzero((kept.reward_area == number) & (kept.reward > 0))
    if not len(rows):
        others = [repr(areas[other].name) for other in np.unique(kept.reward_area).tolist() if 0 <= other < len(areas)]
        found = f" (the best that was found, of reward {best:.3f}, was not kept)" if (best := result.max_reward[number]) else ""
        raise InvalidInputError(
            f"No policy of the archives ended in reward area {areas[number].name!r}{found};"
            f" {'some did in ' + ' and '.join(others) if others else 'none of them was rewarded'}."
        )
    # Of two that are equally good, the older one.
    return kept.take([rows[np.lexsort((kept.id[rows], -kept.reward[rows]))[0]]])


def random_policies(result: Result, count: int, seed: int = 0) -> PolicySet:
    """Return so many different policies of the archives, drawn at random and sorted by id."""
    kept = kept_policies(result)
    if check_whole("The number of random policies", count, 1) > len(kept):
        raise InvalidInputError(f"The archives hold {len(kept)} policies, so {count} cannot be drawn from them.")
    return kept.take(np.sort(np.random.default_rng(seed).choice(len(kept), count, replace=False)))


def _archives(result: Result) -> list[PolicySet]:
    """Return both archives, the reward archive first: where both hold a policy, its row is used."""
    archives = [result.reward_archive, result.novelty_archive]
    for name, column in archives[0].columns().items():
        if column.shape[1:] != getattr(archives[1], name).shape[1:]:
            raise InvalidInputError(f"The archives do not belong together: {name} does not have the same shape in both.")
    return archives


def _not_kept(result: Result, number: int, kept: NDArray[np.int64]) -> str:
    if not 0 <= number < result.evaluations:
        return f"There is no policy {number}: the run did {result.evaluations:,} evaluations, numbered from 0."
    if not len(kept):
        return f"Policy {number} was not kept: only policies of the two archives are, and both are empty."
    near = np.sort(kept[np.argsort(np.abs(kept - number), kind="stable")[:_NAMED]])
    return (
        f"Policy {number} was not kept: only the {len(kept):,} policies of the two archives are, such as"
        f" {', '.join(str(one) for one in near)}."
    )


def _area_number(areas: Sequence[RewardArea], given: str | int) -> int:
    names = [area.name for area in areas]
    if given in names:
        return names.index(str(given))
    if str(given).isascii() and str(given).isdecimal() and int(given) < len(areas):
        return int(given)
    known = ", ".join(f"{number} {name!r}" for number, name in enumerate(names))
    raise InvalidInputError(f"There is no reward area {given!r}; there are {known}.")
