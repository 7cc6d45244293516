"""`stax.run` and `stax.resume`: what was asked for is checked and put together, and then done by `RunInProgress`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from stax.constraints import check_choice
from stax.errors import InvalidInputError, shown
from stax.evaluation.evaluator import TaskSource
from stax.evaluation.source import make_source
from stax.numerics import NUMERICS, check_version
from stax.own_code import without_objects
from stax.run_settings import DEFAULT_BUDGET, RunSettings
from stax.runs.callbacks import Callback, Callbacks
from stax.runs.config import RunConfig, make_config
from stax.runs.extension import extended
from stax.runs.folder import RunFolder, empty_folder
from stax.runs.options import writable_options
from stax.runs.progress_bar import ProgressBar
from stax.runs.result import Result, check_network, check_objects, load
from stax.runs.resume_checks import check_given, check_same_task
from stax.runs.run_in_progress import RunInProgress
from stax.runs.seeding import FILE as SEEDS
from stax.runs.seeding import Start, make_start, read_seeds
from stax.runs.status import RunStatus
from stax.tasks import made_from
from stax.tasks.task import Task


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
    stop: Callable[[], bool] | None = None,
    progress: bool = False,
    start_from: Any = None,
    start_parts: Sequence[str] | str | None = None,
    **parameters: Any,
) -> Result:
    """Search with one method until the budget is spent.

    Args:
        task: a task or its name.
        algo: a method, see `stax algos`.
        budget: evaluations to spend, exactly; the paper's runs spend 500,000.
        seed: seed of all random numbers. The same seed gives the same archives bit for bit, for any number of workers.
        preset: default, paper or published-code.
        out: a folder for the run, which must not exist yet or be empty. There it can be resumed and loaded.
        workers: cores to use for evaluations, linear algebra and the autoencoder; all available ones if None.
        device: device of the autoencoder: auto, cpu, cuda or mps.
        backend: where evaluations run: local, or ray for a cluster.
        address: address of the Ray cluster; None starts one on this machine.
        callbacks: called as the run progresses, see `stax.Callback`.
        stop: called at every rest; if it returns true, everything is saved and `RunInterrupted` is raised.
        progress: show a progress bar on standard error, also in a notebook.
        start_from: what to start from instead of random policies: the folder or the `Result` of another run on the task, a `PolicySet`,
            an array of genomes, a data frame or an archive of pyribs. These policies are evaluated and count for the budget.
        start_parts: what of it to use: some of population, archives and autoencoder. Everything that both sides have if None.
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
    name = task if isinstance(task, str) else name_of_task(task)
    parameters, objects = without_objects(parameters)
    # Before the task is made, which may take a while: a misspelt name is reported at once.
    config = make_config({**given, "task": name}, parameters)
    made = task if isinstance(task, Task) else None
    watching = [*callbacks, ProgressBar()] if progress else callbacks
    start = None if start_from is None else partial(make_start, start_from, start_parts)
    return begin(config, made, objects=objects, out=out, callbacks=watching, stop=stop, start=start)


def begin(
    config: RunConfig,
    task: Task | None = None,
    *,
    objects: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    stop: Callable[[], bool] | None = None,
    start: Callable[[RunConfig, Task], Start] | None = None,
) -> Result:
    """Do the run that the configuration describes, with this task and these parameters if they were given as objects.

    `start` returns what the run starts from, if it is seeded.
    """
    called = Callbacks(callbacks)
    folder = None if out is None else RunFolder(empty_folder(Path(out)))
    if task is None:
        source = make_source(config.task, config.task_options, time_limit=config.settings.time_limit)
    else:
        name, options = made_from(task) or (None, {})
        source = TaskSource(task, name, options)
        # What cannot be written down makes the task one that only an object can bring back.
        written = writable_options(options)
        config = replace(config, task_options=written, task_given=name is None or written.keys() != options.keys())
    seeds = None
    if start is not None:
        started = start(config, source.task)
        seeds, config = started.seeds, replace(config, start_from=started.record)
    return RunInProgress(config, source, folder, called, stop, objects or {}, seeds).begin()


def resume(
    path: str | Path,
    *,
    budget: int | None = None,
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
    stop: Callable[[], bool] | None = None,
    progress: bool = False,
) -> Result:
    """Continue a run from its last checkpoint, to the same end bit for bit as if it had never been interrupted.

    With a larger budget, a finished run continues too, and ends bit for bit like a run that had this budget from the start.

    Args:
        path: the run's folder.
        budget: a larger budget for the run; its own if None.
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
        settings: settings of the run from here on; as before if None.
        numerics: numerics to continue with even if the run had others before, portable or native; only the run's own if None. See
            docs/runs.md.
        callbacks: as for `run`. A run whose budget is spent already is only loaded.
        stop: as for `run`.
        progress: as for `run`.
    """
    called = Callbacks([*callbacks, ProgressBar()] if progress else callbacks)
    if numerics is not None:
        check_choice("numerics", numerics, NUMERICS)
    folder = RunFolder.existing(path)
    config, description = folder.read_config()
    had, config = config.budget, extended(config, budget, path)
    if folder.summary().get("status") == RunStatus.FINISHED and config.budget == had:
        folder.tidy()
        return load(path, task=task, autoencoder=autoencoder, trust=trust)
    check_version(config.results_version, str(path))
    parts = {"autoencoder": autoencoder, "emitter_kinds": emitter_kinds, "scheduler": scheduler}
    check_objects(config, parts, path)
    check_given(config, {"task": task, **parts}, path, trust=trust)
    _, objects = without_objects(parts)
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
    seeds = read_seeds(folder.file(SEEDS), config.start_from) if config.start_from else None
    return RunInProgress(config, source, folder, called, stop, objects, seeds).resume(numerics, longer=config.budget > had)


def name_of_task(task: Task) -> str:
    """Return the name of a task that was given as an object, for the configuration."""
    found = made_from(task)
    return found[0] if found else f"{type(task).__module__}:{type(task).__qualname__}"
