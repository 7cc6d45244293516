"""What a run leaves: both archives, the autoencoder, the course of the search. In memory and as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stax.errors import InvalidInputError, check_whole, printable
from stax.representation.space import DescriptorSpace
from stax.runs import limits
from stax.runs.config import RunConfig
from stax.runs.described_space import DescribedSpace
from stax.runs.described_task import DescribedTask
from stax.runs.files import NONSENSE, open_regular
from stax.runs.folder import RunFolder
from stax.runs.ledger_file import read_ledger, write_ledger
from stax.runs.tables import (
    ARCHIVES,
    load_metrics,
    read_archive,
    read_autoencoder,
    read_emitters,
    save_archive,
    save_emitters,
    save_metrics,
    write_autoencoder,
)
from stax.search.emitters.emitter import EmitterRecord
from stax.search.making import make_space, without_objects
from stax.search.methods import find_method
from stax.search.parameters import Parameters, allowed
from stax.search.policy_set import PolicySet
from stax.search.search import Search
from stax.tasks import make_task
from stax.tasks.task import Genomes, Task

if TYPE_CHECKING:
    import pandas

    from stax.ecosystem.policy_network import PolicyNetwork


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
    core_seconds: float | None = None
    """Processor time of the run's process and of its children that had ended; None if it is not known."""

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
    def of(
        search: Search,
        config: RunConfig,
        *,
        seconds: float,
        core_seconds: float | None,
        status: str,
        failures: Mapping[str, int],
    ) -> Result:
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
            core_seconds=core_seconds,
        )

    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return summarise(
            self,
            self.config,
            seconds=self.seconds,
            core_seconds=self.core_seconds,
            status=self.status,
            failures=self.failures,
        )

    # For other packages

    def frames(self) -> dict[str, pandas.DataFrame]:
        """All tables as data frames: `novelty_archive`, `reward_archive`, `ledger`, `metrics` and `emitters`."""
        from stax.ecosystem.frames import result_frames

        return result_frames(self)

    def policy_module(self, policy: int) -> PolicyNetwork:
        """A policy of the archives as a `torch.nn.Module`, if the task's policies are networks.

        Args:
            policy: its id.
        """
        from stax.ecosystem.policy_network import policy_module

        return policy_module(self.task, self._genome(policy))

    def export_policy(self, policy: int, path: str | Path, *, precision: str = "float64") -> Path:
        """Writes a policy of the archives as an ONNX file, if the task's policies are networks.

        Args:
            policy: its id.
            path: of the file, which ends with .onnx.
            precision: `float64`, as in the search, or `float32`.
        """
        from stax.ecosystem.onnx_policies import export_policy

        about = {"algo": self.algo, "seed": self.seed, "policy": policy}
        return export_policy(self.task, self._genome(policy), path, precision=precision, about=about)

    def _genome(self, policy: int) -> Genomes:
        from stax.analysis.replay import find_policies

        genome: Genomes = find_policies(self, [check_whole("policy", policy, 0)]).genome[0]
        return genome

    # Files

    def save(self, folder: RunFolder) -> None:
        """Writes everything but the summary, each file whole or not at all."""
        for name, policies in zip(ARCHIVES, (self.novelty_archive, self.reward_archive), strict=True):
            save_archive(folder, name, policies)
        save_metrics(folder, self.metrics)
        save_emitters(folder, self.emitters)
        write_ledger(folder.file("ledger.parquet"), self.ledger)
        if self.space.learned:
            write_autoencoder(folder.file("autoencoder.safetensors"), *self.space.weights())


def summarise(
    found: Result | Search,
    config: RunConfig,
    *,
    seconds: Mapping[str, float],
    core_seconds: float | None,
    status: str,
    failures: Mapping[str, int],
) -> dict[str, Any]:
    """What `summary.json` holds, of a result or of a search that still goes on."""
    return {
        "task": found.task.name,
        "algo": config.algo,
        "preset": config.preset,
        "seed": config.seed,
        "budget": config.budget,
        "evaluations": found.evaluations,
        "coverage": found.coverage,
        "max_reward": list(found.max_reward),
        "novelty_archive_size": len(found.novelty_archive),
        "reward_archive_size": len(found.reward_archive),
        "training_episodes": found.training_episodes,
        "status": status,
        "numerics": config.numerics,
        "results_version": config.results_version,
        "failed_evaluations": dict(failures),
        "seconds": {activity: round(spent, 3) for activity, spent in seconds.items()},
        "core_seconds": core_seconds,
        "workers": config.workers,
        "parameters": asdict(found.parameters),
    }


