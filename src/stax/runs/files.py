"""Reading and writing files safely.

A file is written completely or not at all, and nothing that a stranger put in its place can redirect a write, hang a read or
fill the memory. Libraries are given the open file and never its path, which some would treat as a network address. A reader
checks the open file, not the path: regular files only, opened without waiting, and at most so many bytes.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from stax.errors import InvalidInputError
from stax.runs import limits

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_UNFINISHED = re.compile(r"\..*\.([0-9a-f]{16}|\d+)\.part", re.DOTALL)
"""Names of files that are being written; earlier versions had the number of the process in place of the random digits."""
_NAME_LENGTH = 100
"""Characters of a file's name that the name of its temporary file begins with; file systems limit the length of names."""

BAD_VALUE_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions raised when values from a file are used that are not what they should be."""


# Writing


@contextmanager
def atomic_write(path: Path, *, safe: bool = True) -> Iterator[BinaryIO]:
    """Yield a new binary file, open for writing and reading, that replaces `path` when the block ends without an exception.

    After an exception the new file is removed and `path` is as it was. The file is created exclusively under an unpredictable name, so
    that no link put there beforehand can lead the write elsewhere.

    Args:
        path: the file to write. A link in its place is replaced, not followed.
        safe: wait until the file is on the disk, so that it survives a power cut.
    """
    unfinished = path.with_name(f".{path.name[:_NAME_LENGTH]}.{secrets.token_hex(8)}.part")
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK | _FLAGS, 0o666)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            if safe:
                os.fsync(file.fileno())
        unfinished.replace(path)
        if safe:
            _sync_folder(path.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _sync_folder(path: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_unfinished(path: Path) -> bool:
    """Return whether this is a file that is being written, or that a killed process left half-written."""
    return _UNFINISHED.fullmatch(path.name) is not None and (path.is_symlink() or not path.is_dir())


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed process left half-written. Of a link, the link itself is removed; folders stay."""
    for path in folder.glob(".*.part"):
        if is_unfinished(path):
            with suppress(IsADirectoryError):
                path.unlink(missing_ok=True)


def open_to_append(path: Path) -> BinaryIO:
    """Open a regular file to write at its end, creating it if need be; a link is refused with an `OSError`."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | _NO_LINK | _FLAGS
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))
    return os.fdopen(descriptor, "ab")


def write_text(path: Path, text: str, *, safe: bool = True) -> None:
    """Write a text file atomically."""
    with atomic_write(path, safe=safe) as file:
        file.write(text.encode())


def write_for_user(path: Path, content: bytes) -> None:
    """Write a file that the user has named, making its folder if need be; raise one sentence if that is not allowed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(content)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None


def write_json(path: Path, value: Any, *, safe: bool = True) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2) + "\n", safe=safe)


# Reading


def open_regular(path: Path, what: str, most: int | None = None) -> BinaryIO:
    """Open a regular file for reading, or raise one sentence that says why that is not possible.

    A pipe or a device is refused without waiting for it, and so is a long file that is nearly all holes. What is checked is the open
    file, so nothing can be put in its place in between.

    Args:
        path: the file.
        what: a name for it, at the beginning of a sentence.
        most: bytes that it may have; any number if None.
    """
    try:
        # A link within a run folder is allowed, and has been resolved here: the path that is opened must not be one.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK | _FLAGS
        descriptor = os.open(os.path.realpath(path), flags)
    except FileNotFoundError:
        raise InvalidInputError(f"{what} {str(path)!r} is missing.") from None
    except OSError as error:
        raise InvalidInputError(f"{what} {str(path)!r} cannot be read: {error.strerror}.") from None
    try:
        _check_status(descriptor, path, what, most)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _check_status(descriptor: int, path: Path, what: str, most: int | None) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInputError(f"{what} {str(path)!r} cannot be read: it is not a regular file.")
    if most is not None and status.st_size > most:
        raise InvalidInputError(f"{what} {str(path)!r} is too large: {status.st_size:,} bytes, at most {most:,} are read.")
    on_disk = 512 * getattr(status, "st_blocks", 0)
    # Some file systems do not say how many blocks a file has.
    known = on_disk or _is_hole(descriptor)
    if known and status.st_size > max(limits.UNPACKED_BYTES, limits.SPARSE_RATIO * on_disk):
        raise InvalidInputError(
            f"{what} {str(path)!r} is damaged: it is {status.st_size:,} bytes long, but only {on_disk:,} of them are on the disk."
        )


