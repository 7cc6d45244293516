"""Files of arrays in NumPy's `.npz` format, a zip file of one `.npy` per array, with texts beside them.

They are written with a fixed date, so the same arrays give the same bytes. Reading them runs no code. A sample of each array
shows whether to compress it: genomes and positions are as good as random, and compressing them took most of the time and saved
nothing.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.runs import limits
from stax.runs.files import BAD_VALUE_ERRORS, atomic_write, open_regular, read_bytes

Arrays = dict[str, NDArray[Any]]

_DATE = (1980, 1, 1, 0, 0, 0)
_DTYPE_KINDS = "biuf"
_SAMPLE = 2**16
"""Bytes of an array that show whether it can be compressed."""
_ENTRIES = 10_000
"""Arrays and texts of a file."""
_HEADER_BYTES = 2**16
"""Bytes of the header of an array."""
_TEXT_BYTES = 2**22
"""Bytes of a text that may be compressed however well."""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of arrays atomically."""
    with atomic_write(path) as file:
        pack_arrays(file, arrays)


def pack_arrays(
    file: BinaryIO, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, str] | None = None, *, level: int = 1
) -> None:
    """Write arrays, and texts beside them, into an open file, compressed where that helps.

    What would be compressed by more than a reader allows is not compressed.

    Args:
        file: the file, open for writing and reading.
        arrays: the arrays by name.
        texts: the texts by name.
        level: how hard to compress, from 1 (fast) to 9 (small).
    """
    contents = {name: text.encode() for name, text in (texts or {}).items()}
    entries = _pack(file, arrays, contents, level, plain=())
    too_small = _too_compressed(entries)
    if too_small:
        file.seek(0)
        file.truncate()
        _pack(file, arrays, contents, level, plain=too_small)


def _pack(
    file: BinaryIO, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, bytes], level: int, plain: Sequence[str]
) -> list[zipfile.ZipInfo]:
    """Write the zip file with these entries not compressed."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            compressed = f"{name}.npy" not in plain and (level > 1 or _compresses(array))
            entry = _entry(f"{name}.npy", level if compressed else None)
            with archive.open(entry, "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array).reshape(np.shape(array)), allow_pickle=False)
        for name, content in texts.items():
            with archive.open(_entry(name, None if name in plain else level), "w", force_zip64=True) as member:
                member.write(content)
        return archive.infolist()


def _entry(name: str, level: int | None) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    if level is not None:
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry._compresslevel = level  # type: ignore[attr-defined]
    return entry


def _compresses(array: NDArray[Any]) -> bool:
    """Return whether compressing is worth the time, by a sample: genomes and places are as good as random, and most of the bytes."""
    if array.nbytes < _SAMPLE or array.ndim == 0:
        return True
    # From its middle, since archives begin with policies that are alike.
    rows = max(1, _SAMPLE // (array.nbytes // len(array) or 1))
    first = (len(array) - rows) // 2
    sample = np.ascontiguousarray(array[max(first, 0) : max(first, 0) + rows]).tobytes()
    return len(zlib.compress(sample, 1)) < 0.8 * len(sample)


def _too_compressed(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the entries that are compressed so well that a reader would not unpack all of them."""
    well = [entry for entry in entries if entry.file_size > limits.UNPACKED_RATIO * entry.compress_size]
    texts = sum(entry.file_size for entry in well if not entry.filename.endswith(".npy"))
    too_large = sum(entry.file_size for entry in well) > limits.UNPACKED_BYTES or texts > _TEXT_BYTES
    return [entry.filename for entry in well] if too_large else []


def read_arrays(
    path: Path,
    what: str,
    *,
    most_rows: Callable[[str], int | None],
    text: str | None = None,
    most_bytes: int | None = None,
    most_unpacked: int | None = None,
) -> tuple[Arrays, bytes]:
    """Return the arrays of a file, and the content of the text of this name beside them.

    The file may come from a stranger. Before anything is unpacked, its directory and the headers of all arrays are checked: arrays of
    numbers only, as many bytes as their shapes say, no more rows than allowed, and no more bytes together than a file of this size may
    unpack to.

    Args:
        path: the file.
        what: a name for it, at the beginning of a sentence.
        most_rows: called with the name of an array, returns how many rows it may have; None for any number.
        text: the name of the text; there is none if None.
        most_bytes: bytes that the file may have; any number if None.
        most_unpacked: bytes that the file may unpack to; if None, as many as a file of its size may.
    """
    where = f"{what} {str(path)!r}"
    with open_regular(path, what, most_bytes) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_unpacked(archive, most_unpacked, where)
                return _read(archive, file.seek(0, 2), where, most_rows, text)
        except InvalidInputError:
            raise
        except OSError as error:
            raise InvalidInputError(f"{where} cannot be read: {error.strerror or error}.") from None
        except _DAMAGED_FILE_ERRORS as error:
            words = " ".join(str(error).split()) or type(error).__name__
            raise InvalidInputError(f"{where} is damaged: {words[:200]}.") from None


