"""Curves, ends, rewards and pictures as small arrays of integers, and back.

Curves come back exactly. Ends and rewards are rounded to 16 bits, and pictures of reconstructions to 6; docs/file-formats.md says how.
A record may come from a stranger: arrays that no writer can have written raise `InvalidInputError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.analysis.measures import Curve
from stax.errors import InvalidInputError
from stax.input_limits import LARGEST_NUMBER
from stax.runs.array_files import Arrays
from stax.search.grid import PROFILE_LEVELS
from stax.search.policy_set import PolicySet

Bounds = tuple[tuple[float, float], ...]
STEPS = 2**16
"""Values of 16 bits."""
LEVELS = 64
"""Values of a reconstruction."""
MOST_SHOWN = 8
"""Policies whose observations are kept."""


def damaged(why: str) -> InvalidInputError:
    """Return an error about a part of a record; the reader of the record adds which one it is."""
    return InvalidInputError(why)


def get(arrays: Mapping[str, NDArray[Any]], name: str, kinds: str, dimensions: int) -> NDArray[Any]:
    """Return the array of this name, which must have one of these kinds of types and so many dimensions."""
    if name not in arrays:
        raise damaged(f"it has no {name}")
    array = arrays[name]
    if array.dtype.kind not in kinds or array.ndim != dimensions:
        raise damaged(f"{name} is an array of type {array.dtype} and shape {array.shape}")
    return array


# Curves

PROFILE_NAMES = tuple(f"profile_{level:g}" for level in PROFILE_LEVELS)
"""Names of the curves of the archive profile."""


def smallest(values: NDArray[np.int64]) -> NDArray[Any]:
    """Return integers that are not negative in the smallest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def pack_steps(evaluations: NDArray[np.int64]) -> NDArray[Any]:
    """Return the distances between the steps of a curve; the curve begins at 0."""
    return smallest(np.diff(evaluations))


def unpack_steps(gaps: NDArray[Any], name: str, evaluations: int) -> NDArray[np.int64]:
    """Return the evaluations of a curve's steps, 0 first, of a run of so many evaluations."""
    if len(gaps) > evaluations or (len(gaps) and not (gaps.min() >= 1 and gaps.max() <= evaluations)):
        raise damaged(f"{name} has steps that there cannot be")
    steps = np.concatenate([[0], np.cumsum(gaps.astype(np.int64))])
    if steps[-1] > evaluations:
        raise damaged(f"{name} goes on after the {evaluations:,} evaluations of the run")
    return steps


def pack_curves(name: str, curves: Sequence[Curve]) -> Arrays:
    """Return several curves as three arrays: how many steps each has, the distances between them, and the values."""
    return {
        f"{name}.lengths": smallest(np.array([len(curve.evaluations) - 1 for curve in curves], np.int64)),
        f"{name}.gaps": smallest(np.concatenate([np.diff(curve.evaluations) for curve in curves])),
        f"{name}.values": np.concatenate([curve.values[1:] for curve in curves]),
    }


def unpack_curves(arrays: Mapping[str, NDArray[Any]], name: str, count: int, evaluations: int) -> list[Curve]:
    """Return the curves that `pack_curves` has packed, each of which begins with 0 and rises."""
    lengths = get(arrays, f"{name}.lengths", "u", 1)
    gaps, values = get(arrays, f"{name}.gaps", "u", 1), get(arrays, f"{name}.values", "f", 1)
    if len(lengths) != count or int(lengths.max(initial=0)) > len(gaps) or int(lengths.astype(np.int64).sum()) != len(gaps):
        raise damaged(f"{name} does not have the {count:,} curves that it should have")
    if len(values) != len(gaps) or values.dtype != np.float64:
        raise damaged(f"{name} does not have a value for every step")
    curves, ends = [], np.cumsum(lengths.astype(np.int64))
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        reached = np.concatenate([[0.0], values[start:end]])
        if not (np.isfinite(reached).all() and reached[-1] <= LARGEST_NUMBER and (np.diff(reached) > 0).all()):
            raise damaged(f"{name} has a curve that does not rise")
        curves.append(Curve(unpack_steps(gaps[start:end], name, evaluations), reached))
    return curves


# Points


