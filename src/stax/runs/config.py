"""The description of a run: everything that decides its outcome, and where and how it is done.

One typed object, made from keywords, the command line or a TOML file, and written as `config.toml`:

    task = "hard-maze"
    algo = "stax"
    budget = 20000
    seed = 0

    [parameters]
    population_size = 100
    task.sensors = "lasers"

Unknown names and values out of range are told in one sentence.
"""

from __future__ import annotations

import os
import platform
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from stax.compiling import available_threads
from stax.errors import InvalidInputError, check_choice, check_whole, shown
from stax.input_limits import LARGEST_SEED, LONGEST_TIME_LIMIT, MOST_EVALUATIONS
from stax.representation.choice import names_code, names_object
from stax.runs.files import read_text
from stax.runs.options import NONE, as_text, decoded, encoded, plain_options
from stax.runs.toml_check import check_toml
from stax.search.methods import find_method
from stax.search.parameters import Allowed, Parameters, allowed, make_parameters, no_such
from stax.search.parts import is_given, is_own, parts_named
from stax.tasks import BUILT_IN, in_tables

DEFAULT_BUDGET = 20_000
BACKENDS = ("local", "ray")
DEVICES = ("auto", "cpu", "cuda", "mps")
_PACKAGES = ("gymnasium", "moocore", "numba", "numpy", "pyarrow", "ray", "safetensors", "scipy", "torch")
_MOST_LOCAL_WORKERS = 1024
"""More threads than that break OpenMP rather than the record."""
_MOST_WORKERS = 100_000
"""Workers on a cluster."""
_LONGEST_ADDRESS = 1000
"""Characters of the address of a cluster."""
_MOST_TEXT = 2**20
"""Bytes of a configuration."""
_FIRST_LINE = "# A run of STAX. Do it again: stax run --config THIS_FILE. Go on with it: stax resume ITS_FOLDER."
_INFORMATION = ("made_with", "machine", "numerics", "results_version", "task_description", "task_given")
"""Entries of a `config.toml` about the run that was done; another run of the same configuration does without."""


