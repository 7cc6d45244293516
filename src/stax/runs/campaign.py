"""A campaign: tasks x methods x seeds x overrides, described by one TOML file, each run in a folder of its own.

    tasks = ["hard-maze", "curling"]
    algos = ["stax", "ns"]
    seeds = 5
    budget = 20000

    [parameters]
    population_size = 50

The folders show what there is to do, so a campaign that is called again does what is missing. `campaign_work` does it.

A campaign has no state of its own. `campaign.csv` is written for people and for `stax compare`. It is read only for the reason
of a run that failed without leaving anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from stax.compiling import available_threads
from stax.constraints import check_choice, check_whole
from stax.errors import InvalidInputError, no_such, printable, shortened, shown
from stax.input_limits import LARGEST_SEED, MOST_RUNS
from stax.run_settings import BACKENDS
from stax.runs import limits
from stax.runs.config import RunConfig, is_address, is_parameter, make_config, read_toml, split_table
from stax.runs.csv_text import csv_for_people, without_quote
from stax.runs.files import read_csv, write_text
from stax.runs.folder import RunFolder, is_leftover
from stax.runs.reader import RunReader
from stax.runs.status import RunStatus
from stax.search.making import fit, make_space
from stax.search.methods import find_method
from stax.tasks import make_task
from stax.tasks.task import Task

KEYS = (
    "out",
    "tasks",
    "algos",
    "seeds",
    "budget",
    "preset",
    "device",
    "processes",
    "workers",
    "backend",
    "address",
    "parameters",
    "task_options",
    "overrides",
)
"""Keys of a campaign's file."""
OVERRIDE_KEYS = ("name", "tasks", "algos", "budget", "preset", "parameters")
"""Keys of each of its overrides."""
TABLE = "campaign.csv"
"""The file of a campaign with a row per run."""
COLUMNS = (
    "folder",
    "task",
    "algo",
    "override",
    "seed",
    "budget",
    "status",
    "evaluations",
    "coverage",
    "max_reward",
    "seconds",
    "error",
)
_ERROR_LENGTH = 4000
"""Characters of an error that are kept."""


_MOST_OVERRIDES = 1000
_LONGEST_PATH = 4096
_LONGEST_FOLDER = 200
"""Characters of the name of a run's folder; file systems allow 255 bytes."""


@dataclass(frozen=True)
class Override:
    """Changes to all runs of some tasks and methods: an axis of the campaign."""

    name: str = ""
    tasks: tuple[str, ...] | None = None
    """Tasks it is for; all if None."""
    algos: tuple[str, ...] | None = None
    given: dict[str, Any] = field(default_factory=dict)
    """Budget and preset, if it changes them."""
    parameters: dict[str, Any] = field(default_factory=dict)

    def is_for(self, task: str, algo: str) -> bool:
        return (self.tasks is None or task in self.tasks) and (self.algos is None or algo in self.algos)


@dataclass(eq=False)
class CampaignRun:
    """One run of a campaign: what it is, and how far it has come."""

    folder: RunFolder
    config: RunConfig
    override: str = ""
    status: RunStatus = RunStatus.NOT_BEGUN
    evaluations: int = 0
    coverage: float | None = None
    max_reward: list[float] = field(default_factory=list)
    """The highest reward per reward area."""
    seconds: float = 0.0
    """Seconds that it has taken so far."""
    error: str = ""
    """Reason why it failed."""

    @property
    def name(self) -> str:
        return self.folder.path.name

    @property
    def kind(self) -> tuple[str, str, str]:
        """Task, method and override; runs of the same kind differ in their seed alone."""
        return self.config.task, self.config.algo, self.override

    @property
    def begun(self) -> bool:
        """Whether the run has a configuration, so that it can be resumed."""
        return (self.folder.path / "config.toml").is_file()

    def read(self) -> RunReader:
        """Take over how far the run has come by its folder, and return the folder's reader; the status stays as it was."""
        run = RunReader(self.folder.path)
        self.evaluations, self.error = run.evaluations, run.error
        if run.summary:
            self.coverage, self.max_reward, self.seconds = run.coverage, run.max_reward, run.seconds["total"]
        return run

    def row(self) -> dict[str, Any]:
        """Return the row of the campaign's table."""
        return {
            "folder": self.name,
            "task": self.config.task,
            "algo": self.config.algo,
            "override": self.override,
            "seed": self.config.seed,
            "budget": self.config.budget,
            "status": self.status,
            "evaluations": self.evaluations,
            "coverage": self.coverage,
            "max_reward": " ".join(map(str, self.max_reward)),
            "seconds": round(self.seconds, 3),
            "error": shortened(self.error),
        }