def grid_steps(cells: int) -> int:
    """Return how many steps a dimension of so many cells has: as many as 16 bits hold, the same number in each cell."""
    return cells * (STEPS // cells) if cells <= STEPS else STEPS


def quantised(points: NDArray[np.float64], bounds: Bounds, cells: int = 1) -> NDArray[np.uint16]:
    """Return the step that each number of each point is in, between the bounds of its dimension.

    What lies beyond the bounds is in the outermost steps. A point stays in its cell of a grid with so many cells along each dimension.
    """
    place = (points - [low for low, _ in bounds]) / [high - low for low, high in bounds]
    steps = grid_steps(cells)
    step = np.clip(np.floor(place * steps), 0, steps - 1)
    if cells <= STEPS:
        each = steps // cells
        first = each * np.clip(np.floor(place * cells), 0, cells - 1)
        step = np.clip(step, first, first + each - 1)
    return step.astype(np.uint16)


def restored(codes: NDArray[Any], bounds: Bounds, cells: int = 1) -> NDArray[np.float64]:
    """Return the middle of each step."""
    low, span = np.array([low for low, _ in bounds]), np.array([high - low for low, high in bounds])
    return np.asarray(low + (codes + 0.5) / grid_steps(cells) * span, np.float64)


@dataclass(frozen=True, eq=False)
class ArchivedEnds:
    """The policies of an archive as a record holds them, sorted by where they end."""

    ground_truth: NDArray[np.float64]
    """(n, d) where they end; d is 0 for a task without such a descriptor."""
    reward: NDArray[np.float64]
    """(n,)"""
    reward_area: NDArray[np.int64]
    """(n,) -1 for none."""

    def __len__(self) -> int:
        return len(self.reward)


def pack_ends(name: str, policies: PolicySet, bounds: Bounds, cells: int, highest: float) -> Arrays:
    """Return ends, rewards and areas of an archive's policies; `highest` is the highest reward that there is."""
    codes = quantised(policies.ground_truth, bounds, cells)
    order = np.lexsort(codes.T[::-1]) if len(bounds) else np.arange(len(policies))
    codes = codes[order].T
    if len(bounds):
        codes[0] = np.diff(codes[0], prepend=np.uint16(0))
    # A reward stays a reward, however small it is.
    rewards = np.ceil(policies.reward[order] / (highest or 1.0) * (STEPS - 1)).astype(np.uint16)
    areas = policies.reward_area[order]
    return {f"{name}.ends": codes, f"{name}.rewards": rewards, f"{name}.areas": smallest(areas + 1)}


def unpack_ends(
    arrays: Mapping[str, NDArray[Any]], name: str, bounds: Bounds, cells: int, highest: float, areas: int
) -> ArchivedEnds:
    """Return what `pack_ends` has packed, of a task with so many reward areas."""
    codes = get(arrays, f"{name}.ends", "u", 2).astype(np.int64)
    rewards, area = get(arrays, f"{name}.rewards", "u", 1), get(arrays, f"{name}.areas", "u", 1)
    if not (codes.shape == (len(bounds), len(rewards)) and len(area) == len(rewards)):
        raise damaged(f"{name} has {codes.shape} ends, {len(rewards):,} rewards and {len(area):,} areas")
    if len(bounds):
        codes[0] = np.cumsum(codes[0])
    if codes.min(initial=0) < 0 or codes.max(initial=0) >= grid_steps(cells):
        raise damaged(f"{name} has a policy whose end there cannot be")
    if int(rewards.max(initial=0)) >= STEPS or int(area.max(initial=0)) > areas:
        raise damaged(f"{name} has a policy that there cannot be")
    reward = np.asarray(rewards / (STEPS - 1) * highest, np.float64)
    return ArchivedEnds(restored(codes.T, bounds, cells), reward, area.astype(np.int64) - 1)


# Pictures


def pack_reconstructions(pictures: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Return pictures in [0, 1] in 64 levels: the digits beyond are noise, and most of the bytes."""
    return np.asarray(np.clip(np.rint(pictures * (LEVELS - 1)), 0, LEVELS - 1), np.uint8)


def unpack_pictures(
    arrays: Mapping[str, NDArray[Any]], shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return observations of this shape and their reconstructions, in [0, 1]; None if the record holds none."""
    if "observed" not in arrays:
        return None
    found = [get(arrays, name, "u", 1 + len(shape)) for name in ("observed", "reconstructed")]
    if len(found[0]) > MOST_SHOWN or any(array.dtype != np.uint8 or array.shape != (len(found[0]), *shape) for array in found):
        raise damaged("its observations do not have the shape of the task's, or the reconstructions another")
    if found[1].max(initial=0) >= LEVELS:
        raise damaged("a reconstruction has values that there cannot be")
    return np.asarray(found[0] / 255), np.asarray(found[1] / (LEVELS - 1))
