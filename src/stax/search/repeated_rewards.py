"""The rewards of policies that were evaluated several times, each time with another seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.search.vocabulary import Origin


def sum_up_rewards(
    rewards: NDArray[np.float64], areas: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the mean of each policy's rewards, their standard deviation, and its reward area, (n,) each.

    The area is the one in which most of the rewarded evaluations ended, the earlier one of two; that of the first evaluation if
    none was rewarded.

    Args:
        rewards: (k, n) of k evaluations of n policies, at least two of each, the first one first.
        areas: (k, n) their reward areas, -1 for none.
    """
    chosen = areas[0].copy()
    for column in np.flatnonzero((rewards > 0).any(axis=0)):
        rewarded = areas[rewards[:, column] > 0, column].tolist()
        chosen[column] = max(rewarded, key=rewarded.count)
    return rewards.sum(axis=0) / len(rewards), rewards.std(axis=0, ddof=1), chosen


def kept_rewards(
    ledger: Mapping[str, NDArray[Any]], archived_ids: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Return the columns `reward` and `reward_area` of a ledger, with those that the archives have for the policies in them.

    They differ from those of the ledger for policies that were reevaluated.

    Args:
        ledger: its columns id, parent, origin, reward, reward_area and failed.
        archived_ids: ids of the policies in the archives.
    """
    again = np.flatnonzero((ledger["origin"] == Origin.REEVALUATION) & ~ledger["failed"])
    if not len(again):
        return ledger["reward"], ledger["reward_area"]
    # The ledger may come from a stranger.
    again = again[(ledger["parent"][again] >= 0) & (ledger["parent"][again] < again)]
    archived = set(archived_ids.tolist())
    rewards, areas = ledger["reward"].copy(), ledger["reward_area"].copy()
    again = again[np.argsort(ledger["parent"][again], kind="stable")]
    policies, firsts = np.unique(ledger["parent"][again], return_index=True)
    for policy, rows in zip(policies.tolist(), np.split(again, firsts[1:]), strict=True):
        if policy in archived:
            all_rows = np.array([policy, *rows])
            mean, _, area = sum_up_rewards(ledger["reward"][all_rows, None], ledger["reward_area"][all_rows, None])
            rewards[policy], areas[policy] = mean[0], area[0]
    return rewards, areas
