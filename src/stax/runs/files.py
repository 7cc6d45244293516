"""Files that are whole or not there at all, and that run nobody's code when they are opened.

Arrays are kept as `.npz`, the format of NumPy: a zip file of one `.npy` an array. They are written with a fixed date, so the
same arrays give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from stax.errors import InvalidInputError

Arrays = dict[str, NDArray[Any]]

_PART = ".part"
_DATE = (1980, 1, 1, 0, 0, 0)
_MOST_TEXT = 256 * 2**20
"""Bytes of a text file that are read at most; the metrics of half a million evaluations are a few millions."""
_KINDS = "biuf"
_SAMPLE = 2**16
"""Bytes of an array that show whether it can be compressed."""
_ALWAYS = 64 * 2**20
"""Bytes of an array that are unpacked however well they are compressed."""
_MOST_COMPRESSED = 400
"""Times that a larger array may be smaller in its file: compressed as lightly as here, zeros are by 230, and no array by more."""

NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What comes of using values from a file that are not what they should be."""


@contextmanager
def whole(path: Path, *, safe: bool = True) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when all went well and vanishes otherwise.

    Args:
        safe: wait until it is on the disk, so that it survives a power cut.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    try:
        yield unfinished
        if safe:
            _to_disk(unfinished)
        unfinished.replace(path)
        if safe:
            _to_disk(path.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _to_disk(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def is_unfinished(path: Path) -> bool:
    """Whether this is a file that is being written, or that a killed process left half-written."""
    return path.name.startswith(".") and path.name.endswith(_PART)


def remove_unfinished(folder: Path) -> None:
    """Takes away what a killed process left half-written."""
    for path in folder.glob(f".*{_PART}"):
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, safe: bool = True) -> None:
    with whole(path, safe=safe) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")


def write_for_user(path: Path, content: bytes) -> None:
    """A file that the user has named, in a folder that is made if it is not there; one sentence if that is not allowed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as unfinished:
            unfinished.write_bytes(content)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


def read_text(path: Path, what: str, most: int = _MOST_TEXT) -> str:
    """The text of a file of so many bytes at most, or one sentence that says why there is none."""
    try:
        size = path.stat().st_size
        if size > most:
            raise InvalidInputError(f"{what} {str(path)!r} is too large: {size:,} bytes, at most {most:,} are read.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInputError(f"{what} {str(path)!r} is missing.") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"{what} {str(path)!r} is not a text file.") from None
    except OSError as error:
        raise InvalidInputError(f"{what} {str(path)!r} cannot be read: {error.strerror}.") from None


def write_json(path: Path, value: Any, *, safe: bool = True) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n", safe=safe)


def read_json(path: Path, what: str, most: int = _MOST_TEXT) -> Any:
    text = read_text(path, what, most)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # the first also for numbers of thousands of digits
        raise InvalidInputError(f"{what} {str(path)!r} is damaged: it is not JSON.") from None


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """One file of arrays."""
    with whole(path) as unfinished:
        pack_arrays(unfinished, arrays)


def pack_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, str] | None = None) -> None:
    """Arrays, and texts beside them, lightly compressed where that helps, at a path that `whole` has given."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = _entry(f"{name}.npy", compressed=_compresses(array))
            with archive.open(entry, "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array).reshape(np.shape(array)), allow_pickle=False)
        for name, text in (texts or {}).items():
            with archive.open(_entry(name, compressed=True), "w", force_zip64=True) as member:
                member.write(text.encode())


def _entry(name: str, *, compressed: bool) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    if compressed:
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry._compresslevel = 1  # type: ignore[attr-defined]
    return entry


def _compresses(array: NDArray[Any]) -> bool:
    """Whether it is worth the time, by a sample: genomes and places are as good as random, and most of the bytes."""
    if array.nbytes < _SAMPLE or array.ndim == 0:
        return True
    # From its middle, since archives begin with policies that are alike.
    rows = max(1, _SAMPLE // (array.nbytes // len(array) or 1))
    first = (len(array) - rows) // 2
    sample = np.ascontiguousarray(array[max(first, 0) : max(first, 0) + rows]).tobytes()
    return len(zlib.compress(sample, 1)) < 0.8 * len(sample)


def read_arrays(path: Path, what: str, *, most_rows: int, text: str | None = None) -> tuple[Arrays, str]:
    """The arrays of a file, and the text of this name beside them.

    The file may come from a stranger. Before anything is unpacked, the headers are looked at: arrays of numbers only, none with
    more rows than `most_rows`, and as many bytes as their shapes say.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if sum(entry.compress_size for entry in entries) > path.stat().st_size:
                raise InvalidInputError(f"{what} {str(path)!r} is damaged: it claims to hold more than it is long.")
            arrays = {}
            for entry in entries:
                if entry.filename != text:
                    _check_entry(archive, entry, path, what, most_rows)
            for entry in entries:
                if entry.filename != text:
                    with archive.open(entry) as member:
                        arrays[entry.filename.removesuffix(".npy")] = npy.read_array(member, allow_pickle=False)
            return arrays, _read_member_text(archive, text, path, what) if text is not None else ""
    except InvalidInputError:
        raise
    except FileNotFoundError:
        raise InvalidInputError(f"{what} {str(path)!r} is missing.") from None
    except OSError as error:
        raise InvalidInputError(f"{what} {str(path)!r} cannot be read: {error.strerror or error}.") from None
    except _NO_ARRAYS as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError(f"{what} {str(path)!r} is damaged: {words}.") from None


_NO_ARRAYS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, TokenError, EOFError),
    *(MemoryError, RuntimeError, SyntaxError, *NONSENSE),
)
"""What reading a file raises that is not of arrays, or is encrypted, or was made to confuse."""


def _check_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, what: str, most_rows: int) -> None:
    name = entry.filename
    if not name.endswith(".npy") or name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
        raise InvalidInputError(f"{what} {str(path)!r} holds {name!r}, which does not belong there.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidInputError(f"{what} {str(path)!r}: {name} is compressed in a way that is not read.")
    with archive.open(entry) as member:
        version = npy.read_magic(member)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(member)
        header = member.tell()
    if dtype.hasobject or dtype.kind not in _KINDS:
        raise InvalidInputError(f"{what} {str(path)!r}: {name} is an array of type {dtype}; only numbers are read.")
    if shape and shape[0] > most_rows:
        raise InvalidInputError(
            f"{what} {str(path)!r}: {name} has {shape[0]:,} rows, more than the {most_rows:,} there can be."
        )
    if header + math.prod(shape) * dtype.itemsize != entry.file_size:
        raise InvalidInputError(f"{what} {str(path)!r} is damaged: {name} is not as long as its shape {shape} says.")
    if entry.file_size > max(_ALWAYS, _MOST_COMPRESSED * entry.compress_size):
        raise InvalidInputError(
            f"{what} {str(path)!r}: {name} would become {entry.file_size:,} bytes out of {entry.compress_size:,}, which no array does."
        )


def _read_member_text(archive: zipfile.ZipFile, name: str, path: Path, what: str) -> str:
    if archive.getinfo(name).file_size > _MOST_TEXT:
        raise InvalidInputError(f"{what} {str(path)!r}: {name} is too large.")
    return archive.read(name).decode()


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def inside(folder: Path, *names: str) -> Path:
    """A path inside the folder, which must not lead out of it by a link."""
    path = folder.joinpath(*names)
    try:
        stays = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        stays = False
    if not stays:
        raise InvalidInputError(f"{str(path)!r} leads out of the run folder.")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InvalidInputError(f"{str(path)!r} is neither a file nor a folder.")
    return path
