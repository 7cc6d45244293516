"""A search with all that is shown of it: the display, warnings, the summary and the picture."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stax.cli.interruption import Requests, requests_to_stop, was_interrupted
from stax.cli.progress import Progress, choose_progress
from stax.errors import InvalidInputError, in_one_line
from stax.extras import require_extra
from stax.runs.callbacks import Callback
from stax.runs.config import RunConfig
from stax.runs.extension import PICTURE
from stax.runs.folder import RunFolder, how_to_resume
from stax.runs.result import Result
from stax.runs.run_in_progress import RunInterrupted
from stax.runs.task_trial import TaskWarning
from stax.streams import print_message


def make_callbacks(options: argparse.Namespace, folder: Path) -> list[Callback]:
    """Return the callbacks that the options ask for."""
    if options.tensorboard is None:
        return []
    from stax.ecosystem.tensorboard_callback import TensorBoardCallback

    # Each run has its own folder; otherwise the curves of two runs would be joined.
    return [TensorBoardCallback(Path(options.tensorboard) / folder.resolve().name)]


def watch(
    search: Callable[[Progress, Requests], Result], folder: Path, config: RunConfig, *, quiet: bool, workers: int
) -> None:
    """Run a search, show how it goes, and draw and sum up what it has found."""
    progress = choose_progress(quiet=quiet, preset=config.preset, workers=workers)
    try:
        with _warnings_in_one_line(quiet=quiet), requests_to_stop(progress) as requests, progress:
            result = search(progress, requests)
    except RunInterrupted as interrupted:
        raise KeyboardInterrupt(
            f"interrupted after {interrupted.evaluations:,} evaluations; all is saved, go on with: {how_to_resume(folder, config)}"
        ) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted{_how_to_go_on(folder, config)}") from None
    except (RuntimeError, MemoryError, InvalidInputError) as error:
        hint = _how_to_go_on(folder, config) if progress.begun else ""
        if not hint or "stax resume" in str(error):
            raise
        # Some subclasses cannot be made from a message, such as NumPy's own for memory.
        error_type = next(known for known in (RuntimeError, MemoryError, InvalidInputError) if isinstance(error, known))
        raise error_type(f"{error}{'' if str(error).endswith('.') else '.'} It is kept{hint}") from error
    draw(result, folder, config)
    if not quiet:
        from stax.cli.summary import summary_lines

        print(*summary_lines(result, folder, _columns()), sep="\n", file=sys.stderr)


def _columns() -> int | None:
    """Return the width of the terminal that messages go to; None if they go elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else None
    except (OSError, ValueError):  # it has been closed meanwhile
        return None


def _how_to_go_on(folder: Path, config: RunConfig) -> str:
    """Return how to go on from the last checkpoint, if there is one."""
    kept = RunFolder(folder).resumes_from if folder.is_dir() else 0
    if not kept:
        return ""
    return f"; go on from the checkpoint after {kept:,} evaluations with: {how_to_resume(folder, config)}"


@contextmanager
def _warnings_in_one_line(*, quiet: bool) -> Iterator[None]:
    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, RuntimeWarning):
            print_message(f"warning: {message}")
        elif issubclass(category, TaskWarning) and not quiet:
            print_message(f"note: {message}")

    with warnings.catch_warnings():
        for category in (RuntimeWarning, TaskWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield


def draw(result: Result, folder: Path, config: RunConfig) -> None:
    """Draw the picture of a finished run; if that fails, one line says why, since the results themselves are safe."""
    try:
        require_extra("plots", f"The picture {PICTURE}")
    except InvalidInputError as error:
        print_message(
            f"the results are saved without their picture. {error} Then draw it with: {how_to_resume(folder, config)}"
        )
        return
    try:
        from stax.analysis.picture import draw_result

        draw_result(result, folder / PICTURE)
    except (Exception, KeyboardInterrupt) as error:  # a user's own task may raise anything while it draws
        if isinstance(error, KeyboardInterrupt) or was_interrupted():
            raise KeyboardInterrupt(
                f"interrupted while the picture was drawn; all results are saved, draw it with: {how_to_resume(folder, config)}"
            ) from None
        print_message(f"the picture could not be drawn: {in_one_line(error)}")
