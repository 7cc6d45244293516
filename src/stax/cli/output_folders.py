"""The folders that commands write to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stax.errors import InvalidInputError
from stax.runs.folder import empty_folder


def check_is_no_file(path: Path) -> None:
    """Refuse an output folder that is a file, before anything that takes time is done."""
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"The output folder {str(path)!r} is a file.")


@contextmanager
def new_folder(path: str | None, default: Path) -> Iterator[Path]:
    """Make the folder `path`, or without one the first of `default` with 1, 2, ... appended that does not exist.

    The folders that were made are removed at the end if nothing has been written to them.
    """
    made: list[Path] = []
    try:
        if path is not None:
            folder = empty_folder(Path(path))
            _make(folder, made)
        else:
            folder = _first_free(default, made)
        yield folder
    finally:
        for each in reversed(made):
            try:
                each.rmdir()
            except OSError:  # not empty
                break


def _first_free(default: Path, made: list[Path]) -> Path:
    number = 1
    while True:
        folder = default.with_name(f"{default.name}-{number}")
        # Made rather than looked for, so that two runs that start at the same time do not take the same one.
        if not folder.exists() and _make(folder, made):
            return folder
        number += 1


def _make(folder: Path, made: list[Path]) -> bool:
    """Make a folder and its parents, append those that were missing to `made`, and return whether the folder was one of them."""
    try:
        for path in (*reversed(folder.parents), folder):
            if not path.is_dir():
                try:
                    path.mkdir()
                    made.append(path)
                except FileExistsError:
                    if not path.is_dir():
                        raise InvalidInputError(
                            f"The output folder {str(folder)!r} cannot be made: {path} is a file."
                        ) from None
                    # Made by another run in the meantime.
    except OSError as error:
        raise InvalidInputError(f"The output folder {str(folder)!r} cannot be made: {error.strerror}.") from None
    return bool(made) and made[-1] == folder
