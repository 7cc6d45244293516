"""The reader of records. A record is checked, and no code of the run's maker is run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from stax.analysis.measures import Curve, Measured, Spent, check_ends, coverage_grid
from stax.analysis.records.compact import (
    PROFILE_NAMES,
    STEPS,
    ArchivedEnds,
    Bounds,
    damaged,
    get,
    restored,
    unpack_curves,
    unpack_ends,
    unpack_pictures,
    unpack_steps,
)
from stax.analysis.splits import MOST_SPLIT, Split
from stax.errors import InvalidInputError, printable, shown
from stax.input_limits import LARGEST_NUMBER
from stax.runs import limits
from stax.runs.array_files import Arrays, read_arrays
from stax.runs.config import RunConfig, parse_toml
from stax.runs.described_task import DescribedTask
from stax.runs.files import BAD_VALUE_ERRORS, checked_json
from stax.runs.folder import config_of_table
from stax.runs.status import RunStatus
from stax.search.vocabulary import ORIGINS, Origin

FORMAT, VERSION = "stax-record", 1
TEXT = "record.json"
"""Name of the text beside the arrays of a record."""
SUFFIX = ".record.npz"
"""Ending of the names of records."""
DIGESTS = ("ledger", "novelty_archive", "reward_archive")
"""Names of the digests of a record."""
_MOST_WORDS = 200
"""Characters of a value that are shown."""
_MOST_EMITTERS = 10**9


@dataclass(frozen=True)
class EmitterStatistics:
    """Statistics of all emitters of one kind."""

    kind: str
    count: int
    ended_by: dict[str, int]
    """Number of emitters that ended, by reason."""
    quantiles: dict[str, tuple[float, ...]]
    """Lowest, tenth percentile, quartile, median, quartile, ninetieth percentile and highest of each number of an emitter."""


@dataclass(frozen=True, eq=False)
class LearnedMeasures:
    """Measures of the quality of a learned space; what could not be measured is None."""

    similarity: float | None
    """Similarity of the learned descriptors and the ground truth."""
    random_similarity: float | None
    """The same of the descriptors of an autoencoder that was never trained."""
    reconstruction_error: float | None
    """Mean squared error of reconstructions."""
    random_reconstruction_error: float | None
    """The same of an autoencoder that was never trained."""
    mean_observation_error: float | None
    """The same if the mean observation were the reconstruction of all of them."""
    pictures: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    """(n, height, width, 3) the last observations of some archived policies, and their reconstructions, in [0, 1]."""
    split: Split | None
    """The reward area with the most archived policies, in both spaces."""


@dataclass(frozen=True, eq=False)
class Record:
    """The record of one finished run."""

    path: Path
    config: RunConfig
    task: DescribedTask
    summary: dict[str, Any]
    versions: dict[str, str]
    """Versions of the packages that the run was made with."""
    machine: dict[str, str]
    """Description of the machine that the run was done on."""
    course: Measured
    novelty_archive: ArchivedEnds
    reward_archive: ArchivedEnds
    spent: list[Spent]
    emitters: list[EmitterStatistics]
    digests: dict[str, str]
    learned: LearnedMeasures | None
    """None for a method that learns nothing."""

    def __str__(self) -> str:
        return f"{self.config.algo} on {self.config.task} with seed {self.config.seed} in {str(self.path)!r}"

    @property
    def status(self) -> RunStatus:
        """Always finished, since other runs have no record."""
        return RunStatus.FINISHED

    def why_unfinished(self) -> str:
        """Return None, since only finished runs have a record."""
        return ""

    def require_finished(self) -> None:
        """Accept the run, since only finished runs have a record."""

    @property
    def evaluations(self) -> int:
        return self.course.evaluations

    @property
    def coverage(self) -> float | None:
        """Coverage at the end; None for a task without a ground-truth descriptor."""
        return None if self.course.coverage is None else self.course.coverage.last

    @property
    def max_reward(self) -> list[float]:
        """The highest reward per area, 0 where none was found."""
        return [curve.last for curve in self.course.max_reward]

    @property
    def core_seconds(self) -> float | None:
        """Processor time of the run; None if it is not known."""
        found = self.summary.get("core_seconds")
        return float(found) if _is_number(found) and found >= 0 else None

    def measured(self, grid_cells: int | None = None) -> Measured:
        """Return the course of the run; coverage on another grid than the run's own is refused, since a record cannot tell it."""
        own = self.config.parameters.grid_cells
        if grid_cells not in (None, own) and self.course.coverage is not None:
            raise InvalidInputError(
                f"The record {str(self.path)!r} holds coverage on a grid of {own} cells along each dimension, not of {grid_cells};"
                " compare the run's folder instead, or only runs with the same grid_cells."
            )
        return self.course


def is_record(path: Path) -> bool:
    """Return whether a file is a record, by its name."""
    return path.name.endswith(SUFFIX)