def _is_hole(descriptor: int) -> bool:
    """Return whether a file has no data at all, as far as the file system tells."""
    if not hasattr(os, "SEEK_DATA"):
        return False
    try:
        os.lseek(descriptor, 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    os.lseek(descriptor, 0, os.SEEK_SET)
    return False


def read_bytes(path: Path, what: str, most: int) -> bytes:
    """Return the content of a regular file of at most so many bytes, or raise one sentence."""
    with open_regular(path, what, most) as file:
        try:
            content = file.read(most + 1)
        except OSError as error:
            raise InvalidInputError(f"{what} {str(path)!r} cannot be read: {error.strerror}.") from None
    if len(content) > most:
        raise InvalidInputError(f"{what} {str(path)!r} is too large: at most {most:,} bytes are read.")
    return content


def read_text(path: Path, what: str, most: int) -> str:
    """Return the text of a regular file of at most so many bytes, or raise one sentence."""
    try:
        text = read_bytes(path, what, most).decode()
    except UnicodeDecodeError:
        raise InvalidInputError(f"{what} {str(path)!r} is not a text file.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_json(path: Path, what: str, *, most: int, values: int) -> Any:
    """Return what a JSON file of at most so many bytes and values says, or raise one sentence."""
    return checked_json(read_bytes(path, what, most), f"{what} {str(path)!r}", values)


def checked_json(content: bytes, where: str, values: int) -> Any:
    """Return what a JSON text of at most so many values says, or raise one sentence that begins with where it stands."""
    try:
        return parse_json(content, values)
    except UnicodeDecodeError:
        raise InvalidInputError(f"{where} is not a text file.") from None
    except OverflowError as error:
        raise InvalidInputError(f"{where} is damaged: {error}.") from None
    except (ValueError, RecursionError):  # the first also for numbers of thousands of digits
        raise InvalidInputError(f"{where} is damaged: it is not JSON.") from None


def parse_json(content: bytes, values: int) -> Any:
    """Return what a JSON text says; raise `OverflowError` if it could have more than so many names and values.

    An empty list is two bytes of text and seventy of memory, so the size of the text says little.
    """
    if sum(content.count(mark) for mark in (b",", b":", b"[", b"{")) > values:
        raise OverflowError(f"it has more than {values:,} names and values")
    return json.loads(content.decode())


def read_csv(path: Path, what: str, most: int) -> Iterator[list[str]]:
    """Yield the rows of a CSV file of at most so many bytes that are not empty, or raise one sentence."""
    with open_regular(path, what, most) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        try:
            yield from filter(None, csv.reader(text, strict=True))
        except csv.Error as error:
            raise InvalidInputError(f"{what} {str(path)!r} is damaged: {error}.") from None
        except UnicodeDecodeError:
            raise InvalidInputError(f"{what} {str(path)!r} is not a text file.") from None
        except OSError as error:
            raise InvalidInputError(f"{what} {str(path)!r} cannot be read: {error.strerror}.") from None


def checksum(file: BinaryIO) -> str:
    """Return the SHA-256 digest of an open file, from its beginning."""
    file.seek(0)
    digest = hashlib.sha256()
    while part := file.read(2**20):
        digest.update(part)
    return digest.hexdigest()


def inside(folder: Path, *names: str) -> Path:
    """Return a path inside the folder, which must not lead out of it by a link."""
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
