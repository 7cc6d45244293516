"""What the tests of hostile folders share: commands under a limit of memory and time, and ways to make a run folder hostile.

Each of `DAMAGES` changes one file of a run folder so that a careless reader would hang, or take gigabytes of memory or minutes of time.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from safetensors.numpy import save

from run_folders import Commands

MEMORY = 500 * 2**20
"""Bytes that a command may take for a hostile folder beyond what it takes for an honest one."""
SECONDS = 10
"""Seconds of processor time that it may take."""
_PATIENCE = 60
"""Seconds after which it hangs, on a machine that has other things to do, too."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Examined:
    """A command that has ended, or that was killed because it went beyond a limit."""

    def __init__(self, commands: Commands, *arguments: str | Path, memory: int | None = None) -> None:
        command = commands.start(*arguments)
        began = time.monotonic()
        self.peak, self.seconds, self.limit = 0, 0.0, ""
        while command.running:
            self._look(command.pid)
            if memory is not None and self.peak > memory:
                self.limit = f"{self.peak / 2**20:.0f} MB of memory"
            if self.seconds > SECONDS or time.monotonic() > began + _PATIENCE:
                self.limit = f"{self.seconds:.1f} s of processor time, {time.monotonic() - began:.1f} s in all"
            if self.limit:
                os.kill(command.pid, 9)
                break
            time.sleep(0.005)
        self.code, self.said = command.wait(), command.said

    def _look(self, pid: int) -> None:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return
        for line in status.splitlines():
            if line.startswith("VmHWM"):
                self.peak = max(self.peak, 1024 * int(line.split()[1]))
        self.seconds = (int(times[11]) + int(times[12])) / _TICKS

    def check(self) -> None:
        """It kept within the limits, and ended with a result or with one sentence."""
        assert not self.limit, self.limit
        assert self.code in (0, 2), self.said
        assert "Traceback" not in self.said
        if self.code == 2:
            assert len(self.said.splitlines()[-1]) < 5000
            assert all(line.startswith("stax: ") for line in self.said.splitlines()), self.said


# Parts of hostile files


def sparse(path: Path, size: int) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def zeros(path: Path, arrays: int, megabytes: int) -> None:
    """A file of arrays that are zero and compressed very well."""
    empty = io.BytesIO()
    np.lib.format.write_array(empty, np.zeros((1, megabytes * 2**17)))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(arrays):
            archive.writestr(f"array_{number}.npy", empty.getvalue())


def long_header(path: Path) -> None:
    """An array whose header is longer than the memory allowed."""
    size = 700 * 2**20
    spaces = b" " * 2**20
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("id.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", size))
        for _ in range(size // len(spaces)):
            member.write(spaces)


def long_directory(path: Path) -> None:
    """A file with holes whose directory is said to be most of it."""
    size = 2**28
    sparse(path, size)
    with path.open("r+b") as file:
        file.seek(size - 22)
        file.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1000, 1000, size - 2**20, 2**19, 0))


def many_entries(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.npy", b"")


def many_rows(path: Path) -> None:
    """A ledger of 20 million equal rows, for the budget that the configuration then has."""
    table = pyarrow.parquet.read_table(path)
    row = table.slice(0, 1).take(pyarrow.array(np.zeros(2**20, np.int64)))
    with pyarrow.parquet.ParquetWriter(path, row.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(row, row_group_size=2**20)
    change(path.parent / "config.toml", "budget = 100", "budget = 100000000")
    claim(path.parent, evaluations=20 * 2**20, budget=100_000_000)


def long_words(path: Path) -> None:
    """A ledger whose origins are 120 million letters each."""
    table = pyarrow.parquet.read_table(path)
    words = pyarrow.array(["x" * 120_000_000 if number in (3, 5, 7) else "initial" for number in range(len(table))])
    table = table.set_column(table.column_names.index("origin"), "origin", words)
    pyarrow.parquet.write_table(table, path, compression="zstd", use_dictionary=False)


def claim(folder: Path, **words: Any) -> None:
    """Changes what the summary says."""
    path = folder / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **words}))


def weights(path: Path, header: bytes) -> None:
    content = save({"weight": np.zeros(3)})
    size = int.from_bytes(content[:8], "little")
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])


