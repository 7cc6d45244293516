"""Run folders that were made to hang a reader, or to fill its memory, are refused or read within 500 MB and 10 s by every command."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stax
from hostile_folders import FINISHED, INTERRUPTED, MEMORY, STATES, Examined, change, device, pipe, sparse
from run_folders import QUICK, TASK, contents
from stax.cli.main import main
from stax.runs import array_files, ledger_file, limits
from stax.runs.files import atomic_write, remove_unfinished, write_text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory and time of a process are read from /proc")

READERS: dict[str, list[str]] = {
    "show": [],
    "compare": [],
    "report": [],
    "replay": ["--random", "1", "--out", "OUT.png"],
    "find": ["--like", "0"],
    "export": ["0", "--out", "OUT.onnx"],
    "resume": [],
    "record": ["--out", "OUT"],
    "share": ["--out", "OUT.shared"],
}
"""Commands that read the folder of a finished run, and their options."""
READ_BY = {
    "metrics": ("show", "report", "share"),
    "emitters": ("show", "export", "record"),
    "ledger": ("compare", "report", "record"),
    "archive": ("replay", "export", "record", "share"),
    "autoencoder": ("resume", "replay", "find", "share"),
    "lock": ("show", "compare"),
}
"""Commands that read these files, some of those where there are more; everything else is read by all."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    stax.run(TASK, algo="stax", budget=100, seed=3, workers=1, out=folder, **QUICK)
    return folder


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted") / "run"
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, algo="stax", budget=100, seed=3, workers=1, out=folder, stop=lambda: True, **QUICK)
    return folder


@pytest.fixture(scope="module")
def honest(commands, finished, tmp_path_factory) -> dict[str, int]:
    """Bytes of memory that every command takes for an honest folder."""
    out = tmp_path_factory.mktemp("honest")
    folder = shutil.copytree(finished, out / "run")
    return {name: Examined(commands, *reading(name, folder, out)).peak for name in READERS}


def reading(name: str, folder: Path, out: Path) -> list[str]:
    return [name, str(folder), *(word.replace("OUT", str(out / "written")) for word in READERS[name])]


@pytest.mark.parametrize("damage", FINISHED)
def test_a_hostile_folder_of_a_finished_run(damage, commands, finished, honest, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "run")
    FINISHED[damage](folder)
    codes = set()
    for name in READ_BY.get(damage.partition(":")[0], READERS):
        examined = Examined(commands, *reading(name, folder, tmp_path), memory=honest[name] + MEMORY)
        examined.check()
        codes.add(examined.code)
    assert 2 in codes


@pytest.mark.parametrize("damage", INTERRUPTED)
def test_a_hostile_folder_of_an_interrupted_run(damage, commands, interrupted, honest, tmp_path):
    folder = shutil.copytree(interrupted, tmp_path / "run")
    INTERRUPTED[damage](folder)
    for name in ("show", "resume"):
        words = [name, str(folder), *(["--trust"] if name == "resume" else [])]
        examined = Examined(commands, *words, memory=honest[name] + MEMORY)
        examined.check()
    assert examined.code == 2


CAMPAIGN = f"""
tasks = ["{TASK}"]
algos = ["stax"]
seeds = [3]
budget = 100
workers = 1
out = "OUT"

[parameters]
""" + "".join(
    f"{name} = {str(value).lower() if not isinstance(value, str) else repr(value)}\n" for name, value in QUICK.items()
)


@pytest.mark.parametrize(
    "damage",
    [
        "config: dotted key",
        "config: pipe",
        "summary: lists",
        "summary: sparse",
        "table: 100 MB",
        "table: long field",
        "table: pipe",
    ],
)
def test_a_campaign_over_hostile_folders(damage, commands, finished, honest, tmp_path):
    out = tmp_path / "out"
    folder = shutil.copytree(finished, out / "troubled_tasks-TroubledTask-stax-3")
    (tmp_path / "campaign.toml").write_text(CAMPAIGN.replace("OUT", str(out)))
    Examined(commands, "campaign", tmp_path / "campaign.toml", "--dry-run").check()
    table = out / "campaign.csv"
    table.write_text("folder,error\n")
    {
        **FINISHED,
        "table: 100 MB": lambda _: table.write_bytes(b"folder,error\n" + b"x,y\n" * 25_000_000),
        "table: long field": lambda _: table.write_text(f"folder,error\nx,{'y' * 200_000}\n"),
        "table: pipe": lambda _: pipe(table),
    }[damage](folder)
    for words in (["campaign", str(tmp_path / "campaign.toml")], ["compare", str(out)]):
        examined = Examined(commands, *words, memory=honest["compare"] + MEMORY)
        examined.check()
        if not damage.startswith("table: pipe"):
            assert examined.code == 2, examined.said


