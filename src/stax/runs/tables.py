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

from numpy.typing import NDArray

from stax.errors import InvalidInputError, printable
from stax.runs import limits
from stax.runs.array_files import read_arrays, write_arrays
from stax.runs.config import RunConfig
from stax.runs.files import NONSENSE, atomic_write, parse_json, read_bytes, read_csv, write_text
from stax.runs.folder import RunFolder
from stax.search.emitters.emitter import EmitterRecord
from stax.search.policy_set import PolicySet
from stax.tasks.task import Task

ARCHIVES = ("novelty", "reward")
_METRIC_COLUMNS = 16
"""Columns of the metrics, beside one per reward area."""
_EMITTER_COLUMNS = 12


def check_run_fits(config: RunConfig, reward_areas: int) -> None:
    """Refuse a run whose folder could not be read again, before it begins."""
    parameters = config.parameters
    chunks = limits.METRIC_CELLS // (_METRIC_COLUMNS + reward_areas)
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
    write_text(folder.file("metrics.csv"), _csv(metrics, list(metrics[0]) if metrics else []))


def load_metrics(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the table of metrics, a row per chunk."""
    return list(_rows(folder.file("metrics.csv"), "The table of metrics", limits.METRIC_CELLS))


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
    if name in ("phase", "ended_by", "kind"):
        return text
    for kind in (int, float) if text else ():
        try:
            return kind(text)
        except (ValueError, TypeError):
            continue
    return None


def save_archive(folder: RunFolder, name: str, policies: PolicySet) -> None:
    folder.file("archives").mkdir(exist_ok=True)
    write_arrays(folder.file("archives", f"{name}.npz"), policies.columns())


def read_archive(folder: RunFolder, name: str, task: Task, *, descriptor_size: int, evaluations: int) -> PolicySet:
    """One of `ARCHIVES`."""
    path = folder.file("archives", f"{name}.npz")
    columns, _ = read_arrays(path, "The archive", most_rows=lambda _: evaluations)
    what = f"The archive {str(path)!r} is damaged: it"
    return PolicySet.checked(columns, what, task, descriptor_size=descriptor_size, evaluations=evaluations)


def save_emitters(folder: RunFolder, emitters: Sequence[EmitterRecord]) -> None:
    columns = [field.name for field in fields(EmitterRecord)]
    write_text(folder.file("emitters.csv"), _csv([asdict(record) for record in emitters], columns))


def read_emitters(folder: RunFolder) -> list[EmitterRecord]:
    path = folder.file("emitters.csv")
    try:
        return [EmitterRecord(**row) for row in _rows(path, "The list of emitters", limits.EMITTER_CELLS)]
    except TypeError:
        raise InvalidInputError(
            f"The list of emitters {str(path)!r} is damaged: its columns are not those of emitters."
        ) from None


def write_autoencoder(path: Path, weights: dict[str, NDArray[Any]], words: dict[str, str]) -> None:
    from safetensors.numpy import save

    content = save(weights, {"format": "pt", **words})
    # It writes the words in an order drawn at random; the same autoencoder shall give the same bytes.
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    ordered = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    with atomic_write(path) as file:
        file.write(content[:8] + ordered.ljust(end - 8) + content[end:])


def read_autoencoder(path: Path, weights: int) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the weights of an autoencoder and the words about them.

    Args:
        path: the file.
        weights: bytes of the weights of the autoencoder that they are for.
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
    except (SafetensorError, RecursionError, *NONSENSE) as error:
        raise InvalidInputError(f"The autoencoder {str(path)!r} is damaged ({printable(error)[:200]}).") from None
