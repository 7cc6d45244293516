"""`stax run`: one search, watched, summed up and drawn."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from stax.cli.progress import choose_progress
from stax.cli.settings import parse_settings
from stax.compiling import available_threads
from stax.errors import InvalidInputError, in_one_line
from stax.runs.result import Result
from stax.runs.run import DEFAULT_BUDGET, empty_folder, run

_OPTIONS = ("algo", "budget", "seed", "preset", "out", "workers", "device")


def run_command(options: argparse.Namespace) -> Path:
    """Runs the search that the options ask for, and returns the folder it wrote."""
    settings = parse_settings(options.set)
    for name in settings:
        if name in _OPTIONS:
            raise InvalidInputError(f"{name} is no parameter of the search; give --{name} VALUE instead of --set {name}=VALUE.")
    with _folder(options) as folder:
        result = _search(options, folder, settings)
        drawn = _draw(result, folder)
    if not options.quiet:
        from stax.cli.summary import summary_lines

        columns = os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else None
        print(*summary_lines(result, folder, columns), sep="\n", file=sys.stderr)
    if drawn is not None:
        print(f"stax: the picture could not be drawn: {in_one_line(drawn)}", file=sys.stderr)
    return folder


def _search(options: argparse.Namespace, folder: Path, settings: dict[str, Any]) -> Result:
    workers = options.workers or available_threads()
    progress = choose_progress(quiet=options.quiet, preset=options.preset, workers=workers)
    # What a task of the user's own prints is no result: stdout carries the folder's name alone.
    with redirect_stdout(sys.stderr), _ending_when_asked_to(), progress:
        return run(
            options.task,
            algo=options.algo,
            budget=DEFAULT_BUDGET if options.budget is None else options.budget,
            seed=options.seed,
            preset=options.preset,
            out=folder,
            workers=workers,
            device=options.device,
            observer=progress,
            **settings,
        )


def _draw(result: Result, folder: Path) -> Exception | None:
    """Draws the result; what goes wrong there is returned, since the result itself is safe by then."""
    # It tells at length about its fonts when it is used for the first time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from stax.analysis.picture import draw_result

        draw_result(result, folder / "archives.png")
    except Exception as error:  # a user's own task may raise anything while it draws
        return error
    return None


@contextmanager
def _folder(options: argparse.Namespace) -> Iterator[Path]:
    """The folder to write to, made; whatever was made of it is taken away again if nothing has been written at the end."""
    made: list[Path] = []
    try:
        if options.out is not None:
            folder = empty_folder(Path(options.out))
            _make(folder, made)
        else:
            folder = _first_free(options, made)
        yield folder
    finally:
        for path in reversed(made):
            try:
                path.rmdir()
            except OSError:  # not empty
                break


def _first_free(options: argparse.Namespace, made: list[Path]) -> Path:
    """runs/<task>-<algo>-<seed>-<n> with the first n that nobody has taken."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{options.task}-{options.algo}-{options.seed}").lstrip(".-")
    number = 1
    while True:
        folder = Path("runs") / f"{name}-{number}"
        # Made rather than looked for, so that two runs that start together do not take the same one.
        if not folder.exists() and _make(folder, made):
            return folder
        number += 1


def _make(folder: Path, made: list[Path]) -> bool:
    """Makes a folder and those it lies in, and notes which were missing. Tells whether the folder itself was."""
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


@contextmanager
def _ending_when_asked_to() -> Iterator[None]:
    """A request to end is answered as Ctrl-C is, so that the terminal is left as it was found."""

    def end(_: int, __: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