def newest(folder: Path) -> Path:
    return max((folder / "checkpoints").glob("*.npz"))


def sign(checkpoint: Path) -> None:
    """Gives a checkpoint the right checksum, and removes the others."""
    for other in checkpoint.parent.iterdir():
        if other != checkpoint:
            other.unlink()
    with checkpoint.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    checkpoint.with_suffix(".sha256").write_text(f"{digest}  {checkpoint.name}\n")


def long_numbers(path: Path, piece: bytes, count: int, *, before: bytes = b'{"x": [', after: bytes = b"0]}") -> None:
    """Arrays of an honest state beside numbers that are as long as this."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist() if name != "state.json"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in kept.items():
            archive.writestr(name, content)
        archive.writestr("state.json", before + piece * count + after)


def many_areas(path: Path, areas: int, letters: int) -> None:
    """A description with so many reward areas, the first of which has a long name."""
    text = path.read_text()
    start = text.index("[[task_description.reward_areas]]")
    end = text.index("[made_with]")
    names = [letters * "n", *(str(number) for number in range(1, areas))]
    found = "".join(f'[[task_description.reward_areas]]\nname = "{name}"\n' for name in names)
    path.write_text(text[:start] + found + text[end:])
    claim(path.parent, max_reward=[0.0] * areas)


Damage = Callable[[Path], None]

FINISHED: dict[str, Damage] = {
    "config: dotted key": lambda f: change(f / "config.toml", "task =", f"{'a.' * 60_000}a = 1\ntask ="),
    "config: quoted dotted key": lambda f: change(f / "config.toml", "task =", '"a" . ' * 40_000 + "a = 1\ntask ="),
    "config: dotted header": lambda f: change(f / "config.toml", "[made_with]", f"[{'a.' * 60_000}a]\n[made_with]"),
    "config: many tables": lambda f: change(
        f / "config.toml", "[made_with]", "".join(f"[{'a.' * 14}k{n}]\n" for n in range(25_000)) + "[made_with]"
    ),
    "config: lists": lambda f: change(f / "config.toml", "[made_with]", f"[made_with]\nx = [{'[],' * 200_000}]"),
    "config: unfinished strings": lambda f: change(f / "config.toml", "task =", '"""' + '\\"""' * 250_000),
    "config: pipe": lambda f: pipe(f / "config.toml"),
    "config: device": lambda f: device(f / "config.toml"),
    "config: sparse": lambda f: sparse(f / "config.toml", 2**40),
    "config: code_size": lambda f: change(f / "config.toml", "code_size = 3", "code_size = 2000000"),
    "config: sequence_size": lambda f: change(f / "config.toml", "code_size = 3", "code_size = 3\nsequence_size = 9000"),
    "config: hidden_sizes": lambda f: change(f / "config.toml", "    64,\n    32,\n", "    10000,\n" * 8),
    "config: observation_shape": lambda f: change(f / "config.toml", "    4,\n", "    999999999,\n"),
    "config: observation_samples": lambda f: change(
        f / "config.toml", "observation_samples = 3", "observation_samples = 1000000000000"
    ),
    "config: genome_size": lambda f: change(f / "config.toml", "genome_size = 6", "genome_size = 1000000000000"),
    "config: budget": lambda f: change(f / "config.toml", "budget = 100", "budget = 1000000000000"),
    "config: many areas": lambda f: many_areas(f / "config.toml", 9_000, 10),
    "config: long name of an area": lambda f: many_areas(f / "config.toml", 900, 900_000),
    "summary: lists": lambda f: (f / "summary.json").write_text('{"x": [' + "[]," * 5_000_000 + "0]}"),
    "summary: pipe": lambda f: pipe(f / "summary.json"),
    "summary: device": lambda f: device(f / "summary.json"),
    "summary: sparse": lambda f: sparse(f / "summary.json", 2**40),
    "summary: long status": lambda f: claim(f, status="x" * 15_000_000),
    "metrics: 100 MB": lambda f: (f / "metrics.csv").write_bytes(b"evaluations,phase\n" + b"1,x\n" * 25_000_000),
    "metrics: short rows": lambda f: (f / "metrics.csv").write_text(",".join(map(str, range(10**6))) + "\n1" * 10**6),
    "metrics: commas": lambda f: (f / "metrics.csv").write_bytes((b"," * 100 + b"\n") * 400_000),
    "metrics: one line": lambda f: (f / "metrics.csv").write_text("\N{GRINNING FACE}" + "x" * 45_000_000),
    "metrics: sparse": lambda f: sparse(f / "metrics.csv", 2**30),
    "metrics: pipe": lambda f: pipe(f / "metrics.csv"),
    "emitters: 100 MB": lambda f: (f / "emitters.csv").write_bytes(b"id\n" + b"1\n" * 50_000_000),
    "emitters: many": lambda f: (f / "emitters.csv").write_text(
        (f / "emitters.csv").read_text().splitlines()[0] + "\n" + ",,,,,,,,,,,\n" * 2_000_000
    ),
    "ledger: many rows": lambda f: many_rows(f / "ledger.parquet"),
    "ledger: long words": lambda f: long_words(f / "ledger.parquet"),
    "ledger: sparse": lambda f: sparse(f / "ledger.parquet", 2**40),
    "ledger: pipe": lambda f: pipe(f / "ledger.parquet"),
    "archive: many arrays": lambda f: zeros(f / "archives" / "novelty.npz", 12, 60),
    "archive: large array": lambda f: zeros(f / "archives" / "reward.npz", 1, 600),
    "archive: long header": lambda f: long_header(f / "archives" / "novelty.npz"),
    "archive: long directory": lambda f: long_directory(f / "archives" / "novelty.npz"),
    "archive: many entries": lambda f: many_entries(f / "archives" / "novelty.npz"),
    "archive: sparse": lambda f: sparse(f / "archives" / "reward.npz", 2**40),
    "archive: pipe": lambda f: pipe(f / "archives" / "reward.npz"),
    "autoencoder: sparse": lambda f: sparse(f / "autoencoder.safetensors", 2**40),
    "autoencoder: sparse below a limit": lambda f: sparse(f / "autoencoder.safetensors", 2**30),
    "autoencoder: lists": lambda f: weights(
        f / "autoencoder.safetensors", b'{"__metadata__": {"x": [' + b"[]," * 6_000_000 + b"0]}}"
    ),
    "autoencoder: pipe": lambda f: pipe(f / "autoencoder.safetensors"),
    "lock: pipe": lambda f: ((f / ".lock").unlink(missing_ok=True), os.mkfifo(f / ".lock"), claim(f, status="running")),
}
"""Damages to a finished run."""

STATES: dict[str, Damage] = {
    "large text": lambda p: long_numbers(p, b" " * 2**20, 300),
    "lists": lambda p: long_numbers(p, b"[],", 10_000_000),
    "tables": lambda p: long_numbers(p, b'{"a":1},', 4_000_000),
    "letters beyond 16 bits": lambda p: long_numbers(p, b" " * 2**20, 90, before='{"x": ["\N{GRINNING FACE}", '.encode()),
    "many arrays": lambda p: zeros(p, 12, 60),
    "long header": long_header,
    "long directory": long_directory,
    "many entries": many_entries,
}
"""Damages to the state of a search, in a checkpoint or in a file of `save_search`."""


def damaged_checkpoint(damage: Damage) -> Damage:
    def apply(folder: Path) -> None:
        damage(newest(folder))
        sign(newest(folder))

    return apply


INTERRUPTED: dict[str, Damage] = {
    **{f"checkpoint: {name}": damaged_checkpoint(damage) for name, damage in STATES.items()},
    "checkpoint: sparse": lambda f: sparse(newest(f), 2**40),
    "checkpoint: pipe": lambda f: pipe(newest(f)),
    "checksum: sparse": lambda f: sparse(newest(f).with_suffix(".sha256"), 2**40),
    "checksum: device": lambda f: device(newest(f).with_suffix(".sha256")),
    "config: code_size": lambda f: change(f / "config.toml", "code_size = 3", "code_size = 2000000"),
    "config: sequence_size": lambda f: change(f / "config.toml", "code_size = 3", "code_size = 3\nsequence_size = 9000"),
}
"""Damages to an interrupted run."""