@pytest.mark.parametrize("damage", ["config: dotted key", "config: device", "summary: lists", "summary: pipe"])
def test_a_reproduction_over_hostile_folders(damage, commands, finished, honest, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "runs" / "redundant-arm-stax-0")
    FINISHED[damage](folder)
    words = ["reproduce", "fig-reconstruction", "--seeds", "1", "--budget", "100", "--out", str(tmp_path), "--quiet"]
    examined = Examined(commands, *words, memory=honest["report"] + MEMORY)
    examined.check()
    assert examined.code == 2


RESTORE = """
import resource, sys, warnings
import numpy as np, stax
from toy_tasks import SquareTask

def search():
    return stax.make_search("stax", SquareTask(), budget=100, seed=3, population_size=12, chunk_size=24, code_size=3, max_epochs=2)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

honest = search()
while not honest.done:
    honest.tell(honest.task.evaluate(honest.ask()))
stax.save_search(honest, sys.argv[1])
stax.restore_search(search(), sys.argv[1])
before = peak()
for path in sys.argv[2:]:
    try:
        stax.restore_search(search(), path)
    except stax.InvalidInputError as error:
        assert "\\n" not in str(error)
    else:
        raise SystemExit(f"{path} was restored")
    if peak() > before + 500 * 2**20:
        raise SystemExit(f"{path} took {(peak() - before) / 2**20:.0f} MB")
"""


def test_hostile_files_of_a_kept_search(interrupted, tmp_path):
    paths = []
    for name, damage in STATES.items():
        paths.append(Path(shutil.copy(max((interrupted / "checkpoints").glob("*.npz")), tmp_path / f"{name}.npz")))
        damage(paths[-1])
    for name, damage in (("sparse", lambda path: sparse(path, 2**40)), ("pipe", pipe), ("device", device)):
        paths.append(tmp_path / f"{name}.npz")
        paths[-1].touch()
        damage(paths[-1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", RESTORE, tmp_path / "honest.npz", *paths],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


# What stax writes, it reads


def test_arrays_that_are_compressed_too_well_are_written_so_that_they_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 2**20)
    arrays = {
        "zeros": np.zeros((1000, 1000)),
        "ones": np.ones((10, 10)),
        "random": np.random.default_rng(0).random((100, 1000)),
    }
    array_files.write_arrays(tmp_path / "arrays.npz", arrays)
    found, _ = array_files.read_arrays(tmp_path / "arrays.npz", "The file", most_rows=lambda name: 1000)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def test_a_ledger_that_is_compressed_too_well_is_written_so_that_it_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 2**20)
    rows = 300_000
    kinds = {"origin": np.int8, "reward": float, "reward_area": np.int16, "failed": bool}
    ledger = {name: np.zeros(rows, kinds.get(name, np.int64)) for name in ledger_file.LEDGER}
    ledger["ground_truth"] = np.zeros((rows, 2))
    ledger_file.write_ledger(tmp_path / "ledger.parquet", ledger)
    found = ledger_file.read_ledger(tmp_path / "ledger.parquet", rows)
    assert all(np.array_equal(found[name], ledger[name]) for name in ledger)


class Wide(stax.Task):
    """A task with observations of more than a hundred thousand numbers."""

    name = "wide"
    genome_size = 2
    observation_samples = 1
    observation_shape = (100_800,)
    observation_dtype = "float32"
    reward_areas = (stax.RewardArea("none"),)

    def evaluate(self, genomes):
        seen = np.repeat(np.asarray(genomes, np.float32)[:, None, :1], 100_800, axis=2)
        none = np.zeros(len(genomes))
        return stax.Rollouts(none, np.full(len(none), -1), np.ones(len(none), int), seen)

    def observe(self, rollouts):
        return rollouts.snapshots