def read_record(path: str | Path) -> Record:
    """Return a record, which may come from a stranger; one that is damaged is refused in a sentence."""
    path = Path(path)
    where = f"The record {str(path)!r}"
    arrays, text = read_arrays(
        path,
        "The record",
        most_rows=lambda _: limits.RECORD_UNPACKED_BYTES,
        text=TEXT,
        most_bytes=limits.RECORD_BYTES,
        most_unpacked=limits.RECORD_UNPACKED_BYTES,
    )
    content = checked_json(text, where, limits.RECORD_VALUES)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInputError(f"{where} is damaged: it does not say that it is one.")
    if content.get("version") != VERSION:
        raise InvalidInputError(
            f"{where} has version {printable(shown(content.get('version')))} of the format; this version of stax reads {VERSION}."
        )
    try:
        return _record(path, content, arrays)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where} is damaged: {str(error).rstrip('.')}.") from None
    except (RecursionError, *BAD_VALUE_ERRORS) as error:
        raise InvalidInputError(f"{where} is damaged ({type(error).__name__}: {printable(error, _MOST_WORDS)}).") from None


def _record(path: Path, content: Mapping[str, Any], arrays: Arrays) -> Record:
    table = parse_toml(_text(content, "config"), "its configuration")
    config, description = config_of_table(table, "its configuration")
    task = DescribedTask(description)
    bounds, cells = _bounds(task), config.parameters.grid_cells
    summary = _table(content, "summary")
    evaluations = _integer(summary, "evaluations", 1, config.budget)
    areas = len(task.reward_areas)
    profile = [_coverage(arrays, name, task, cells, evaluations) for name in PROFILE_NAMES]
    course = Measured(
        evaluations=evaluations,
        coverage=_coverage(arrays, "coverage", task, cells, evaluations),
        exploration_coverage=_coverage(arrays, "exploration_coverage", task, cells, evaluations),
        max_reward=unpack_curves(arrays, "max_reward", areas, evaluations),
        archived_reward=unpack_curves(arrays, "archived_reward", areas, evaluations),
        qd_score=unpack_curves(arrays, "qd_score", 1, evaluations)[0] if profile[0] else None,
        profile=tuple(curve for curve in profile if curve is not None),
    )
    _check_summary(course, summary, path)
    highest = _number(content, "highest_reward", 0.0)
    archives = [unpack_ends(arrays, name, bounds, cells, highest, areas) for name in ("novelty_archive", "reward_archive")]
    if sum(map(len, archives)) > limits.RECORD_POLICIES:
        raise damaged(
            f"it has {sum(map(len, archives)):,} policies, more than the {limits.RECORD_POLICIES:,} that a record holds"
        )
    return Record(
        path=path,
        config=config,
        task=task,
        summary=dict(summary),
        versions=_words(table.get("made_with")),
        machine=_words(table.get("machine")),
        course=course,
        novelty_archive=archives[0],
        reward_archive=archives[1],
        spent=_spent(content.get("budget"), evaluations),
        emitters=_emitters(content.get("emitters")),
        digests=_digests(_table(content, "digests")),
        learned=_learned(content.get("learned"), arrays, task, bounds, cells),
    )


def _bounds(task: DescribedTask) -> Bounds:
    bounds: Bounds = task.ground_truth_bounds or ()
    for low, high in bounds:
        if not (abs(low) <= LARGEST_NUMBER and abs(high) <= LARGEST_NUMBER and low < high):
            raise damaged(f"ground_truth_bounds are {shown(bounds)}")
    return bounds


def _coverage(arrays: Arrays, name: str, task: DescribedTask, cells: int, evaluations: int) -> Curve | None:
    grid = coverage_grid(task, cells)
    if grid is None:
        return None
    steps = unpack_steps(get(arrays, f"{name}.gaps", "u", 1), name, evaluations)
    if len(steps) - 1 > grid.size:
        raise damaged(f"{name} has more steps than the grid has cells")
    return Curve(steps, np.arange(len(steps)) / grid.size)


def _check_summary(course: Measured, summary: Mapping[str, Any], path: Path) -> None:
    """Check that curves and summary state the same end."""
    if summary.get("status") != RunStatus.FINISHED:
        raise damaged(f"status is {shown(summary.get('status'))}, and only a finished run has a record")
    coverage, rewards = summary.get("coverage"), summary.get("max_reward")
    if not (coverage is None or _is_number(coverage)):
        raise damaged(f"coverage is {shown(coverage)}")
    if not (isinstance(rewards, list) and all(_is_number(reward) for reward in rewards)):
        raise damaged(f"max_reward is {shown(rewards)}")
    check_ends(course, coverage, rewards, path, "curves")


def _spent(given: Any, evaluations: int) -> list[Spent]:
    entries = _tables(given, "budget")
    # Reevaluations are listed only where there are some.
    if [entry.get("origin") for entry in entries] not in (list(ORIGINS), list(ORIGINS[: Origin.REEVALUATION])):
        raise damaged("budget does not have the origins of evaluations")
    found = []
    for entry in entries:
        count = _integer(entry, "evaluations", 0, evaluations)
        found.append(Spent(str(entry["origin"]), count, count / evaluations, _integer(entry, "failed", 0, count)))
    if sum(spent.evaluations for spent in found) != evaluations:
        raise damaged(f"budget is not that of {evaluations:,} evaluations")
    return found


