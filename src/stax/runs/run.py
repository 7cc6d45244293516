"""`stax.run`: one search, with evaluations on this machine's cores."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from stax.compiling import available_threads
from stax.errors import InvalidInputError, check_whole, in_one_line
from stax.runs.cores import sharing_cores
from stax.runs.result import Result
from stax.search.methods import find_method
from stax.search.parameters import make_parameters
from stax.search.search import Observer, make_search
from stax.tasks import make_task
from stax.tasks.task import Task

DEFAULT_BUDGET = 20_000


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
    observer: Observer | None = None,
    **parameters: Any,
) -> Result:
    """Searches with one method until the budget is spent.

    Args:
        task: a task or its name.
        algo: a method, see `stax algos`.
        budget: evaluations to spend, exactly; the paper's runs spend 500,000.
        seed: of all randomness. The same seed gives the same archives bit for bit, for any number of workers.
        preset: default, paper or published-code.
        out: a folder for the results, which must not exist yet or be empty.
        workers: cores to use for evaluations, linear algebra and the autoencoder; all available ones if None.
        device: where the autoencoder is: auto, cpu, cuda or mps.
        observer: called with the search and an event: "phase", "training" or "chunk".
        parameters: by name, see `stax algos`; a task's own options as `task.<option>` if the task is given by name.
    """
    began = time.perf_counter()
    workers = available_threads() if workers is None else check_whole("workers", workers, 1)
    folder = None if out is None else empty_folder(Path(out))
    options = {name: parameters.pop(name) for name in list(parameters) if name.startswith("task.")}
    # Before the task is made, which may take a while: a misspelt name is told at once.
    learns = make_parameters(preset, find_method(algo).parameters, parameters).descriptor == "learned"
    if isinstance(task, str):
        task = make_task(task, **{name.removeprefix("task."): value for name, value in options.items()})
    elif options:
        raise InvalidInputError(f"{next(iter(options))} was given beside a task that is made already; give it to make_task.")
    with sharing_cores(task, workers=workers, learns=learns):
        search = make_search(
            algo, task, budget=budget, seed=seed, preset=preset, device=device, observer=observer, **parameters
        )
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        while not search.done:
            genomes = search.ask()
            with search.stopwatch.time("evaluation"):
                rollouts = _evaluate(task, genomes)
            search.tell(rollouts)
    result = Result.of(search, preset=preset, workers=workers, total_seconds=time.perf_counter() - began, status="finished")
    if folder:
        with search.stopwatch.time("storage"):
            result.save(folder)
        result = replace(result, seconds={"total": time.perf_counter() - began, **search.stopwatch.seconds})
        result.save_summary(folder)
    return result


def _evaluate(task: Task, genomes: Any) -> Any:
    try:
        return task.evaluate(genomes)
    except InvalidInputError:
        raise
    except Exception as error:
        raise RuntimeError(f"Task {task.name!r} failed to evaluate {len(genomes)} policies: {in_one_line(error)}") from error


def empty_folder(path: Path) -> Path:
    """The path, if results can be written there without touching anything."""
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"The output folder {str(path)!r} is a file; give a new or an empty folder.")
    if path.is_dir() and any(path.iterdir()):
        raise InvalidInputError(f"The output folder {str(path)!r} is not empty; give a new or an empty one.")
    return path
