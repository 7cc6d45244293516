"""A search by ask and tell as a run folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stax.errors import InvalidInputError
from stax.numerics import RESULTS_VERSION, numerics_of
from stax.runs.config import make_config
from stax.runs.folder import RunFolder, empty_folder
from stax.runs.options import writable_options
from stax.runs.result import Result
from stax.runs.run import name_of_task
from stax.runs.status import RunStatus
from stax.tasks import made_from

if TYPE_CHECKING:
    from stax.search.search import Search

REPORTED = "reported as failed"
"""Reason given for evaluations whose rollouts were marked as failed."""


def save_as_run(search: Search, path: str | Path) -> Path:
    """Write a search that is done as a run folder, and return its path; the same as `Search.save`.

    The time of evaluations outside of the search is not known, so `seconds` has what the search itself took.

    Args:
        search: a search whose budget is spent. `stax.save_search` keeps one that is not.
        path: a new or an empty folder.
    """
    if not search.done:
        raise InvalidInputError(
            f"Only a search that is done can become a run folder; this one has done {search.evaluations:,} of {search.budget:,}"
            " evaluations. To go on with it later, use stax.save_search."
        )
    folder = RunFolder(empty_folder(Path(path)))
    task = search.task
    name, options = made_from(task) or (None, {})
    written = writable_options(options)
    given = {"algo": search.method.name, "budget": search.budget, "seed": search.seed, "workers": 1}
    config = make_config({**given, "task": name_of_task(task)}, {})
    config = replace(
        config,
        task_options=written,
        task_given=name is None or written.keys() != options.keys(),
        parameters=search.parameters,
        device=str(getattr(search.space, "device", config.device)),
        numerics=numerics_of(search),
        results_version=RESULTS_VERSION,
    )
    failed = int(np.count_nonzero(search.ledger.columns()["failed"]))
    result = Result.of(
        search,
        config,
        seconds=sum(search.record.stopwatch.seconds.values()),
        core_seconds=None,
        status=RunStatus.FINISHED,
        failures={REPORTED: failed} if failed else {},
    )
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"The folder {str(path)!r} cannot be made: {error.strerror}.") from None
    with folder.locked():
        folder.write_config(config, task)
        result.save(folder)
        folder.write_summary(result.summary())
    return folder.path
