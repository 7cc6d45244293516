"""`stax run` and `stax resume`: one search, watched, summed up and drawn."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from stax.cli.interruption import Requests, requests_to_stop, was_interrupted
from stax.cli.progress import Progress, choose_progress
from stax.cli.settings import parse_settings
from stax.compiling import compile_quietly
from stax.errors import InvalidInputError, in_one_line
from stax.runs.callbacks import Callback
from stax.runs.config import RUN_KEYS, RunConfig, make_config, read_config
from stax.runs.folder import RunFolder, how_to_resume
from stax.runs.result import Result, load
from stax.runs.run import RunInterrupted, begin, empty_folder, resume

PICTURE = "archives.png"
"""The file of a run folder that shows its archives."""


def run_command(options: argparse.Namespace) -> Path:
    """Runs the search that the options ask for, and returns the folder it wrote."""
    config = _configuration(options)
    with _folder(options, config) as folder:

        def search(progress: Progress, requests: Requests) -> Result:
            callbacks = _callbacks(options, folder)
            return begin(config, out=folder, callbacks=callbacks, observer=progress, stop=lambda: requests.count() > 0)

        _watched(search, folder, config, quiet=options.quiet, workers=config.workers)
    return folder


def resume_command(options: argparse.Namespace) -> Path:
    """Goes on with a run, and returns its folder."""
    folder = RunFolder.existing(options.dir)
    config, _ = folder.read_config()
    if folder.summary().get("status") == "finished":
        folder.tidy()
        _complete(folder, config, options)
        return folder.path

    def search(progress: Progress, requests: Requests) -> Result:
        return resume(
            folder.path,
            trust=options.trust,
            workers=options.workers,
            device=options.device,
            backend=options.backend,
            address=options.address,
            numerics=options.numerics,
            callbacks=_callbacks(options, folder.path),
            observer=progress,
            stop=lambda: requests.count() > 0,
        )

    _watched(search, folder.path, config, quiet=options.quiet, workers=options.workers or config.workers)
    return folder.path


def _complete(folder: RunFolder, config: RunConfig, options: argparse.Namespace) -> None:
    """Draw the picture of a finished run if it is missing: the process may have been killed meanwhile."""
    missing = not folder.file(PICTURE).exists()
    if "task" in config.code and not options.trust:
        hint = f"; its {PICTURE} is missing, and drawing it takes the task's code, {config.task!r}: say --trust if you trust it"
    else:
        hint = f"; its {PICTURE} is missing and will be drawn now"
    if not options.quiet:
        print(f"stax: the run in {options.dir} is finished{hint if missing else '; there is nothing to do'}.", file=sys.stderr)
    if missing and ("task" not in config.code or options.trust):
        with redirect_stdout(sys.stderr):
            _draw(load(folder.path, trust=options.trust), folder.path, config)


def _callbacks(options: argparse.Namespace, folder: Path) -> list[Callback]:
    if options.tensorboard is None:
        return []
    from stax.ecosystem.tensorboard_callback import TensorBoardCallback

    # A folder a run, or curves of two runs would be one.
    return [TensorBoardCallback(Path(options.tensorboard) / folder.resolve().name)]


def _configuration(options: argparse.Namespace) -> RunConfig:
    """From the file, changed by the options, changed by the settings."""
    settings = parse_settings(options.set)
    for name in settings:
        if name in RUN_KEYS or name == "out":
            raise InvalidInputError(f"{name} is no parameter of the search; give --{name} VALUE instead of --set {name}=VALUE.")
    given: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    if options.config is not None:
        given, parameters = read_config(Path(options.config))
    elif options.task is None:
        raise InvalidInputError("A TASK is needed (see 'stax tasks'), or --config FILE.toml with one.")
    named_by_file = options.task is None
    if options.task is not None and given.get("task") not in (None, options.task):
        # The options of another task mean nothing to this one.
        parameters = {name: value for name, value in parameters.items() if not name.startswith("task.")}
    given |= {name: getattr(options, name) for name in RUN_KEYS if getattr(options, name) is not None}
    config = make_config(given, {**parameters, **settings})
    typed = {*settings, *([] if named_by_file else ["task"])}
    code = {what: name for what, name in config.code.items() if what not in typed}
    if code and not options.trust:
        named = " and ".join(f"its {what}, {name!r}" for what, name in code.items())
        raise InvalidInputError(
            f"{options.config} names code as {named}. If you trust it, say so with --trust, or name the {' and the '.join(code)} yourself."
        )
    return config


def _watched(
    search: Callable[[Progress, Requests], Result], folder: Path, config: RunConfig, *, quiet: bool, workers: int
) -> None:
    """Does a search with everything a person sees of it."""
    if quiet:
        compile_quietly()
    progress = choose_progress(quiet=quiet, preset=config.preset, workers=workers)
    try:
        # What a task of the user's own prints is no result: stdout carries the folder's name alone.
        with redirect_stdout(sys.stderr), _warnings_in_one_line(), requests_to_stop(progress) as requests, progress:
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
        # Some of a kind are not made from a sentence, such as NumPy's own for memory.
        kind = next(kind for kind in (RuntimeError, MemoryError, InvalidInputError) if isinstance(error, kind))
        raise kind(f"{error}{'' if str(error).endswith('.') else '.'} It is kept{hint}") from error
    with redirect_stdout(sys.stderr):
        _draw(result, folder, config)
    if not quiet:
        from stax.cli.summary import summary_lines

        print(*summary_lines(result, folder, _columns()), sep="\n", file=sys.stderr)


def _columns() -> int | None:
    """Width of the terminal that messages go to; None if they go elsewhere."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else None
    except (OSError, ValueError):  # it has been closed meanwhile
        return None


