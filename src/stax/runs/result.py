"""The result of a run in memory: both archives, the autoencoder, the course of the search. It is saved to and loaded from a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.own_code import without_objects
from stax.representation.choice import count_added_weights
from stax.representation.space import DescriptorSpace
from stax.runs import limits
from stax.runs.archived_policies import best_policy, find_policies
from stax.runs.config import RunConfig
from stax.runs.described_space import DescribedSpace
from stax.runs.files import open_regular
from stax.runs.folder import RunFolder
from stax.runs.ledger_file import write_ledger
from stax.runs.reader import RunReader
from stax.runs.status import RunStatus
from stax.runs.tables import ARCHIVES, save_archive, save_emitters, save_metrics, write_autoencoder
from stax.runs.validation import Validation
from stax.search.emitters.emitter import EmitterRecord
from stax.search.making import make_space
from stax.search.methods import find_method
from stax.search.parameters import Parameters
from stax.search.policy_set import PolicySet
from stax.search.search import Search
from stax.tasks import make_task
from stax.tasks.task import Genomes, Task

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from stax.analysis.finding import Found
    from stax.ecosystem.policy_network import PolicyNetwork


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a run."""

    config: RunConfig
    task: Task
    parameters: Parameters
    """All parameters, as they were used."""
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
    """The space in which behaviours were compared; `describe` takes rollouts of any policy."""
    training_episodes: int
    metrics: list[dict[str, Any]]
    """A row per chunk of the budget."""
    ledger: dict[str, NDArray[Any]]
    """A row per evaluation, by column."""
    emitters: list[EmitterRecord]
    """A record of every emitter."""
    seconds: dict[str, float]
    """Seconds that the run took: `total`, and of these `evaluation`, `training`, `encoding`, `selection` and `storage`."""
    status: RunStatus
    """The status of the run, such as `finished` or `interrupted`."""
    failures: dict[str, int]
    """Number of failed evaluations, by reason."""
    core_seconds: float | None = None
    """Processor time of the run's process and of its children that had ended; None if it is not known."""
    validation: Validation | None = None
    """Rewards of the best policies on fresh seeds; None if there was nothing to validate."""

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
        status: RunStatus,
        failures: Mapping[str, int],
    ) -> Result:
        """Return the result of a search as it is now; arrays are views of the search's own."""
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
            seconds={"total": seconds, **search.record.stopwatch.seconds},
            status=status,
            failures=dict(failures),
            core_seconds=core_seconds,
        )

    def summary(self) -> dict[str, Any]:
        """Return the content of `summary.json`."""
        return summarise(
            self,
            self.config,
            seconds=self.seconds,
            core_seconds=self.core_seconds,
            status=self.status,
            failures=self.failures,
        )

    # For notebooks

    def __repr__(self) -> str:
        from stax.ecosystem.notebook import result_text

        return result_text(self)

    def _repr_html_(self) -> str:
        from stax.ecosystem.notebook import result_html

        return result_html(self)

    def plot(self) -> Figure:
        """Return the picture of the run as a Matplotlib figure: both archives, coverage and rewards."""
        from stax.analysis.picture import result_figure
        from stax.analysis.style import without_math

        return without_math(result_figure(self))

    def best(self, area: str | int) -> PolicySet:
        """Return the policy of the archives with the highest reward of a reward area.

        Args:
            area: the area's name or number.
        """
        return best_policy(self, area)

    def find(
        self,
        *,
        picture: Any = None,
        observation: Any = None,
        ground_truth: Sequence[float] | None = None,
        like: int | None = None,
        moment: str | int | None = None,
        count: int = 5,
    ) -> Found:
        """Return the policies of the archives that come closest to a wanted behaviour, which is given in one of four ways.

        Args:
            picture: a picture file of what is wanted, its content as bytes, or an array of bytes.
            observation: an observation as an array, or the path of an `.npy` file.
            ground_truth: a point of the task's ground-truth space.
            like: id of another policy of the archives; descriptors are compared.
            moment: the observation of a rollout that a picture is compared with: `last` (the default), `any`, or its number from 1.
            count: number of policies at most.
        """
        from stax.analysis.finding import find_behaviour

        return find_behaviour(
            self,
            picture=picture,
            observation=observation,
            ground_truth=ground_truth,
            like=like,
            moment=moment,
            count=count,
        )

    def policy(self, policy: int) -> Callable[[Any], Any]:
        """Return a policy of the archives as a function from an observation to an action, ready for `env.step`.

        Args:
            policy: its id.
        """
        from stax.ecosystem.acting_policy import acting_policy

        return acting_policy(self.task, self._genome(policy))

    # For other packages

    def frames(self) -> dict[str, pandas.DataFrame]:
        """Return all tables as data frames: `novelty_archive`, `reward_archive`, `ledger`, `metrics` and `emitters`."""
        from stax.ecosystem.frames import result_frames

        return result_frames(self)

    def policy_module(self, policy: int) -> PolicyNetwork:
        """Return a policy of the archives as a `torch.nn.Module`, if the task's policies are networks.

        Args:
            policy: id of the policy.
        """
        from stax.ecosystem.policy_network import policy_module

        return policy_module(self.task, self._genome(policy))

    def export_policy(self, policy: int, path: str | Path, *, precision: str = "float64") -> Path:
        """Write a policy of the archives as an ONNX file, if the task's policies are networks.

        Args:
            policy: id of the policy.
            path: path of the file, which ends with .onnx.
            precision: `float64`, as in the search, or `float32`.
        """
        from stax.ecosystem.onnx_policies import export_policy

        about = {"algo": self.algo, "seed": self.seed, "policy": policy}
        return export_policy(self.task, self._genome(policy), path, precision=precision, about=about)

    def _genome(self, policy: int) -> Genomes:
        genome: Genomes = find_policies(self, [check_whole("policy", policy, 0)]).genome[0]
        return genome

    # Files

    def save(self, folder: RunFolder) -> None:
        """Write everything but the summary, each file atomically."""
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
    status: RunStatus,
    failures: Mapping[str, int],
) -> dict[str, Any]:
    """Return the content of `summary.json` for a result, or for a search that still goes on."""
    start = {"start_from": config.start_from} if config.start_from else {}
    return {
        "task": found.task.name,
        "algo": config.algo,
        "preset": config.preset,
        "seed": config.seed,
        "budget": config.budget,
        **start,
        "evaluations": found.evaluations,
        "coverage": found.coverage,
        "max_reward": list(found.max_reward),
        # There are none before the first rollouts have come back.
        "novelty_archive_size": len(getattr(found, "novelty_archive", ())),
        "reward_archive_size": len(getattr(found, "reward_archive", ())),
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


def time_parts(seconds: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return the seconds of each activity of a run and its share of the total, with those that belong to no activity last."""
    parts = {activity: spent for activity, spent in seconds.items() if activity != "total"}
    total = max(seconds["total"], sum(parts.values()))
    parts["start and the rest"] = total - sum(parts.values())
    return {activity: (spent, spent / total if total else 0.0) for activity, spent in parts.items()}


def load(path: str | Path, *, task: Task | None = None, autoencoder: Any = None, trust: bool = False) -> Result:
    """Return the result of a run from its folder, which must be finished or interrupted.

    Args:
        path: the run's folder.
        task: the run's task, if it was given as an object.
        autoencoder: the run's autoencoder, if it was given as an object. Without it the result's space describes nothing.
        trust: whether a task or an autoencoder that is code of the run's maker (`module:Class`) may be imported. Otherwise the
            result's task can be looked at, but evaluates nothing, and its space describes nothing.
    """
    run = RunReader(path)
    config = run.config
    run.require_results()
    check_objects(config, {"task": task, "autoencoder": autoencoder}, path)
    made = task or remade_task(config, trust=trust) or run.task
    # All files are read before the space is made, which imports PyTorch if it is learned.
    ledger, metrics, emitters = run.ledger(), run.metrics, run.emitters
    novelty, reward = (run.archive(name, made) for name in ARCHIVES)
    result = partial(
        Result,
        config=config,
        task=made,
        parameters=config.parameters,
        evaluations=run.evaluations,
        coverage=run.coverage,
        max_reward=run.max_reward,
        novelty_archive=novelty,
        reward_archive=reward,
        training_episodes=run.training_episodes,
        metrics=metrics,
        ledger=ledger,
        emitters=emitters,
        seconds=run.seconds,
        status=run.status,
        failures=run.failures,
        core_seconds=run.core_seconds,
        validation=run.validation,
    )
    if autoencoder is None:
        check_network(config, made, run.file("autoencoder.safetensors"))
    space = _space(config, made, autoencoder, trust=trust)
    for name, policies in zip(ARCHIVES, (novelty, reward), strict=True):
        if policies.descriptor.shape[1] != space.size:
            raise InvalidInputError(
                f"The archive {str(run.file('archives', f'{name}.npz'))!r} is damaged: its descriptors have"
                f" {policies.descriptor.shape[1]:,} numbers, those of the run's space have {space.size:,}."
            )
    if space.learned and not isinstance(space, DescribedSpace):
        weights = sum(array.nbytes for array in space.weights()[0].values())
        space.restore_weights(*run.autoencoder_weights(weights))
    return result(space=space)


def remade_task(config: RunConfig, *, trust: bool) -> Task | None:
    """Return the run's task, made again; None if that would run code of the run's maker, or cannot be done."""
    if config.task_given or (config.task_is_code and not trust):
        return None
    return make_task(config.task, **config.task_options)


def check_objects(config: RunConfig, given: Mapping[str, object], path: str | Path) -> None:
    """Refuse an autoencoder for a run with a built-in one or none, and parts whose names are not those of the run's parts.

    A task may be another object of the same class.
    """
    described = Parameters.described()
    for name, value in without_objects(given)[0].items():
        # An autoencoder may be another object of the same kind, but a name must be the run's own.
        if name not in described or value is None or (name == "autoencoder" and not isinstance(given[name], str)):
            continue
        known = getattr(config.parameters, name)
        if described[name].constraint.check(f"Parameter {name}", value) != known:
            raise InvalidInputError(f"Given as {name} for the run in {str(path)!r} was {value!r}, but its own is {known!r}.")
    named = {**config.code, **config.objects}
    if given.get("autoencoder") is not None and "autoencoder" not in named:
        had = f"was {config.parameters.autoencoder!r}" if config.learns else "there is none"
        raise InvalidInputError(f"An autoencoder was given for the run in {str(path)!r}, but its own {had}.")


def check_network(config: RunConfig, task: Task, path: Path) -> None:
    """Refuse to make a built-in autoencoder that is larger than the file with its weights, as a damaged configuration may ask for.

    Args:
        config: the run's configuration.
        task: the run's task.
        path: the file with the weights, which may be missing.
    """
    parameters = config.parameters
    if not config.learns or {"autoencoder"} & {*config.code, *config.objects} or not path.is_file():
        return
    # Imported here, because torch takes seconds to import and half of the methods do without.
    from stax.representation.making import network_bytes

    with open_regular(path, "The file") as file:
        most = limits.unpacked_limit(file.seek(0, 2))
    needed = network_bytes(task.observation_shape, parameters.code_size, parameters.autoencoder, parameters.hidden_sizes)
    samples = parameters.descriptor_samples or task.observation_samples
    # Those of a sequence encoder have 32 bits, those of a whitening 64.
    needed += 4 * count_added_weights(
        samples, parameters.code_size, parameters.sequence_size, whiten_codes=parameters.whiten_codes
    )
    if needed > most:
        raise InvalidInputError(
            f"The configuration of {str(path)!r} describes an autoencoder of {needed:,} bytes, more than that file can hold the weights of."
        )


def _space(config: RunConfig, task: Task, autoencoder: Any, *, trust: bool) -> DescriptorSpace:
    """Return the run's descriptor space before any training, or a description of it if its autoencoder is not at hand."""
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
