"""Run folders as the explorer reads them: by their results if there are any, by the last checkpoint otherwise.

This is the one module of the explorer that knows the files of a run. It writes nothing and runs nobody's code; only `make_task` and
`make_trained_space`, which the worker process calls, make a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.representation.space import DescriptorSpace
from stax.runs.config import RunConfig
from stax.runs.folder import RunFolder
from stax.runs.ledger_file import LEDGER
from stax.runs.reader import RunReader
from stax.runs.result import check_network, remade_task
from stax.runs.status import WITH_RESULTS
from stax.runs.tables import KEPT_AUTOENCODERS, read_autoencoder
from stax.search.emitters.emitter import EmitterRecord
from stax.search.making import make_space
from stax.search.methods import find_method
from stax.search.policy_set import SPREAD, PolicySet
from stax.tasks.task import Task

Ledger = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RunData:
    """What a run has found so far."""

    path: Path
    config: RunConfig
    task: Task
    """The task as the folder describes it, which evaluates nothing."""
    status: str
    summary: dict[str, Any]
    source: str
    """Where the numbers come from: `results`, `checkpoint`, or `nothing` if the run has not come that far."""
    ledger: Ledger
    novelty_archive: PolicySet
    reward_archive: PolicySet
    metrics: list[dict[str, Any]]
    emitters: list[EmitterRecord]

    @property
    def evaluations(self) -> int:
        """Evaluations that the ledger has."""
        return len(self.ledger["id"])


def read_run(path: Path) -> RunData:
    """Read a run, whatever state it is in; what cannot be read is refused in one sentence."""
    run = RunReader(path)
    status = run.status
    if status in WITH_RESULTS and run.file("ledger.parquet").is_file():
        return RunData(
            path=path,
            config=run.config,
            task=run.task,
            status=status,
            summary=run.summary,
            source="results",
            ledger=run.ledger(),
            novelty_archive=_light(run.novelty_archive),
            reward_archive=_light(run.reward_archive),
            metrics=run.metrics,
            emitters=run.emitters,
        )
    found = RunFolder.existing(path).load_checkpoint(run.config.budget)
    if found is None:
        nothing = _no_policies(run.task)
        ledger = _no_ledger(run.task)
        return RunData(path, run.config, run.task, status, run.summary, "nothing", ledger, nothing, nothing, [], [])
    state, _ = found
    try:
        return _from_state(run, status, state.arrays, state.numbers)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InvalidInputError(f"The checkpoint of {str(path)!r} is damaged ({type(error).__name__}).") from None


def _from_state(run: RunReader, status: str, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> RunData:
    evaluations = int(numbers["evaluations"])
    if not 0 < evaluations <= run.config.budget:
        raise InvalidInputError(f"The checkpoint of {str(run.path)!r} is damaged: it has {evaluations} evaluations.")
    truth = len(run.task.ground_truth_bounds or ())
    ledger: Ledger = {"id": np.arange(evaluations)}
    for name in LEDGER[1:]:
        column = arrays[f"ledger.{name}"]
        if column.shape != ((evaluations, truth) if name == "ground_truth" else (evaluations,)):
            raise InvalidInputError(f"The checkpoint of {str(run.path)!r} is damaged: {name} has the shape {column.shape}.")
        ledger[name] = column
    archives = [_policies(run, arrays, f"{name}_archive", evaluations) for name in ("novelty", "reward")]
    metrics = [dict(row) for row in numbers["metrics"]]
    emitters = [EmitterRecord(**record) for record in numbers["retired"]] + _living(arrays, numbers["emitter_kinds"])
    return RunData(
        path=run.path,
        config=run.config,
        task=run.task,
        status=status,
        summary=run.summary,
        source="checkpoint",
        ledger=ledger,
        novelty_archive=archives[0],
        reward_archive=archives[1],
        metrics=metrics,
        emitters=sorted(emitters, key=lambda emitter: emitter.id),
    )


def _policies(run: RunReader, arrays: Mapping[str, NDArray[Any]], name: str, evaluations: int) -> PolicySet:
    names = [entry.name for entry in fields(PolicySet) if entry.name != SPREAD or run.config.parameters.reevaluations]
    columns = {column: arrays[f"{name}.{column}"] for column in names}
    size = columns["descriptor"].shape[-1] if columns["descriptor"].ndim == 2 else 0
    what = f"The checkpoint of {str(run.path)!r} is damaged: {name}"
    return _light(PolicySet.checked(columns, what, run.task, descriptor_size=size, evaluations=evaluations))


def _living(arrays: Mapping[str, NDArray[Any]], kinds: list[str]) -> list[EmitterRecord]:
    """Return the records of the emitters that may still run."""
    return [
        EmitterRecord(
            id=int(arrays["emitters.id"][row]),
            ancestor=int(arrays["emitters.ancestor.id"][row]),
            reward_area=int(arrays["emitters.ancestor.reward_area"][row]),
            born=int(arrays["emitters.born"][row]),
            sigma=float(arrays["emitters.sigma"][row]),
            generations=int(arrays["emitters.generations"][row]),
            evaluations=int(arrays["emitters.evaluations"][row]),
            improvement=float(arrays["emitters.improvement"][row]),
            first_reward=float(arrays["emitters.ancestor.reward"][row]),
            best_reward=float(arrays["emitters.best_reward"][row]),
            ended_by="",
            kind=str(kind),
        )
        for row, kind in enumerate(kinds)
    ]


def _light(policies: PolicySet) -> PolicySet:
    """Return the policies without their snapshots, which may be most of the bytes: an evaluation gives them again."""
    return replace(policies, snapshots=np.empty((len(policies), 0), np.uint8))


def _no_policies(task: Task) -> PolicySet:
    whole, number = np.empty(0, np.int64), np.empty(0)
    return PolicySet(
        id=whole,
        parent=whole,
        born=whole,
        origin=whole,
        emitter=whole,
        genome=np.empty((0, task.genome_size)),
        reward=number,
        reward_area=whole,
        steps=whole,
        ground_truth=np.empty((0, len(task.ground_truth_bounds or ()))),
        snapshots=np.empty((0, 0), np.uint8),
        descriptor=np.empty((0, 0)),
        novelty=number,
        surprise=number,
    )


def _no_ledger(task: Task) -> Ledger:
    dtypes = {"reward": "f8", "reward_area": "i2", "failed": "?", "origin": "i1"}
    truth = {"ground_truth": np.empty((0, len(task.ground_truth_bounds or ())))}
    return {name: truth.get(name, np.empty(0, dtypes.get(name, "i8"))) for name in LEDGER}


def stamp(path: Path) -> tuple[str, str]:
    """Return two texts that change when the run's data, and when its summary, change on the disk; nothing is read."""
    folder = RunFolder(path)
    kept = folder.checkpoints() if (path / "checkpoints").is_dir() else []
    data = [path / "config.toml", path / "ledger.parquet", *kept[:1]]
    return "|".join(map(_mark, data)), _mark(path / "summary.json")


