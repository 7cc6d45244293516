"""What a run starts from: policies and the autoencoder of another run, or policies from elsewhere.

The seeds are kept in the run's own folder, so that the run can be resumed and repeated without what they came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_choice
from stax.errors import InvalidInputError, shown
from stax.input_limits import LARGEST_GENE, MOST_EVALUATIONS
from stax.runs.array_files import read_arrays, write_arrays
from stax.runs.config import RunConfig, checked_record, read_toml
from stax.runs.digests import digest
from stax.runs.reader import RunReader
from stax.runs.result import Result
from stax.runs.tables import read_autoencoder
from stax.search.policy_set import PolicySet
from stax.search.random_numbers import seeds_generator
from stax.search.seeds import Seeds
from stax.search.variation import sample
from stax.tasks.task import Genomes, Task

FILE = "seeds.npz"
PARTS = ("population", "archives", "autoencoder")
"""What a run can start from."""
_WEIGHTS = "autoencoder."
_COLUMNS = ("genome", "population", "novelty", "reward")
_MOST_WEIGHT_BYTES = 2**31
"""Bytes of an autoencoder's weights in another run's folder."""


@dataclass(frozen=True, eq=False)
class Start:
    """The seeds of a run, and what its configuration says of them."""

    seeds: Seeds
    record: dict[str, Any]
    """The table `start_from` of `config.toml`."""


@dataclass(frozen=True, eq=False)
class _Source:
    """What was given to start from."""

    name: str
    """The path of the folder, or words for an object."""
    about: str
    """Words for error messages, at the beginning of a sentence."""
    novelty: Genomes
    reward: Genomes
    """Genomes that are in the reward archive; a policy may be in both."""
    ids: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Ids of the policies in both archives, by which a policy of both is found."""
    weights: dict[str, NDArray[Any]] | None = None


def make_start(given: Any, parts: Sequence[str] | str | None, config: RunConfig, task: Task) -> Start:
    """Return the seeds of a run, or raise one sentence that says why it cannot start from them.

    Args:
        given: a run folder, a `Result`, a `PolicySet`, an array of genomes, a data frame or an archive of pyribs.
        parts: some of `PARTS`; population and archives if None, and the autoencoder if both sides have one.
        config: of the run.
        task: of the run.
    """
    source = _source_of(given, config, task)
    chosen = _checked_parts(parts, source, config)
    for genomes in (source.novelty, source.reward):
        if genomes.shape[1:] != (task.genome_size,):
            raise InvalidInputError(
                f"{source.about} has genomes of {genomes.shape[-1]:,} numbers, those of task {task.name!r} have {task.genome_size:,}."
            )
    seeds = _seeds(source, chosen, config, task)
    record = {
        "source": source.name,
        "parts": list(chosen),
        "policies": len(seeds),
        "population": int(np.count_nonzero(seeds.population)),
        "sha256": digest(_arrays(seeds)),
    }
    return Start(seeds, record)


def _checked_parts(parts: Sequence[str] | str | None, source: _Source, config: RunConfig) -> tuple[str, ...]:
    if parts is None:
        both_learn = config.learns and source.weights is not None
        return PARTS if both_learn else PARTS[:2]
    given = parts.split(",") if isinstance(parts, str) else parts
    if not isinstance(given, (list, tuple)) or not given:
        raise InvalidInputError(f"The parts to start from must be some of {', '.join(PARTS)}, not {shown(parts)}.")
    for part in given:
        check_choice("A part to start from", part.strip() if isinstance(part, str) else part, PARTS)
    chosen = tuple(part for part in PARTS if part in [name.strip() for name in given])
    if "autoencoder" in chosen:
        if not config.learns:
            raise InvalidInputError(
                f"{config.algo} with descriptor {config.parameters.descriptor!r} has no autoencoder to start with; leave it out of the"
                " parts to start from."
            )
        if source.weights is None:
            raise InvalidInputError(f"{source.about} has no autoencoder; leave it out of the parts to start from.")
    return chosen


def _seeds(source: _Source, parts: tuple[str, ...], config: RunConfig, task: Task) -> Seeds:
    """Choose the policies that these parts need. The first population is drawn uniformly from all of the source's policies."""
    ids = np.concatenate(source.ids)
    known, rows = np.unique(ids, return_index=True)
    genome = np.concatenate([source.novelty, source.reward])[rows]
    novelty, reward = (np.isin(known, archived) for archived in source.ids)
    population = np.zeros(len(known), np.bool_)
    if "population" in parts:
        population[sample(seeds_generator(config.seed), len(known), config.parameters.population_size)] = True
    if not len(known) and parts != PARTS[2:]:
        raise InvalidInputError(f"{source.about} has no policies to start from.")
    kept = np.ones(len(known), np.bool_) if "archives" in parts else population
    archived = kept & ("archives" in parts)
    weights = (source.weights or {}) if "autoencoder" in parts else {}
    return Seeds(
        genome=np.array(genome[kept], np.float64),
        population=population[kept],
        novelty=(novelty & archived)[kept],
        reward=(reward & archived)[kept],
        weights=weights,
    )


