"""A larger budget for a run that has begun, most often for a finished one.

A search does the same whatever its budget is, except that the end of the budget may cut off its last chunk. Every checkpoint but the
one at the end is therefore also a state of a search with a larger budget, and an extended run continues from the last of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.input_limits import MOST_EVALUATIONS
from stax.runs.config import RunConfig
from stax.runs.folder import RunFolder
from stax.runs.options import as_text
from stax.runs.status import RunStatus
from stax.runs.tables import KEPT_AUTOENCODERS, check_run_fits
from stax.runs.validation import FILE as VALIDATION
from stax.search.search import Search
from stax.search.state import State

PICTURE = "archives.png"
"""The file of a run folder that shows its archives; the command draws it at the end of a run."""
_KEPT = re.compile(r"(\d{6})\.safetensors", re.ASCII)


def extended(config: RunConfig, budget: int | None, path: object) -> RunConfig:
    """Return the configuration with a larger budget; the same one if no budget or the run's own is given."""
    if budget is None or check_whole("budget", budget, 1, MOST_EVALUATIONS) == config.budget:
        return config
    if budget < config.budget:
        raise InvalidInputError(
            f"budget must be larger than the {config.budget:,} evaluations that the run in {str(path)!r} has, not {budget:,}."
        )
    return replace(config, budget=int(budget), earlier_budgets=(*config.earlier_budgets, config.budget))


def is_end_of(budgets: tuple[int, ...], state: State, numbers: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint was written at the end of one of these budgets, which may have cut off the last chunk."""
    config = numbers.get("config")
    written = config.get("budget") if isinstance(config, dict) else None
    return any(written == as_text(budget) and state.numbers.get("evaluations") == budget for budget in budgets)


def extend(folder: RunFolder, config: RunConfig, search: Search) -> None:
    """Give the run in a locked folder the larger budget of its new configuration, before it continues.

    The summary is written first. A process that is killed between the two leaves an interrupted run with its old budget.

    Args:
        folder: of the run.
        config: the new configuration.
        search: the search as it continues, from a checkpoint or from the start.
    """
    current, _ = folder.read_config()
    if current.budget != config.earlier_budgets[-1]:
        raise InvalidInputError(f"Another process has changed the budget of the run in {str(folder.path)!r} meanwhile.")
    check_run_fits(config, len(search.task.reward_areas))
    summary = folder.summary()
    if summary.get("status") == RunStatus.FINISHED:
        if not search.evaluations:
            raise InvalidInputError(
                f"The run in {str(folder.path)!r} cannot get a larger budget: it has no checkpoints; begin another run with the larger budget."
            )
        folder.write_summary({**summary, "status": RunStatus.INTERRUPTED})
    folder.write_config(config, search.task)
    for name in (VALIDATION, PICTURE):
        folder.file(name).unlink(missing_ok=True)


def forget_autoencoders(folder: RunFolder, training_episodes: int) -> None:
    """Remove the kept autoencoders of later training episodes: the last of them may belong to a chunk that was cut off.

    The others are kept again, with the same bits, as the run does their episodes again.
    """
    kept = folder.file(KEPT_AUTOENCODERS)
    for path in sorted(kept.iterdir()) if kept.is_dir() else ():
        found = _KEPT.fullmatch(path.name)
        if found and int(found[1]) > training_episodes:
            with suppress(FileNotFoundError):
                path.unlink()
