"""What a run leaves: both archives, the autoencoder, the course of the search. In memory and as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.representation.space import DescriptorSpace
from stax.runs.config import RunConfig
from stax.runs.described_task import DescribedTask
from stax.runs.files import read_arrays, read_text, whole, write_arrays, write_text
from stax.runs.folder import RunFolder
from stax.search.emitter import EmitterRecord
from stax.search.methods import find_method
from stax.search.parameters import Parameters
from stax.search.policy_set import ORIGINS, PolicySet
from stax.search.search import Search, make_space
from stax.tasks import make_task
from stax.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow

ARCHIVES = ("novelty", "reward")


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a run."""

    config: RunConfig
    task: Task
    parameters: Parameters
    """All of them, as they were used."""
    evaluations: int
    coverage: float | None
    """Share (0 to 1) of the cells of a grid over the ground-truth bounds that any evaluated policy ended in."""
    max_reward: list[float]
    """The highest reward per reward area; 0 where none was found."""
    novelty_archive: PolicySet
    """Policies of diverse behaviour; the elites of MAP-Elites."""
    reward_archive: PolicySet
    """The best policies of the emitters, and those they began with; empty for methods without emitters."""
    space: DescriptorSpace
    """Where behaviours were compared; `describe` takes rollouts of any policy."""
    training_episodes: int
    metrics: list[dict[str, Any]]
    """A row per chunk of the budget."""
    ledger: dict[str, NDArray[Any]]
    """A row per evaluation, by column."""
    emitters: list[EmitterRecord]
    """What became of every emitter."""
    seconds: dict[str, float]
    """total, and what of it was evaluation, training, encoding, selection and storage."""
    status: str
    """finished, or what happened instead."""
    failures: dict[str, int]
    """How many evaluations failed, by reason."""

    @property
    def algo(self) -> str:
        return self.config.algo

    @property
    def preset(self) -> str:
        return self.config.preset

    @property
    def seed(self) -> int:
        return self.config.seed

    @property
    def budget(self) -> int:
        return self.config.budget

    @property
    def workers(self) -> int:
        return self.config.workers

    @property
    def autoencoder(self) -> Any:
        """The trained autoencoder, a `torch.nn.Module`; None for methods that learn nothing."""
        return getattr(self.space, "autoencoder", None)

    @staticmethod
    def of(search: Search, config: RunConfig, *, seconds: float, status: str, failures: Mapping[str, int]) -> Result:
        """The result of a search as it is now; arrays are views of the search's own."""
        return Result(
            config=config,
            task=search.task,
            parameters=search.parameters,
            evaluations=search.evaluations,
            coverage=search.coverage,
            max_reward=list(search.max_reward),
            novelty_archive=search.novelty_archive.policies,
            reward_archive=search.reward_archive.policies,
            space=search.space,
            training_episodes=search.training_episodes,
            metrics=search.metrics,
            ledger=search.ledger.columns(),
            emitters=search.emitter_records(),
            seconds={"total": seconds, **search.stopwatch.seconds},
            status=status,
            failures=dict(failures),
        )

    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return {
            "task": self.task.name,
            "algo": self.algo,
            "preset": self.preset,
            "seed": self.seed,
            "budget": self.budget,
            "evaluations": self.evaluations,
            "coverage": self.coverage,
            "max_reward": self.max_reward,
            "novelty_archive_size": len(self.novelty_archive),
            "reward_archive_size": len(self.reward_archive),
            "training_episodes": self.training_episodes,
            "status": self.status,
            "failed_evaluations": self.failures,
            "seconds": {activity: round(seconds, 3) for activity, seconds in self.seconds.items()},
            "workers": self.workers,
            "parameters": asdict(self.parameters),
        }

    # Files

    def save(self, folder: RunFolder) -> None:
        """Writes everything but the summary, each file whole or not at all."""
        folder.file("archives").mkdir(exist_ok=True)
        for name, policies in zip(ARCHIVES, (self.novelty_archive, self.reward_archive), strict=True):
            write_arrays(folder.file("archives", f"{name}.npz"), policies.columns())
        save_metrics(folder, self.metrics)
        write_text(folder.file("emitters.csv"), _csv([asdict(record) for record in self.emitters], _EMITTER_COLUMNS))
        _write_ledger(folder.file("ledger.parquet"), self.ledger)
        if self.space.learned:
            _write_autoencoder(folder.file("autoencoder.safetensors"), *self.space.weights())


