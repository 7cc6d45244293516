"""The best policies of a finished run, evaluated on seeds that the search has not seen.

A search evaluates all policies with the same seeds. Where these decide what happens, the policies it finds best are in part the
luckiest, and their rewards on fresh seeds say what they are worth. Nothing of this is counted in the budget, and the archives and
the ledger stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stax.errors import InvalidInputError
from stax.evaluation.evaluator import Evaluator
from stax.input_limits import is_finite_number
from stax.runs.files import BAD_VALUE_ERRORS, read_json, write_json
from stax.runs.folder import RunFolder
from stax.search.policy_set import PolicySet
from stax.tasks import is_built_in
from stax.tasks.first_look import differing, seeds_to_try
from stax.tasks.variants import SEEDS
from stax.wording import counted

if TYPE_CHECKING:
    from stax.runs.result import Result

FILE = "validation.json"
_BEST = 3
"""Policies of each area that are validated."""
_MOST_POLICIES = 30
"""Policies that are validated in all."""
_MOST_BYTES, _MOST_VALUES = 2**16, 10_000
"""Limits of the file."""


@dataclass(frozen=True)
class ValidatedPolicy:
    """One of the best policies of a reward area."""

    id: int
    area: int
    """Number of the reward area."""
    recorded: float
    """Reward in the search."""
    fresh: float
    """Mean reward over the episodes with fresh seeds."""


@dataclass(frozen=True)
class Validation:
    """Rewards of the best policies on fresh seeds."""

    episodes: int
    """Episodes of each policy, with a seed each."""
    first_seed: int
    policies: tuple[ValidatedPolicy, ...]
    """The best ones of each area, by area and the best first."""

    def of_area(self, area: int) -> list[ValidatedPolicy]:
        return [policy for policy in self.policies if policy.area == area]


def validate(result: Result, evaluator: Evaluator, episodes: int) -> Validation | None:
    """Evaluate the best policies of every area on fresh seeds; None if there is nothing to validate.

    That is so for built-in tasks without noise, for tasks that have no options for seeds, and if policies do the same with every seed.

    Args:
        result: of the finished run.
        evaluator: the run's.
        episodes: how many each policy is evaluated in; 0 for no validation.
    """
    task = result.task
    exact = is_built_in(task) and not getattr(task, "is_noisy", False)
    seeds = [] if exact or not episodes else seeds_to_try(task, 1)
    best = PolicySet.concat(list(_best_policies(result))) if seeds else None
    if best is None or not len(best):
        return None
    other = evaluator.attempt(best.genome, **{SEEDS[0]: seeds[0]})
    if other is None or not differing(best.rollouts(), other):
        return None
    fresh = evaluator.attempt(best.genome, **dict(zip(SEEDS, (seeds[0], episodes), strict=True)))
    if fresh is None:
        return None
    rows = zip(best.id.tolist(), best.reward_area.tolist(), best.reward.tolist(), fresh.reward.tolist(), strict=True)
    return Validation(episodes, seeds[0], tuple(ValidatedPolicy(*row) for row in rows))


def _best_policies(result: Result) -> Iterator[PolicySet]:
    """Yield the best policies of each area, each once and the older one of two that are equally good first."""
    kept = PolicySet.union([result.reward_archive, result.novelty_archive])
    yield kept.take(slice(0, 0))
    for area in range(min(len(result.task.reward_areas), _MOST_POLICIES // _BEST)):
        rows = np.flatnonzero((kept.reward_area == area) & (kept.reward > 0))
        yield kept.take(rows[np.lexsort((kept.id[rows], -kept.reward[rows]))[:_BEST]])


def fresh_words(validation: Validation, area: int) -> str:
    """Return what the best policies of an area are worth on fresh seeds; nothing if there is none."""
    best = validation.of_area(area)
    if not best:
        return ""
    rewards = [policy.fresh for policy in best]
    spread = f" ({min(rewards):.3f} to {max(rewards):.3f} of the {len(best)} best)" if len(best) > 1 else ""
    return (
        f"{best[0].fresh:.3f}  by policy {best[0].id}, recorded with {best[0].recorded:.3f}, in"
        f" {counted(validation.episodes, 'episode')}{spread}"
    )


def write_validation(folder: RunFolder, validation: Validation) -> None:
    """Write the file of a validation."""
    write_json(folder.file(FILE), asdict(validation))


def read_validation(path: Path, areas: int) -> Validation | None:
    """Return the validation of a run, which has so many reward areas; None if there is no such file."""
    if not path.is_file():
        return None
    content = read_json(path, "The validation", most=_MOST_BYTES, values=_MOST_VALUES)
    try:
        policies = tuple(_checked(row, areas) for row in content["policies"])
        return Validation(_count(content["episodes"]), _count(content["first_seed"]), policies)
    except BAD_VALUE_ERRORS as error:
        raise InvalidInputError(f"The validation {str(path)!r} is damaged ({type(error).__name__}: {error}).") from None


def _checked(row: dict[str, Any], areas: int) -> ValidatedPolicy:
    policy = ValidatedPolicy(_count(row["id"]), _count(row["area"]), row["recorded"], row["fresh"])
    if policy.area >= areas or not all(is_finite_number(number) for number in (policy.recorded, policy.fresh)):
        raise ValueError(f"policy {policy.id} has an area or a reward that there cannot be")
    return policy


def _count(number: Any) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{number!r:.50} is not a whole number of at least 0")
    return number
