"""The ledger of a run, a row per evaluation, as a Parquet file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.runs import limits
from stax.runs.files import BAD_VALUE_ERRORS, atomic_write, open_regular
from stax.runs.parquet_pages import page_sizes
from stax.search.vocabulary import ORIGINS, origin_words

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

LEDGER = ("id", "parent", "origin", "emitter", "reward", "reward_area", "ground_truth", "failed")
"""Columns of the ledger, as `Result.ledger` has them."""
_DTYPES = {"reward": "f8", "reward_area": "i2", "ground_truth": "f8", "failed": "?"}
"""Types of the columns that are not int64."""
_PHYSICAL_TYPES = {"i8": "INT64", "f8": "DOUBLE", "i2": "INT32", "?": "BOOLEAN"}
_DECODED_BYTES = 8
"""Bytes of a cell in memory at most."""
_ROW_GROUP = 2**20
_PAGE_ROWS = 1_000
"""Rows of a page at least, on average."""
_CHUNK_BYTES = 2**16
"""Bytes of a part of a column, beside those of its rows."""
_FOOTER_TEXT, _FOOTER_LIST = 2**24, 10**5
"""Bytes of a text and entries of a list in the footer."""


def write_ledger(path: Path, ledger: Mapping[str, NDArray[Any]]) -> None:
    """Write the ledger atomically."""
    # Here, because it takes a while to import.
    import pyarrow

    columns: dict[str, pyarrow.Array] = {}
    for name, values in ledger.items():
        if name == "origin":
            # A run without reevaluations has the file that it had before there were any.
            words = origin_words(int(values.max(initial=0)))
            columns[name] = pyarrow.DictionaryArray.from_arrays(_arrow_column(values), _arrow_words(words))
        elif name == "ground_truth":
            for number in range(values.shape[1]):
                columns[f"{name}_{number}"] = _arrow_column(values[:, number])
        else:
            columns[name] = _arrow_column(values)
    table = pyarrow.Table.from_arrays(list(columns.values()), names=list(columns))
    with atomic_write(path) as file:
        _write(table, file, "zstd")
        if _DECODED_BYTES * table.num_rows * table.num_columns > limits.unpacked_limit(file.tell()):
            # More than a reader would unpack out of so small a file.
            file.seek(0)
            file.truncate()
            _write(table, file, "none")


def _write(table: pyarrow.Table, file: BinaryIO, compression: str) -> None:
    import pyarrow.parquet

    # A dictionary helps words alone; for numbers it costs as much as all the rest.
    pyarrow.parquet.write_table(table, file, compression=compression, use_dictionary=["origin"], row_group_size=_ROW_GROUP)


def _arrow_words(words: Sequence[str]) -> pyarrow.Array:
    import pyarrow

    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    return pyarrow.StringArray.from_buffers(len(words), pyarrow.py_buffer(ends), pyarrow.py_buffer("".join(words).encode()))


def _arrow_column(values: NDArray[Any]) -> pyarrow.Array:
    """Return a column made of bytes: `pyarrow.array` would import pandas where there is one, which takes longer than all the rest."""
    import pyarrow

    content = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pyarrow.Array.from_buffers(pyarrow.from_numpy_dtype(values.dtype), len(values), [None, pyarrow.py_buffer(content)])


def read_ledger(path: Path, budget: int, columns: Sequence[str] = LEDGER) -> dict[str, NDArray[Any]]:
    """Return columns of the ledger, as `Result.ledger` has them; those not asked for are not read.

    The file may come from a stranger: types, rows and the sizes of all pages are checked before any of them is unpacked.
    """
    import pyarrow
    import pyarrow.parquet

    with open_regular(path, "The ledger") as file:
        try:
            with pyarrow.parquet.ParquetFile(
                file,
                # Otherwise every row would have its own copy of a word.
                read_dictionary=["origin"],
                thrift_string_size_limit=_FOOTER_TEXT,
                thrift_container_size_limit=_FOOTER_LIST,
            ) as parquet:
                names = _column_names(parquet.metadata, columns)
                _check(parquet.metadata, file, path, budget, names)
                table = parquet.read([column for parts in names.values() for column in parts])
                return {name: _decoded(table, name, parts) for name, parts in names.items()}
        except InvalidInputError:
            raise
        except (pyarrow.ArrowException, OSError, MemoryError, *BAD_VALUE_ERRORS) as error:
            raise InvalidInputError(f"The ledger {str(path)!r} is damaged ({type(error).__name__}).") from None


def _column_names(metadata: pyarrow.parquet.FileMetaData, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of the file that make each column of the ledger."""
    known = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    truth = [name for name in known if name.startswith("ground_truth_")]
    return {name: truth if name == "ground_truth" else [name] for name in columns}