def load(path: str | Path, *, task: Task | None = None, trust: bool = False) -> Result:
    """The result of a run from its folder, which must be finished or interrupted.

    Args:
        path: the run's folder.
        task: the run's task, if it was given as an object.
        trust: whether a task that is code of the run's maker (`module:Class`) may be imported. Otherwise the result's task can
            be looked at, but evaluates nothing.
    """
    folder = RunFolder.existing(path)
    config, description = folder.read_config()
    summary = folder.summary()
    if summary.get("status") not in ("finished", "interrupted"):
        raise InvalidInputError(
            f"The run in {str(path)!r} is {summary.get('status', 'not begun')}; only one that is finished or interrupted can be loaded."
        )
    made = task or remade_task(config, trust=trust) or DescribedTask(description)
    space = make_space(made, find_method(config.algo), config.parameters, config.seed, "cpu")
    if space.learned:
        space.restore_weights(*_read_autoencoder(folder.file("autoencoder.safetensors")))
    ledger = _read_ledger(folder.file("ledger.parquet"), config.budget)
    novelty, reward = (_read_archive(folder, name, config, made, space) for name in ARCHIVES)
    try:
        return Result(
            config=config,
            task=made,
            parameters=config.parameters,
            evaluations=int(summary["evaluations"]),
            coverage=summary["coverage"],
            max_reward=list(summary["max_reward"]),
            novelty_archive=novelty,
            reward_archive=reward,
            space=space,
            training_episodes=int(summary["training_episodes"]),
            metrics=load_metrics(folder),
            ledger=ledger,
            emitters=[EmitterRecord(**row) for row in _rows(folder.file("emitters.csv"), "The list of emitters")],
            seconds=dict(summary["seconds"]),
            status=str(summary["status"]),
            failures=dict(summary["failed_evaluations"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"The summary in {str(path)!r} is damaged ({type(error).__name__}: {error}).") from None


def remade_task(config: RunConfig, *, trust: bool) -> Task | None:
    """The run's task made again; None if that would run code of the run's maker, or cannot be done."""
    if config.task_given or (config.names_code and not trust):
        return None
    return make_task(config.task, **config.task_options)


def save_metrics(folder: RunFolder, metrics: list[dict[str, Any]]) -> None:
    write_text(folder.file("metrics.csv"), _csv(metrics, list(metrics[0]) if metrics else []))


def load_metrics(folder: RunFolder) -> list[dict[str, Any]]:
    return list(_rows(folder.file("metrics.csv"), "The table of metrics"))


_EMITTER_COLUMNS = [field.name for field in fields(EmitterRecord)]


def _csv(rows: list[dict[str, Any]], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(path: Path, what: str) -> Iterator[dict[str, Any]]:
    for row in csv.DictReader(io.StringIO(read_text(path, what))):
        yield {name: _typed(name, text) for name, text in row.items()}


def _typed(name: str, text: str) -> Any:
    if name in ("phase", "ended_by"):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except (ValueError, TypeError):
            continue
    return None


def _read_archive(folder: RunFolder, name: str, config: RunConfig, task: Task, space: DescriptorSpace) -> PolicySet:
    path = folder.file("archives", f"{name}.npz")
    columns, _ = read_arrays(path, "The archive", most_rows=config.budget)
    shapes = {"genome": (task.genome_size,), "descriptor": (space.size,)}
    rows = len(columns.get("id", ()))
    if set(columns) != {field.name for field in fields(PolicySet)}:
        raise InvalidInputError(f"The archive {str(path)!r} is damaged: its columns are {', '.join(columns) or 'none'}.")
    for column, values in columns.items():
        if values.shape[:1] != (rows,) or (column in shapes and values.shape[1:] != shapes[column]):
            raise InvalidInputError(f"The archive {str(path)!r} is damaged: {column} has the shape {values.shape}.")
    return PolicySet(**columns)


def _write_ledger(path: Path, ledger: Mapping[str, NDArray[Any]]) -> None:
    # Here, because it takes a while to import.
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, pyarrow.Array] = {}
    for name, values in ledger.items():
        if name == "origin":
            columns[name] = pyarrow.DictionaryArray.from_arrays(pyarrow.array(values), pyarrow.array(ORIGINS))
        elif name == "ground_truth":
            for number in range(values.shape[1]):
                columns[f"{name}_{number}"] = pyarrow.array(values[:, number])
        else:
            columns[name] = pyarrow.array(values)
    with whole(path) as unfinished:
        pyarrow.parquet.write_table(pyarrow.table(columns), unfinished, compression="zstd", row_group_size=2**20)


def _read_ledger(path: Path, budget: int) -> dict[str, NDArray[Any]]:
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise InvalidInputError(f"The ledger {str(path)!r} is missing.")
    try:
        file = pyarrow.parquet.ParquetFile(path)
        if file.metadata.num_rows > budget:
            raise InvalidInputError(f"The ledger {str(path)!r} has {file.metadata.num_rows:,} rows for a budget of {budget:,}.")
        table = file.read()
        codes = table.column("origin").combine_chunks().dictionary_encode()
        words = codes.dictionary.to_pylist()
        known = np.array([ORIGINS.index(word) for word in words], np.int8)
        truth = [name for name in table.column_names if name.startswith("ground_truth_")]
        columns = {
            name: table.column(name).to_numpy() for name in ("id", "parent", "emitter", "reward", "reward_area", "failed")
        }
        return {
            "id": columns["id"],
            "parent": columns["parent"],
            "origin": known[codes.indices.to_numpy()] if len(known) else np.empty(0, np.int8),
            **{name: columns[name] for name in ("emitter", "reward", "reward_area")},
            "ground_truth": np.stack([table.column(name).to_numpy() for name in truth], axis=1)
            if truth
            else np.empty((len(table), 0)),
            "failed": columns["failed"],
        }
    except (pyarrow.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"The ledger {str(path)!r} is damaged ({type(error).__name__}).") from None


def _write_autoencoder(path: Path, weights: dict[str, NDArray[Any]], words: dict[str, str]) -> None:
    from safetensors.numpy import save

    with whole(path) as unfinished:
        unfinished.write_bytes(save(weights, {"format": "pt", **words}))


def _read_autoencoder(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InvalidInputError(f"The autoencoder {str(path)!r} is missing.")
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise InvalidInputError(f"The autoencoder {str(path)!r} is damaged ({error}).") from None
