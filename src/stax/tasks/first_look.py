"""What the first rollouts say about a task: sentences for whoever is about to search in it.

A search needs rewards that are rare, observations that differ and rollouts that repeat. A task can lack these and still keep the
contract, so `stax check-task` and the start of every run say it in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.tasks.task import Observations, Rollouts, Task
from stax.tasks.variants import OFFSET, SEEDS, has_options, option

FRESH_SEED = 1_000_003
"""Distance from a task's own seed to the first of the seeds that policies are tried with besides it."""
BASE_OFFSET = 1e9
"""Reward offset with which returns are positive, so that they can be told from the rewards."""
_DENSE_SHARE = 0.5
"""Share of rewarded policies from which on rewards are dense."""
_RARE_SHARE = 0.1
"""Share of policies that are rewarded with the offsets suggested, at most."""
_DIGITS = 3
"""Significant digits of a suggested number."""


def rollout_columns(rollouts: Rollouts) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the names and arrays of what a rollout comes to."""
    for name in ("reward", "reward_area", "steps", "ground_truth", "snapshots"):
        value = getattr(rollouts, name)
        if value is not None:
            yield name, np.asarray(value)


def differing(expected: Rollouts, got: Rollouts) -> dict[str, NDArray[np.bool_]]:
    """Return which rows (n,) of two evaluations of the same policies differ, by the name of each array that does."""
    found = {}
    others = dict(rollout_columns(got))
    for name, column in rollout_columns(expected):
        other = others.get(name)
        if other is None or other.shape != column.shape:
            found[name] = np.ones(len(expected), np.bool_)
            continue
        unequal = column != other
        if column.dtype.kind == "f" and other.dtype.kind == "f":
            unequal &= ~(np.isnan(column) & np.isnan(other))
        rows = unequal.reshape(len(column), -1).any(axis=1)
        if rows.any():
            found[name] = rows
    return found


def impurity_note(task: Task, first: Rollouts, again: Rollouts) -> str:
    """Return a sentence if the same policies did not do the same twice; nothing if they did."""
    differences = differing(first, again)
    if not differences:
        return ""
    policies = int(np.count_nonzero(np.any(list(differences.values()), axis=0)))
    return (
        f"Task {task.name!r} is not repeatable: {policies} of {len(first)} policies had another {_listed(list(differences))} when"
        " they were evaluated again, so rewards may be luck, and neither replays nor a resumed run can be trusted; seed all random"
        " numbers of the task."
    )


def seeds_to_try(task: Task, count: int) -> list[int]:
    """Return seeds other than those that the task evaluates with; none if it has no options for seeds."""
    if not has_options(task, *SEEDS):
        return []
    return [int(option(task, SEEDS[0])) + FRESH_SEED + number for number in range(count)]


def stochastic_note(task: Task, own: Rollouts, others: list[Rollouts]) -> str:
    """Return a sentence if policies do something else with other seeds; nothing if the seed changes nothing.

    Args:
        task: a task with the options `SEEDS`.
        own: rollouts with the task's own seed.
        others: rollouts of the same policies, with another seed each.
    """
    differences = [differing(own, other) for other in others]
    changed = np.any([rows for found in differences for rows in found.values()] or [np.zeros(len(own), np.bool_)], axis=0)
    if not changed.any():
        return ""
    seed, episodes = option(task, SEEDS[0]), option(task, SEEDS[1])
    rewards = np.stack([np.asarray(rollouts.reward, np.float64) for rollouts in (own, *others)])
    apart = float(np.mean(rewards.max(axis=0) - rewards.min(axis=0)))
    used = f"seed {seed} alone" if episodes == 1 else f"the seeds {seed} to {seed + episodes - 1} alone"
    rewards_differ = f", with rewards that are {number_text(apart)} apart on average," if apart else ","
    return (
        f"Task {task.name!r} is stochastic: {int(np.count_nonzero(changed))} of {len(own)} policies do something else with another"
        f" seed{rewards_differ} but all are evaluated with {used}, so a high reward may be luck; evaluate in more episodes"
        f" (task.episodes={max(5, 2 * episodes)}), and see the rewards on fresh seeds in the summary."
    )


def reward_note(task: Task, rewards: NDArray[np.float64], returns: NDArray[np.float64] | None) -> str:
    """Return a sentence about rewards that are never positive, or positive for most policies; nothing otherwise.

    Args:
        task: the task.
        rewards: (n,) of policies drawn at random.
        returns: rewards before the offset is added and what is below 0 is cut off; None if they are not known.
    """
    if not (rewards > 0).any():
        return _never_positive(task, returns) if returns is not None else ""
    share = np.mean(rewards > 0)
    if share <= _DENSE_SHARE:
        return ""
    remedy = "let the task pay 0 below a level worth reaching"
    if has_options(task, OFFSET):
        # Without the offset that the task has already.
        bar = _bar(rewards)
        offset = number_text(-_rounded_down(bar - float(option(task, OFFSET)))) if rewards.max() > bar else ""
        if offset:
            remedy = f"let only higher ones count, for instance with task.{OFFSET}={offset}"
    return (
        f"Task {task.name!r} has dense rewards: {int(np.count_nonzero(rewards > 0))} of {len(rewards)} policies drawn at random"
        f" are rewarded, while the method is made for rare rewards, of which each is worth an emitter; {remedy}, or expect little"
        " more than from plain hill climbing."
    )


def _never_positive(task: Task, returns: NDArray[np.float64]) -> str:
    low, high = float(returns.min()), float(returns.max())
    if low >= 0:
        return ""
    lie = f"are {number_text(low)}" if low == high else f"lie between {number_text(low)} and {number_text(high)}"
    return (
        f"Task {task.name!r} rewarded none of {len(returns)} policies, since only what is above 0 counts: all returns {lie}; set"
        f" task.{OFFSET}={number_text(-_rounded_down(_bar(returns)))} unless a return above 0 is what you look for."
    )


def _bar(values: NDArray[np.float64]) -> float:
    """Return a value above which few of these values lie, but at least one, unless all are equal."""
    bar, highest = float(np.quantile(values, 1 - _RARE_SHARE, method="lower")), float(values.max())
    return bar if bar < highest else float(max(values[values < highest], default=highest))


def observation_note(task: Task, observations: Observations) -> str:
    """Return a sentence if all policies (n, samples, ...) look the same to an autoencoder; nothing if they do not."""
    seen = np.asarray(observations)
    if len(seen) < 2 or (seen != seen[:1]).any():
        return ""
    return (
        f"Task {task.name!r} has constant observations: what is seen of {len(seen)} policies is the same, so no behaviour can be told"
        " from another by a learned descriptor; observe something that depends on the policy."
    )


def number_text(number: float) -> str:
    """Return a number with few digits."""
    return f"{number:.{_DIGITS + 1}g}" if abs(number) < 10**_DIGITS else f"{number:.0f}"


def _rounded_down(number: float) -> float:
    """Return the number with few significant digits, not above itself: what exceeds the one exceeds the other."""
    if not number:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(number))) - _DIGITS + 1)
    return math.floor(number / unit) * unit


def _listed(names: list[str]) -> str:
    words = [name.replace("_", " ").replace("snapshots", "observations") for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
