"""The description of a run: everything that decides its outcome, and where and how it is done.

One typed object, made from keywords, the command line or a TOML file, and written as `config.toml`:

    task = "hard-maze"
    algo = "stax"
    budget = 20000
    seed = 0

    [parameters]
    population_size = 100
    task.sensors = "lasers"

Unknown names and values out of range are refused in one sentence.
"""

from __future__ import annotations

import os
import platform
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from stax.compiling import available_threads
from stax.constraints import Choice, WholeNumber, check_whole
from stax.errors import InvalidInputError, no_such, shown
from stax.input_limits import LARGEST_SEED, MOST_EVALUATIONS
from stax.own_code import names_code, names_object
from stax.run_settings import BACKENDS, DEFAULT_BUDGET, DEVICES, RunSettings
from stax.runs import limits
from stax.runs.files import read_text
from stax.runs.options import NONE, as_text, decoded, encoded, plain_options
from stax.runs.toml_check import check_toml
from stax.search.methods import find_method
from stax.search.parameters import Parameters
from stax.tasks import BUILT_IN, in_tables, task_maker, task_options

_PACKAGES = ("gymnasium", "moocore", "numba", "numpy", "pyarrow", "ray", "safetensors", "scipy", "torch")
_MOST_LOCAL_WORKERS = 1024
"""Workers on this machine; OpenMP breaks with many more threads."""
_MOST_WORKERS = 100_000
"""Workers on a cluster."""
_LONGEST_ADDRESS = 1000
"""Largest number of characters in the address of a cluster."""
_FIRST_LINE = "# A run of STAX. Do it again: stax run --config THIS_FILE. Go on with it: stax resume ITS_FOLDER."
_INFORMATION = (
    "earlier_budgets",
    "made_with",
    "machine",
    "numerics",
    "results_version",
    "start_from",
    "task_description",
    "task_given",
)
"""Entries of a `config.toml` about the run that was done, which another run of the same configuration ignores."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The configuration of one run."""

    task: str
    """Name of the task, `module:Class` for a user's own."""
    task_options: dict[str, Any] = field(default_factory=dict)
    algo: str = "stax"
    preset: str = "default"
    seed: int = 0
    budget: int = DEFAULT_BUDGET
    workers: int
    device: str = "auto"
    backend: str = "local"
    address: str | None = None
    """Address of the Ray cluster; None starts one on this machine."""
    parameters: Parameters
    settings: RunSettings = field(default_factory=RunSettings)
    task_given: bool = False
    """Whether the task was given as an object that cannot be made again from its name and options."""
    numerics: str | None = None
    """Numerics of the run, see `stax.numerics`; None before it has begun."""
    results_version: int | None = None
    """`stax.RESULTS_VERSION` when the run began; None before that."""
    earlier_budgets: tuple[int, ...] = ()
    """Budgets that the run had before it was extended, the first one first."""
    start_from: dict[str, Any] | None = None
    """What the run started from, see `stax.runs.seeding`: `source`, `parts`, and the number and the digest of the seeds; None for a
    run that was not seeded."""

    @property
    def task_is_code(self) -> bool:
        """Whether the task is a user's own code; the id of a Gymnasium environment may also name a module."""
        return self.task not in BUILT_IN and ":" in self.task.removeprefix("gym:")

    @property
    def code(self) -> dict[str, str]:
        """Names of the user's own code that the run has to import, `module:name`, by what it is."""
        return ({"task": self.task} if self.task_is_code else {}) | self._parts(names_code)

    @property
    def objects(self) -> dict[str, str]:
        """Names of what was given as an object and cannot be made again, by what it is."""
        return ({"task": self.task} if self.task_given else {}) | self._parts(names_object)

    def _parts(self, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Return the names of the run's parts for which this holds, by their parameters; unused parts are left out."""
        used: dict[str, tuple[str, ...]] = {"autoencoder": (self.parameters.autoencoder,)} if self.learns else {}
        if self.has_emitters:
            used |= {"emitter_kinds": self.parameters.emitter_kinds, "scheduler": (self.parameters.scheduler,)}
        found = {what: ",".join(filter(wanted, names)) for what, names in used.items()}
        return {what: names for what, names in found.items() if names}

    @property
    def has_emitters(self) -> bool:
        """Whether emitters climb rewards: by the parameter if it is given, otherwise by the method."""
        given = self.parameters.emitters
        return find_method(self.algo).emitters if given is None else given

    @property
    def learns(self) -> bool:
        """Whether the run has an autoencoder."""
        return self.parameters.descriptor == "learned"

    def differences(self, other: RunConfig) -> list[str]:
        """Return the names of the values that make this run another one than that."""
        mine, theirs = self.decisive(), other.decisive()
        return [name for name in mine.keys() | theirs.keys() if as_text(mine.get(name)) != as_text(theirs.get(name))]

    def decisive(self) -> dict[str, Any]:
        """Return everything that decides what the run finds, by name."""
        options = {f"task.{name}": value for name, value in self.task_options.items()}
        decisive = {name: getattr(self, name) for name in ("task", "algo", "seed", "budget")}
        decisive |= {"start_from": self.start_from["sha256"]} if self.start_from else {}
        return {**decisive, **asdict(self.parameters), **options}


RUN_KEYS = ("task", "algo", "preset", "seed", "budget", "workers", "device", "backend", "address")
"""Keys of a configuration beside its parameters."""


_CONSTRAINTS = {
    "seed": WholeNumber(0, LARGEST_SEED),
    "budget": WholeNumber(1, MOST_EVALUATIONS),
    "device": Choice(DEVICES),
    "backend": Choice(BACKENDS),
}


def make_config(given: Mapping[str, Any], parameters: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of a run, or raise `stax.InvalidInputError`.

    Args:
        given: values of some of `RUN_KEYS`; None stands for the default.
        parameters: parameters of the search, the run and the task together.
    """
    for name in given:
        if name not in RUN_KEYS:
            raise InvalidInputError(no_such("key of a run's configuration", name, RUN_KEYS))
    given = {name: value for name, value in given.items() if value is not None}
    if "task" not in given:
        raise InvalidInputError("The configuration names no task; give one of " + ", ".join(BUILT_IN) + ", or module:Class.")
    if not isinstance(given["task"], str):
        raise InvalidInputError(f"task must be a task's name, not {shown(given['task'])}.")
    search, settings, options = split_parameters(parameters, given["task"])
    for name, constraint in _CONSTRAINTS.items():
        if name in given:
            given[name] = constraint.check(name, given[name])
    most_workers = _MOST_LOCAL_WORKERS if given.get("backend", RunConfig.backend) == "local" else _MOST_WORKERS
    workers = check_whole("workers", given.pop("workers", available_threads()), 1, most_workers)
    method = find_method(given.get("algo", RunConfig.algo))
    resolved = method.resolve(given.get("preset", RunConfig.preset), search)
    config = RunConfig(**given, workers=workers, task_options=options, parameters=resolved, settings=RunSettings(**settings))
    if config.address is not None and not (is_address(config.address) and config.backend == "ray"):
        raise InvalidInputError(f"address must be that of a Ray cluster, with backend 'ray', not {shown(config.address)}.")
    return config


def is_address(given: object) -> bool:
    """Return whether this may be the address of a Ray cluster."""
    return isinstance(given, str) and 0 < len(given) <= _LONGEST_ADDRESS and given.isprintable()


def is_parameter(name: str) -> bool:
    """Return whether this is the name of a parameter of the search or the run, or of an option of a task."""
    return name in Parameters.described() or name in RunSettings.described() or name.startswith("task.")


def split_parameters(
    given: Mapping[str, Any], task: str | None = None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the parameters of the search, the settings of the run, and the options of the task.

    Args:
        given: all three by name. Names are checked; values are checked when the objects that hold them are made.
        task: the name of the task, whose options are suggested in place of a name that does not exist.
    """
    search: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, value in given.items():
        if not is_parameter(name):
            known = [*Parameters.described(), *RunSettings.described(), *_task_options(task)]
            raise InvalidInputError(no_such("parameter", name, known))
        if name.startswith("task."):
            options[name.removeprefix("task.")] = value
        else:
            (search if name in Parameters.described() else settings)[name] = value
    return search, settings, plain_options(in_tables(options))


def _task_options(task: str | None) -> list[str]:
    """Return the options of a task as they are given, `task.NAME`; a user's own code is not imported for that."""
    if task is None or not (task in BUILT_IN or task.startswith("gym:")):
        return []
    return [f"task.{option}" for option in task_options(task_maker(task))]


# TOML


def read_config(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a file gives of `RUN_KEYS`, and its parameters; options of the command line may change both before `make_config`."""
    return split_table(read_toml(path), str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file, which may come from a stranger."""
    return parse_toml(read_text(path, "The configuration", limits.CONFIG_BYTES), f"The configuration {str(path)!r}")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a TOML text, or raise one sentence that begins with where it stands."""
    if len(text) > limits.CONFIG_BYTES:
        raise InvalidInputError(f"{where} is too large: {len(text):,} characters, at most {limits.CONFIG_BYTES:,} are read.")
    try:
        check_toml(text)
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # the first also for numbers of thousands of digits
        raise InvalidInputError(f"{where} is not TOML: {error}.") from None


def split_table(table: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a table gives of `RUN_KEYS`, and its parameters, which may also stand outside their own table."""
    parameters: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for name, value in table.items():
        if name in _INFORMATION:
            continue
        if name in RUN_KEYS:
            given[name] = value
        elif name == "parameters":
            if not isinstance(value, dict):
                raise InvalidInputError(f"parameters in {where} must be a table, not {shown(value)}.")
            parameters |= dict(_flattened(value))
        elif is_parameter(name):
            parameters[name] = decoded(value)
        else:
            known = [*RUN_KEYS, "parameters", *Parameters.described(), *RunSettings.described()]
            raise InvalidInputError(f"{where}: {no_such('key', name, known)}")
    return given, parameters


def checked_record(table: Any, where: str) -> dict[str, Any]:
    """Return the table `start_from` of a configuration, or raise one sentence if no run can have written it."""
    counts, texts = ("policies", "population"), ("source", "sha256")
    fits = isinstance(table, dict) and set(table) == {*counts, *texts, "parts"}
    fits = fits and all(isinstance(table[name], int) and table[name] >= 0 for name in counts)
    fits = fits and all(isinstance(table[name], str) for name in texts) and isinstance(table["parts"], list)
    if not fits or not all(isinstance(part, str) for part in table["parts"]):
        raise InvalidInputError(f"start_from in {where!r} is not what a run writes of its seeds: {shown(table)}.")
    return dict(table)


def _flattened(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a table by name; TOML reads `task.sensors = ...` as a table `task`, which is flattened."""
    for name, value in table.items():
        if name == "task" and isinstance(value, dict):
            yield from ((f"task.{option}", decoded(inner)) for option, inner in value.items())
        else:
            yield name, decoded(value)


def config_toml(config: RunConfig, description: Mapping[str, Any]) -> str:
    """Return the text of `config.toml`."""
    table: dict[str, Any] = {name: getattr(config, name) for name in RUN_KEYS if getattr(config, name) is not None}
    if config.task_given:
        table["task_given"] = True
    table |= {name: value for name in ("numerics", "results_version") if (value := getattr(config, name)) is not None}
    if config.earlier_budgets:
        table["earlier_budgets"] = list(config.earlier_budgets)
    parameters = {**asdict(config.parameters), **asdict(config.settings)}
    table["parameters"] = {name: NONE if value is None else value for name, value in parameters.items()}
    if config.task_options:
        table["parameters"]["task"] = encoded(config.task_options)
    if config.start_from:
        table["start_from"] = config.start_from
    table["task_description"] = dict(description)
    table["made_with"] = versions()
    table["machine"] = machine()
    text = f"{_FIRST_LINE}\n\n{tomli_w.dumps(table)}"
    if len(text.encode()) > limits.CONFIG_BYTES:
        sizes = {name: len(tomli_w.dumps({name: value}).encode()) for name, value in table.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        raise InvalidInputError(
            f"The configuration of the run would be {len(text.encode()):,} bytes long, most of it its {largest} of {sizes[largest]:,}"
            f" bytes; at most {limits.CONFIG_BYTES:,} are read again."
        )
    return text


def versions() -> dict[str, str]:
    """Return the versions of everything that may change the bits of a run."""
    from stax import __version__

    found = {"stax": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Describe the machine for readers of a configuration, without anything that identifies it."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "byte_order": sys.byteorder,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
