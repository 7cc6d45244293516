"""A run while it is done: the search, its evaluator and its folder, with checkpoints at rest and all results at the end."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stax.errors import InvalidInputError, in_one_line, shortened
from stax.evaluation.evaluator import Evaluator, TaskSource, make_evaluator
from stax.numerics import RESULTS_VERSION, continued_numerics, numerics_of
from stax.representation.space import UndescribedError
from stax.runs.callbacks import Callbacks
from stax.runs.config import RunConfig, config_toml
from stax.runs.cores import sharing_cores
from stax.runs.described_task import describe_task
from stax.runs.extension import extend, forget_autoencoders, is_end_of
from stax.runs.files import BAD_VALUE_ERRORS
from stax.runs.folder import RunFolder, empty_folder, how_to_resume
from stax.runs.ledger_file import read_ledger, write_ledger
from stax.runs.options import as_text
from stax.runs.result import Result, summarise
from stax.runs.resume_checks import same_text
from stax.runs.seeding import FILE as SEEDS
from stax.runs.seeding import write_seeds
from stax.runs.status import RunStatus
from stax.runs.tables import check_run_fits, keep_autoencoder, save_metrics
from stax.runs.task_trial import check_seed_matters, look_at_task
from stax.runs.validation import validate, write_validation
from stax.search.making import build_search
from stax.search.methods import find_method
from stax.search.search import Search
from stax.search.seeds import Seeds
from stax.search.state import State
from stax.tasks.task import Rollouts

SUMMARY_SECONDS = 2.0
"""Seconds between two versions of the summary while a run goes on."""
CHECKPOINT_TIME_SHARE = 1 / 40
"""Largest share of the time that is spent on checkpoints: those that take long are made less often."""
_TRIAL = ".trial.0.part"
"""File written to test a folder. A killed process may leave it behind; its name marks it as removable."""


class RunInterrupted(KeyboardInterrupt):
    """Raised when a run was asked to stop and has stopped, at rest, with everything saved."""

    def __init__(self, folder: Path | None, evaluations: int) -> None:
        super().__init__(f"The run was interrupted after {evaluations} evaluations.")
        self.folder = folder
        self.evaluations = evaluations


class RunInProgress:
    """One run: its search, its evaluator, and the folder it is kept in."""

    def __init__(
        self,
        config: RunConfig,
        source: TaskSource,
        folder: RunFolder | None,
        callbacks: Callbacks,
        stop: Callable[[], bool] | None,
        objects: Mapping[str, Any],
        seeds: Seeds | None,
    ) -> None:
        self.config, self.source, self.folder, self._objects, self._seeds = config, source, folder, objects, seeds
        self._callbacks, self._stop = callbacks, stop
        self._began = time.perf_counter()
        self._seconds_before = 0.0
        self._cores_began = _core_seconds_of_process()
        self._core_seconds_before: float | None = 0.0
        self._last_summary = 0.0
        self._last_checkpoint: float | None = None
        self._pause = 0.0

    def begin(self) -> Result:
        with self._ready() as (search, evaluator):
            check_seed_matters(search, evaluator)
            if self.folder is None:
                return self._search(search, evaluator, resumed=False)
            # Before there is a folder, refuse what would be too large to be read again.
            config_toml(self.config, describe_task(search.task))
            check_run_fits(self.config, len(search.task.reward_areas))
            is_new = not self.folder.path.exists()
            self.folder.path.mkdir(parents=True, exist_ok=True)
            try:
                return self._begin_in(self.folder, search, evaluator)
            except BaseException:
                if is_new and not search.evaluations:
                    with suppress(OSError):  # another process has put something into it
                        self.folder.path.rmdir()
                raise

    def _begin_in(self, folder: RunFolder, search: Search, evaluator: Evaluator) -> Result:
        with folder.locked():
            # Another run may have begun there while this one was being made.
            empty_folder(folder.path)
            try:
                if self._seeds is not None:
                    write_seeds(folder.file(SEEDS), self._seeds)
                folder.write_config(self.config, search.task)
                return self._search(search, evaluator, resumed=False)
            except BaseException:
                if not search.evaluations:
                    folder.forget()
                raise

    def resume(self, accepted_numerics: str | None, *, longer: bool) -> Result:
        """Go on with the run, which gets the budget of the configuration if that is `longer` than before."""
        assert self.folder
        was = self.config.numerics
        with self.folder.locked(), self._ready() as (search, evaluator):
            assert self.config.numerics
            numerics = continued_numerics(was, self.config.numerics, accepted_numerics, str(self.folder.path))
            self.config = replace(self.config, numerics=numerics)
            found = self.folder.load_checkpoint(self.config.budget, partial(is_end_of, self.config.earlier_budgets))
            if found:
                self._take_up(search, evaluator, *found)
            if longer:
                extend(self.folder, self.config, search)
            elif numerics != was:
                self.folder.write_config(self.config, search.task)
            if self.config.earlier_budgets:
                forget_autoencoders(self.folder, search.training_episodes)
            return self._search(search, evaluator, resumed=True)

    def _take_up(self, search: Search, evaluator: Evaluator, state: State, numbers: dict[str, Any]) -> None:
        assert self.folder
        path = str(self.folder.path)
        try:
            # A parameter that did not exist yet when the run began has its default, which stands for what was done before.
            was, now = {**self._defaults(), **numbers["config"]}, self._decisive()
            if was.get("budget") in [as_text(budget) for budget in self.config.earlier_budgets]:
                now["budget"] = was["budget"]
            differing = [str(name) for name in {**now, **was} if not same_text(was.get(name), now.get(name))]
            evaluator.restore_counts(numbers["counts"])
            self._seconds_before = float(numbers["seconds"])
            # A checkpoint of an earlier version does not say; then the sum is unknown.
            spent = numbers.get("core_seconds")
            self._core_seconds_before = None if spent is None else float(spent)
        except BAD_VALUE_ERRORS as error:
            raise InvalidInputError(f"The checkpoint in {path!r} is damaged ({type(error).__name__}: {error}).") from None
        if differing:
            raise InvalidInputError(
                f"The run in {path!r} was begun with another {', another '.join(differing)} than its config.toml says now; put that back,"
                " or begin another run with 'stax run --config'."
            )
        search.restore(state)

    def _decisive(self) -> dict[str, str]:
        """Return what must not have changed when the run is resumed, as texts."""
        return {name: as_text(value) for name, value in self.config.decisive().items()}

    def _defaults(self) -> dict[str, str]:
        """Return the default of every parameter of the method, as texts."""
        defaults = find_method(self.config.algo).resolve(self.config.preset)
        return {name: as_text(value) for name, value in asdict(defaults).items()}

    @contextmanager
    def _ready(self) -> Iterator[tuple[Search, Evaluator]]:
        config = self.config
        learns = config.parameters.descriptor == "learned"
        evaluator = make_evaluator(
            self.source,
            backend=config.backend,
            workers=config.workers,
            address=config.address,
            settings=config.settings,
        )
        with sharing_cores(self.source.task, workers=config.workers, learns=learns), evaluator:
            self._evaluator = evaluator
            search = build_search(
                find_method(config.algo),
                self.source.task,
                config.parameters,
                self._objects,
                budget=config.budget,
                seed=config.seed,
                device=config.device,
                seeds=self._seeds,
            )
            # The device that was chosen, so that a resumed run uses it, too.
            device = str(getattr(search.space, "device", config.device))
            self.config = replace(
                config,
                parameters=search.parameters,
                device=device,
                numerics=numerics_of(search),
                results_version=RESULTS_VERSION,
            )
            yield search, evaluator

    def _try_folder(self, search: Search) -> None:
        """Write and read back a ledger of one row before anything is evaluated.

        Of all libraries, that of the ledger accepts the fewest names of folders, and would fail only when the budget is spent.
        """
        assert self.folder
        trial = self.folder.file(_TRIAL)
        try:
            columns = search.ledger.columns().items()
            write_ledger(trial, {name: np.zeros((1, *column.shape[1:]), column.dtype) for name, column in columns})
            read_ledger(trial, self.config.budget)
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or in_one_line(error)
            raise InvalidInputError(f"Results cannot be kept in the folder {str(self.folder.path)!r}: {reason}.") from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)

    def _search(self, search: Search, evaluator: Evaluator, *, resumed: bool) -> Result:
        if self.folder:
            self._try_folder(search)
        with self._callbacks:
            self._callbacks.start(search, resumed=resumed)
            self._spend_budget(search, evaluator)
            result = self._validated(self._finish(search, RunStatus.FINISHED), evaluator)
            self._callbacks.end(result)
        return result

    def _validated(self, result: Result, evaluator: Evaluator) -> Result:
        """Add the rewards of the best policies on fresh seeds, which are also written to the folder."""
        validation = validate(result, evaluator, self.config.settings.validation_episodes)
        if validation and self.folder:
            with suppress(OSError):  # the results are written, and worth more
                write_validation(self.folder, validation)
        return replace(result, validation=validation)

    def _spend_budget(self, search: Search, evaluator: Evaluator) -> None:
        try:
            while not search.done:
                genomes = search.ask()
                # Seeds say little about the task: they were chosen elsewhere.
                is_first = not search.evaluations and self._seeds is None
                with search.record.stopwatch.time("evaluation"):
                    count = partial(self._count, search)
                    rollouts = evaluator.evaluate(genomes, count, search.asked_repetitions)
                _tell(search, evaluator, rollouts)
                if search.at_rest:
                    self._rest(search)
                if is_first:
                    # After the first checkpoint, so that nothing is lost if the task fails or hangs here.
                    look_at_task(search, evaluator, genomes, rollouts)
        except KeyboardInterrupt as interrupt:
            if not isinstance(interrupt, RunInterrupted):
                self._write_summary(search, RunStatus.INTERRUPTED)
            raise
        except Exception as error:
            self._write_summary(search, RunStatus.FAILED, str(error))
            raise

    def _count(self, search: Search, finished: int) -> None:
        """Report that so many policies of the batch under way have been evaluated."""
        self._callbacks.count(search, finished)
        if time.monotonic() >= self._last_summary + SUMMARY_SECONDS:
            self._last_summary = time.monotonic()
            self._write_summary(search, RunStatus.RUNNING, finished=finished)

    def _rest(self, search: Search) -> None:
        """Report the chunk that is done; then stop, or save a checkpoint if it is time for one."""
        with search.record.stopwatch.time("storage"):
            self._callbacks.rest(search)
            if self.folder and self.config.settings.keep_autoencoders:
                keep_autoencoder(self.folder, search.training_episodes, search.space)
            if time.monotonic() >= self._last_summary + SUMMARY_SECONDS:
                self._last_summary = time.monotonic()
                self._write_summary(search, RunStatus.RUNNING)
        if search.done:
            return
        if self._callbacks.failure:
            self._finish(search, RunStatus.FAILED)
            raise self._callbacks.failure
        if self._stop and self._stop():
            self._callbacks.end(self._finish(search, RunStatus.INTERRUPTED))
            raise RunInterrupted(self.folder.path if self.folder else None, search.evaluations)
        if self.folder and self._checkpoint_is_due():
            self._keep(search)

    def _checkpoint_is_due(self) -> bool:
        every = max(self.config.settings.checkpoint_seconds, self._pause)
        return self._last_checkpoint is None or time.monotonic() >= self._last_checkpoint + every

    def _keep(self, search: Search) -> None:
        """Save a checkpoint in the middle of the run. If the disk is full, the run continues without it."""
        began = time.monotonic()
        try:
            with search.record.stopwatch.time("storage"):
                self._save_checkpoint(search)
        except OSError as error:
            warnings.warn(
                f"The checkpoint after {search.evaluations:,} evaluations could not be written ({error.strerror or error});"
                " the run goes on, and keeps the one before it.",
                RuntimeWarning,
                stacklevel=2,
            )
        self._last_checkpoint = time.monotonic()
        if self.config.settings.checkpoint_seconds > 0:
            self._pause = (self._last_checkpoint - began) / CHECKPOINT_TIME_SHARE

    def _save_checkpoint(self, search: Search) -> None:
        assert self.folder
        spent = {"seconds": self._seconds(), "core_seconds": self._core_seconds()}
        numbers = {"config": self._decisive(), **spent, "counts": self._evaluator.counts()}
        self.folder.save_checkpoint(search.state(), numbers)
        save_metrics(self.folder, search.metrics)

    def _finish(self, search: Search, status: RunStatus) -> Result:
        """Write all results, the summary last."""
        if self.folder:
            try:
                with search.record.stopwatch.time("storage"):
                    self._save_checkpoint(search)
                    self._result(search, status).save(self.folder)
                self.folder.write_summary(self._result(search, status).summary())
            except OSError as error:
                self._write_summary(search, RunStatus.FAILED, str(error))
                raise RuntimeError(
                    f"The results cannot be written to {str(self.folder.path)!r}: {error.strerror or error}."
                    f" Nothing that was written before is lost: make room, then go on with: {how_to_resume(self.folder.path, self.config)}"
                ) from error
        return self._result(search, status)

    def _write_summary(self, search: Search, status: RunStatus, error: str | None = None, *, finished: int = 0) -> None:
        """Write the summary as it is now, with so many evaluations that the search has not been told yet, if there is a folder that
        can be written to."""
        if self.folder is None or not search.evaluations + finished:
            return
        # Not from a result, which lists every emitter: this is done every few seconds.
        seconds = {"total": self._seconds(), **search.record.stopwatch.seconds}
        failures = self._evaluator.failures
        spent = self._core_seconds()
        summary = summarise(search, self.config, seconds=seconds, core_seconds=spent, status=status, failures=failures)
        summary["evaluations"] += finished
        summary |= {} if error is None else {"error": shortened(error)}
        try:
            self.folder.write_summary(summary, safe=status is not RunStatus.RUNNING)
        except OSError:
            return

    def _result(self, search: Search, status: RunStatus) -> Result:
        return Result.of(
            search,
            self.config,
            seconds=self._seconds(),
            core_seconds=self._core_seconds(),
            status=status,
            failures=self._evaluator.failures,
        )

    def _seconds(self) -> float:
        return self._seconds_before + time.perf_counter() - self._began

    def _core_seconds(self) -> float | None:
        """Return the processor time of the run so far; None if that of an earlier part is not known."""
        if self._core_seconds_before is None:
            return None
        here = _core_seconds_of_process() - self._cores_began
        return round(self._core_seconds_before + here + self._evaluator.core_seconds(), 3)


def _core_seconds_of_process() -> float:
    """Return the processor time of this process and of those of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _tell(search: Search, evaluator: Evaluator, rollouts: Rollouts) -> None:
    """Tell the search its rollouts; policies that cannot be described count as failed if failures are discarded."""
    while True:
        try:
            return search.tell(rollouts)
        except UndescribedError as error:
            if not evaluator.discards:
                raise
            rollouts = evaluator.discard(rollouts, error.rows, error.reason)
