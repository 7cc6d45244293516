"""Records of a stranger: whatever they hold, they are read within limits or refused in one sentence, and nothing of theirs runs."""

from __future__ import annotations

import io
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stax
from hostile_folders import MEMORY, Examined, device, long_directory, long_header, many_entries, pipe, sparse, zeros
from run_folders import LEARNING
from stax import InvalidInputError
from stax.analysis.comparison import compare_runs
from stax.analysis.measures import archive_ends
from stax.analysis.records.making import write_record
from stax.analysis.records.record import TEXT, read_record
from stax.cli.main import main
from stax.reproduction.plan import chosen_items
from stax.reproduction.selection import paper_runs

SMALL = {**LEARNING, "archive_additions": 12}
READERS: dict[str, list[str]] = {
    "compare": ["compare", "FOLDER"],
    "reproduce": ["reproduce", "all", "--records", "FOLDER", "--out", "OUT", "--quiet"],
    "verify": ["reproduce", "--verify", "1", "--records", "FOLDER"],
}
"""Commands that read records."""


@pytest.fixture(scope="module")
def record(tmp_path_factory) -> Path:
    """The record of a run with an autoencoder, emitters and rewards; it is only read."""
    out = tmp_path_factory.mktemp("record")
    stax.run("redundant-arm", algo="stax", budget=400, seed=1, workers=1, out=out / "run", **SMALL)
    path = write_record(out / "run", out / "records")
    told = json.loads(zipfile.ZipFile(path).read(TEXT))
    assert told["emitters"]
    assert told["learned"]["split"]
    return path


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def change(path: Path, alter: Callable[[dict[str, Any]], None]) -> None:
    """Changes the text of a record."""
    contents = parts(path)
    told = json.loads(contents[TEXT])
    alter(told)
    write(path, {**contents, TEXT: json.dumps(told).encode()})


def put_text(path: Path, text: bytes) -> None:
    write(path, {**parts(path), TEXT: text})


def reconfigure(path: Path, before: str, after: str) -> None:
    def alter(told: dict[str, Any]) -> None:
        assert before in told["config"]
        told["config"] = told["config"].replace(before, after, 1)

    change(path, alter)


# Files that would hang a reader, or fill its memory

LARGE: dict[str, Callable[[Path], None]] = {
    "sparse": lambda p: sparse(p, 2**40),
    "sparse below a limit": lambda p: sparse(p, 2**19),
    "pipe": pipe,
    "device": device,
    "zeros": lambda p: zeros(p, 12, 60),
    "long header": long_header,
    "long directory": long_directory,
    "many entries": many_entries,
    "spaces": lambda p: put_text(p, b" " * 300 * 2**20),
    "lists": lambda p: put_text(p, b'{"x": [' + b"[]," * 2_500_000 + b"0]}"),
    "deep lists": lambda p: put_text(p, b"[" * 20_000 + b"]" * 20_000),
    "a long number": lambda p: put_text(p, b'{"format": ' + b"9" * 1_000_000 + b"}"),
    "config: dotted key": lambda p: reconfigure(p, "task =", f"{'a.' * 60_000}a = 1\ntask ="),
    "config: long": lambda p: reconfigure(p, "task =", f"x = '{'y' * 5_000_000}'\ntask ="),
    "config: many areas": lambda p: reconfigure(
        p, "[[task_description.reward_areas]]", '[[task_description.reward_areas]]\nname = "n"\n' * 9_000
    ),
    "config: budget": lambda p: reconfigure(p, "budget = 400", "budget = 1000000000000"),
    "config: code_size": lambda p: reconfigure(p, "code_size = 10", "code_size = 2000000"),
}


def reading(name: str, folder: Path, out: Path) -> list[str]:
    return [word.replace("FOLDER", str(folder)).replace("OUT", str(out)) for word in READERS[name]]