def _setting(default: Any, about: str, **allowed: Any) -> Any:
    return field(default=default, metadata={"allowed": Allowed(about, **allowed)})


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a run is done; none of these changes what it finds, unless evaluations fail."""

    checkpoint_seconds: float = _setting(60.0, "seconds between two checkpoints at least", kind="number", least=0, most=10**9)
    on_failure: str = _setting(
        "abort",
        "what a failed evaluation means: the end of the run, or a policy that is noted in the ledger and otherwise forgotten",
        kind="choice",
        choices=("abort", "discard"),
    )
    max_failed_share: float = _setting(
        0.1,
        "share of all evaluations that may fail before the run stops, with on_failure=discard",
        kind="number",
        least=0,
        most=1,
    )
    time_limit: float | None = _setting(
        None,
        "seconds that a worker process may take for its part of a batch; what takes longer has failed",
        kind="number",
        least=0,
        above=True,
        most=LONGEST_TIME_LIMIT,
        none="no limit",
    )
    isolation: str = _setting(
        "auto",
        "whether evaluations run in worker processes, which may crash and hang: process, none, or auto: for Gymnasium environments"
        " and tasks of your own that are given by name",
        kind="choice",
        choices=("auto", "process", "none"),
    )


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run."""

    task: str
    """A task's name, `module:Class` for a user's own."""
    task_options: dict[str, Any] = field(default_factory=dict)
    algo: str = "stax"
    preset: str = "default"
    seed: int = 0
    budget: int = DEFAULT_BUDGET
    workers: int
    device: str = "auto"
    backend: str = "local"
    address: str | None = None
    """Of the Ray cluster; None starts one on this machine."""
    parameters: Parameters
    settings: RunSettings = field(default_factory=RunSettings)
    task_given: bool = False
    """Whether the task was given as an object that cannot be made again from its name and options."""
    numerics: str | None = None
    """Numerics that the run was done with, see `stax.numerics`; None before it has begun."""
    results_version: int | None = None
    """`stax.RESULTS_VERSION` that the run was begun with; None before it has begun."""

    @property
    def task_is_code(self) -> bool:
        """Whether the task is code of a user's own; an environment's id may name a module, too."""
        return self.task not in BUILT_IN and ":" in self.task.removeprefix("gym:")

    @property
    def code(self) -> dict[str, str]:
        """What of the run is code of a user's own that has to be imported: `module:name`, by what it is."""
        code = {"task": self.task} if self.task_is_code else {}
        if self.learns and names_code(self.parameters.autoencoder):
            code["autoencoder"] = self.parameters.autoencoder
        return code | self._parts(is_own)

    @property
    def objects(self) -> dict[str, str]:
        """What of the run was given as an object that cannot be made again: its name, by what it is."""
        objects = {"task": self.task} if self.task_given else {}
        if self.learns and names_object(self.parameters.autoencoder):
            objects["autoencoder"] = self.parameters.autoencoder
        return objects | self._parts(is_given)

    def _parts(self, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Kinds of emitters and the scheduler whose names are such, by the parameter they are named in."""
        if not self.has_emitters:
            return {}
        found: dict[str, str] = {}
        for parameter, name in parts_named(self.parameters):
            if wanted(name):
                found[parameter] = f"{found[parameter]},{name}" if parameter in found else name
        return found

    @property
    def has_emitters(self) -> bool:
        """Whether rewards are climbed by emitters: the method decides, unless the parameter says otherwise."""
        given = self.parameters.emitters
        return find_method(self.algo).emitters if given is None else given

    @property
    def learns(self) -> bool:
        """Whether it has an autoencoder."""
        return self.parameters.descriptor == "learned"

    def differences(self, other: RunConfig) -> list[str]:
        """Names of what would make this run another than that one."""
        mine, theirs = self.decisive(), other.decisive()
        return [name for name in mine.keys() | theirs.keys() if as_text(mine.get(name)) != as_text(theirs.get(name))]

    def decisive(self) -> dict[str, Any]:
        """All that decides what the run finds, by name."""
        options = {f"task.{name}": value for name, value in self.task_options.items()}
        decisive = {name: getattr(self, name) for name in ("task", "algo", "seed", "budget")}
        return {**decisive, **asdict(self.parameters), **options}


RUN_KEYS = ("task", "algo", "preset", "seed", "budget", "workers", "device", "backend", "address")
"""What a configuration says outside its parameters."""


def settings_allowed() -> dict[str, Allowed]:
    """How a run is done: every name, and what it may be."""
    return {entry.name: entry.metadata["allowed"] for entry in fields(RunSettings)}


def make_config(given: Mapping[str, Any], parameters: Mapping[str, Any]) -> RunConfig:
    """A configuration from what was given of `RUN_KEYS`, and from parameters of the search, the run and the task together."""
    for name in given:
        if name not in RUN_KEYS:
            raise InvalidInputError(no_such("key of a run's configuration", name, RUN_KEYS))
    given = {name: value for name, value in given.items() if value is not None}
    if "task" not in given:
        raise InvalidInputError("The configuration names no task; give one of " + ", ".join(BUILT_IN) + ", or module:Class.")
    if not isinstance(given["task"], str):
        raise InvalidInputError(f"task must be a task's name, not {shown(given['task'])}.")
    algo, preset = given.get("algo", "stax"), given.get("preset", "default")
    backend = check_choice("backend", given.get("backend", "local"), BACKENDS)
    search, settings, options = split_parameters(parameters)
    config = RunConfig(
        task=given["task"],
        task_options=options,
        algo=algo,
        preset=preset,
        seed=check_whole("seed", given.get("seed", 0), 0, LARGEST_SEED),
        budget=check_whole("budget", given.get("budget", DEFAULT_BUDGET), 1, MOST_EVALUATIONS),
        workers=check_whole(
            "workers",
            given.get("workers", available_threads()),
            1,
            _MOST_LOCAL_WORKERS if backend == "local" else _MOST_WORKERS,
        ),
        device=check_choice("device", given.get("device", "auto"), DEVICES),
        backend=backend,
        address=given.get("address"),
        parameters=make_parameters(preset, find_method(algo).values(preset), search),
        settings=replace(RunSettings(), **settings),
    )
    if config.address is not None and not (is_address(config.address) and config.backend == "ray"):
        raise InvalidInputError(f"address must be that of a Ray cluster, with backend 'ray', not {shown(config.address)}.")
    return config


def is_address(given: object) -> bool:
    """Tell whether this may be the address of a Ray cluster."""
    return isinstance(given, str) and 0 < len(given) <= _LONGEST_ADDRESS and given.isprintable()


def split_parameters(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parameters of the search (not checked yet), settings of the run (checked), and options of the task."""
    known, settings = allowed(), settings_allowed()
    search: dict[str, Any] = {}
    checked: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name.startswith("task."):
            options[name.removeprefix("task.")] = value
        elif name in settings:
            checked[name] = settings[name].check(name, value)
        elif name in known:
            search[name] = value
        else:
            raise InvalidInputError(no_such("parameter", name, [*known, *settings]))
    return search, checked, plain_options(in_tables(options))


# TOML


def read_config(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file gives of `RUN_KEYS`, and its parameters: both for `make_config`, when the command line has had its say."""
    return split_table(read_toml(path), str(path))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file, which may come from a stranger."""
    return parse_toml(read_text(path, "The configuration", _MOST_TEXT), f"The configuration {str(path)!r}")


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the tables of a TOML text, or raise one sentence that begins with where it stands."""
    if len(text) > _MOST_TEXT:
        raise InvalidInputError(f"{where} is too large: {len(text):,} characters, at most {_MOST_TEXT:,} are read.")
    try:
        check_toml(text)
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # the first also for numbers of thousands of digits
        raise InvalidInputError(f"{where} is not TOML: {error}.") from None


def split_table(table: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a table gives of `RUN_KEYS`, and its parameters. These may also stand outside their table."""
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
        elif name in allowed() or name in settings_allowed() or name.startswith("task."):
            parameters[name] = decoded(value)
        else:
            known = [*RUN_KEYS, "parameters", *allowed(), *settings_allowed()]
            raise InvalidInputError(f"{where}: {no_such('key', name, known)}")
    return given, parameters


def _flattened(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """`task.sensors = ...` inside a table is a table `task` to TOML."""
    for name, value in table.items():
        if name == "task" and isinstance(value, dict):
            yield from ((f"task.{option}", decoded(inner)) for option, inner in value.items())
        else:
            yield name, decoded(value)


def config_toml(config: RunConfig, description: Mapping[str, Any]) -> str:
    """The text of `config.toml`."""
    table: dict[str, Any] = {name: getattr(config, name) for name in RUN_KEYS if getattr(config, name) is not None}
    if config.task_given:
        table["task_given"] = True
    table |= {name: value for name in ("numerics", "results_version") if (value := getattr(config, name)) is not None}
    parameters = {**asdict(config.parameters), **asdict(config.settings)}
    table["parameters"] = {name: NONE if value is None else value for name, value in parameters.items()}
    if config.task_options:
        table["parameters"]["task"] = encoded(config.task_options)
    table["task_description"] = dict(description)
    table["made_with"] = versions()
    table["machine"] = machine()
    text = f"{_FIRST_LINE}\n\n{tomli_w.dumps(table)}"
    if len(text.encode()) > _MOST_TEXT:
        sizes = {name: len(tomli_w.dumps({name: value}).encode()) for name, value in table.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        raise InvalidInputError(
            f"The configuration of the run would be {len(text.encode()):,} bytes long, most of it its {largest} of {sizes[largest]:,}"
            f" bytes; at most {_MOST_TEXT:,} are read again."
        )
    return text


def versions() -> dict[str, str]:
    """Of everything that may change the bits of a run."""
    from stax import __version__

    found = {"stax": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """What a reader may want to know of the machine; nothing that names it."""
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
