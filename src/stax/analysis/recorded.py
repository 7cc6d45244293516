"""Runs found in folders: those that have a run folder, and those that have a record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from stax.analysis.records.record import SUFFIX, Record, is_record, read_record
from stax.errors import InvalidInputError
from stax.runs.config import RunConfig, read_toml
from stax.runs.files import inside
from stax.runs.options import as_text
from stax.runs.reader import RunReader
from stax.runs.status import RunStatus

AnyRun = RunReader | Record
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
                found[resolved] = RunReader(place) if place.is_dir() else read_record(place)
    runs = list(found.values())
    in_folders = {identity(run.config) for run in runs if isinstance(run, RunReader) and run.status is RunStatus.FINISHED}
    return [run for run in runs if isinstance(run, RunReader) or identity(run.config) not in in_folders]


def identity(config: RunConfig) -> str:
    """Return a text that two configurations have in common if they are of the same run, also if versions of the package differ."""
    return as_text(config.decisive())


def find_run_folders(paths: Sequence[str | Path]) -> list[RunReader]:
    """Return the runs in these folders, each a run's or one that has runs somewhere in it; records in them are not looked at."""
    found: dict[Path, RunReader] = {}
    for path in map(Path, paths):
        folders = [place for place in _places(path) if place.is_dir()]
        if not folders:
            raise InvalidInputError(_why_none(path))
        found |= {place.resolve(): RunReader(place) for place in folders if place.resolve() not in found}
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
