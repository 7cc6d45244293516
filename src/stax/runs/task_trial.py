"""What a run says about its task after the first population: once, in a sentence each.

Nothing of this is counted in the budget or changes what the search finds. A task that is built in is known, and not looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.evaluation.evaluator import Evaluator
from stax.search.search import Search
from stax.search.variation import random_genomes
from stax.tasks import is_built_in
from stax.tasks.first_look import (
    BASE_OFFSET,
    differing,
    impurity_note,
    observation_note,
    reward_note,
    seeds_to_try,
    stochastic_note,
)
from stax.tasks.task import Genomes, Rollouts, Task
from stax.tasks.variants import OFFSET, SEEDS, has_options, option, repetition

_POLICIES = 3
"""Policies that are evaluated again, with the same seed and with others."""
_SEEDS = 2
_RETURNS = 24
"""Policies whose returns are looked at if none was rewarded."""
_OBSERVED = 24
"""Policies whose observations are compared."""


_TRIED = 16
"""Random policies that are evaluated with other seeds before a search with `reevaluations`."""


class TaskWarning(UserWarning):
    """Something about a task that a search can do with, but that its user should know."""


def look_at_task(search: Search, evaluator: Evaluator, genomes: Genomes, rollouts: Rollouts) -> None:
    """Warn of what the first population says about the task.

    Args:
        search: the search, which has been told the rollouts.
        evaluator: evaluates a few policies again.
        genomes: the first population.
        rollouts: of the first population.
    """
    task = search.task
    known = np.flatnonzero(~rollouts.failures())
    if is_built_in(task) or not len(known):
        return
    genomes, rollouts = genomes[known], rollouts.take(known)
    few, few_rollouts = genomes[:_POLICIES], rollouts.take(slice(0, _POLICIES))
    again = evaluator.attempt(few)
    impure = impurity_note(task, few_rollouts, again) if again is not None else ""
    if impure:
        warnings.warn(impure, RuntimeWarning, stacklevel=2)
    # One episode whose seed says nothing about others; whoever asks for several knows.
    elif seeds_to_try(task, 1) and option(task, SEEDS[1]) == 1:
        _warn(stochastic_note(task, few_rollouts, list(_with_other_seeds(task, evaluator, few))))
    rewards = np.asarray(rollouts.reward, np.float64)
    _warn(reward_note(task, rewards, None if (rewards > 0).any() else _returns(task, evaluator, genomes)))
    # The population lacks policies that could not be described, whose observations may raise again.
    observed = search.containers.population.rollouts().take(slice(0, _OBSERVED))
    if search.parameters.descriptor in ("learned", "states") and len(observed):
        _warn(observation_note(task, task.observe(observed)))


def check_seed_matters(search: Search, evaluator: Evaluator) -> None:
    """Refuse `reevaluations` if a few random policies do the same with further seeds as with the task's own.

    Built-in tasks know that without a trial.
    """
    task, times = search.task, search.parameters.reevaluations
    if not times or is_built_in(task):
        return
    genomes = random_genomes(np.random.default_rng(0), _TRIED, task.genome_size, search.bounds)
    own = evaluator.attempt(genomes)
    for number in range(1, min(times, _SEEDS) + 1):
        other = evaluator.attempt(genomes, **repetition(task, number))
        if own is None or other is None or differing(own, other):
            return
    raise InvalidInputError(
        f"Parameter reevaluations must be 0 for task {task.name!r}, not {times}: {_TRIED} random policies did the same with other seeds,"
        " so there is no noise to average over."
    )


def _with_other_seeds(task: Task, evaluator: Evaluator, genomes: Genomes) -> Iterator[Rollouts]:
    for seed in seeds_to_try(task, _SEEDS):
        other = evaluator.attempt(genomes, seed=seed)
        if other is not None:
            yield other


def _returns(task: Task, evaluator: Evaluator, genomes: Genomes) -> NDArray[np.float64] | None:
    """Return the rewards before what is below 0 is cut off; None if the task cannot tell."""
    if not has_options(task, OFFSET):
        return None
    raised = evaluator.attempt(genomes[:_RETURNS], **{OFFSET: BASE_OFFSET})
    return None if raised is None else np.asarray(raised.reward, np.float64) - BASE_OFFSET


def _warn(sentence: str) -> None:
    if sentence:
        warnings.warn(sentence, TaskWarning, stacklevel=3)
