"""A run folder as measures read it: each file when it is asked for, and nobody's code is run. Runs, in folders and in records, are found
here too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.analysis.records.record import SUFFIX, Record, is_record, read_record
from stax.errors import InvalidInputError, printable
from stax.runs.array_files import read_arrays
from stax.runs.config import read_toml
from stax.runs.described_task import DescribedTask
from stax.runs.files import inside
from stax.runs.folder import RunFolder, is_leftover
from stax.runs.ledger_file import LEDGER, read_ledger
from stax.runs.options import as_text
from stax.runs.tables import load_metrics, read_emitters
from stax.search.emitters.emitter import EmitterRecord
from stax.search.parameters import no_such
from stax.search.policy_set import PolicySet

_WORDS = 4000
"""Characters of a damaged or strange value that are shown."""


class RecordedRun:
    """One run, whatever state it is in; what a file lacks is told when the file is asked for."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir() and all(is_leftover(entry) for entry in self.path.iterdir()):
            raise InvalidInputError(f"The folder {str(path)!r} is empty: no run has been begun in it.")
        self._folder = RunFolder.existing(path)
        self.config, description = self._folder.read_config()
        self.task = DescribedTask(description)
        """What can be known of it; it evaluates and draws nothing."""

    def __str__(self) -> str:
        return f"{self.config.algo} on {self.config.task} with seed {self.config.seed} in {str(self.path)!r}"

    # How it went

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` says; nothing if the run has not come that far."""
        return self._folder.summary()

    @cached_property
    def status(self) -> str:
        """finished, running, interrupted, failed, killed, or not begun."""
        status = str(self.summary.get("status", "not begun"))
        if status in ("running", "not begun"):
            return "running" if self._folder.in_use else "killed" if status == "running" else status
        return status

    @property
    def evaluations(self) -> int:
        return int(self._said("evaluations", (int,)) if self.summary else 0)

    @property
    def coverage(self) -> float | None:
        """As the summary has it: None for a task without a ground-truth descriptor."""
        coverage = self._said("coverage", (int, float, type(None)))
        return None if coverage is None else float(coverage)

    @property
    def max_reward(self) -> list[float]:
        """As the summary has it: the highest reward per area, 0 where none was found."""
        rewards = self._said("max_reward", (list,))
        if len(rewards) != len(self.task.reward_areas) or not all(isinstance(reward, (int, float)) for reward in rewards):
            raise self._damaged_summary(f"max_reward is {printable(rewards, _WORDS)}")
        return [float(reward) for reward in rewards]

    def _said(self, name: str, kinds: tuple[type, ...]) -> Any:
        if name not in self.summary:
            raise self._damaged_summary(f"it has no {name}")
        if not isinstance(self.summary[name], kinds) or isinstance(self.summary[name], bool):
            raise self._damaged_summary(f"{name} is {printable(repr(self.summary[name]), _WORDS)}")
        return self.summary[name]

    def _damaged_summary(self, why: str) -> InvalidInputError:
        return InvalidInputError(f"The summary {str(self.path / 'summary.json')!r} is damaged: {why}.")

    def why_unfinished(self) -> str:
        """A sentence on what keeps it from being compared, and what to do; nothing if it is finished."""
        if self.status == "finished":
            return ""
        course = f"{self.evaluations:,} of {self.config.budget:,} evaluations"
        again = f"go on with it: stax resume {self.path}"
        sentences = {
            "running": f"is still going ({course})",
            "killed": f"was killed after {course}; {again}",
            "interrupted": f"was interrupted after {course}; {again}",
            "failed": f"failed after {course} ({self._error()}); once that is repaired, {again}",
            "not begun": f"was ended before its first results; {again}",
        }
        if self.status not in sentences:
            raise self._damaged_summary(f"status is {printable(repr(self.status), _WORDS)}")
        return f"The run in {str(self.path)!r} {sentences[self.status]}."

    def _error(self) -> str:
        return printable(self.summary.get("error", "no reason is known"), _WORDS).rstrip(".")

    def require_finished(self) -> None:
        """Refuses a run that is not finished, in a sentence."""
        why = self.why_unfinished()
        if why:
            raise InvalidInputError(why)

    # What it left

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """A row per chunk of the budget, up to the last checkpoint of a run that still goes on."""
        self._expect("metrics.csv")
        return load_metrics(self._folder)

    def ledger(self, *columns: str) -> dict[str, NDArray[Any]]:
        """Columns of the ledger, all of them if none is named; others are not read. Nothing is kept for the next call."""
        for column in columns:
            if column not in LEDGER:
                raise InvalidInputError(no_such("column of the ledger", column, LEDGER))
        path = self._expect("ledger.parquet")
        ledger = read_ledger(path, self.config.budget, columns or LEDGER)
        rows = {len(column) for column in ledger.values()}
        if rows != {self.evaluations}:
            # A resumed run that was killed has an old one.
            raise InvalidInputError(
                self.why_unfinished()
                or f"The ledger {str(path)!r} is damaged: it has {max(rows):,} rows for {self.evaluations:,} evaluations."
            )
        truth, size = ledger.get("ground_truth"), len(self.task.ground_truth_bounds or ())
        if truth is not None and truth.shape[1] != size:
            raise InvalidInputError(
                f"The ledger {str(path)!r} is damaged: ground truths have {truth.shape[1]} numbers, the task's have {size}."
            )
        return ledger

    @cached_property
    def novelty_archive(self) -> PolicySet:
        return self._archive("novelty")

    @cached_property
    def reward_archive(self) -> PolicySet:
        return self._archive("reward")

    def _archive(self, name: str) -> PolicySet:
        path = self._expect("archives", f"{name}.npz")
        columns, _ = read_arrays(path, "The archive", most_rows=lambda _: self.evaluations)
        # As many as there are: how many true states a task has is not known without the task.
        size = columns["descriptor"].shape[-1] if columns.get("descriptor", np.empty(0)).ndim == 2 else 0
        what = f"The archive {str(path)!r} is damaged: it"
        return PolicySet.checked(columns, what, self.task, descriptor_size=size, evaluations=self.evaluations)

    def archived_ids(self) -> NDArray[np.int64]:
        """Return the ids of the policies in the final archives, each once; nothing of the archives is kept in memory."""
        return np.union1d(self._archive("novelty").id, self._archive("reward").id)

    @cached_property
    def emitters(self) -> list[EmitterRecord]:
        """What became of every emitter."""
        self._expect("emitters.csv")
        return read_emitters(self._folder)

    def _expect(self, *names: str) -> Path:
        """The path of a file that there should be; if it is missing because the run has not come that far, that is told."""
        path = self._folder.file(*names)
        if not path.is_file():
            raise InvalidInputError(self.why_unfinished() or f"The file {str(path)!r} is missing.")
        return path


AnyRun = RecordedRun | Record
"""A run by its folder or by its record."""


def find_runs(paths: Sequence[str | Path]) -> list[AnyRun]:
    """Return the runs at these paths, each once.

    Args:
        paths: each the folder of a run, the record of one, or a folder that has some of these anywhere in it, as a campaign's has. Of a
            run that is found both as a folder and as a record, the folder is taken.
    """
    found: dict[Path, AnyRun] = {}
    for path in map(Path, paths):
        places = list(_places(path))
        if not places:
            raise InvalidInputError(_why_none(path))
        for place in places:
            resolved = place.resolve()
            if resolved not in found:
                found[resolved] = RecordedRun(place) if place.is_dir() else read_record(place)
    runs = list(found.values())
    in_folders = {_identity(run) for run in runs if isinstance(run, RecordedRun) and run.status == "finished"}
    return [run for run in runs if isinstance(run, RecordedRun) or _identity(run) not in in_folders]


def _identity(run: AnyRun) -> str:
    """Return a text that two runs have in common if they are the same run."""
    return as_text(run.config.decisive())


def find_run_folders(paths: Sequence[str | Path]) -> list[RecordedRun]:
    """Return the runs in these folders, each a run's or one that has runs somewhere in it; records in them are not looked at."""
    found: dict[Path, RecordedRun] = {}
    for path in map(Path, paths):
        folders = [place for place in _places(path) if place.is_dir()]
        if not folders:
            raise InvalidInputError(_why_none(path))
        found |= {place.resolve(): RecordedRun(place) for place in folders if place.resolve() not in found}
    return list(found.values())


def find_records(path: str | Path) -> list[Record]:
    """Return all records in a folder, at any depth, sorted by their names; run folders in it are not looked at."""
    path = Path(path)
    found = [place for place in _places(path) if is_record(place)] if path.is_dir() else []
    if not found:
        raise InvalidInputError(
            f"There is no record in {str(path)!r}: no file in it has a name that ends with {SUFFIX}."
            if path.is_dir()
            else f"There is no folder {str(path)!r}."
        )
    return [read_record(place) for place in sorted(found, key=lambda place: (place.name, str(place)))]


def _why_none(path: Path) -> str:
    if not path.exists():
        return f"There is no folder {str(path)!r}."
    if not path.is_dir():
        return f"{str(path)!r} is a file; a run's folder is needed, one that has runs in it, or a record (a name that ends with {SUFFIX})."
    if not any(path.iterdir()):
        return f"The folder {str(path)!r} is empty."
    return (
        f"There is no run in {str(path)!r}: neither it nor a folder in it has the config.toml of a run, or a record with a name that"
        f" ends with {SUFFIX}."
    )


def _places(path: Path) -> Iterator[Path]:
    """Yield folders with the configuration of a run, and records; what is inside of a run's folder is not looked at."""

    def refuse(error: OSError) -> None:
        raise InvalidInputError(f"The folder {error.filename!r} cannot be read: {error.strerror}.")

    if path.exists() and not path.is_dir():
        if is_record(path):
            yield path
        return
    for folder, inner, files in os.walk(path, onerror=refuse if path.is_dir() else None):
        inner.sort()
        # Other software has files of that name, too.
        if "config.toml" in files and "task_description" in read_toml(inside(Path(folder), "config.toml")):
            inner.clear()
            yield Path(folder)
        else:
            yield from (Path(folder) / name for name in sorted(files) if name.endswith(SUFFIX))
