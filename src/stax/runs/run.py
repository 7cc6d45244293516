"""`stax.run` and `stax.resume`: one search from its start to its result, kept in a folder on the way."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from stax.errors import InvalidInputError, check_choice, in_one_line, shortened, shown
from stax.evaluation.evaluator import Evaluator, TaskSource, make_evaluator
from stax.evaluation.source import make_source
from stax.numerics import NUMERICS, RESULTS_VERSION, check_version, continued_numerics, numerics_of
from stax.representation.space import UndescribedError
from stax.runs.callbacks import Callback, Callbacks
from stax.runs.config import DEFAULT_BUDGET, RunConfig, RunSettings, config_toml, make_config
from stax.runs.cores import sharing_cores
from stax.runs.described_task import describe_task
from stax.runs.files import NONSENSE
from stax.runs.folder import RunFolder, how_to_resume, is_leftover
from stax.runs.ledger_file import read_ledger, write_ledger
from stax.runs.options import as_text, writable_options
from stax.runs.result import Result, check_network, check_objects, load, summarise
from stax.runs.resume_checks import check_given, check_same_task, same_text
from stax.runs.tables import check_run_fits, save_metrics
from stax.search.making import make_search, without_objects
from stax.search.search import Observer, Search
from stax.search.state import State
from stax.tasks import made_from
from stax.tasks.task import Rollouts, Task

_SIGN_OF_LIFE = 2.0
"""Seconds between two versions of the summary while a run goes on."""
_MOST_OF_THE_TIME = 40
"""Checkpoints that take long are made more rarely: one takes at most this part of the time between two."""

_TRIAL = ".trial.0.part"
"""The file by which a folder is tried; a killed process may leave it, and its name says that it may be removed."""


class RunInterrupted(KeyboardInterrupt):
    """A run was asked to stop, and has stopped at rest with everything saved."""

    def __init__(self, folder: Path | None, evaluations: int) -> None:
        super().__init__(f"The run was interrupted after {evaluations} evaluations.")
        self.folder = folder
        self.evaluations = evaluations


def run(
    task: str | Task,
    *,
    algo: str = "stax",
    budget: int = DEFAULT_BUDGET,
    seed: int = 0,
    preset: str = "default",
    out: str | Path | None = None,
    workers: int | None = None,
    device: str = "auto",
    backend: str = "local",
    address: str | None = None,
    callbacks: Sequence[Callback] = (),
    observer: Observer | None = None,
    stop: Callable[[], bool] | None = None,
    **parameters: Any,
) -> Result:
    """Searches with one method until the budget is spent.

    Args:
        task: a task or its name.
        algo: a method, see `stax algos`.
        budget: evaluations to spend, exactly; the paper's runs spend 500,000.
        seed: of all randomness. The same seed gives the same archives bit for bit, for any number of workers.
        preset: default, paper or published-code.
        out: a folder for the run, which must not exist yet or be empty. There it can be resumed and loaded.
        workers: cores to use for evaluations, linear algebra and the autoencoder; all available ones if None.
        device: where the autoencoder is: auto, cpu, cuda or mps.
        backend: where evaluations run: local, or ray for a cluster.
        address: of the Ray cluster; None starts one on this machine.
        callbacks: are told how the run goes on, see `stax.Callback`.
        observer: called with the search and an event: "phase", "training", "chunk" or "rest"; callbacks are called at the same events.
        stop: asked at every rest whether to stop; if so, everything is saved and `RunInterrupted` raised.
        parameters: of the search (see `stax algos`) and of the run (see docs/runs.md), by name; a task's own options as
            `task.<option>` if the task is given by name. An autoencoder may also be an object, see docs/autoencoders.md, and so may
            kinds of emitters and the scheduler, see docs/emitters.md.
    """
    given = {"algo": algo, "budget": budget, "seed": seed, "preset": preset, "workers": workers, "device": device}
    given |= {"backend": backend, "address": address}
    options = [name for name in parameters if name.startswith("task.")]
    if options and isinstance(task, Task):
        raise InvalidInputError(f"{options[0]} was given beside a task that is made already; give it to make_task.")
    if not isinstance(task, (str, Task)):
        raise InvalidInputError(f"task must be a task's name or a stax.Task, not {shown(task)}.")
    name = task if isinstance(task, str) else _name(task)
    parameters, objects = without_objects(parameters)
    # Before the task is made, which may take a while: a misspelt name is told at once.
    config = make_config({**given, "task": name}, parameters)
    made = task if isinstance(task, Task) else None
    return begin(config, made, objects=objects, out=out, callbacks=callbacks, observer=observer, stop=stop)


def begin(
    config: RunConfig,
    task: Task | None = None,
    *,
    objects: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    observer: Observer | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """Does the run that the configuration describes, with this task and these parameters if they were given as objects."""
    watching = _Watching(Callbacks(callbacks), observer, stop)
    folder = None if out is None else RunFolder(empty_folder(Path(out)))
    if task is None:
        source = make_source(config.task, config.task_options, time_limit=config.settings.time_limit)
    else:
        name, options = made_from(task) or (None, {})
        source = TaskSource(task, name, options)
        # What cannot be written down makes the task one that only an object can bring back.
        written = writable_options(options)
        config = replace(config, task_options=written, task_given=name is None or written.keys() != options.keys())
    return _Run(config, source, folder, watching, objects or {}).begin()


def resume(
    path: str | Path,
    *,
    task: Task | None = None,
    autoencoder: Any = None,
    emitter_kinds: Any = None,
    scheduler: Any = None,
    trust: bool = False,
    workers: int | None = None,
    device: str | None = None,
    backend: str | None = None,
    address: str | None = None,
    settings: RunSettings | None = None,
    numerics: str | None = None,
    callbacks: Sequence[Callback] = (),
    observer: Observer | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """Goes on with a run from its last checkpoint, to the same end bit for bit as if it had never been interrupted.

    Args:
        path: the run's folder.
        task: the run's task, if it was given as an object.
        autoencoder: the run's autoencoder, if it was given as an object.
        emitter_kinds: all kinds of the run's emitters, if one of them was given as an object.
        scheduler: the run's scheduler, if it was given as an object.
        trust: whether what is code of the run's maker (`module:Class`) may be imported: the task, the autoencoder, kinds of emitters,
            the scheduler.
        workers: as for `run`; what the run had before if None.
        device: as for `run`; what the run had before if None.
        backend: as for `run`; what the run had before if None.
        address: as for `run`; what the run had before if None.
        settings: how it is done from here on; as before if None.
        numerics: numerics to go on with even if the run had others before, portable or native; only the run's own if None. See
            docs/runs.md.
        callbacks: as for `run`. A run that is finished already is only loaded.
        observer: as for `run`.
        stop: as for `run`.
    """
    watching = _Watching(Callbacks(callbacks), observer, stop)
    if numerics is not None:
        check_choice("numerics", numerics, NUMERICS)
    folder = RunFolder.existing(path)
    config, description = folder.read_config()
    if folder.summary().get("status") == "finished":
        folder.tidy()
        return load(path, task=task, autoencoder=autoencoder, trust=trust)
    check_version(config.results_version, str(path))
    parts = {"autoencoder": autoencoder, "emitter_kinds": emitter_kinds, "scheduler": scheduler}
    objects = {name: part for name, part in parts.items() if part is not None}
    check_objects(config, objects, path)
    check_given(config, {"task": task, **objects}, path, trust=trust)
    if task is not None:
        check_same_task(config, description, task, path)
    limit = (settings or config.settings).time_limit
    options = config.task_options
    source = TaskSource(task, None, options) if task is not None else make_source(config.task, options, time_limit=limit)
    kept = folder.checkpoints()
    if kept and autoencoder is None:
        check_network(config, source.task, kept[0])
    folder.warn_of_versions()
    changed = {"workers": workers, "device": device, "backend": backend, "address": address}
    given = {**{name: getattr(config, name) for name in changed}, **{k: v for k, v in changed.items() if v is not None}}
    checked = make_config({"task": config.task, **given}, {})
    config = replace(config, **{name: getattr(checked, name) for name in changed}, settings=settings or config.settings)
    return _Run(config, source, folder, watching, objects).resume(numerics)


@dataclass(frozen=True)
class _Watching:
    """Who is told how a run goes on, and who may stop it."""

    callbacks: Callbacks
    observer: Observer | None
    stop: Callable[[], bool] | None


class _Run:
    """One run while it goes on: the search, whoever evaluates for it, and the folder it is kept in."""

    def __init__(
        self,
        config: RunConfig,
        source: TaskSource,
        folder: RunFolder | None,
        watching: _Watching,
        objects: Mapping[str, Any],
    ) -> None:
        self.config, self.source, self.folder, self._objects = config, source, folder, objects
        self._observer, self._stop, self._callbacks = watching.observer, watching.stop, watching.callbacks
        self._began = time.perf_counter()
        self._seconds_before = 0.0
        self._cores_began = _core_seconds_of_process()
        self._core_seconds_before: float | None = 0.0
        self._last_sign = 0.0
        self._last_checkpoint: float | None = None
        self._pause = 0.0
        self._watching = False

    def begin(self) -> Result:
        with self._ready() as (search, evaluator):
            if self.folder is None:
                return self._search(search, evaluator, resumed=False)
            # Refused before there is a folder: what would be too large to be read again.
            config_toml(self.config, describe_task(search.task))
            check_run_fits(self.config, len(search.task.reward_areas))
            is_new = not self.folder.path.exists()
            self.folder.path.mkdir(parents=True, exist_ok=True)
            try:
                return self._begin_in(self.folder, search, evaluator)
            except BaseException:
                if is_new and not search.evaluations:
                    with suppress(OSError):  # somebody else has put something into it
                        self.folder.path.rmdir()
                raise

    def _begin_in(self, folder: RunFolder, search: Search, evaluator: Evaluator) -> Result:
        with folder.locked():
            # Somebody may have begun a run there while this one was being made.
            empty_folder(folder.path)
            try:
                folder.write_config(self.config, search.task)
                return self._search(search, evaluator, resumed=False)
            except BaseException:
                if not search.evaluations:
                    folder.forget()
                raise

    def resume(self, accepted_numerics: str | None) -> Result:
        assert self.folder
        was = self.config.numerics
        with self.folder.locked(), self._ready() as (search, evaluator):
            assert self.config.numerics
            numerics = continued_numerics(was, self.config.numerics, accepted_numerics, str(self.folder.path))
            self.config = replace(self.config, numerics=numerics)
            if numerics != was:
                self.folder.write_config(self.config, search.task)
            found = self.folder.load_checkpoint(self.config.budget)
            if found:
                self._take_up(search, evaluator, *found)
            return self._search(search, evaluator, resumed=True)

    def _take_up(self, search: Search, evaluator: Evaluator, state: State, numbers: dict[str, Any]) -> None:
        assert self.folder
        path = str(self.folder.path)
        try:
            was, now = dict(numbers["config"]), self._decisive()
            differing = [str(name) for name in {**now, **was} if not same_text(was.get(name), now.get(name))]
            evaluator.restore_counts(numbers["counts"])
            self._seconds_before = float(numbers["seconds"])
            # A checkpoint of an earlier version does not say; then nobody knows the sum.
            spent = numbers.get("core_seconds")
            self._core_seconds_before = None if spent is None else float(spent)
        except NONSENSE as error:
            raise InvalidInputError(f"The checkpoint in {path!r} is damaged ({type(error).__name__}: {error}).") from None
        if differing:
            raise InvalidInputError(
                f"The run in {path!r} was begun with another {', another '.join(differing)} than its config.toml says now; put that back,"
                " or begin another run with 'stax run --config'."
            )
        search.restore(state)

    def _decisive(self) -> dict[str, str]:
        """What the run must still be when it is resumed, in words."""
        return {name: as_text(value) for name, value in self.config.decisive().items()}

    @contextmanager
    def _ready(self) -> Iterator[tuple[Search, Evaluator]]:
        config, settings = self.config, self.config.settings
        learns = config.parameters.descriptor == "learned"
        evaluator = make_evaluator(
            self.source,
            backend=config.backend,
            workers=config.workers,
            address=config.address,
            isolation=settings.isolation,
            time_limit=settings.time_limit,
            on_failure=settings.on_failure,
            max_failed_share=settings.max_failed_share,
        )
        with sharing_cores(self.source.task, workers=config.workers, learns=learns), evaluator:
            self._evaluator = evaluator
            search = make_search(
                config.algo,
                self.source.task,
                budget=config.budget,
                seed=config.seed,
                preset=config.preset,
                device=config.device,
                observer=self._watch,
                **{**asdict(config.parameters), **self._objects},
            )
            # As it was chosen, so that the run goes on there.
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

        It is the file whose library is the most particular about names of folders; it would complain when the budget is spent.
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
        # Whoever watches hears of the run when everything is in order; of its state before that they would only hear half.
        with self._callbacks:
            self._callbacks.start(search, resumed=resumed)
            self._watching = True
            self._watch(search, "phase")
            self._spend_budget(search, evaluator)
            result = self._finish(search, "finished")
            self._callbacks.end(result)
        return result

    def _spend_budget(self, search: Search, evaluator: Evaluator) -> None:
        try:
            while not search.done:
                genomes = search.ask()
                with search.stopwatch.time("evaluation"):
                    rollouts = evaluator.evaluate(genomes)
                _tell(search, evaluator, rollouts)
        except KeyboardInterrupt as interrupt:
            if not isinstance(interrupt, RunInterrupted):
                self._leave_word(search, "interrupted")
            raise
        except Exception as error:
            self._leave_word(search, "failed", str(error))
            raise

    def _watch(self, search: Search, event: str) -> None:
        if not self._watching:
            return
        if self._observer:
            self._observer(search, event)
        with search.stopwatch.time("storage"):
            self._callbacks.tell(search, event)
        if event == "chunk" and self.folder and time.monotonic() >= self._last_sign + _SIGN_OF_LIFE:
            self._last_sign = time.monotonic()
            with search.stopwatch.time("storage"):
                self._leave_word(search, "running")
        if event != "rest":
            return
        if self._callbacks.failure:
            self._finish(search, "failed")
            raise self._callbacks.failure
        if self._stop and self._stop():
            self._callbacks.end(self._finish(search, "interrupted"))
            raise RunInterrupted(self.folder.path if self.folder else None, search.evaluations)
        if self.folder and self._checkpoint_is_due():
            self._keep(search)

    def _checkpoint_is_due(self) -> bool:
        every = max(self.config.settings.checkpoint_seconds, self._pause)
        return self._last_checkpoint is None or time.monotonic() >= self._last_checkpoint + every

    def _keep(self, search: Search) -> None:
        """A checkpoint in the middle of the run. If the disk is full, the run is worth more than its checkpoint."""
        began = time.monotonic()
        try:
            with search.stopwatch.time("storage"):
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
            self._pause = _MOST_OF_THE_TIME * (self._last_checkpoint - began)

    def _save_checkpoint(self, search: Search) -> None:
        assert self.folder
        spent = {"seconds": self._seconds(), "core_seconds": self._core_seconds()}
        numbers = {"config": self._decisive(), **spent, "counts": self._evaluator.counts()}
        self.folder.save_checkpoint(search.state(), numbers)
        save_metrics(self.folder, search.metrics)

    def _finish(self, search: Search, status: str) -> Result:
        """Writes what there is, the summary last."""
        if self.folder:
            try:
                with search.stopwatch.time("storage"):
                    self._save_checkpoint(search)
                    self._result(search, status).save(self.folder)
                self.folder.write_summary(self._result(search, status).summary())
            except OSError as error:
                self._leave_word(search, "failed", str(error))
                raise RuntimeError(
                    f"The results cannot be written to {str(self.folder.path)!r}: {error.strerror or error}."
                    f" Nothing that was written before is lost: make room, then go on with: {how_to_resume(self.folder.path, self.config)}"
                ) from error
        return self._result(search, status)

    def _leave_word(self, search: Search, status: str, error: str | None = None) -> None:
        """The summary as things stand, if it can be written."""
        if self.folder is None or not search.evaluations:
            return
        # Not by way of a result, which lists every emitter: this is done every few seconds.
        seconds = {"total": self._seconds(), **search.stopwatch.seconds}
        failures = self._evaluator.failures
        spent = self._core_seconds()
        summary = summarise(search, self.config, seconds=seconds, core_seconds=spent, status=status, failures=failures)
        summary |= {} if error is None else {"error": shortened(error)}
        try:
            self.folder.write_summary(summary, safe=status != "running")
        except OSError:
            return

    def _result(self, search: Search, status: str) -> Result:
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
        before = self._core_seconds_before
        return None if before is None else round(before + _core_seconds_of_process() - self._cores_began, 3)


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


def _name(task: Task) -> str:
    """What a task given as an object is called in a configuration."""
    found = made_from(task)
    return found[0] if found else f"{type(task).__module__}:{type(task).__qualname__}"


def empty_folder(path: Path) -> Path:
    """The path, if results can be written there without touching anything."""
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"The output folder {str(path)!r} is a file; give a new or an empty folder.")
    if path.is_dir() and not all(is_leftover(entry) for entry in path.iterdir()):
        hint = f" (or go on with the run in it: stax resume {quote(str(path))})" if (path / "config.toml").is_file() else ""
        raise InvalidInputError(f"The output folder {str(path)!r} is not empty; give a new or an empty one{hint}.")
    return path