def _check(
    metadata: pyarrow.parquet.FileMetaData, file: BinaryIO, path: Path, budget: int, names: Mapping[str, Sequence[str]]
) -> None:
    rows, groups = metadata.num_rows, metadata.num_row_groups
    if rows > budget:
        raise InvalidInputError(f"The ledger {str(path)!r} has {rows:,} rows for a budget of {budget:,}.")
    if rows != sum(metadata.row_group(number).num_rows for number in range(groups)):
        raise InvalidInputError(f"The ledger {str(path)!r} is damaged: its parts do not have {rows:,} rows together.")
    schema = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    wanted = {part: name for name, parts in names.items() for part in parts}
    if len(schema) < metadata.num_columns or not set(wanted) <= set(schema):
        raise InvalidInputError(f"The ledger {str(path)!r} is damaged: it has the columns {', '.join(list(schema)[:20])}.")
    for part, name in wanted.items():
        column = metadata.schema.column(schema[part])
        expected = "BYTE_ARRAY" if name == "origin" else _PHYSICAL_TYPES[_DTYPES.get(name, "i8")]
        if column.physical_type != expected or column.max_repetition_level:
            raise InvalidInputError(f"The ledger {str(path)!r} is damaged: column {part} is of type {column.physical_type}.")
    size = file.seek(0, 2)
    decoded = _DECODED_BYTES * rows * len(wanted)
    if decoded > limits.unpacked_limit(size):
        raise InvalidInputError(f"The ledger {str(path)!r} would become {decoded:,} bytes out of {size:,}, which none does.")
    for group in range(groups):
        of_group = metadata.row_group(group)
        for part in wanted:
            _check_pages(of_group.column(schema[part]), file, size, of_group.num_rows)


def _check_pages(column: pyarrow.parquet.ColumnChunkMetaData, file: BinaryIO, size: int, rows: int) -> None:
    """Refuse pages that would unpack to more than a column of so many rows needs."""
    start, length = column.data_page_offset, column.total_compressed_size
    if column.has_dictionary_page and column.dictionary_page_offset:
        start = min(start, column.dictionary_page_offset)
    if start < 0 or length < 0 or start + length > size:
        raise ValueError("a column lies outside of its file")
    unpacked = 0
    for pages, (page, values) in enumerate(page_sizes(file, start, length), start=1):
        unpacked += page
        if values > rows + len(ORIGINS) or unpacked > _CHUNK_BYTES + 4 * _DECODED_BYTES * rows:
            raise ValueError("a column unpacks to more than its rows need")
        if pages > 2 + rows // _PAGE_ROWS:
            raise ValueError("a column has more pages than its rows need")


def _decoded(table: pyarrow.Table, name: str, parts: Sequence[str]) -> NDArray[Any]:
    if name == "origin":
        codes = table.column(name).combine_chunks().dictionary_encode()
        known = np.array([ORIGINS.index(word) for word in codes.dictionary.to_pylist()], np.int8)
        return np.asarray(known[np.from_dlpack(codes.indices)]) if len(known) else np.empty(0, np.int8)
    arrays = [_as_numpy(table.column(part)) for part in parts]
    if any(array.dtype != np.dtype(_DTYPES.get(name, "i8")) for array in arrays):
        raise TypeError(name)
    if name == "ground_truth":
        return np.stack(arrays, axis=1) if arrays else np.empty((len(table), 0))
    return arrays[0]


def _as_numpy(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Return a column as an array. `ChunkedArray.to_numpy` does the same, but imports pandas, which takes a second."""
    import pyarrow

    values = column.combine_chunks()
    if pyarrow.types.is_boolean(values.type):
        return np.from_dlpack(values.cast(pyarrow.int8())).astype(np.bool_)
    return np.from_dlpack(values).copy()