@dataclass(frozen=True)
class Campaign:
    """All runs of a campaign, and how they are done."""

    out: Path
    runs: list[CampaignRun]
    """All runs of the first seed come first, so that each task and method has a result early on."""
    processes: int | None
    """Runs at a time; None for as many as there are cores for."""
    workers: int
    """Cores of each run."""
    backend: str = "local"
    address: str | None = None
    """Address of the Ray cluster."""

    @property
    def local_processes(self) -> int:
        """Runs at a time on this machine."""
        return self.processes or max(available_threads() // self.workers, 1)

    def to_do(self, *, skip_failed: bool = False) -> list[CampaignRun]:
        """Return the runs that are neither finished nor done by another process, without those that failed if these are skipped."""
        skipped = {RunStatus.FINISHED, RunStatus.ELSEWHERE} | ({RunStatus.FAILED} if skip_failed else set())
        return [run for run in self.runs if run.status not in skipped]

    def look(self) -> None:
        """Find out from the folders how far every run has come; a folder that holds something else is refused."""
        remembered = self._failures()
        for run in self.runs:
            _look(run, remembered.get(run.name, ""))

    def _failures(self) -> dict[str, str]:
        """Return the errors of the table by folder: a run that failed at once may have left nothing else."""
        path = self.out / TABLE
        if not path.is_file():
            return {}
        return {row["folder"]: printable(row["error"], _ERROR_LENGTH) for row in read_table(path) if row["error"]}

    def write_table(self) -> None:
        """Write the table of the campaign."""
        write_text(self.out / TABLE, csv_for_people(COLUMNS, (run.row() for run in self.runs)))


def read_table(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a campaign's table, with all of `COLUMNS`; what a row lacks is empty."""
    rows = read_csv(path, "The table of the campaign", limits.CAMPAIGN_BYTES)
    columns = next(rows, [])
    for row in rows:
        found = dict(zip(columns, row, strict=False))
        yield {name: without_quote(found.get(name, "")) for name in COLUMNS}


def _look(run: CampaignRun, remembered: str) -> None:
    path = run.folder.path
    run.status = RunStatus.NOT_BEGUN
    if path.exists() and not path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a file, where the campaign wants the folder of a run.")
    if run.begun:
        there = run.read()
        _check_same(run, there.config)
        run.status = there.status if there.status in (RunStatus.FINISHED, RunStatus.FAILED) else RunStatus.INTERRUPTED
    elif path.is_dir() and not all(is_leftover(entry) for entry in path.iterdir()):
        raise InvalidInputError(f"{str(path)!r} is not the folder of a run: it has no config.toml; move it away.")
    if run.status is RunStatus.FINISHED:
        return
    if path.is_dir() and run.folder.in_use:
        run.status = RunStatus.ELSEWHERE
    elif not run.evaluations and remembered:
        run.status, run.error = RunStatus.FAILED, run.error or remembered


def _check_same(run: CampaignRun, there: RunConfig) -> None:
    differing = sorted(run.config.differences(there))
    if differing:
        raise InvalidInputError(
            f"The run in {str(run.folder.path)!r} is another than the campaign's: they differ in {', '.join(differing)}; give the"
            " campaign another folder (out), or move that one away."
        )


# The file


def read_campaign(path: Path, changed: Mapping[str, Any] | None = None) -> Campaign:
    """Return the campaign that a file describes, with some of its keys changed; runs are checked, but no folder is read yet."""
    table, where = read_toml(path), str(path)
    table |= {key: value for key, value in (changed or {}).items() if value is not None}
    if (changed or {}).get("backend") == "local":
        table.pop("address", None)
    _check_keys(table, KEYS, where)
    for needed in ("tasks", "algos"):
        if needed not in table:
            raise InvalidInputError(f"{where} has no {needed}; give a list of names, as in {needed} = [{_EXAMPLES[needed]!r}].")
    tasks, algos = _names("tasks", table["tasks"], where), _names("algos", table["algos"], where)
    for algo in algos:
        find_method(algo)
    seeds = _seeds(table.get("seeds", 1), where)
    workers = check_whole("workers", table.get("workers", 1), 1, MOST_RUNS)
    processes = table.get("processes")
    given = {key: table[key] for key in ("budget", "preset", "device") if key in table} | {"workers": workers}
    parameters = _parameters(table, where)
    options = _task_options(table.get("task_options", {}), tasks, where)
    out = table.get("out", str(Path("runs") / path.stem))
    if not isinstance(out, str) or not out or not out.isprintable() or len(out) > _LONGEST_PATH:
        raise InvalidInputError(f"out in {where} must be a folder, not {shown(out)}.")
    backend = check_choice("backend", table.get("backend", "local"), BACKENDS)
    address = table.get("address")
    if address is not None and (not is_address(address) or backend != "ray"):
        raise InvalidInputError(f"address must be that of a Ray cluster, with backend 'ray', not {shown(address)}.")
    runs = []
    overrides = _overrides(table.get("overrides", []), tasks, algos, where)
    combinations = list(islice(_combinations(tasks, algos, overrides), MOST_RUNS + 1))
    if len(seeds) * len(combinations) > MOST_RUNS:
        raise InvalidInputError(
            f"{where} describes more than {MOST_RUNS:,} runs, which are allowed: {len(seeds):,} seeds of {len(combinations):,}"
            " combinations of a task, a method and an override."
        )
    for seed in seeds:
        for task, algo, override in combinations:
            one = {**given, **override.given, "task": task, "algo": algo, "seed": seed}
            config = make_config(one, {**parameters, **options.get(task, {}), **override.parameters})
            folder = RunFolder(Path(out) / _folder_name(config, override.name))
            runs.append(CampaignRun(folder, config, override.name))
    _check_folders(runs)
    return Campaign(
        out=Path(out),
        runs=fitted_runs(runs),
        processes=None if processes is None else check_whole("processes", processes, 1, MOST_RUNS),
        workers=workers,
        backend=backend,
        address=address,
    )


_EXAMPLES = {"tasks": "hard-maze", "algos": "stax"}


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key in known:
            continue
        if key == "task" or is_parameter(key):
            hint = "; a list of tasks is called tasks" if key == "task" else ""
            raise InvalidInputError(f"{where}: {key} belongs in the table [parameters]{hint}.")
        raise InvalidInputError(f"{where}: {no_such('key', key, known)}")


def _names(key: str, given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(name, str) and name for name in given):
        raise InvalidInputError(f"{key} in {where} must be a list of names, not {shown(given)}.")
    twice = _twice(given)
    if twice is not None:
        raise InvalidInputError(f"{key} in {where} names {shown(twice)} twice.")
    return tuple(given)


def _twice(given: Sequence[Any]) -> Any:
    """Return the first entry of a list that is there twice; None if there is none."""
    seen = set()
    for entry in given:
        if entry in seen:
            return entry
        seen.add(entry)
    return None


def _seeds(given: Any, where: str) -> list[int]:
    if given == [] or not isinstance(given, (int, list)):
        raise InvalidInputError(f"seeds in {where} must be how many or a list of them, not {shown(given)}.")
    if not isinstance(given, list):
        return list(range(check_whole(f"seeds in {where}", given, 1, MOST_RUNS)))
    seeds = [check_whole(f"each of the seeds in {where}", seed, 0, LARGEST_SEED) for seed in given]
    twice = _twice(seeds)
    if twice is not None:
        raise InvalidInputError(f"seeds in {where} has {twice} twice.")
    return seeds


def _parameters(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    return split_table({"parameters": table.get("parameters", {})}, where)[1]


def _task_options(given: Any, tasks: Sequence[str], where: str) -> dict[str, dict[str, Any]]:
    """Return the parameters `task.<option>` that the file gives for some of its tasks."""
    if not isinstance(given, dict) or not all(isinstance(options, dict) for options in given.values()):
        raise InvalidInputError(f"task_options in {where} must be tables [task_options.TASK], not {shown(given)}.")
    for task in given:
        if task not in tasks:
            raise InvalidInputError(
                f"task_options in {where} is for {shown(task)}, which is not among the campaign's tasks: {', '.join(tasks)}."
            )
    return {task: split_table({"parameters": {"task": options}}, where)[1] for task, options in given.items()}


def _overrides(given: Any, tasks: Sequence[str], algos: Sequence[str], where: str) -> list[Override]:
    if not isinstance(given, list) or not all(isinstance(table, dict) for table in given):
        raise InvalidInputError(f"overrides in {where} must be tables [[overrides]], not {shown(given)}.")
    if len(given) > _MOST_OVERRIDES:
        raise InvalidInputError(f"{where} has {len(given):,} overrides; at most {_MOST_OVERRIDES:,} are allowed.")
    overrides: list[Override] = []
    for number, table in enumerate(given, start=1):
        here = f"override {number} in {where}"
        _check_keys(table, OVERRIDE_KEYS, here)
        name = table.get("name", "")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{0,100}", name):
            raise InvalidInputError(
                f"name of {here} must be of at most 100 letters, digits, '_', '.' and '-', not {shown(name)}."
            )
        if any(name == other.name for other in overrides):
            raise InvalidInputError(f"{here} has {f'the name {name!r}' if name else 'no name'}, as another has.")
        overrides.append(
            Override(
                name=name,
                tasks=_chosen("tasks", table, tasks, here),
                algos=_chosen("algos", table, algos, here),
                given={key: table[key] for key in ("budget", "preset") if key in table},
                parameters=_parameters(table, here),
            )
        )
    return overrides


def _chosen(key: str, table: Mapping[str, Any], known: Sequence[str], where: str) -> tuple[str, ...] | None:
    if key not in table:
        return None
    for name in _names(key, table[key], where):
        if name not in known:
            raise InvalidInputError(
                f"{where} is for {shown(name)}, which is not among the campaign's {key}: {', '.join(known)}."
            )
    return tuple(table[key])


def _combinations(
    tasks: Sequence[str], algos: Sequence[str], overrides: Sequence[Override]
) -> Iterator[tuple[str, str, Override]]:
    """Yield all combinations of a task, a method and an override; one without changes where no override applies."""
    for task in tasks:
        for algo in algos:
            for override in [one for one in overrides if one.is_for(task, algo)] or [Override()]:
                yield task, algo, override


def _folder_name(config: RunConfig, override: str) -> str:
    """Return <task>-<algo>[-<override>]-<seed>, with only characters that a folder may have."""
    words = [config.task, config.algo, *([override] if override else []), str(config.seed)]
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(words)).lstrip(".-")


def _check_folders(runs: Sequence[CampaignRun]) -> None:
    """Refuse names of folders that are too long, or that a file system may take for the same."""
    taken: dict[str, CampaignRun] = {}
    for run in runs:
        if len(run.name) > _LONGEST_FOLDER:
            raise InvalidInputError(
                f"The folder of {run.config.algo} on {shown(run.config.task)} would have a name of {len(run.name):,} characters; at most"
                f" {_LONGEST_FOLDER} are allowed."
            )
        other = taken.setdefault(run.name.casefold(), run)
        if other is not run:
            names = [
                f"{one.config.algo} on {one.config.task}{f' ({one.override})' if one.override else ''}" for one in (other, run)
            ]
            raise InvalidInputError(
                f"{' and '.join(names)} would be kept in the same folder {run.name!r}; give an override another name."
            )


def fitted_runs(runs: Sequence[CampaignRun]) -> list[CampaignRun]:
    """Return the runs with all parameters as they will be used; tasks are made for that, but evaluate nothing."""
    tasks: dict[str, Task] = {}
    fitted = []
    for run in runs:
        config = run.config
        made = repr((config.task, sorted(config.task_options.items())))
        task = tasks[made] if made in tasks else tasks.setdefault(made, make_task(config.task, **config.task_options))
        method, parameters = fit(find_method(config.algo), task, config.parameters, budget=config.budget)
        if parameters.descriptor != "learned" or "autoencoder" in {**config.code, **config.objects}:
            # Raises if the task lacks the descriptor, or the autoencoder does not fit; built-in ones need no check.
            make_space(task, method, parameters, config.seed, config.device)
        fitted.append(replace(run, config=replace(config, parameters=parameters)))
    return fitted
