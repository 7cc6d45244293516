"""Policies of a run's archives whose behaviour comes closest to a wanted one.

What is wanted can be an observation, a ground truth, or the behaviour of another policy. An observation is compared in the learned
space: with the part of each descriptor that belongs to one moment of the rollout. The command `stax find`, `Result.find` and the
explorer use these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.analysis.wanted_observation import array_observation, picture_observation
from stax.constraints import check_whole
from stax.errors import InvalidInputError, shown
from stax.runs.archived_policies import find_policies, kept_policies
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.runs.result import Result

LAST, ANY = "last", "any"
WAYS = ("picture", "observation", "ground_truth", "like")
"""Ways to say what is wanted."""


@dataclass(frozen=True, eq=False)
class Found:
    """Policies found, the nearest first."""

    policies: PolicySet
    distance: NDArray[np.float64]
    """(n,) distance of each to what was wanted, in the space in which they were compared."""
    moment: NDArray[np.int64]
    """(n,) number of the observation, from 1, that was compared; 0 if observations were not compared one by one."""
    median_distance: float
    """Median distance of all policies of the archives, as a measure for the others."""

    def __len__(self) -> int:
        return len(self.distance)


@dataclass(frozen=True)
class Nearest:
    """Rows of places, the nearest first, with their distances."""

    rows: NDArray[np.int64]
    distance: NDArray[np.float64]
    moment: NDArray[np.int64]
    """Which place of the row was the nearest, from 0."""
    median_distance: float


def nearest(places: NDArray[np.float64], wanted: NDArray[np.float64], count: int) -> Nearest:
    """Return the rows of places (n, moments, d) whose nearest moment comes closest to a wanted place (d,), at most `count`.

    Of two rows at the same distance the earlier one comes first. Rows without finite numbers are left out.
    """
    distances = np.sqrt(((places - wanted) ** 2).sum(axis=2))
    finite = np.flatnonzero(np.isfinite(distances).all(axis=1))
    distances = distances[finite]
    closest = distances.min(axis=1, initial=np.inf)
    order = np.argsort(closest, kind="stable")[:count]
    median = float(np.median(closest)) if len(closest) else float("nan")
    moments = distances[order].argmin(axis=1) if len(order) else np.empty(0, np.int64)
    return Nearest(finite[order], closest[order], moments, median)


def chosen_moments(moment: str | int, moments: int) -> NDArray[np.int64]:
    """Return which of a rollout's observations are compared, from 0.

    Args:
        moment: `last`, `any`, or the number of an observation, from 1.
        moments: number of observations that a descriptor has.
    """
    if moment == ANY:
        return np.arange(moments)
    if moment == LAST:
        return np.array([moments - 1])
    text = str(moment)
    if isinstance(moment, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= moments):
        raise InvalidInputError(
            f"moment must be {LAST!r}, {ANY!r} or the number of an observation from 1 to {moments}, not {shown(moment)}."
        )
    return np.array([int(text) - 1])


def find_behaviour(
    result: Result,
    *,
    picture: str | Path | bytes | ArrayLike | None = None,
    observation: str | Path | ArrayLike | None = None,
    ground_truth: Sequence[float] | None = None,
    like: int | None = None,
    moment: str | int | None = None,
    count: int = 5,
) -> Found:
    """Return the policies of both archives that come closest to a wanted behaviour, which is given in one of four ways.

    Args:
        result: the run.
        picture: a picture of what is wanted: a file, its content, or an array; see `picture_observation`.
        observation: an observation as an array, or the path of an `.npy` file.
        ground_truth: a point of the task's ground-truth space.
        like: id of an archived policy, which is not among those found. Descriptors are compared, of whatever space the run had.
        moment: with a picture or an observation, the observation of a rollout that it is compared with: `last` (the default), `any` for
            the nearest of all, or a number from 1.
        count: number of policies at most.
    """
    given = [name for name, value in zip(WAYS, (picture, observation, ground_truth, like), strict=True) if value is not None]
    if len(given) != 1:
        raise InvalidInputError(
            f"Say what is wanted in one way, with {', '.join(WAYS[:-1])} or {WAYS[-1]}; given were {', '.join(given) or 'none of them'}."
        )
    count = check_whole("count", count, 1)
    if moment is not None and given[0] not in ("picture", "observation"):
        raise InvalidInputError(f"moment belongs to a picture or an observation, and {given[0]} was given.")
    kept = kept_policies(result)
    if not len(kept):
        raise InvalidInputError("Both archives are empty, so there is nothing to find.")
    numbers = np.zeros(1, np.int64)
    if ground_truth is not None:
        places, wanted = kept.ground_truth[:, None], _wanted_truth(result, ground_truth)
    elif like is not None:
        wanted = _descriptor_of(result, check_whole("like", like, 0))
        kept = kept.take(kept.id != like)
        places = kept.descriptor[:, None]
    else:
        _require_learned(result)
        seen = (
            picture_observation(picture, result.task)
            if picture is not None
            else array_observation(_given(observation), result.task)
        )
        wanted = result.space.place_of(seen)  # type: ignore[attr-defined]
        places = result.space.observed_places(kept.descriptor)  # type: ignore[attr-defined]
        chosen = chosen_moments(LAST if moment is None else moment, places.shape[1])
        places, numbers = places[:, chosen], chosen + 1
    found = nearest(places, wanted, count)
    return Found(kept.take(found.rows), found.distance, numbers[found.moment], found.median_distance)


def _given(observation: Any) -> Any:
    assert observation is not None
    return observation


def _require_learned(result: Result) -> None:
    if not result.space.learned:
        raise InvalidInputError(
            f"The run compared behaviours by descriptor={result.parameters.descriptor}, so it has no autoencoder that could compare"
            " observations; ask with ground_truth or like."
        )


def _wanted_truth(result: Result, given: Sequence[float]) -> NDArray[np.float64]:
    bounds = result.task.ground_truth_bounds
    if bounds is None:
        raise InvalidInputError(f"Task {result.task.name!r} has no ground-truth descriptor, so none can be looked up.")
    try:
        point = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"ground_truth must be {len(bounds)} numbers, not {shown(given)}.") from None
    if point.shape != (len(bounds),) or not np.isfinite(point).all():
        raise InvalidInputError(f"ground_truth must be {len(bounds)} finite numbers, not {shown(given)}.")
    return point


def _descriptor_of(result: Result, policy: int) -> NDArray[np.float64]:
    if not result.space.size:
        raise InvalidInputError(
            "The method of this run compares no behaviours, so nothing is like another; ask with ground_truth."
        )
    descriptor: NDArray[np.float64] = find_policies(result, [policy]).descriptor[0]
    if not np.isfinite(descriptor).all():
        raise InvalidInputError(f"Policy {policy} has no descriptor, so nothing can be compared with it.")
    return descriptor
