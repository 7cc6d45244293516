"""Damage to run folders, as by a bad disk, a mistake or an attacker."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, 10**30, -(10**9), 1e308, float("nan"), float("inf")),
    *("", "x", "=1+1", "\x1b[31mred", "../../etc/passwd", "x" * 100_000, [], [[]], {}, [1] * 1000),
)


@dataclass(frozen=True)
class Damage:
    """The damage done, and the damaged file."""

    kind: str
    file: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.file} {self.detail}".rstrip()


def damage_folder(folder: Path, chance: random.Random, victim: Path) -> Damage:
    """Damage one file of a run folder; `victim` is a file outside of it that links may point to."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    path = chance.choice(files)
    kinds = ["bytes", "cut", "replaced"]
    kinds += {".json": ["values"] * 4, ".toml": ["values"] * 4, ".csv": ["values"] * 4, ".npz": ["arrays"] * 4}.get(
        path.suffix, []
    )
    kind = chance.choice(kinds)
    if kind == "replaced":
        detail = _replace(path, chance, victim)
    else:
        damages = {"bytes": _change_bytes, "cut": _cut, "values": _change_values, "arrays": _change_arrays}
        detail = damages[kind](path, chance)
    mark = path.with_suffix(".sha256")
    if path.suffix == ".npz" and mark.is_file() and path.is_file() and not path.is_symlink() and chance.random() < 0.8:
        if path.stat().st_size < 2**28:
            mark.write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    return Damage(kind, str(path.relative_to(folder)), detail)


def _change_bytes(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    count = chance.choice((1, 8, 64))
    for _ in range(count):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(bytes(content))
    return f"{count} bytes"


def _cut(path: Path, chance: random.Random) -> str:
    size = path.stat().st_size
    length = chance.choice((0, size // 2, max(size - 1, 0)))
    os.truncate(path, length)
    return f"to {length} bytes"


def _replace(path: Path, chance: random.Random, victim: Path) -> str:
    kind = chance.choice(
        ("link outside", "endless link", "fifo", "folder", "large and sparse", "nothing", "random", "temporary links")
    )
    if kind == "temporary links":
        # Under names that an earlier version gave to temporary files.
        for number in range(1, 40):
            path.with_name(f".{path.name}.{os.getpid() + number}.part").symlink_to(victim)
        return kind
    path.unlink()
    if kind == "link outside":
        path.symlink_to(victim)
    elif kind == "endless link":
        path.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large and sparse":
        with path.open("wb") as file:
            file.truncate(chance.choice((2**30, 2**40)))
    elif kind == "random":
        path.write_bytes(chance.randbytes(chance.choice((10, 10_000, 1_000_000))))
    return kind


def _change_values(path: Path, chance: random.Random) -> str:
    """Replace a value of the file by an odd one."""
    value = chance.choice(ODD_VALUES)
    text = path.read_text(errors="replace")
    if path.suffix == ".json":
        table = json.loads(text)
        name = _change_inside(table, chance, value)
        path.write_text(json.dumps(table))
        return f"{name} = {str(value)[:40]!r}"
    separator = r"(?<== ).+" if path.suffix == ".toml" else r"[^,\n]+"
    found = list(re.finditer(separator, text))
    if not found:
        return "nothing"
    place = chance.choice(found)
    written = json.dumps(value) if path.suffix == ".toml" else str(value)
    path.write_text(text[: place.start()] + written + text[place.end() :])
    return f"{place.group()[:40]!r} -> {written[:40]!r}"


def _change_inside(value: Any, chance: random.Random, odd: Any) -> str:
    """Change or remove something at a random depth of a structure made of dictionaries and lists."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return "nothing"
    key = chance.choice(keys)
    inner = value[key]
    if isinstance(inner, (dict, list)) and inner and chance.random() < 0.8:
        return f"{key}.{_change_inside(inner, chance, odd)}"
    if chance.random() < 0.3:
        del value[key]
        return f"without {key}"
    value[key] = odd
    return str(key)


def _change_arrays(path: Path, chance: random.Random) -> str:
    """Write the file again with one of its arrays, or its text, changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(list(members))
    if not name.endswith(".npy"):
        table = json.loads(members[name])
        detail = _change_inside(table, chance, chance.choice(ODD_VALUES))
        members[name] = json.dumps(table).encode()
    else:
        array = np.load(io.BytesIO(members[name]))
        changes: dict[str, Callable[[], NDArray[Any] | None]] = {
            "longer": lambda: np.concatenate([array, array]) if array.ndim else np.zeros(7),
            "shorter": lambda: array[: len(array) // 2] if array.ndim else np.zeros(()),
            "another shape": lambda: array.reshape(-1, 1),
            "another type": lambda: array.astype(chance.choice(("f2", "f4", "i1", "u8", "?", "c8"))),
            "text": lambda: array.astype("U8"),
            "not numbers": lambda: np.full(array.shape, np.nan),
            "huge numbers": lambda: np.full(array.shape, 1e300),
            "negative": lambda: -1 - np.nan_to_num(array.astype(float)),
            "60 MB of zeros": lambda: np.zeros((60_000, 125)),
            "gone": lambda: None,
        }
        detail = chance.choice(list(changes))
        with np.errstate(all="ignore"):
            changed = changes[detail]()
        if changed is None:
            del members[name]
        else:
            file = io.BytesIO()
            np.save(file, changed)
            members[name] = file.getvalue()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return f"{name}: {detail}"