# Where seeds come from


def _source_of(given: Any, config: RunConfig, task: Task) -> _Source:
    if isinstance(given, (str, Path)):
        return _source_of_folder(Path(given), config)
    if isinstance(given, Result):
        _check_task(given.config.task, config.task, "The result")
        weights = given.space.weights()[0] if given.space.learned and given.autoencoder is not None else None
        return _source_of_archives("a Result", "The result", given.novelty_archive, given.reward_archive, weights)
    if isinstance(given, PolicySet):
        nothing = given.take(slice(0, 0))
        return _source_of_archives("a PolicySet", "The set of policies", given, nothing, None)
    return _source_of_genomes(given, task)


def _source_of_folder(path: Path, config: RunConfig) -> _Source:
    run = RunReader(path)
    about = f"The run in {str(path)!r}"
    run.require_results()
    _check_task(run.config.task, config.task, about)
    weights = None
    if run.autoencoder_file is not None:
        weights, _ = read_autoencoder(run.autoencoder_file, _MOST_WEIGHT_BYTES)
    return _source_of_archives(str(path), about, run.novelty_archive, run.reward_archive, weights)


def _check_task(theirs: str, ours: str, about: str) -> None:
    """Refuse another task; other options of the same task are allowed, since seeds are evaluated again."""
    if theirs != ours:
        raise InvalidInputError(f"{about} is of task {theirs!r}; a run on task {ours!r} cannot start from it.")


def _source_of_archives(
    name: str, about: str, novelty: PolicySet, reward: PolicySet, weights: dict[str, NDArray[Any]] | None
) -> _Source:
    return _Source(name, about, novelty.genome, reward.genome, (novelty.id, reward.id), weights)


def _source_of_genomes(given: Any, task: Task) -> _Source:
    packages = {kind.__module__.split(".")[0] for kind in type(given).__mro__}
    if isinstance(given, np.ndarray):
        name, about, genomes = "an array", "The array of genomes", given
    elif "pandas" in packages:
        from stax.ecosystem.frames import frame_genomes

        name, about, genomes = "a data frame", "The frame", frame_genomes(given, task)
    elif "ribs" in packages:
        from stax.ecosystem.ribs_archives import ribs_genomes

        name, about, genomes = "an archive of pyribs", "The archive", ribs_genomes(given, task)
    else:
        raise InvalidInputError(
            "start_from must be a run folder, a Result, a PolicySet, an array of genomes, a data frame or an archive of pyribs, not"
            f" {shown(given)}."
        )
    if genomes.ndim != 2 or genomes.dtype.kind not in "fiu" or not np.isfinite(genomes).all():
        raise InvalidInputError(
            f"{about} must hold finite numbers, a row for each genome, not an array of shape {genomes.shape}."
        )
    numbers = np.array(genomes, np.float64)
    return _Source(name, about, numbers, numbers[:0], (np.arange(len(numbers)), np.arange(0)))


# Seeds in the run's own folder


def _arrays(seeds: Seeds) -> dict[str, NDArray[Any]]:
    columns = {name: getattr(seeds, name) for name in _COLUMNS}
    return columns | {f"{_WEIGHTS}{name}": array for name, array in seeds.weights.items()}


def write_seeds(path: Path, seeds: Seeds) -> None:
    """Write the file of the seeds."""
    write_arrays(path, _arrays(seeds))


def read_seeds(path: Path, record: Mapping[str, Any]) -> Seeds:
    """Return the seeds of a run, whose configuration has this record of them."""
    if not path.is_file():
        raise InvalidInputError(f"The seeds {str(path)!r} are missing, from which the run began ({shown(record['source'])}).")

    def most_rows(name: str) -> int | None:
        return None if name.startswith(_WEIGHTS) else MOST_EVALUATIONS

    arrays, _ = read_arrays(path, "The seeds", most_rows=most_rows)
    if digest(arrays) != record["sha256"]:
        raise InvalidInputError(f"The seeds {str(path)!r} are not those that config.toml names: their digest differs.")
    columns = {name: arrays.get(name, np.empty(0)) for name in _COLUMNS}
    genome, flags = columns["genome"], [columns[name] for name in _COLUMNS[1:]]
    fits = genome.ndim == 2 and genome.dtype == np.float64 and bool((np.abs(genome) <= LARGEST_GENE).all())
    if not fits or any(flag.shape != genome.shape[:1] or flag.dtype != np.bool_ for flag in flags):
        raise InvalidInputError(f"The seeds {str(path)!r} are damaged: their columns are not those of seeds.")
    weights = {name.removeprefix(_WEIGHTS): array for name, array in arrays.items() if name.startswith(_WEIGHTS)}
    return Seeds(**columns, weights=weights)


def start_of_file(path: Path) -> Start | None:
    """Return what the run of a configuration file started from, by the seeds beside the file; None if it was not seeded."""
    table = read_toml(path).get("start_from")
    if table is None:
        return None
    record = checked_record(table, str(path))
    return Start(read_seeds(path.parent / FILE, record), record)
