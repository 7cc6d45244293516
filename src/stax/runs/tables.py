"""What a run leaves, file by file: archives, metrics, emitters, ledger, autoencoder. All in open formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.runs.files import NONSENSE, read_arrays, read_text, whole, write_arrays, write_text
from stax.runs.folder import RunFolder
from stax.search.emitter import EmitterRecord
from stax.search.policy_set import ORIGINS, PolicySet
from stax.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow

ARCHIVES = ("novelty", "reward")
LEDGER = ("id", "parent", "origin", "emitter", "reward", "reward_area", "ground_truth", "failed")
"""Columns of the ledger, as `Result.ledger` has them."""
_LEDGER_TYPES = {"reward": "f8", "reward_area": "i2", "ground_truth": "f8", "failed": "?"}
"""Of those that are no int64."""
_MOST_WEIGHTS = 2**30
"""Bytes of an autoencoder."""


def save_metrics(folder: RunFolder, metrics: list[dict[str, Any]]) -> None:
    write_text(folder.file("metrics.csv"), _csv(metrics, list(metrics[0]) if metrics else []))


def load_metrics(folder: RunFolder) -> list[dict[str, Any]]:
    return list(_rows(folder.file("metrics.csv"), "The table of metrics"))


def _csv(rows: list[dict[str, Any]], columns: list[str]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(path: Path, what: str) -> Iterator[dict[str, Any]]:
    try:
        for row in csv.DictReader(io.StringIO(read_text(path, what)), strict=True):
            yield {name: _typed(name, text) for name, text in row.items()}
    except csv.Error as error:
        raise InvalidInputError(f"{what} {str(path)!r} is damaged: {error}.") from None


def _typed(name: str, text: str) -> Any:
    if name in ("phase", "ended_by", "kind"):
        return text
    for kind in (int, float):
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
    columns, _ = read_arrays(path, "The archive", most_rows=evaluations)
    what = f"The archive {str(path)!r} is damaged: it"
    return PolicySet.checked(columns, what, task, descriptor_size=descriptor_size, evaluations=evaluations)


def save_emitters(folder: RunFolder, emitters: Sequence[EmitterRecord]) -> None:
    columns = [field.name for field in fields(EmitterRecord)]
    write_text(folder.file("emitters.csv"), _csv([asdict(record) for record in emitters], columns))


def read_emitters(folder: RunFolder) -> list[EmitterRecord]:
    path = folder.file("emitters.csv")
    try:
        return [EmitterRecord(**row) for row in _rows(path, "The list of emitters")]
    except TypeError:
        raise InvalidInputError(
            f"The list of emitters {str(path)!r} is damaged: its columns are not those of emitters."
        ) from None


def write_ledger(path: Path, ledger: Mapping[str, NDArray[Any]]) -> None:
    # Here, because it takes a while to import.
    import pyarrow
    import pyarrow.parquet

    columns: dict[str, pyarrow.Array] = {}
    for name, values in ledger.items():
        if name == "origin":
            columns[name] = pyarrow.DictionaryArray.from_arrays(_arrow_column(values), _arrow_words(ORIGINS))
        elif name == "ground_truth":
            for number in range(values.shape[1]):
                columns[f"{name}_{number}"] = _arrow_column(values[:, number])
        else:
            columns[name] = _arrow_column(values)
    table = pyarrow.Table.from_arrays(list(columns.values()), names=list(columns))
    with whole(path) as unfinished:
        # A dictionary helps words alone; for numbers it costs as much as all the rest.
        pyarrow.parquet.write_table(table, unfinished, compression="zstd", use_dictionary=["origin"], row_group_size=2**20)


def _arrow_words(words: Sequence[str]) -> pyarrow.Array:
    import pyarrow

    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    return pyarrow.StringArray.from_buffers(len(words), pyarrow.py_buffer(ends), pyarrow.py_buffer("".join(words).encode()))


def _arrow_column(values: NDArray[Any]) -> pyarrow.Array:
    """By its bytes: `pyarrow.array` would import pandas for it, where there is one, which takes longer than all the rest."""
    import pyarrow

    content = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(values.dtype), len(values), [None, pyarrow.py_buffer(content)])


def read_ledger(path: Path, budget: int, columns: Sequence[str] = LEDGER) -> dict[str, NDArray[Any]]:
    """Columns of the ledger, as `Result.ledger` has them; those not asked for are not read."""
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise InvalidInputError(f"The ledger {str(path)!r} is missing.")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if file.metadata.num_rows > budget:
                raise InvalidInputError(
                    f"The ledger {str(path)!r} has {file.metadata.num_rows:,} rows for a budget of {budget:,}."
                )
            truth = [name for name in file.schema_arrow.names if name.startswith("ground_truth_")]
            wanted = [name for name in columns if name != "ground_truth"] + (truth if "ground_truth" in columns else [])
            table = file.read(wanted)
            if sorted(table.column_names) != sorted(wanted):
                raise InvalidInputError(
                    f"The ledger {str(path)!r} is damaged: it has the columns {', '.join(table.column_names)}."
                )
            return {name: _ledger_column(table, name, truth) for name in columns}
    except InvalidInputError:
        raise
    except (pyarrow.ArrowException, OSError, *NONSENSE) as error:
        raise InvalidInputError(f"The ledger {str(path)!r} is damaged ({type(error).__name__}).") from None


def _ledger_column(table: pyarrow.Table, name: str, truth: list[str]) -> NDArray[Any]:
    if name != "origin":
        parts = [np.asarray(table.column(part).to_numpy()) for part in (truth if name == "ground_truth" else [name])]
        if any(part.dtype != np.dtype(_LEDGER_TYPES.get(name, "i8")) for part in parts):
            raise TypeError(name)
        if name == "ground_truth":
            return np.stack(parts, axis=1) if truth else np.empty((len(table), 0))
        return parts[0]
    codes = table.column(name).combine_chunks().dictionary_encode()
    known = np.array([ORIGINS.index(word) for word in codes.dictionary.to_pylist()], np.int8)
    return np.asarray(known[codes.indices.to_numpy()]) if len(known) else np.empty(0, np.int8)


def write_autoencoder(path: Path, weights: dict[str, NDArray[Any]], words: dict[str, str]) -> None:
    from safetensors.numpy import save

    content = save(weights, {"format": "pt", **words})
    # It writes the words in an order drawn at random; the same autoencoder shall give the same bytes.
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    ordered = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    with whole(path) as unfinished:
        unfinished.write_bytes(content[:8] + ordered.ljust(end - 8) + content[end:])


def read_autoencoder(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InvalidInputError(f"The autoencoder {str(path)!r} is missing.")
    if path.stat().st_size > _MOST_WEIGHTS:
        raise InvalidInputError(f"The autoencoder {str(path)!r} is too large: at most {_MOST_WEIGHTS:,} bytes are read.")
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (SafetensorError, OSError, *NONSENSE) as error:
        raise InvalidInputError(f"The autoencoder {str(path)!r} is damaged ({error}).") from None