def test_a_run_with_long_observations_can_be_resumed_and_loaded(tmp_path):
    few = {**QUICK, "population_size": 4, "hidden_sizes": (2,), "max_epochs": 1, "chunk_size": 8}
    with pytest.raises(stax.RunInterrupted):
        stax.run(Wide(), algo="taxons", budget=16, workers=1, out=tmp_path / "run", stop=lambda: True, **few)
    stax.resume(tmp_path / "run", task=Wide())
    assert len(stax.load(tmp_path / "run", task=Wide()).novelty_archive)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"chunk_size": 1, "budget": 10**6}, r"set chunk_size to at least \d+"),
        (
            {"emitter_population": 2, "bootstrap_generations": 2, "chunk_size": 48, "budget": 2 * 10**6},
            "emitters, but a list of more than",
        ),
        (
            {
                "emitter_population": 2,
                "bootstrap_generations": 2,
                "bootstrap_share": 1.0,
                "chunk_size": 48,
                "budget": 6 * 10**5,
            },
            "emitters, but a list of more than",
        ),
    ],
)
def test_a_run_that_could_not_be_read_again_is_not_begun(changed, told, tmp_path):
    with pytest.raises(stax.InvalidInputError, match=told):
        stax.run(TASK, algo="serene", workers=1, out=tmp_path / "run", **{**QUICK, **changed})
    assert not (tmp_path / "run").exists()


# Links that would be written through


def test_a_report_is_not_written_through_a_link(finished, tmp_path):
    folder, victim = shutil.copytree(finished, tmp_path / "run"), tmp_path / "victim"
    victim.write_text("mine")
    (folder / f".report.html.{os.getpid()}.part").symlink_to(victim)
    assert main(["report", str(folder), "--quiet"]) == 0
    assert victim.read_text() == "mine"
    assert not (folder / "report.html").is_symlink()


def test_a_file_is_created_exclusively_and_replaces_a_link(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "target").symlink_to(victim)
    write_text(tmp_path / "target", "new")
    assert ((tmp_path / "target").read_text(), victim.read_text()) == ("new", "mine")
    assert not (tmp_path / "target").is_symlink()
    monkeypatch.setattr("stax.runs.files.secrets.token_hex", lambda size: "0" * 2 * size)
    (tmp_path / f".target.{'0' * 16}.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "target", "newer")
    assert (victim.read_text(), (tmp_path / "target").read_text()) == ("mine", "new")


def test_two_writers_do_not_share_a_temporary_file(tmp_path):
    with atomic_write(tmp_path / "file") as one, atomic_write(tmp_path / "file") as other:
        one.write(b"one")
        other.write(b"other")
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"one"]


def test_leftovers_are_removed_and_folders_and_files_of_others_stay(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "folder"
    (folder / f".kept.{'0' * 16}.part").mkdir(parents=True)
    (folder / f".link.{'1' * 16}.part").symlink_to(victim)
    (folder / f".left.{'2' * 16}.part").write_text("half")
    (folder / ".mine.part").write_text("mine")
    remove_unfinished(folder)
    assert sorted(path.name for path in folder.iterdir()) == [f".kept.{'0' * 16}.part", ".mine.part"]
    assert victim.read_text() == "mine"


def test_a_lock_that_is_a_link_is_refused(interrupted, tmp_path, capsys):
    folder = shutil.copytree(interrupted, tmp_path / "run")
    (folder / ".lock").unlink(missing_ok=True)
    (folder / ".lock").symlink_to(folder / "metrics.csv")
    before = contents(folder)
    assert main(["resume", str(folder), "--trust"]) == 2
    assert "is a link" in capsys.readouterr().err
    assert contents(folder) == before


# Names


def test_names_of_a_stranger_are_harmless_in_every_output_of_compare(finished, tmp_path, capsys):
    folder, out = shutil.copytree(finished, tmp_path / "run"), tmp_path / "out"
    config = folder / "config.toml"
    change(config, f'task = "{TASK}"', r'task = "=1+1|<b>[x](y) $\\frac$\u001b[2J\u202e:evil"')
    change(config, 'name = "near"', r'name = "@SUM(1)|<i>$\\bad$\u001b]0;evil\u0007"')
    assert main(["compare", str(folder), "--out", str(out), "--csv", str(tmp_path / "table.csv")]) == 0
    assert main(["compare", str(folder), "--json"]) == 0
    said = capsys.readouterr()
    texts = [said.out, said.err, *(path.read_text() for path in (out / "comparison.md", out / "comparison.csv"))]
    for text in texts:
        assert all(letter.isprintable() or letter == "\n" for letter in text)
    page, table = texts[2:]
    assert not re.search(r"(?<!\\)[<>\[]", page.partition("## Plots")[0])
    assert r"=1+1\|\<b\>\[x\](y)" in page
    rows = list(csv.reader(table.splitlines()))
    assert {row[0] for row in rows[1:]} == {"'=1+1|<b>[x](y) $\\frac$?[2J?:evil"}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert (tmp_path / "table.csv").read_text() == table
    assert (out / "coverage-over-evaluations.png").is_file()