def _mark(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "-"
    return f"{path.name}:{status.st_mtime_ns}:{status.st_size}"


def read_progress(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the status and the summary of a run, which are read in no time."""
    run = RunReader(path)
    return run.status, run.summary


# For the worker process


def make_task(path: Path, *, trust: bool) -> tuple[RunConfig, Task]:
    """Make the task of a run; code of the run's maker is only imported if it is trusted."""
    config, _ = RunFolder.existing(path).read_config()
    if config.task_given:
        raise InvalidInputError("The task of this run was given as an object in Python, which cannot be made again here.")
    task = remade_task(config, trust=trust)
    if task is None:
        raise InvalidInputError(
            f"The task of this run is code of its maker, {config.task!r}. If you trust it, start the explorer with --trust."
        )
    return config, task


def make_trained_space(
    path: Path, config: RunConfig, task: Task, *, trust: bool, episode: int | None = None
) -> DescriptorSpace:
    """Make the descriptor space of a run with the weights that it has now, or had after a training episode."""
    folder = RunFolder.existing(path)
    if "autoencoder" in config.objects or ("autoencoder" in config.code and not trust):
        raise InvalidInputError(
            f"The autoencoder of this run, {config.parameters.autoencoder!r}, is its maker's own. If it is named by module:Class and you"
            " trust it, start the explorer with --trust."
        )
    weights = folder.file("autoencoder.safetensors")
    if episode is not None:
        weights = folder.file(KEPT_AUTOENCODERS, f"{episode:06d}.safetensors")
        if not weights.is_file():
            raise InvalidInputError(
                f"The autoencoder of training episode {episode} was not kept: there is no {str(weights)!r}."
            )
    kept = [] if weights.is_file() else folder.checkpoints()
    check_network(config, task, kept[0] if kept else weights)
    space = make_space(task, find_method(config.algo), config.parameters, config.seed, "cpu", None)
    if not space.learned:
        return space
    if kept:
        found = folder.load_checkpoint(config.budget)
        assert found
        state, _ = found
        arrays = {name.removeprefix("space."): array for name, array in state.arrays.items() if name.startswith("space.")}
        space.restore(arrays, state.numbers["space"])
    else:
        size = sum(array.nbytes for array in space.weights()[0].values())
        space.restore_weights(*read_autoencoder(weights, size))
    return space


def kept_episodes(path: Path) -> list[int]:
    """Return the training episodes whose autoencoder was kept."""
    folder = path / KEPT_AUTOENCODERS
    if not folder.is_dir():
        return []
    names = [entry.stem for entry in folder.glob("*.safetensors")]
    return sorted(int(name) for name in names if name.isascii() and name.isdecimal() and len(name) == 6)