def load(path: str | Path, *, task: Task | None = None, autoencoder: Any = None, trust: bool = False) -> Result:
    """The result of a run from its folder, which must be finished or interrupted.

    Args:
        path: the run's folder.
        task: the run's task, if it was given as an object.
        autoencoder: the run's autoencoder, if it was given as an object. Without it the result's space describes nothing.
        trust: whether a task or an autoencoder that is code of the run's maker (`module:Class`) may be imported. Otherwise the
            result's task can be looked at, but evaluates nothing, and its space describes nothing.
    """
    folder = RunFolder.existing(path)
    config, description = folder.read_config()
    summary = folder.summary()
    if summary.get("status") not in ("finished", "interrupted"):
        raise InvalidInputError(f"{_not_loadable(folder, summary)}; only a run that is finished or interrupted can be loaded.")
    check_objects(config, {"task": task, "autoencoder": autoencoder}, path)
    made = task or remade_task(config, trust=trust) or DescribedTask(description)
    if autoencoder is None:
        check_network(config, made, folder.file("autoencoder.safetensors"))
    space = _space(config, made, autoencoder, trust=trust)
    evaluations = summary.get("evaluations")
    if not isinstance(evaluations, int) or not 0 < evaluations <= config.budget:
        raise InvalidInputError(f"The summary in {str(path)!r} is damaged: its evaluations are {evaluations!r}.")
    if summary["status"] == "interrupted" and not folder.file("ledger.parquet").exists():
        raise InvalidInputError(
            f"The run in {str(path)!r} was stopped before it could write its results; go on with 'stax resume'."
        )
    ledger = read_ledger(folder.file("ledger.parquet"), config.budget)
    if ledger["ground_truth"].shape != (evaluations, len(made.ground_truth_bounds or ())):
        # It was resumed, and then stopped so quickly that only the summary was written.
        raise InvalidInputError(
            f"The results in {str(path)!r} are not those of {evaluations:,} evaluations; bring them up to date with 'stax resume'."
        )
    novelty, reward = (
        read_archive(folder, name, made, descriptor_size=space.size, evaluations=evaluations) for name in ARCHIVES
    )
    if space.learned and not isinstance(space, DescribedSpace):
        weights = sum(array.nbytes for array in space.weights()[0].values())
        space.restore_weights(*read_autoencoder(folder.file("autoencoder.safetensors"), weights))
    metrics, emitters = load_metrics(folder), read_emitters(folder)
    try:
        return Result(
            config=config,
            task=made,
            parameters=config.parameters,
            evaluations=evaluations,
            coverage=None if summary["coverage"] is None else float(summary["coverage"]),
            max_reward=[float(reward) for reward in summary["max_reward"]],
            novelty_archive=novelty,
            reward_archive=reward,
            space=space,
            training_episodes=int(summary["training_episodes"]),
            metrics=metrics,
            ledger=ledger,
            emitters=emitters,
            seconds={str(activity): float(seconds) for activity, seconds in summary["seconds"].items()},
            status=str(summary["status"]),
            failures={str(reason): int(count) for reason, count in summary["failed_evaluations"].items()},
            core_seconds=None if summary.get("core_seconds") is None else float(summary["core_seconds"]),
        )
    except NONSENSE as error:
        raise InvalidInputError(f"The summary in {str(path)!r} is damaged ({type(error).__name__}: {error}).") from None


def _not_loadable(folder: RunFolder, summary: Mapping[str, Any]) -> str:
    """Why there is no result yet."""
    status, path = summary.get("status", "not begun"), str(folder.path)
    if status == "failed":
        return (
            f"The run in {path!r} has failed, and can be resumed ({printable(summary.get('error', 'nobody knows why'), 4000)})"
        )
    if status == "running" and not folder.in_use:
        return f"The run in {path!r} was killed, and can be resumed"
    return f"The run in {path!r} is {printable(status)}"


def remade_task(config: RunConfig, *, trust: bool) -> Task | None:
    """The run's task made again; None if that would run code of the run's maker, or cannot be done."""
    if config.task_given or (config.task_is_code and not trust):
        return None
    return make_task(config.task, **config.task_options)


def check_objects(config: RunConfig, given: Mapping[str, object], path: str | Path) -> None:
    """Refuses an autoencoder for a run that had another of the built-in ones, and parts that are not called as the run's are; a task
    may be another object of the same kind."""
    for name, value in without_objects(given)[0].items():
        known = getattr(config.parameters, name) if name in ("emitter_kinds", "scheduler") and value is not None else None
        if known is not None and allowed()[name].check(name, value) != known:
            raise InvalidInputError(f"Given as {name} for the run in {str(path)!r} was {value!r}, but its own is {known!r}.")
    named = {**config.code, **config.objects}
    if given.get("autoencoder") is not None and "autoencoder" not in named:
        had = f"was {config.parameters.autoencoder!r}" if config.learns else "there is none"
        raise InvalidInputError(f"An autoencoder was given for the run in {str(path)!r}, but its own {had}.")


def check_network(config: RunConfig, task: Task, path: Path) -> None:
    """Refuse to make a built-in autoencoder that is larger than the file with its weights, as a damaged configuration may ask for.

    Args:
        config: the run's.
        task: the run's.
        path: the file, which may be missing.
    """
    parameters = config.parameters
    if not config.learns or {"autoencoder"} & {*config.code, *config.objects} or not path.is_file():
        return
    # Here, because torch takes seconds to import and half of the methods do without.
    from stax.representation.making import network_bytes

    with open_regular(path, "The file") as file:
        most = limits.unpacked_limit(file.seek(0, 2))
    needed = network_bytes(task.observation_shape, parameters.code_size, parameters.autoencoder, parameters.hidden_sizes)
    if needed > most:
        raise InvalidInputError(
            f"The configuration of {str(path)!r} describes an autoencoder of {needed:,} bytes, more than that file can hold the weights of."
        )


def _space(config: RunConfig, task: Task, autoencoder: Any, *, trust: bool) -> DescriptorSpace:
    """The run's descriptor space before any training, or what is known of it."""
    if autoencoder is None and "autoencoder" in config.objects:
        return DescribedSpace(config, task, "was given as an object: load or resume the run in Python, with autoencoder=...")
    if autoencoder is None and "autoencoder" in config.code and not trust:
        return DescribedSpace(
            config,
            task,
            "is code of a run folder's maker, which is only run when you say so: load or resume the run with trust=True (--trust on"
            " the command line).",
        )
    return make_space(task, find_method(config.algo), config.parameters, config.seed, "cpu", autoencoder)