def _emitters(given: Any) -> list[EmitterStatistics]:
    found = []
    for entry in _tables(given, "emitters"):
        reasons, quantiles = _table(entry, "ended_by"), _table(entry, "quantiles")
        found.append(
            EmitterStatistics(
                kind=printable(_text(entry, "kind"), _MOST_WORDS),
                count=_integer(entry, "count", 1, _MOST_EMITTERS),
                ended_by={printable(name, _MOST_WORDS): _integer(reasons, name, 0, _MOST_EMITTERS) for name in reasons},
                quantiles={printable(name, _MOST_WORDS): _numbers(values, name) for name, values in quantiles.items()},
            )
        )
    return found


def _digests(given: Mapping[str, Any]) -> dict[str, str]:
    for name in DIGESTS:
        digest = given.get(name)
        if not (isinstance(digest, str) and len(digest) == 64 and set(digest) <= set("0123456789abcdef")):
            raise damaged(f"the digest of {name} is {shown(digest)}")
    return {name: given[name] for name in DIGESTS}


def _learned(given: Any, arrays: Arrays, task: DescribedTask, bounds: Bounds, cells: int) -> LearnedMeasures | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise damaged(f"learned is {shown(given)}")
    shape = task.observation_shape
    return LearnedMeasures(
        similarity=_number_or_none(given, "similarity", 1.0),
        random_similarity=_number_or_none(given, "random_similarity", 1.0),
        reconstruction_error=_number_or_none(given, "reconstruction_error"),
        random_reconstruction_error=_number_or_none(given, "random_reconstruction_error"),
        mean_observation_error=_number_or_none(given, "mean_observation_error"),
        pictures=unpack_pictures(arrays, shape),
        split=_split(given.get("split"), arrays, task, bounds, cells),
    )


def _split(given: Any, arrays: Arrays, task: DescribedTask, bounds: Bounds, cells: int) -> Split | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise damaged(f"split is {shown(given)}")
    ends, components = get(arrays, "split.ends", "u", 2), get(arrays, "split.components", "u", 2)
    lows, highs = _numbers(given.get("lowest"), "lowest"), _numbers(given.get("highest"), "highest")
    count = len(ends)
    if count > MOST_SPLIT or any(int(codes.max(initial=0)) >= STEPS for codes in (ends, components)):
        raise damaged("split has policies that there cannot be")
    if not (ends.shape == (count, len(bounds)) and components.shape == (count, 2) and len(lows) == len(highs) == 2):
        raise damaged("split does not have a place in both spaces for every policy")
    return Split(
        task=task.name,
        area=_integer(given, "area", 0, len(task.reward_areas) - 1),
        ground_truth=restored(ends, bounds, cells),
        components=restored(components, tuple(zip(lows, highs, strict=True))),
        parts_ground_truth=_integer(given, "parts_ground_truth", 1, max(count, 1)),
        parts_learned=_integer(given, "parts_learned", 1, max(count, 1)),
    )


# Values of a JSON text


def _is_number(value: object) -> TypeGuard[int | float]:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return math.isfinite(value) and abs(value) <= LARGEST_NUMBER


def _number(given: Mapping[str, Any], name: str, low: float) -> float:
    value = given.get(name)
    if not _is_number(value) or value < low:
        raise damaged(f"{name} is {shown(value)}")
    return float(value)


def _number_or_none(given: Mapping[str, Any], name: str, most: float = LARGEST_NUMBER) -> float | None:
    if given.get(name) is None:
        return None
    value = _number(given, name, 0.0)
    if value > most:
        raise damaged(f"{name} is {value:g}")
    return value


def _numbers(given: Any, name: str) -> tuple[float, ...]:
    if not (isinstance(given, list) and all(_is_number(value) for value in given)):
        raise damaged(f"{printable(name, _MOST_WORDS)} is {shown(given)}")
    return tuple(float(value) for value in given)


def _integer(given: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise damaged(f"{printable(name, _MOST_WORDS)} is {shown(value)}")
    return value


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise damaged(f"{name} is {shown(value)}")
    return value


def _table(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name)
    if not isinstance(value, Mapping):
        raise damaged(f"{name} is {shown(value)}")
    return value


def _tables(given: Any, name: str) -> list[Mapping[str, Any]]:
    if not (isinstance(given, list) and all(isinstance(entry, Mapping) for entry in given)):
        raise damaged(f"{name} is {shown(given)}")
    return given


def _words(given: Any) -> dict[str, str]:
    """Return entries of a table about the run that decide nothing, in a form that may be shown."""
    if not isinstance(given, Mapping):
        return {}
    return {printable(name, _MOST_WORDS): printable(value, _MOST_WORDS) for name, value in given.items()}
