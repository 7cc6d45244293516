"""Archives, metrics, emitters and the autoencoder of a run as files in open formats; the ledger is in `ledger_file.py`."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, printable
from stax.representation.space import DescriptorSpace
from stax.runs import limits
from stax.runs.array_files import read_arrays, write_arrays
from stax.runs.config import RunConfig
from stax.runs.files import BAD_VALUE_ERRORS, atomic_write, parse_json, read_bytes, read_csv, write_text
from stax.runs.folder import RunFolder
from stax.search.emitters.emitter import EmitterRecord
from stax.search.metrics import TEXT_COLUMNS, metric_columns
from stax.search.policy_set import PolicySet
from stax.tasks.task import Task

ARCHIVES = ("novelty", "reward")
KEPT_AUTOENCODERS = "autoencoders"
"""Folder of the autoencoders that are kept after each training episode."""
_EMITTER_COLUMNS = 12
_TEXT_COLUMNS = {*TEXT_COLUMNS, "ended_by", "kind"}


def check_run_fits(config: RunConfig, reward_areas: int) -> None:
    """Refuse a run whose folder could not be read again, before it begins."""
    parameters = config.parameters
    chunks = limits.METRIC_CELLS // (1 + len(metric_columns(reward_areas)))
    if config.budget > chunks * parameters.chunk_size:
        raise InvalidInputError(
            f"A budget of {config.budget:,} in chunks of {parameters.chunk_size:,} evaluations would make a table of metrics with more"
            f" than {chunks:,} rows, which cannot be read again; set chunk_size to at least {-(-config.budget // chunks):,}."
        )
    emitters, most = _most_emitters(config), limits.EMITTER_CELLS // _EMITTER_COLUMNS
    if config.has_emitters and emitters > most:
        raise InvalidInputError(
            f"A budget of {config.budget:,} could make {emitters:,} emitters, but a list of more than {most:,} cannot be read again; set a"
            " larger emitter_population, bootstrap_generations or chunk_size."
        )


def _most_emitters(config: RunConfig) -> int:
    """Return how many emitters a run can make: a chunk begins no bootstrap once it has spent its share of evaluations on them."""
    parameters = config.parameters
    each = parameters.emitter_population * parameters.bootstrap_generations
    in_chunk = math.ceil(parameters.bootstrap_share * parameters.chunk_size / each)
    return min(config.budget // each, in_chunk * (config.budget // parameters.chunk_size)) + 1


def save_metrics(folder: RunFolder, metrics: list[dict[str, Any]]) -> None:
    """Write the table of metrics."""
    write_text(folder.file("metrics.csv"), _csv(metrics, list(metrics[0]) if metrics else []))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the table of metrics, a row per chunk."""
    return list(_rows(path, "The table of metrics", limits.METRIC_CELLS))


def _csv(rows: list[dict[str, Any]], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(path: Path, what: str, most_cells: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, which may come from a stranger: of at most so many cells, the header's among them."""
    rows = read_csv(path, what, limits.CSV_BYTES)
    columns = next(rows, [])
    cells = len(columns)
    for row in rows:
        cells += len(columns)
        if cells > most_cells:
            raise InvalidInputError(f"{what} {str(path)!r} is too large: at most {most_cells:,} cells are read.")
        if len(row) != len(columns):
            raise InvalidInputError(f"{what} {str(path)!r} is damaged: not all rows have its {len(columns):,} columns.")
        yield {name: _typed(name, text) for name, text in zip(columns, row, strict=True)}


def _typed(name: str, text: str) -> Any:
    if name in _TEXT_COLUMNS:
        return text
    for number_type in (int, float) if text else ():
        try:
            return number_type(text)
        except (ValueError, TypeError):
            continue
    return None


def save_archive(folder: RunFolder, name: str, policies: PolicySet) -> None:
    """Write one of `ARCHIVES`."""
    folder.file("archives").mkdir(exist_ok=True)
    write_arrays(folder.file("archives", f"{name}.npz"), policies.columns())


def read_archive(path: Path, task: Task, evaluations: int) -> PolicySet:
    """Return an archive of a run of this task with so many evaluations; descriptors may have any size."""
    columns, _ = read_arrays(path, "The archive", most_rows=lambda _: evaluations)
    size = columns["descriptor"].shape[-1] if columns.get("descriptor", np.empty(0)).ndim == 2 else 0
    what = f"The archive {str(path)!r} is damaged: it"
    return PolicySet.checked(columns, what, task, descriptor_size=size, evaluations=evaluations)


def save_emitters(folder: RunFolder, emitters: Sequence[EmitterRecord]) -> None:
    """Write the list of emitters."""
    columns = [field.name for field in fields(EmitterRecord)]
    write_text(folder.file("emitters.csv"), _csv([asdict(record) for record in emitters], columns))


def read_emitters(path: Path) -> list[EmitterRecord]:
    """Return the list of emitters."""
    try:
        return [EmitterRecord(**row) for row in _rows(path, "The list of emitters", limits.EMITTER_CELLS)]
    except TypeError:
        raise InvalidInputError(
            f"The list of emitters {str(path)!r} is damaged: its columns are not those of emitters."
        ) from None


def keep_autoencoder(folder: RunFolder, episode: int, space: DescriptorSpace) -> None:
    """Write the autoencoder of a training episode beside those of the others, unless it is there."""
    path = folder.file(KEPT_AUTOENCODERS, f"{episode:06d}.safetensors")
    if episode and not path.is_file():
        path.parent.mkdir(exist_ok=True)
        write_autoencoder(path, *space.weights())


def write_autoencoder(path: Path, weights: dict[str, NDArray[Any]], words: dict[str, str]) -> None:
    """Write the weights of an autoencoder and texts about them; the same autoencoder gives the same bytes."""
    from safetensors.numpy import save

    content = save(weights, {"format": "pt", **words})
    # The library writes the texts in random order, so they are sorted here.
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    ordered = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    with atomic_write(path) as file:
        file.write(content[:8] + ordered.ljust(end - 8) + content[end:])


def read_autoencoder(path: Path, weights: int) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the weights of an autoencoder and the texts about them.

    Args:
        path: the file.
        weights: bytes that the weights may have together.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = read_bytes(path, "The autoencoder", weights + limits.WEIGHTS_BYTES)
    try:
        end = 8 + int.from_bytes(content[:8], "little")
        if end > 8 + limits.WEIGHTS_BYTES:
            raise ValueError("its header is too long")
        words = parse_json(content[8:end], limits.WEIGHTS_BYTES // 8).get("__metadata__") or {}
        return load(content), {str(name): str(word) for name, word in words.items()}
    except (SafetensorError, RecursionError, *BAD_VALUE_ERRORS) as error:
        raise InvalidInputError(f"The autoencoder {str(path)!r} is damaged ({printable(error)[:200]}).") from None
