"""STAX: discover and exploit sparse rewards in a learned behaviour space."""

from __future__ import annotations

import os
import sys

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] == "stax":
    # `python -m stax` puts the working folder first on the import path, where a stranger's files would hide installed packages.
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(__file__)):  # noqa: PTH120
        del sys.path[0]
    import stax_command

    stax_command.prepare_process()

from typing import TYPE_CHECKING

from stax.lazy_attributes import lazy_attributes

# Otherwise OpenMP's idle threads, torch's among them, wait actively and take processor time from all other programs. This must be set
# before OpenMP is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# With colorama installed, Numba otherwise writes the code that resets a terminal's colours to stdout when Python ends.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
# Without this, pygame, with which Gymnasium draws, prints a banner to stdout when it is imported.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

from stax.errors import InvalidInputError
from stax.numerics import RESULTS_VERSION
from stax.tasks import ExternalTask, FunctionTask, RewardArea, Rollouts, Task, make_task
from stax.tasks.gymnasium_registration import register_environments
from stax.tasks.task import check_genomes

__version__ = "0.2.0"

if TYPE_CHECKING:
    from stax.representation.autoencoder import Autoencoder
    from stax.representation.space import UndescribedError
    from stax.runs.callbacks import Callback
    from stax.runs.kept_search import restore_search, save_search
    from stax.runs.result import Result, load
    from stax.runs.run import resume, run
    from stax.runs.run_in_progress import RunInterrupted
    from stax.search import EmitterKind, PolicySet, Scheduler, Search, make_search
    from stax.tasks.contract import check_task

__all__ = [
    "RESULTS_VERSION",
    "Autoencoder",
    "Callback",
    "EmitterKind",
    "ExternalTask",
    "FunctionTask",
    "InvalidInputError",
    "PolicySet",
    "Result",
    "RewardArea",
    "Rollouts",
    "RunInterrupted",
    "Scheduler",
    "Search",
    "Task",
    "UndescribedError",
    "__version__",
    "check_genomes",
    "check_task",
    "load",
    "make_search",
    "make_task",
    "restore_search",
    "resume",
    "run",
    "save_search",
]

_LATER = {
    "Autoencoder": "representation.autoencoder",
    "Callback": "runs.callbacks",
    "Result": "runs",
    "RunInterrupted": "runs",
    "UndescribedError": "representation.space",
    "check_task": "tasks.contract",
    "load": "runs",
    "restore_search": "runs.kept_search",
    "resume": "runs",
    "run": "runs",
    "save_search": "runs.kept_search",
    "EmitterKind": "search",
    "PolicySet": "search",
    "Scheduler": "search",
    "Search": "search",
    "make_search": "search",
}
# The search takes a while to import, and `stax --help` and the environments do without it.
__getattr__ = lazy_attributes(__name__, _LATER)


def __dir__() -> list[str]:
    return sorted(__all__)


# `import stax` is all that gymnasium.make("stax/HardMaze-v0") needs.
register_environments()