def _how_to_go_on(folder: Path, config: RunConfig) -> str:
    """From the last checkpoint, if there is one."""
    kept = RunFolder(folder).checkpoints() if folder.is_dir() else []
    if not kept:
        return ""
    return f"; go on from the checkpoint after {int(kept[0].stem):,} evaluations with: {how_to_resume(folder, config)}"


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, RuntimeWarning):
            print(f"stax: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = show
        yield


def _draw(result: Result, folder: Path, config: RunConfig) -> None:
    """Draw the picture of a finished run; if that fails, one line says why, since the results themselves are safe."""
    # It tells at length about its fonts when it is used for the first time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from stax.analysis.picture import draw_result

        draw_result(result, folder / PICTURE)
    except (Exception, KeyboardInterrupt) as error:  # a user's own task may raise anything while it draws
        if isinstance(error, KeyboardInterrupt) or was_interrupted():
            raise KeyboardInterrupt(
                f"interrupted while the picture was drawn; all results are saved, draw it with: {how_to_resume(folder, config)}"
            ) from None
        print(f"stax: the picture could not be drawn: {in_one_line(error)}", file=sys.stderr)


@contextmanager
def _folder(options: argparse.Namespace, config: RunConfig) -> Iterator[Path]:
    """The folder to write to, made; whatever was made of it is taken away again if nothing has been written at the end."""
    made: list[Path] = []
    try:
        if options.out is not None:
            folder = empty_folder(Path(options.out))
            _make(folder, made)
        else:
            folder = _first_free(config, made)
        yield folder
    finally:
        for path in reversed(made):
            try:
                path.rmdir()
            except OSError:  # not empty
                break


def run_name(config: RunConfig) -> str:
    """<task>-<algo>-<seed>, fit for a folder."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{config.task}-{config.algo}-{config.seed}").lstrip(".-")


def _first_free(config: RunConfig, made: list[Path]) -> Path:
    """runs/<task>-<algo>-<seed>-<n> with the first n that nobody has taken."""
    number = 1
    while True:
        folder = Path("runs") / f"{run_name(config)}-{number}"
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