@pytest.fixture(scope="module")
def honest(commands, record, tmp_path_factory) -> dict[str, int]:
    """Bytes of memory that every command takes for an honest record."""
    out = tmp_path_factory.mktemp("honest")
    return {name: Examined(commands, *reading(name, record.parent, out)).peak for name in READERS}


@pytest.mark.skipif(sys.platform != "linux", reason="memory and time of a process are read from /proc")
@pytest.mark.parametrize("damage", LARGE)
def test_a_record_made_to_hang_a_reader_or_to_fill_its_memory(damage, commands, record, honest, tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    LARGE[damage](Path(shutil.copy(record, folder)))
    for name in READERS:
        examined = Examined(commands, *reading(name, folder, tmp_path / "out"), memory=honest[name] + MEMORY)
        examined.check()
        assert examined.code == 2, examined.said
        assert len(examined.said.splitlines()) == 1


# Values and arrays that no writer has written

WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    float("nan"),
    float("inf"),
    "x",
    "\x1b[2J",
    [],
    {},
    [[]],
    [None],
    {"a": {}},
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every value in a text is."""
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in entries:
        yield from places(inner, (*path, name))


def use(path: Path) -> str:
    """Read a record as the commands do, and return the sentence with which it is refused, if it is."""
    try:
        found = read_record(path)
        compare_runs([found])
        archive_ends(found)
        runs = paper_runs([found], chosen_items("all"))
        assert runs.words.isprintable()
    except InvalidInputError as error:
        return str(error)
    assert found.core_seconds is None or found.core_seconds >= 0
    assert np.isfinite(found.novelty_archive.ground_truth).all()
    assert np.isfinite(found.reward_archive.reward).all()
    return ""


def test_every_value_of_the_text_may_be_wrong(record, tmp_path):
    contents = parts(record)
    told = json.loads(contents[TEXT])
    path = tmp_path / record.name
    refused = set()
    for place in places(told):
        for wrong in WRONG:
            altered = json.loads(contents[TEXT])
            inner = altered
            for name in place[:-1]:
                inner = inner[name]
            inner[place[-1]] = wrong
            # Stored, which is quicker.
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in {**contents, TEXT: json.dumps(altered).encode()}.items():
                    archive.writestr(name, content)
            if why := use(path):
                refused.add(place)
            assert "\n" not in why
    decisive = {
        *(("format",), ("version",), ("config",), ("digests", "ledger"), ("highest_reward",), ("budget",), ("emitters",)),
        *(("summary", "evaluations"), ("summary", "status"), ("summary", "coverage"), ("summary", "max_reward")),
        *(("learned", "similarity"), ("learned", "split"), ("learned", "split", "area"), ("learned", "split", "lowest")),
    }
    assert decisive <= refused


def test_every_value_of_the_text_may_be_missing(record, tmp_path):
    contents = parts(record)
    path = tmp_path / record.name
    for place in places(json.loads(contents[TEXT])):
        altered = json.loads(contents[TEXT])
        inner = altered
        for name in place[:-1]:
            inner = inner[name]
        del inner[place[-1]]
        write(path, {**contents, TEXT: json.dumps(altered).encode()})
        use(path)


def as_file(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def test_every_array_may_be_wrong(record, tmp_path):
    contents = parts(record)
    path = tmp_path / record.name
    for name in contents:
        if name == TEXT:
            continue
        array = np.load(io.BytesIO(contents[name]))
        largest = np.full(array.shape, 2**64 - 1, np.uint64)
        wrong: list[Any] = [
            array[..., :-1],
            array[..., None],
            array.reshape(-1)[:0],
            np.concatenate([array, array]),
            array.astype(np.float32),
            np.full(array.shape, np.nan),
            np.full(array.shape, -1, np.int64),
            largest,
            largest // 2 + 1,
            array.astype(bool),
            np.array(0),
            np.array([{"a": 1}], dtype=object),
            np.array(["text"]),
        ]
        for other in wrong:
            write(path, {**contents, name: as_file(other)})
            why = use(path)
            # Another array of the same type and shape may be that of another run.
            if other.dtype.kind != array.dtype.kind or other.ndim != array.ndim or (other is largest and array.size):
                assert why, (name, other.dtype, other.shape)
        write(path, {other: content for other, content in contents.items() if other != name})
        assert use(path) or name == "observed.npy"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('name = "redundant-arm"', 'name = "\\u001b[2Jevil"', ""),
        ('task = "redundant-arm"', 'task = "nowhere_to_be_found:Task"', "No record is of a run"),
        ('task = "redundant-arm"', 'task = "gym:nowhere_to_be_found:Env-v0"', "No record is of a run"),
        ('task = "redundant-arm"', 'task = "curling"', "are not those of 'curling'"),
        ('autoencoder = "auto"', 'autoencoder = "nowhere_to_be_found:Net"', ""),
        ('algo = "stax"', 'algo = "taxi"', "There is no method 'taxi'"),
        ("grid_cells = 50", "grid_cells = 2", "more steps than the grid has cells"),
        ("grid_cells = 50", "grid_cells = 1000000000000000", "grid"),
        ("seed = 1\n", "seed = -1\n", "seed must be"),
    ],
)
def test_a_configuration_that_is_not_the_runs(before, after, words, record, tmp_path):
    path = Path(shutil.copy(record, tmp_path))
    reconfigure(path, before, after)
    why = use(path)
    assert words in why
    assert "nowhere_to_be_found" not in sys.modules


def test_code_that_a_record_names_is_not_run_by_any_command(record, tmp_path, monkeypatch, capsys):
    marker = tmp_path / "code-was-run"
    (tmp_path / "stranger.py").write_text(f"open({str(marker)!r}, 'w').write('here')\nclass Task: pass\n")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "records"
    folder.mkdir()
    for number, (before, after) in enumerate(
        [
            ('task = "redundant-arm"', 'task = "stranger:Task"'),
            ('task = "redundant-arm"', 'task = "gym:stranger:Task-v0"'),
            ('autoencoder = "auto"', 'autoencoder = "stranger:Task"'),
            ('scheduler = "alternating"', 'scheduler = "stranger:Task"'),
        ]
    ):
        path = Path(shutil.copy(record, folder / f"{number}.record.npz"))
        reconfigure(path, before, after)
    assert main(["compare", str(folder)]) == 0
    assert main(["reproduce", "all", "--records", str(folder), "--out", "page", "--quiet"]) in (0, 2)
    assert main(["reproduce", "--verify", "4", "--records", str(folder)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not marker.exists()


def test_links_are_not_followed_out_of_a_folder_of_records(record, tmp_path, capsys):
    folder, outside = tmp_path / "records", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    shutil.copy(record, outside)
    (folder / "more").symlink_to(outside)
    assert main(["reproduce", "all", "--records", str(folder), "--out", str(tmp_path / "page")]) == 2
    assert "There is no record in" in capsys.readouterr().err
    (folder / "secret.record.npz").symlink_to("/etc/passwd")
    assert main(["compare", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "is damaged: File is not a zip file" in said
    assert "root:" not in said


def test_names_of_a_stranger_are_harmless(record, tmp_path, capsys):
    folder, out = tmp_path / "records", tmp_path / "page"
    folder.mkdir()
    path = Path(shutil.copy(record, folder / "a\x1b[2J<b>.record.npz"))
    reconfigure(path, "[machine]\n", '[machine]\nextra = "x"\n')
    reconfigure(path, 'processor = "', 'processor = "<script>|`\\u001b[2J')
    assert main(["reproduce", "all", "--records", str(folder), "--out", str(out), "--quiet"]) == 0
    page = (out / "README.md").read_text()
    assert all(letter.isprintable() or letter == "\n" for letter in page)
    assert "<script>" not in page.replace(r"\<script\>", "")
    assert main(["reproduce", "--verify", "1", "--records", str(folder), "--quiet"]) == 0
    assert "\x1b" not in capsys.readouterr().out
