"""Compilation with Numba: a cache between runs, a message while compiling, and work on threads.

Threads are Python's: kernels release the GIL, and a thread pool calls them on slices. Compared with Numba's `parallel=True`
this compiles faster, lets several callers evaluate at once, survives a fork, and takes the number of threads per task.

Only outermost kernels are cached. The key of the cache includes a stamp of the other source files that a kernel is built from
(`source_stamp`), because Numba looks only at the kernel's own file.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from stax.constraints import check_whole
from stax.working_folder import NUMBA_SETTINGS, without_settings

with without_settings(NUMBA_SETTINGS):
    from numba import njit
    from numba.core import config, event
# Numba looks for its settings in the working folder at every compilation; the variables NUMBA_... still apply.
config._config_fname = ""

inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
"""Decorator that compiles a function which only compiled functions call; it is cached as part of the kernel that calls it."""

inlined = njit(nogil=True, error_model="numpy", inline="always")
"""Decorator that makes a function part of its callers. Where these are few, the function need not be compiled separately."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile an outermost function: cached between runs, without the GIL, with NumPy's rules for division.

    If neither the package's folder nor the home folder can be written to, it is compiled again in every process.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        _warn_of_no_cache()
        return njit(**options)(function)


@cache
def _warn_of_no_cache() -> None:
    _say(
        "there is no folder to cache compiled code in, so it is compiled again each time; "
        "set NUMBA_CACHE_DIR to a folder that can be written to"
    )


def _say(line: str) -> None:
    """Print a line on stderr, unless it cannot be written to."""
    with suppress(OSError, ValueError):
        print(f"stax: {line}", file=sys.stderr, flush=True)


def source_stamp(*sources: str) -> int:
    """Return a number that changes whenever one of these files or folders of the package changes.

    The key of Numba's cache depends only on the file of the outermost function, so Numba would keep using an old build after a change
    in a function that is called from there. A kernel therefore closes over the stamp of the other files it is built from, which makes
    the stamp part of the key.
    """
    package = Path(__file__).parent
    stamp = zlib.crc32(Path(__file__).read_bytes())
    for source in sources:
        path = package / source
        for file in [path] if path.is_file() else sorted(path.glob("*.py")):
            stamp = zlib.crc32(file.read_bytes(), stamp)
    return stamp


_QUIET = "STAX_COMPILE_QUIETLY"
"""Variable that keeps this process and those that it starts from announcing that they compile."""


def compile_quietly() -> None:
    """Print no more lines about compiling, neither here nor in worker processes."""
    os.environ[_QUIET] = "1"


class _Announcer(event.Listener):  # type: ignore[misc]
    """Listener that prints one message when compiling begins."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said and not os.environ.get(_QUIET):
            self.said = True
            _say(f"compiling {self.what}; this happens once and takes up to a minute ...")

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announcing(what: str) -> Iterator[None]:
    """Print one line on stderr if anything has to be compiled inside; none if it is in the cache."""
    with event.install_listener("numba:compile", _Announcer(what)):
        yield


def available_threads() -> int:
    """Return the number of threads that this process may use at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def check_threads(threads: int | None) -> int:
    if threads is None:
        return available_threads()
    return check_whole("threads", threads, 1)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # The process is part of the key because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="stax")


_compiled: set[str] = set()


def in_slices(work: Callable[[slice], None], count: int, *, threads: int, grain: int, what: str) -> None:
    """Call `work` on slices that make up range(count), on several threads at once.

    The work releases the GIL and writes to its own slice only. Slices have nearly equal sizes of at most `grain` rows. The first call
    for `what` in a process does one row on the calling thread, where compiling can be interrupted.
    """
    if count == 0:
        return
    if what not in _compiled:
        with announcing(what):
            work(slice(0, 1))
        _compiled.add(what)
    pieces = threads * -(-count // (threads * grain))
    bounds = [count * i // pieces for i in range(pieces + 1)]
    slices = [slice(a, b) for a, b in pairwise(bounds) if a < b]
    if threads == 1 or len(slices) == 1:
        for piece in slices:
            work(piece)
    else:
        for _ in _pool(os.getpid(), threads).map(work, slices):
            pass