_DAMAGED_FILE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, TokenError, EOFError),
    *(MemoryError, RuntimeError, SyntaxError, *BAD_VALUE_ERRORS),
)
"""Exceptions raised by reading a file that does not hold arrays, is encrypted, or was made to mislead."""


def read_array(path: Path, what: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array of an `.npy` file, which must hold numbers in this shape, or raise one sentence.

    Args:
        path: the file.
        what: a name for it, at the beginning of a sentence.
        shape: shape that the array must have, so that no more is read than an array of that shape has.
    """
    content = read_bytes(path, what, _HEADER_BYTES + 64 + 16 * math.prod(shape))
    try:
        found, dtype, header = _read_header(BytesIO(content))
        if dtype.hasobject or dtype.kind not in _DTYPE_KINDS:
            raise InvalidInputError(f"{what} {str(path)!r} is an array of type {str(dtype)[:100]}; only numbers are read.")
        if found != shape:
            raise InvalidInputError(f"{what} {str(path)!r} must have the shape {shape}, not {found}.")
        if header + math.prod(shape) * dtype.itemsize != len(content):
            raise InvalidInputError(f"{what} {str(path)!r} is damaged: it is not as long as its shape {shape} says.")
        return np.asarray(npy.read_array(BytesIO(content), allow_pickle=False))
    except InvalidInputError:
        raise
    except _DAMAGED_FILE_ERRORS:
        raise InvalidInputError(f"{what} {str(path)!r} is not an array in NumPy's .npy format.") from None


def _check_unpacked(archive: zipfile.ZipFile, most: int | None, where: str) -> None:
    size = sum(entry.file_size for entry in archive.infolist())
    if most is not None and size > most:
        raise InvalidInputError(f"{where} would unpack to {size:,} bytes, more than the {most:,} that are read.")


def _read(
    archive: zipfile.ZipFile, size: int, where: str, most_rows: Callable[[str], int | None], text: str | None
) -> tuple[Arrays, bytes]:
    entries = archive.infolist()
    if len(entries) > _ENTRIES:
        raise InvalidInputError(f"{where} has {len(entries):,} parts, more than the {_ENTRIES:,} that are read.")
    if sum(entry.compress_size for entry in entries) > size:
        raise InvalidInputError(f"{where} is damaged: it claims to hold more than it is long.")
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidInputError(f"{where}: {entry.filename} is compressed in a way that is not read.")
    too_small = _too_compressed(entries)
    if too_small:
        total, packed = (
            sum(sizes) for sizes in zip(*((entry.file_size, entry.compress_size) for entry in entries), strict=True)
        )
        raise InvalidInputError(
            f"{where} would become {total:,} bytes out of {packed:,}: {too_small[0]} is compressed more than any that stax writes."
        )
    arrays = [entry for entry in entries if entry.filename != text]
    for entry in arrays:
        _check_array(archive, entry, where, most_rows(entry.filename.removesuffix(".npy")))
    found = {}
    for entry in arrays:
        with archive.open(entry) as member:
            found[entry.filename.removesuffix(".npy")] = npy.read_array(member, allow_pickle=False)
    return found, b"" if text is None else _read_text(archive, text, where)


def _check_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str, most_rows: int | None) -> None:
    name = entry.filename
    if not name.endswith(".npy") or name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
        raise InvalidInputError(f"{where} holds {name[:100]!r}, which does not belong there.")
    with archive.open(entry) as member:
        shape, dtype, header = _read_header(member)
    if dtype.hasobject or dtype.kind not in _DTYPE_KINDS:
        raise InvalidInputError(f"{where}: {name} is an array of type {str(dtype)[:100]}; only numbers are read.")
    if shape and most_rows is not None and shape[0] > most_rows:
        raise InvalidInputError(f"{where}: {name} has {shape[0]:,} rows, more than the {most_rows:,} there can be.")
    if header + math.prod(shape) * dtype.itemsize != entry.file_size:
        raise InvalidInputError(f"{where} is damaged: {name} is not as long as its shape {shape} says.")


def _read_header(member: Any) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return the shape and type of an array, and the length of its header, of which no more is read than a header has."""
    start = member.read(npy.MAGIC_LEN)
    version = npy.read_magic(BytesIO(start))
    length = struct.Struct("<H" if version == (1, 0) else "<I")
    start += member.read(length.size)
    size = length.unpack(start[npy.MAGIC_LEN :])[0]
    if size > _HEADER_BYTES:
        raise ValueError(f"the header of an array is {size:,} bytes long")
    content = BytesIO(start + member.read(size))
    content.seek(npy.MAGIC_LEN)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(content)
    return shape, dtype, len(start) + size


def _read_text(archive: zipfile.ZipFile, name: str, where: str) -> bytes:
    if archive.getinfo(name).file_size > limits.STATE_BYTES:
        raise InvalidInputError(f"{where}: {name} is too large.")
    return archive.read(name)
