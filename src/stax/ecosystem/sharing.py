"""A run as a folder for a model hub: a card, films, archives as Parquet, the autoencoder and the configuration."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.analysis.replay import play, write_replay
from stax.ecosystem.model_card import Film, model_card
from stax.errors import InvalidInputError, in_one_line, shown
from stax.extras import require_extra
from stax.representation.space import DescriptorSpace
from stax.runs.archived_policies import best_policy
from stax.runs.described_task import DescribedTask
from stax.runs.files import atomic_write, open_regular, write_text
from stax.runs.folder import RunFolder, empty_folder
from stax.runs.reader import RunReader
from stax.runs.result import Result, check_network, remade_task
from stax.search.making import make_space
from stax.search.methods import find_method
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import ORIGINS
from stax.tasks.task import Task

MOST_FILMS = 6
"""Reward areas of which the best policy is filmed: those with the highest rewards."""
_FILM_SIZE = 320
_COPIED = ("config.toml", "summary.json", "metrics.csv", "autoencoder.safetensors")
"""Files of a run folder that are shared as they are."""
_NOT_ARRAYS = ("snapshots",)
"""Columns that are left out: observations, which may be whole pictures."""


@dataclass(frozen=True)
class Shared:
    """A folder that was written for a model hub."""

    path: Path
    size: int
    """Bytes of all its files."""
    missing: tuple[str, ...]
    """Sentences that say what could not be made, and why."""


def share_run(result: Result, folder: str | Path, out: str | Path) -> Shared:
    """Write what a model hub wants into a new folder; uploading it is left to you.

    Args:
        result: the result of `stax.load(folder)`.
        folder: the run's folder.
        out: the folder to write, which must not exist yet or be empty.
    """
    require_extra("plots", "Sharing a run, which draws its archives and films,")
    run = RunFolder.existing(folder)
    target = empty_folder(Path(out))
    try:
        (target / "archives").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"The folder {str(target)!r} cannot be written to: {error.strerror}.") from None
    for name in _COPIED:
        if run.file(name).is_file():
            with open_regular(run.file(name), "The file") as source, atomic_write(target / name) as file:
                shutil.copyfileobj(source, file)
    for name, archive in (("novelty", result.novelty_archive), ("reward", result.reward_archive)):
        if len(archive):
            write_archive(archive, target / "archives" / f"{name}.parquet")
    missing: list[str] = []
    _attempt(partial(_draw, result, target / "archives.png"), "Drawing the archives", missing)
    films = _films(result, target, missing)
    # Last: a folder with a card is complete.
    write_text(target / "README.md", model_card(result, target, films, missing))
    sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
    return Shared(target, sum(sizes), tuple(dict.fromkeys(missing)))


def shared_space(folder: str | Path, task: Task | None = None, *, trust: bool = False) -> DescriptorSpace:
    """Return the behaviour space of a shared run with its trained autoencoder; `describe` takes rollouts of the task.

    Args:
        folder: a folder that `share_run` wrote, or a run folder.
        task: the run's task, if it was given as an object.
        trust: whether a task that is code of the run's maker may be imported.
    """
    run = RunReader(folder)
    config = run.config
    if "autoencoder" in {**config.code, **config.objects}:
        raise InvalidInputError(
            f"The autoencoder of {str(folder)!r} is code of the run's maker: {config.parameters.autoencoder!r}."
        )
    made = task if task is not None else remade_task(config, trust=trust)
    if made is None:
        raise InvalidInputError(
            f"The task of {str(folder)!r} is code of the run's maker, {config.task!r}; give it as task=..., or say trust=True."
        )
    check_network(config, made, run.file("autoencoder.safetensors"))
    space = make_space(made, find_method(config.algo), config.parameters, config.seed, "cpu")
    if space.learned:
        space.restore_weights(*run.autoencoder_weights(sum(array.nbytes for array in space.weights()[0].values())))
    return space


def write_archive(policies: PolicySet, path: Path) -> None:
    """Write policies as a Parquet file atomically, a row each, with the columns of `PolicySet.to_pandas`.

    Args:
        policies: an archive, for instance.
        path: the file.
    """
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, Any] = {}
    for name, values in policies.columns().items():
        if name == "origin":
            columns[name] = pyarrow.DictionaryArray.from_arrays(pyarrow.array(values.astype(np.int8)), list(ORIGINS))
        elif name not in _NOT_ARRAYS:
            columns |= dict(_flat(name, values))
    with atomic_write(path) as file:
        pyarrow.parquet.write_table(pyarrow.table(columns), file, compression="zstd", use_dictionary=["origin"])


def _flat(name: str, values: NDArray[Any]) -> Mapping[str, NDArray[Any]]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{number}": np.ascontiguousarray(values[:, number]) for number in range(values.shape[1])}


def _draw(result: Result, path: Path) -> None:
    from stax.analysis.picture import draw_result

    draw_result(result, path)


def _attempt(make: Callable[[], Film | None], what: str, missing: list[str]) -> Film | None:
    """Return what `make` makes with the help of the task's code, which may raise anything; append to `missing` why it failed."""
    try:
        return make()
    except InvalidInputError as error:
        missing.append(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing.append(f"{what} failed: {in_one_line(error)}.")
    return None


def _films(result: Result, target: Path, missing: list[str]) -> list[Film]:
    """Film the best policy of each reward area; where that is not possible, append the reason to `missing`."""
    found = [area for area in np.argsort(-np.array(result.max_reward), kind="stable").tolist() if result.max_reward[area] > 0]
    if not found:
        return []
    if isinstance(result.task, DescribedTask):
        missing.append(
            f"There are no films, because the task {shown(result.config.task)} is code of the run's maker (--trust)."
        )
        return []
    films = [_attempt(partial(_film, result, area, target), "A film", missing) for area in sorted(found[:MOST_FILMS])]
    return [film for film in films if film is not None]


def _film(result: Result, area: int, target: Path) -> Film:
    policy = best_policy(result, area)
    replays = play(result.task, policy)
    words = re.sub(r"[^a-z0-9]+", "-", result.task.reward_areas[area].name.lower()).strip("-")[:40]
    name = f"films/{area}-{words}.gif" if words else f"films/{area}.gif"
    write_replay(result.task, replays, target / name, size=_FILM_SIZE)
    return Film(name, result.task.reward_areas[area].name, int(policy.id[0]), float(policy.reward[0]))
