"""A set of policies as aligned arrays, and a set that grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError
from stax.input_limits import LARGEST_GENE, LARGEST_NUMBER
from stax.search.vocabulary import Origin
from stax.tasks.task import Genomes, Rollouts, Task

if TYPE_CHECKING:
    import pandas

SPREAD = "reward_spread"
"""Name of the column that only searches with `reevaluations` have."""
_INTEGERS = ("id", "parent", "born", "origin", "emitter", "reward_area", "steps")


@dataclass(frozen=True, eq=False)
class PolicySet:
    """Evaluated policies, as arrays: row i of every array describes policy i."""

    id: NDArray[np.int64]
    """(n,) number of its evaluation, from 0."""
    parent: NDArray[np.int64]
    """(n,) id of the policy it was mutated from, -1 for none."""
    born: NDArray[np.int64]
    """(n,) chunk of the run it was evaluated in, from 0."""
    origin: NDArray[np.int64]
    """(n,) an `Origin`: the step of the search that made it."""
    emitter: NDArray[np.int64]
    """(n,) id of the emitter that made it, -1 for none."""
    genome: Genomes
    """(n, genome_size)"""
    reward: NDArray[np.float64]
    """(n,)"""
    reward_area: NDArray[np.int64]
    """(n,) -1 for none."""
    steps: NDArray[np.int64]
    """(n,)"""
    ground_truth: NDArray[np.float64]
    """(n, d); d is 0 for a task without such a descriptor."""
    snapshots: NDArray[Any]
    """(n, observation_samples, ...) states that observations are drawn from."""
    descriptor: NDArray[np.float64]
    """(n, D) in the space that the search compares behaviours in; nan where it is not needed."""
    novelty: NDArray[np.float64]
    """(n,) as last measured; nan before."""
    surprise: NDArray[np.float64]
    """(n,) as last measured; nan where not measured."""
    reward_spread: NDArray[np.float64] | None = None
    """(n,) standard deviation of the rewards whose mean is `reward`; nan for policies that were evaluated once. None in a search
    without `reevaluations`, whose policies have no such column."""

    @staticmethod
    def newborn(
        rollouts: Rollouts,
        *,
        first_id: int,
        genome: Genomes,
        parent: NDArray[np.int64],
        born: int,
        origin: Origin,
        emitter: int,
        descriptor_size: int,
        has_spread: bool = False,
    ) -> PolicySet:
        """Make a set of policies just evaluated, numbered from `first_id`; nothing is measured yet."""
        count = len(genome)
        ground_truth = np.empty((count, 0)) if rollouts.ground_truth is None else rollouts.ground_truth
        return PolicySet(
            id=np.arange(first_id, first_id + count),
            parent=parent,
            born=np.full(count, born),
            origin=np.full(count, origin),
            emitter=np.full(count, emitter),
            genome=genome,
            # Copies: the evaluator may use its arrays again.
            reward=np.array(rollouts.reward, np.float64),
            reward_area=np.array(rollouts.reward_area, np.int64),
            steps=np.array(rollouts.steps, np.int64),
            ground_truth=np.array(ground_truth, np.float64),
            snapshots=np.array(rollouts.snapshots),
            descriptor=np.full((count, descriptor_size), np.nan),
            novelty=np.full(count, np.nan),
            surprise=np.full(count, np.nan),
            reward_spread=np.full(count, np.nan) if has_spread else None,
        )

    @staticmethod
    def checked(
        columns: Mapping[str, NDArray[Any]], what: str, task: Task, *, descriptor_size: int, evaluations: int
    ) -> PolicySet:
        """Make a set of policies from columns of a file, or raise `stax.InvalidInputError` if no search can have written them."""
        shapes = {
            "genome": (task.genome_size,),
            "ground_truth": (len(task.ground_truth_bounds or ()),),
            "descriptor": (descriptor_size,),
        }
        if set(columns) | {SPREAD} != {field.name for field in fields(PolicySet)}:
            raise InvalidInputError(f"{what} has the columns {', '.join(sorted(columns)) or 'none'}.")
        rows = columns["id"].shape[0] if columns["id"].ndim else 0
        for name, values in columns.items():
            if name == "snapshots":
                fits = values.shape[:2] == (rows, task.observation_samples) and values.dtype.kind in "biuf"
            else:
                dtype = np.int64 if name in _INTEGERS else np.float64
                fits = values.shape == (rows, *shapes.get(name, ())) and values.dtype == dtype
            if not fits:
                raise InvalidInputError(f"{what} has a column {name} of shape {values.shape} and type {values.dtype}.")
        limits = {"id": (0, evaluations), "parent": (-1, evaluations), "origin": (0, Origin.REEVALUATION)}
        for name, (low, end) in {**limits, "reward_area": (-1, len(task.reward_areas))}.items():
            if rows and not (columns[name].min() >= low and columns[name].max() < end):
                raise InvalidInputError(f"{what} has a policy with an impossible {name}.")
        if not (np.isfinite(columns["genome"]).all() and np.isfinite(columns["reward"]).all()):
            raise InvalidInputError(f"{what} has a policy with nan or infinity in its genome or its reward.")
        _check_magnitudes(columns, what)
        return PolicySet(**columns)

    @staticmethod
    def from_pandas(frame: pandas.DataFrame, task: Task) -> PolicySet:
        """Make a set of policies from a data frame as `to_pandas` makes it, checked; missing columns count as not known.

        Args:
            frame: a row per policy, with at least `genome_0`..., `reward`, and `ground_truth_0`... if the task has one.
            task: the task of the policies.
        """
        from stax.ecosystem.frames import policies_from_frame

        return policies_from_frame(frame, task)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a data frame with a row per policy; columns of arrays become `genome_0`, `genome_1`, ..., and origins are words.

        Args:
            columns: names of the columns, in this order; all but `snapshots` if None.
        """
        # Here and above, because pandas takes a while to import, and searches do without.
        from stax.ecosystem.frames import policies_frame

        return policies_frame(self, columns)

    def __repr__(self) -> str:
        from stax.ecosystem.notebook import policies_text

        return policies_text(self)

    def _repr_html_(self) -> str:
        from stax.ecosystem.notebook import policies_html

        return policies_html(self)

    def __len__(self) -> int:
        return len(self.id)

    def best(self, area: int | None = None) -> PolicySet:
        """Return the policy with the highest reward, the older one of two that are equally good.

        Args:
            area: number of the reward area that it was rewarded in; any area if None. `Result.best` takes names, too.
        """
        rewarded = (self.reward > 0) & (True if area is None else self.reward_area == area)
        rows = np.flatnonzero(rewarded)
        if not len(rows):
            where = "" if area is None else f" in reward area {area!r}"
            raise InvalidInputError(f"None of the {len(self):,} policies was rewarded{where}.")
        return self.take([rows[np.lexsort((self.id[rows], -self.reward[rows]))[0]]])

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: column for name, column in columns.items() if column is not None}

    def rollouts(self) -> Rollouts:
        """Return the policies as rollouts of the task."""
        ground_truth = self.ground_truth if self.ground_truth.shape[1] else None
        return Rollouts(self.reward, self.reward_area, self.steps, self.snapshots, ground_truth)

    def take(self, rows: ArrayLike | slice) -> PolicySet:
        """Return the policies of these rows: indices, a mask, or a slice (which gives views)."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        return PolicySet(**{name: column[index] for name, column in self.columns().items()})

    def undescribed(self) -> PolicySet:
        """Return copies of the policies without their descriptors and their novelty."""
        copies = PolicySet.concat([self])
        copies.descriptor[:], copies.novelty[:] = np.nan, np.nan
        return copies

    @staticmethod
    def concat(parts: Sequence[PolicySet]) -> PolicySet:
        """Join the policies of the parts, in order, as copies."""
        return PolicySet(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in parts[0].columns()})

    @staticmethod
    def union(parts: Sequence[PolicySet]) -> PolicySet:
        """Join the policies of the parts, each once however many parts hold it, ordered by id."""
        joined = PolicySet.concat(parts)
        return joined.take(np.unique(joined.id, return_index=True)[1])


def _check_magnitudes(columns: Mapping[str, NDArray[Any]], what: str) -> None:
    """Refuse numbers that no search writes, since computing with them overflows."""
    if columns["reward"].size and columns["reward"].min() < 0:
        raise InvalidInputError(f"{what} has a policy with a negative reward.")
    if not np.isfinite(columns["ground_truth"]).all():
        raise InvalidInputError(f"{what} has a policy with nan or infinity in its ground_truth.")
    limits = {"genome": LARGEST_GENE, "reward": LARGEST_NUMBER, "ground_truth": LARGEST_NUMBER, "descriptor": LARGEST_NUMBER}
    if SPREAD in columns:
        limits[SPREAD] = LARGEST_NUMBER
        if (columns[SPREAD] < 0).any():
            raise InvalidInputError(f"{what} has a policy with a negative {SPREAD}.")
    for name, largest in limits.items():
        # A descriptor that is not needed is nan, and so is the spread of one reward.
        if (np.abs(columns[name]) > largest).any():
            raise InvalidInputError(f"{what} has a policy whose {name} is beyond {largest:g}.")


_SMALLEST = 4
"""Initial capacity of a growing set. Thousands of emitters have such a set each, and most of these stay small."""


class GrowingSet:
    """A set of policies to which others are appended at a cost that does not depend on its size."""

    def __init__(self, like: PolicySet) -> None:
        """Return an empty set whose columns have the shapes and types of `like`."""
        self._size = 0
        self._columns = {name: np.empty((0, *column.shape[1:]), column.dtype) for name, column in like.columns().items()}

    def __len__(self) -> int:
        return self._size

    @property
    def policies(self) -> PolicySet:
        """All policies, as views: writing to their columns changes this set. Valid until the next `append` or `pop`."""
        return PolicySet(**{name: column[: self._size] for name, column in self._columns.items()})

    def append(self, policies: PolicySet) -> None:
        """Add copies of the policies."""
        size = self._size + len(policies)
        for name, column in policies.columns().items():
            kept = self._columns[name]
            if size > len(kept):
                grown = np.empty((max(size, 2 * len(kept), _SMALLEST), *kept.shape[1:]), kept.dtype)
                grown[: self._size] = kept[: self._size]
                self._columns[name] = kept = grown
            kept[self._size : size] = column
        self._size = size

    def pop(self, row: int) -> PolicySet:
        """Remove and return one policy; the last one moves to its place."""
        policy = self.policies.take([row])
        for column in self._columns.values():
            column[row] = column[self._size - 1]
        self._size -= 1
        return policy
