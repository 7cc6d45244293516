"""The folder of a run: its files, its lock and its checkpoints.

The summary shows that a run is alive. It is renewed every two seconds, without waiting for the disk. `stax show` and campaigns
read it; the lock shows whether its status "running" is still true.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

from filelock import FileLock, Timeout

from stax.errors import InvalidInputError, printable, shown
from stax.numerics import NUMERICS
from stax.runs import limits
from stax.runs.config import RunConfig, checked_record, config_toml, make_config, read_toml, split_table, versions
from stax.runs.described_task import describe_task
from stax.runs.files import (
    atomic_write,
    checksum,
    inside,
    is_unfinished,
    open_regular,
    read_json,
    read_text,
    remove_unfinished,
    write_json,
    write_text,
)
from stax.runs.state_file import pack_state, read_state
from stax.runs.status import WRITTEN_STATUSES, RunStatus
from stax.search.state import State
from stax.tasks.task import Task

KEPT_CHECKPOINTS = 2
_CHECKPOINT = re.compile(r"\d{12}\.(npz|sha256)", re.ASCII)
_CHECKSUM_BYTES = 1024
"""Bytes of a file with a checksum."""
_LOCK_TIMEOUT = 0.5
"""Seconds to wait before treating the lock as held by a running process rather than by a status check."""


def is_leftover(path: Path) -> bool:
    """Return whether a file may be left by a process that was killed before it had written anything."""
    return path.name == ".lock" or is_unfinished(path)


def how_to_resume(path: Path, config: RunConfig) -> str:
    """Return the command that goes on with a run, or the call if parts of the run were given as objects."""
    if config.objects:
        again = "".join(f", {what}=..." for what in config.objects)
        return f"stax.resume({str(path)!r}{again})"
    return f"stax resume {quote(str(path))}{' --trust' if config.code else ''}"


class RunFolder:
    """The folder of one run as the run itself uses it; `RunReader` is for everybody else."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._damaged: list[Path] = []
        """Checkpoints that were not used, to be removed when there is a new one."""

    @staticmethod
    def existing(path: str | Path) -> RunFolder:
        """Return the folder of a run that has been started; another path is refused."""
        folder = RunFolder(path)
        if not folder.path.is_dir():
            raise InvalidInputError(f"There is no run folder {str(path)!r}.")
        if not (folder.path / "config.toml").is_file():
            raise InvalidInputError(f"{str(path)!r} is not a run folder: it has no config.toml.")
        return folder

    def file(self, *names: str) -> Path:
        """Return the path of a file in the folder; a link that leads out of the folder is refused."""
        return inside(self.path, *names)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing to the folder while inside."""
        lock = FileLock(self._lock_file(), timeout=_LOCK_TIMEOUT)
        try:
            lock.acquire()
        except Timeout:
            raise InvalidInputError(f"The run folder {str(self.path)!r} is in use by another process.") from None
        except OSError as error:
            raise self._cannot_write(error) from None
        try:
            for folder in (self.path, self.file("archives"), self.file("checkpoints")):
                remove_unfinished(folder)
            yield
        finally:
            lock.release()

    @property
    def in_use(self) -> bool:
        """Whether a process works in the folder now."""
        path = self._lock_file()
        if not path.exists():
            return False
        lock = FileLock(path, blocking=False)
        try:
            with lock:
                return False
        except Timeout:
            return True
        except OSError:  # no process can work where nothing can be written
            return False

    def _lock_file(self) -> Path:
        """Return the path of the lock, which must not be a link: locking a file may change it."""
        path = self.file(".lock")
        if path.is_symlink():
            raise InvalidInputError(f"{str(path)!r} is a link, where the lock of a run folder must be a file.")
        return path

    def tidy(self) -> None:
        """Remove half-written files of a process that was killed after the run, while it drew the picture of it."""
        if any(is_unfinished(path) for path in self.path.iterdir()):
            with suppress(InvalidInputError), self.locked():
                pass

    def _cannot_write(self, error: OSError) -> InvalidInputError:
        return InvalidInputError(f"The run folder {str(self.path)!r} cannot be written to: {error.strerror}.")

    def forget(self) -> None:
        """Remove the files of a run that has not done a single evaluation."""
        for name in ("config.toml", "seeds.npz", "summary.json", ".lock"):
            self.file(name).unlink(missing_ok=True)

    # Configuration and summary

    def write_config(self, config: RunConfig, task: Task) -> None:
        """Write `config.toml`, with a description of the task."""
        try:
            write_text(self.file("config.toml"), config_toml(config, describe_task(task)))
        except OSError as error:
            raise self._cannot_write(error) from None

    def read_config(self) -> tuple[RunConfig, dict[str, Any]]:
        """Return the configuration, and what `config.toml` says of the task."""
        path = self.file("config.toml")
        return config_of_table(read_toml(path), str(path))

    def warn_of_versions(self) -> None:
        """Warn if the run was made with other versions of packages that may change its bits."""
        made_with = read_toml(self.file("config.toml")).get("made_with")
        if isinstance(made_with, dict):
            _warn_of_differences(made_with)

    def write_summary(self, summary: Mapping[str, Any], *, safe: bool = True) -> None:
        """Write `summary.json`; see `atomic_write` for `safe`."""
        write_json(self.file("summary.json"), summary, safe=safe)

    def summary(self) -> dict[str, Any]:
        """Return the content of `summary.json`; empty if the run has not come that far."""
        path = self.file("summary.json")
        # An empty file was not on the disk yet when the power was cut.
        if not path.is_file() or not path.stat().st_size:
            return {}
        summary = read_json(path, "The summary", most=limits.SUMMARY_BYTES, values=limits.SUMMARY_VALUES)
        if not isinstance(summary, dict):
            raise InvalidInputError(f"The summary {str(path)!r} is damaged.")
        status = summary.get("status", RunStatus.RUNNING)
        if status not in WRITTEN_STATUSES:
            raise InvalidInputError(f"The summary {str(path)!r} is damaged: status is {printable(repr(status), 100)}.")
        return summary

    # Checkpoints

    def checkpoints(self) -> list[Path]:
        """Return the files of the checkpoints, the newest first."""
        found = [path for path in self.file("checkpoints").glob("*.npz") if _CHECKPOINT.fullmatch(path.name)]
        return sorted(found, reverse=True)

    @property
    def resumes_from(self) -> int:
        """Evaluations that a resumed run need not do again: those of the newest checkpoint, 0 without one."""
        kept = self.checkpoints()
        return int(kept[0].stem) if kept else 0

    def save_checkpoint(self, state: State, more: Mapping[str, Any]) -> None:
        """Write a checkpoint, with the run's own numbers beside the search's, and remove all but the last two."""
        checkpoints = self.file("checkpoints")
        checkpoints.mkdir(exist_ok=True)
        path = self.file("checkpoints", f"{state.numbers['evaluations']:012d}.npz")
        if path in self._damaged or not self._is_intact(path):
            with atomic_write(path) as file:
                pack_state(file, state, more)
                # Written first, so that there is never a checkpoint without its checksum.
                write_text(path.with_suffix(".sha256"), f"{checksum(file)}  {path.name}\n")
        for damaged in self._damaged:
            if damaged != path:
                damaged.unlink(missing_ok=True)
        self._damaged.clear()
        kept = self.checkpoints()[:KEPT_CHECKPOINTS]
        for old in list(checkpoints.iterdir()):
            if _CHECKPOINT.fullmatch(old.name) and old.with_suffix(".npz") not in kept:
                old.unlink(missing_ok=True)

    def load_checkpoint(
        self, budget: int, unfit: Callable[[State, dict[str, Any]], bool] = lambda _state, _numbers: False
    ) -> tuple[State, dict[str, Any]] | None:
        """Return the last intact state and the run's own numbers; None if no checkpoint has been written yet.

        A damaged checkpoint causes a warning, and the one before it is used.

        Args:
            budget: of the run.
            unfit: returns whether a checkpoint must not be used; then the one before it is used, without a warning.
        """
        found = self.checkpoints()
        for path in found:
            try:
                state, numbers = self._load(path, budget)
                if not unfit(state, numbers):
                    return state, numbers
                self._damaged.append(path)
            except InvalidInputError as error:
                if path == found[-1]:
                    raise InvalidInputError(
                        f"{error} There is no other checkpoint that could be used; without {str(path.parent)!r}, the run would begin"
                        " anew."
                    ) from None
                self._damaged.append(path)
                warnings.warn(f"{error} The checkpoint before it is used.", RuntimeWarning, stacklevel=2)
        if found:
            raise InvalidInputError(
                f"The run in {str(self.path)!r} cannot get a larger budget: it has no checkpoint from before its end, where its budget may"
                " have cut off a chunk; begin another run with the larger budget."
            )
        return None

    def _load(self, path: Path, budget: int) -> tuple[State, dict[str, Any]]:
        if not self._is_intact(path):
            raise InvalidInputError(f"The checkpoint {str(path)!r} is damaged: its checksum is wrong or missing.")
        return read_state(path, "The checkpoint", budget)

    def _is_intact(self, path: Path) -> bool:
        """Return whether a checkpoint is there and has its checksum."""
        mark = self.file("checkpoints", path.with_suffix(".sha256").name)
        if not (path.is_file() and mark.is_file()):
            return False
        checkpoint = self.file("checkpoints", path.name)
        try:
            expected = read_text(mark, "The checksum", _CHECKSUM_BYTES).split()[:1]
            with open_regular(checkpoint, "The checkpoint") as file:
                return expected == [checksum(file)]
        except InvalidInputError:
            return False


def config_of_table(table: Mapping[str, Any], where: str) -> tuple[RunConfig, dict[str, Any]]:
    """Return the configuration of a run that was done, and what it says of the task, by the tables of its `config.toml`."""
    config = make_config(*split_table(table, where))
    description = table.get("task_description")
    if not isinstance(description, dict):
        raise InvalidInputError(f"{where!r} does not describe the task.")
    numerics, version = table.get("numerics"), table.get("results_version")
    if numerics not in (None, *NUMERICS):
        raise InvalidInputError(f"numerics in {where!r} must be one of {', '.join(NUMERICS)}, not {shown(numerics)}.")
    if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
        raise InvalidInputError(f"results_version in {where!r} must be an integer, not {shown(version)}.")
    given = bool(table.get("task_given", False))
    earlier = _earlier_budgets(table.get("earlier_budgets", []), config.budget, where)
    start = None if table.get("start_from") is None else checked_record(table["start_from"], where)
    config = replace(
        config, task_given=given, numerics=numerics, results_version=version, earlier_budgets=earlier, start_from=start
    )
    return config, description


def _earlier_budgets(given: Any, budget: int, where: str) -> tuple[int, ...]:
    """Return the budgets that a run had before, each larger than the one before it."""
    whole = isinstance(given, list) and all(isinstance(value, int) and not isinstance(value, bool) for value in given)
    if not whole or any(one >= other for one, other in pairwise([0, *given, budget])):
        raise InvalidInputError(
            f"earlier_budgets in {where!r} must be whole numbers that rise and are below the budget of {budget:,}, not {shown(given)}."
        )
    return tuple(given)


def _warn_of_differences(made_with: Mapping[str, Any]) -> None:
    now = versions()
    others = [f"{name} {made_with[name]} (now {now[name]})" for name in now if made_with.get(name, now[name]) != now[name]]
    if others:
        warnings.warn(
            f"This run was made with {', '.join(others)}; what is computed now may differ in its last digits.",
            RuntimeWarning,
            stacklevel=2,
        )


def empty_folder(path: Path) -> Path:
    """Return the path if it is a new or an empty folder, and raise `stax.InvalidInputError` otherwise."""
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"The output folder {str(path)!r} is a file; give a new or an empty folder.")
    if path.is_dir() and not all(is_leftover(entry) for entry in path.iterdir()):
        hint = f" (or go on with the run in it: stax resume {quote(str(path))})" if (path / "config.toml").is_file() else ""
        raise InvalidInputError(f"The output folder {str(path)!r} is not empty; give a new or an empty one{hint}.")
    return path
