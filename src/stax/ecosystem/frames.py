"""Conversion of results to pandas data frames, and of data frames to policies.

A column of numbers keeps its name. A column of arrays becomes one column for each number: `genome_0`, `genome_1`, ...,
`snapshots_0_0`, ... Origins are words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.ecosystem.given_policies import given_policies
from stax.errors import InvalidInputError
from stax.extras import import_extra
from stax.search.emitters.emitter import EmitterRecord
from stax.search.policy_set import SPREAD, PolicySet
from stax.search.vocabulary import POLICY_ORIGINS, origin_words
from stax.tasks.task import Task

if TYPE_CHECKING:
    import pandas

    from stax.runs.result import Result

_SCALARS = ("id", "parent", "born", "origin", "emitter", "reward", "reward_area", "steps", "novelty", "surprise")
_ARRAYS = ("ground_truth", "descriptor", "genome", "snapshots")
DEFAULT_COLUMNS = (*_SCALARS, "ground_truth", "descriptor", "genome")
"""All columns but the snapshots, which may be complete pictures."""
_FLOATS = ("reward", "novelty", "surprise", SPREAD)
_ARRAY_COLUMN = re.compile(rf"({'|'.join(_ARRAYS)})((?:_\d+)+)", re.ASCII)


def policies_frame(policies: PolicySet, columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """Return policies as a data frame with a row per policy; the same as `policies.to_pandas`.

    Args:
        policies: for instance an archive.
        columns: names of columns of `PolicySet`, in the order wanted; all but `snapshots` if None.
    """
    known = policies.columns()
    if columns is None:
        columns = (*DEFAULT_COLUMNS, SPREAD) if SPREAD in known else DEFAULT_COLUMNS
    for name in columns:
        if name not in known:
            raise InvalidInputError(f"Policies have no column {name!r}; they have {', '.join(known)}.")
    return _frame({name: known[name] for name in columns})


def result_frames(result: Result) -> dict[str, pandas.DataFrame]:
    """Return all tables of a result as data frames; the same as `result.frames()`.

    Args:
        result: the result of a run, from `stax.run`, `stax.resume` or `stax.load`.

    Returns:
        `novelty_archive`, `reward_archive`, `ledger`, `metrics` and `emitters`.
    """
    return {
        "novelty_archive": policies_frame(result.novelty_archive),
        "reward_archive": policies_frame(result.reward_archive),
        "ledger": _frame(result.ledger),
        "metrics": _table(result.metrics, list(result.metrics[0]) if result.metrics else []),
        "emitters": _table([asdict(record) for record in result.emitters], [field.name for field in fields(EmitterRecord)]),
    }


def _import_pandas() -> Any:
    return import_extra("pandas", "pandas", "A data frame")


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    """Make a data frame from rows of numbers and words; a missing number is nan."""
    pandas = _import_pandas()
    table = {name: [row[name] for row in rows] for name in columns}
    for name, values in table.items():
        if not any(isinstance(value, str) for value in values):
            table[name] = [np.nan if value is None else value for value in values]
    return pandas.DataFrame(table)


def _frame(columns: Mapping[str, NDArray[Any]]) -> pandas.DataFrame:
    """Make a data frame from copies of the columns, with one column per number of an array."""
    pandas = _import_pandas()
    flat: dict[str, Any] = {}
    for name, values in columns.items():
        if name == "origin":
            flat[name] = pandas.Categorical.from_codes(values, list(origin_words(int(values.max(initial=0)))))
        elif values.ndim == 1:
            flat[name] = values.copy()
        else:
            for place in np.ndindex(values.shape[1:]):
                flat["_".join([name, *map(str, place)])] = values[(slice(None), *place)].copy()
    return pandas.DataFrame(flat)


def policies_from_frame(frame: pandas.DataFrame, task: Task) -> PolicySet:
    """Make checked policies from a data frame; the same as `PolicySet.from_pandas`.

    The columns `genome_0`... and `reward` are required, and `ground_truth_0`... if the task has a ground truth. Other missing columns
    are filled in: ids are counted from 0, `parent` and `emitter` are -1, `novelty` and `surprise` are nan, `descriptor` and
    `snapshots` have no numbers, and reward areas are computed from the ground truth. Columns with other names are ignored.

    Args:
        frame: a row per policy, with columns as `policies_frame` names them.
        task: the task of the policies.
    """
    pandas = _import_pandas()
    if not isinstance(frame, pandas.DataFrame):
        raise InvalidInputError(f"The frame must be a pandas DataFrame, not {type(frame).__name__}.")
    if not frame.columns.is_unique:
        raise InvalidInputError(f"The frame has the column {frame.columns[frame.columns.duplicated()][0]!r} twice.")
    columns: dict[str, NDArray[Any]] = {name: _scalars(frame, name) for name in (*_SCALARS, SPREAD) if name in frame.columns}
    places = _places(frame)
    sizes = {"genome": (task.genome_size,), "ground_truth": (len(task.ground_truth_bounds or ()),)}
    for name, found in places.items():
        shape = sizes.get(name) or tuple(int(most) + 1 for most in np.max(found, axis=0))
        columns[name] = _array(frame, name, shape, found)
    return given_policies(columns, task, "The frame")


def frame_genomes(frame: pandas.DataFrame, task: Task) -> NDArray[Any]:
    """Return the genomes of a data frame, whose columns are `genome_0`, `genome_1`, ..., (n, genome_size)."""
    found = _places(frame).get("genome")
    if not found:
        raise InvalidInputError("The frame has no columns genome_0, genome_1, ... with genomes.")
    return _array(frame, "genome", (task.genome_size,), found)


def _places(frame: pandas.DataFrame) -> dict[str, list[tuple[int, ...]]]:
    """Return the indices in the names of columns that make up an array."""
    places: dict[str, list[tuple[int, ...]]] = {}
    for column in frame.columns:
        match = _ARRAY_COLUMN.fullmatch(str(column))
        if match:
            places.setdefault(match[1], []).append(tuple(int(number) for number in match[2][1:].split("_")))
    for name, found in places.items():
        if len({len(place) for place in found}) > 1:
            raise InvalidInputError(
                f"The columns {name}_... of the frame must all have the same number of indices in their names."
            )
    return places


def _array(frame: pandas.DataFrame, name: str, shape: tuple[int, ...], found: list[tuple[int, ...]]) -> NDArray[Any]:
    first, last = (f"{name}_{'_'.join(map(str, place))}" for place in ([0] * len(shape), [side - 1 for side in shape]))
    # Compare numbers before making names: a wrong column such as genome_1000000000 must not lead to as many names.
    if math.prod(shape) != len(found) or any(len(place) != len(shape) for place in found):
        raise InvalidInputError(
            f"The frame has {len(found)} columns of {name}; there must be {math.prod(shape)}, {first} to {last}."
        )
    names = ["_".join([name, *map(str, place)]) for place in np.ndindex(shape)]
    for column in names:
        if column not in frame.columns:
            raise InvalidInputError(f"The frame has no column {column!r}; of {name} there must be {first} to {last}.")
    values = np.stack([_numbers(frame, column) for column in names], axis=1)
    kept = values if name == "snapshots" else values.astype(np.float64)
    return kept.reshape(len(frame), *shape)


def _scalars(frame: pandas.DataFrame, name: str) -> NDArray[Any]:
    if name == "origin":
        words = frame[name].astype(str)
        unknown = words[~words.isin(POLICY_ORIGINS)]
        if len(unknown):
            raise InvalidInputError(
                f"Column origin of the frame must be one of {', '.join(POLICY_ORIGINS)}, not {unknown.iloc[0]!r}."
            )
        return np.array([POLICY_ORIGINS.index(word) for word in words], np.int64)
    values = _numbers(frame, name)
    if name in _FLOATS:
        return values.astype(np.float64)
    wrong = ~(np.isfinite(values) & (np.floor(values) == values) & (np.abs(values) < 2.0**63))
    if wrong.any():
        raise InvalidInputError(f"Column {name} of the frame must hold integers, not {values[wrong][0]}.")
    return values.astype(np.int64)


def _numbers(frame: pandas.DataFrame, column: str) -> NDArray[Any]:
    try:
        values: NDArray[Any] = frame[column].to_numpy()
        return values if values.dtype.kind in "iuf" else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"Column {column} of the frame must hold numbers ({error}).") from None
