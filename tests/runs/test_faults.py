"""What goes wrong around a run, for real: full disks, damaged files, broken tasks, strangers' folders. Nothing is lost, nothing of a
stranger's is run, and what cannot be done is told in one sentence."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file

import stax
from run_folders import QUICK, TASK, as_options, checkpoints, contents, same_run, summary
from stax.cli.main import main
from stax.runs.folder import RunFolder
from troubled_tasks import VARIABLE

BUDGET = 240
SEED = 3
"""With one policy among these that `toy_tasks.strewn` picks out, in a late chunk."""
SHARE = 0.005


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    stax.run(TASK, algo="serene", budget=BUDGET, seed=SEED, workers=1, out=folder, **QUICK)
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A finished run with an autoencoder."""
    folder = tmp_path_factory.mktemp("learned") / "run"
    stax.run(TASK, algo="stax", budget=100, seed=SEED, workers=1, out=folder, **QUICK)
    return folder


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A run that was interrupted, with two checkpoints."""
    folder, rests = tmp_path_factory.mktemp("half") / "run", iter((False, False, True))
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, algo="serene", budget=BUDGET, seed=SEED, workers=1, out=folder, stop=lambda: next(rests), **QUICK)
    assert len(checkpoints(folder)) == 2
    return folder


@pytest.fixture
def copy(half, tmp_path):
    """Of the interrupted run, to be spoilt."""
    return shutil.copytree(half, tmp_path / "copy")


@pytest.fixture
def trouble(tmp_path, monkeypatch):
    """Says what goes wrong, in this process and its workers, until it is called with nothing."""
    file = tmp_path / "trouble.json"
    monkeypatch.setenv(VARIABLE, str(file))

    def say(**words) -> str:
        new = tmp_path / "new.json"
        new.write_text(json.dumps(words))
        new.replace(file)
        return str(file)

    return say


def arguments(out: Path, *more: str, isolation: str = "none") -> list[str]:
    """Of the run that `whole` is."""
    given = ["--algo", "serene", "--budget", str(BUDGET), "--seed", str(SEED), "--workers", "1", "--quiet", "--out", str(out)]
    return ["run", TASK, *given, *as_options(QUICK), "--set", f"isolation={isolation}", *more]


def refused(capsys, *command: str | Path) -> str:
    """The one sentence of a command that exits with 2."""
    assert main([str(word) for word in command]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"stax: [^\n]+\n", output.err), output.err
    assert "Traceback" not in output.err
    return output.err.removeprefix("stax: ").removesuffix("\n")


# The disk


@pytest.fixture
def small_disk(tmp_path):
    """A disk of a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "stax-test", place], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command to mount a small disk with")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here, which root may: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert not shutil.disk_usage(disk).free
    return filler


def test_a_disk_that_is_full_for_a_while_costs_checkpoints_and_not_the_run(small_disk, whole):
    out, rests, kept = small_disk / "run", [], []

    class Filling(stax.Callback):
        def after_chunk(self, search):
            rests.append(search.evaluations)
            if len(rests) == 3:
                fill(small_disk)
            if len(rests) == 5:
                kept.extend(checkpoints(out))
                (small_disk / "filler").unlink()

    with pytest.warns(RuntimeWarning) as warned:
        result = stax.run(TASK, algo="serene", budget=BUDGET, seed=SEED, workers=1, out=out, callbacks=[Filling()], **QUICK)
    warnings = [str(warning.message) for warning in warned if not str(warning.message).startswith("Task 'square'")]
    assert warnings == [
        f"The checkpoint after {number} evaluations could not be written (No space left on device); the run goes on, and keeps the one"
        " before it."
        for number in rests[2:4]
    ]
    assert kept == rests[:2]
    assert result.status == summary(out)["status"] == "finished"
    stax.load(out)


def test_a_disk_that_is_full_at_the_end_fails_the_run_which_can_be_resumed(small_disk, whole, commands, trouble):
    out = small_disk / "run"
    command = commands.start(*arguments(out), **{VARIABLE: trouble(pause=0.1)})
    command.wait_for(lambda: len(checkpoints(out)) == 2)
    filler = fill(small_disk)
    trouble()
    before = checkpoints(out)
    assert command.wait() == 1
    lines = command.said.splitlines()
    assert all(
        re.match(r"stax: warning: The checkpoint after \d+ evaluations could not be written", line) for line in lines[:-1]
    )
    assert lines[-1] == (
        f"stax: The results cannot be written to '{out}': No space left on device. Nothing that was written before is lost: make room,"
        f" then go on with: stax resume {out} --trust"
    )
    assert checkpoints(out)[-1] >= before[-1]
    assert not [path for path in out.rglob("*") if path.name.endswith(".part")]
    filler.unlink()
    assert main(["resume", str(out), "--trust", "--quiet"]) == 0
    same_run(out, whole)


def test_a_disk_without_room_for_a_beginning_is_told(small_disk, capsys):
    fill(small_disk)
    said = refused(capsys, *arguments(small_disk / "run"))
    assert said == f"The run folder '{small_disk / 'run'}' cannot be written to: No space left on device."
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_a_folder_that_cannot_be_written_to_can_be_looked_at_and_is_not_resumed(small_disk, half, capsys):
    out = shutil.copytree(half, small_disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    said = refused(capsys, "resume", out, "--trust")
    assert said == f"The run folder '{out}' cannot be written to: Read-only file system."
    assert main(["show", str(out)]) == 0
    assert stax.load(out).evaluations == summary(out)["evaluations"]


# Checkpoints


def truncate(checkpoint: Path) -> None:
    with checkpoint.open("r+b") as file:
        file.truncate(checkpoint.stat().st_size // 2)


def flip(checkpoint: Path, place: float = 0.4) -> None:
    content = bytearray(checkpoint.read_bytes())
    content[int(place * len(content))] ^= 1
    checkpoint.write_bytes(content)


def empty(checkpoint: Path) -> None:
    checkpoint.write_bytes(b"")


def forget_checksum(checkpoint: Path) -> None:
    checkpoint.with_suffix(".sha256").unlink()


def spoil_checksum(checkpoint: Path) -> None:
    checkpoint.with_suffix(".sha256").write_text(f"{'0' * 64}  {checkpoint.name}\n")


DAMAGES = (truncate, flip, empty, forget_checksum, spoil_checksum)


def newest(folder: Path, number: int = 0) -> Path:
    return sorted((folder / "checkpoints").glob("*.npz"), reverse=True)[number]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_told_and_the_one_before_it_used(damage, copy, whole):
    damage(newest(copy))
    said = f"The checkpoint '{newest(copy)}' is damaged: its checksum is wrong or missing. The checkpoint before it is used."
    with pytest.warns(RuntimeWarning, match=re.escape(said)):
        stax.resume(copy, trust=True)
    same_run(copy, whole)


def test_a_damaged_checkpoint_does_not_push_out_a_sound_one(copy):
    """Although its number is higher than theirs, for a while."""
    last = newest(copy)
    truncate(last)
    shutil.move(last, last.with_name("000000000239.npz"))
    shutil.move(last.with_suffix(".sha256"), last.with_name("000000000239.sha256"))
    with pytest.warns(RuntimeWarning, match="is damaged"), pytest.raises(stax.RunInterrupted):
        stax.resume(copy, trust=True, stop=lambda: True)
    assert 239 not in checkpoints(copy)
    assert len(checkpoints(copy)) == 2


@pytest.mark.parametrize("damage", DAMAGES)
def test_without_a_sound_checkpoint_nothing_is_touched(damage, copy, capsys, whole):
    damage(newest(copy))
    damage(newest(copy, 1))
    before = contents(copy)
    assert main(["resume", str(copy), "--trust"]) == 2
    warning, sentence = capsys.readouterr().err.splitlines()
    wrong = "is damaged: its checksum is wrong or missing."
    assert warning == f"stax: warning: The checkpoint '{newest(copy)}' {wrong} The checkpoint before it is used."
    assert sentence == (
        f"stax: The checkpoint '{newest(copy, 1)}' {wrong} There is no other checkpoint that could be used; without"
        f" '{copy / 'checkpoints'}', the run would begin anew."
    )
    assert contents(copy) == before
    shutil.rmtree(copy / "checkpoints")
    assert main(["resume", str(copy), "--trust", "--quiet"]) == 0
    same_run(copy, whole)


def test_a_checkpoint_of_another_format_is_refused(copy, capsys):
    newest(copy, 1).unlink()
    numbers = json.loads(zipfile.ZipFile(newest(copy)).read("state.json"))
    forge(newest(copy), {"state.json": json.dumps({**numbers, "format": 2}).encode()})
    assert "has format 2; this version of stax reads 1." in refused(capsys, "resume", copy, "--trust")


# Two at a time


def test_two_processes_do_not_work_in_one_folder(commands, trouble, tmp_path, whole, capsys):
    out = tmp_path / "run"
    first = commands.start(*arguments(out), **{VARIABLE: trouble(pause=0.5)})
    first.wait_for((out / "summary.json").exists)
    assert refused(capsys, "resume", out, "--trust") == f"The run folder '{out}' is in use by another process."
    assert refused(capsys, *arguments(out)).startswith(f"The output folder '{out}' is not empty; give a new or an empty one")
    with pytest.raises(stax.InvalidInputError, match="in use by another process"):
        stax.resume(out, trust=True)
    assert main(["show", str(out)]) == 0
    assert "status           running" in capsys.readouterr().out
    assert first.running
    trouble()
    assert (first.wait(), first.said) == (0, f"{out}\n")
    same_run(out, whole)


def test_somebody_who_only_looks_does_not_keep_a_run_from_going_on(copy, whole):
    """Looking whether a folder is in use takes its lock for a moment."""
    looking = "import sys; from stax.runs.folder import RunFolder\nwhile True: RunFolder(sys.argv[1]).in_use"
    process = subprocess.Popen([sys.executable, "-c", looking, copy])
    try:
        stax.resume(copy, trust=True)
    finally:
        process.kill()
        process.wait()
    same_run(copy, whole)


# The task


FELL_OFF = "RuntimeError: the arm fell off (troubled_tasks.py, line "


@pytest.mark.parametrize(
    ("wrong", "isolation", "settings", "code", "sentence"),
    [
        ("raise", "none", [], 1, f"Task 'square' failed to evaluate 24 policies: {FELL_OFF}"),
        ("raise", "process", [], 1, f"Task 'square' failed to evaluate 12 policies: {FELL_OFF}"),
        ("hang", "process", ["--set", "time_limit=1"], 1, "Task 'square' failed to evaluate 12 policies: no answer within the time limit of 1 s"),
        ("crash", "process", [], 1, "Task 'square' failed to evaluate 12 policies: the worker died 3 times in a row (SIGSEGV)"),
        ("nan", "none", [], 2, "Task 'square' returned a reward of nan for policy 17 of 24; rewards must be finite and not negative."),
        ("shape", "none", [], 2, "Task 'square' must return a ground_truth of shape (24, 2) with finite numbers, not of shape (24, 1)."),
    ],
)  # fmt: skip
def test_a_run_that_failed_by_its_task_goes_on_when_the_task_is_repaired(
    wrong, isolation, settings, code, sentence, trouble, whole, tmp_path, capsys
):
    out = tmp_path / "run"
    trouble(trouble=wrong, share=SHARE)
    assert main(arguments(out, *settings, isolation=isolation)) == code
    said = capsys.readouterr().err
    last = checkpoints(out)[-1]
    assert said.startswith(f"stax: {sentence}")
    told = f" It is kept; go on from the checkpoint after {last} evaluations with: stax resume {out} --trust\n"
    assert said.endswith(told)
    assert said.count("\n") == 1
    found = summary(out)
    assert found["status"] == "failed"
    assert found["error"].startswith(sentence)
    assert last <= found["evaluations"] < BUDGET
    assert main(["show", str(out)]) == 0
    assert found["error"] in capsys.readouterr().out

    trouble()
    assert main(["resume", str(out), "--trust", "--quiet"]) == 0
    same_run(out, whole)


@pytest.mark.parametrize(
    ("wrong", "isolation", "settings", "reason"),
    [
        ("raise", "none", [], FELL_OFF),
        ("nan", "none", [], "a reward that is negative, too large or not a number"),
        ("hang", "process", ["--set", "time_limit=1"], "no answer within the time limit of 1 s"),
        ("crash", "process", [], "the worker died 3 times in a row (SIGSEGV)"),
    ],
)
def test_failed_evaluations_may_be_discarded(wrong, isolation, settings, reason, trouble, tmp_path, capsys):
    out = tmp_path / "run"
    trouble(trouble=wrong, share=SHARE)
    more = ["--set", "on_failure=discard", *settings, "--budget", "200"]
    assert main(arguments(out, *more, isolation=isolation)) == 0
    assert capsys.readouterr() == (f"{out}\n", "")
    found = summary(out)
    (counted,) = found["failed_evaluations"].items()
    assert counted[0].startswith(reason)
    assert counted[1] == 1
    assert (found["status"], found["evaluations"]) == ("finished", 200)
    ledger = pyarrow.parquet.read_table(out / "ledger.parquet").to_pydict()
    failed = ledger["failed"].index(True)
    assert sum(ledger["failed"]) == 1
    assert (ledger["reward"][failed], ledger["reward_area"][failed]) == (0, -1)
    assert np.isnan(ledger["ground_truth_0"][failed])
    assert main(["show", str(out)]) == 0
    assert f"1 evaluations; 1 x {reason}" in capsys.readouterr().out


def test_with_failed_evaluations_an_interrupted_run_ends_the_same(trouble, tmp_path):
    trouble(trouble="raise", share=0.03)
    given = {"algo": "serene", "budget": BUDGET, "seed": SEED, "workers": 1, "on_failure": "discard", **QUICK}
    stax.run(TASK, out=tmp_path / "whole", **given)
    rests = iter((False, True))
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, out=tmp_path / "run", stop=lambda: next(rests), **given)
    result = stax.resume(tmp_path / "run", trust=True)
    assert sum(result.failures.values()) == result.ledger["failed"].sum() > 2
    same_run(tmp_path / "run", tmp_path / "whole")


def test_too_many_failures_end_the_run_and_a_repaired_task_goes_on(trouble, tmp_path, capsys):
    out = tmp_path / "run"
    trouble(trouble="raise", share=0.5)
    settings = ["--set", "on_failure=discard", "--set", "max_failed_share=0.2"]
    assert main(arguments(out, *settings)) == 1
    said = capsys.readouterr().err
    assert re.match(
        r"stax: Task 'square': \d+ of \d+ evaluations failed, more than the allowed share of 0.2; the last reason", said
    )
    assert summary(out)["status"] == "failed"
    trouble()
    # Those that failed before are still counted, unless more of them are allowed.
    change_config(out, "max_failed_share = 0.2", "max_failed_share = 1.0")
    assert main(["resume", str(out), "--trust", "--quiet"]) == 0
    assert sum(summary(out)["failed_evaluations"].values()) > 10


# Strangers' folders


def packed(name: str, array: np.ndarray, **options) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def claiming(shape: tuple[int, ...], content: bytes = b"12345678") -> bytes:
    """An array whose header says more than there is."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue() + content


def forge(path: Path, members: dict[str, bytes], *, level: int = 1) -> None:
    """Puts these in place of a file's own members, or beside them; a checkpoint gets its checksum."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, content in {**kept, **members}.items():
            archive.writestr(name, content)
    if path.parent.name == "checkpoints":
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        path.with_suffix(".sha256").write_text(f"{checksum}  {path.name}\n")


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def evil_array(folder: Path) -> bytes:
    return packed("", np.array([Evil(folder.parent / "evil")], object), allow_pickle=True)


FORGERIES = {
    "an array of a million million numbers": lambda _: {"GENOME": claiming((10**12,))},
    "an array longer than its file": lambda _: {"GENOME": claiming((3, 6))},
    "an array of no shape": lambda _: {"GENOME": claiming((-1, 6))},
    "an array that unpacks to ten times the memory": lambda _: {"GENOME": packed("", np.zeros((1, 9 * 2**20)))},
    "an array of objects": lambda folder: {"GENOME": evil_array(folder)},
    "an array of text": lambda _: {"GENOME": packed("", np.array(["evil"]))},
    "an array of another type": lambda _: {"GENOME": packed("", np.zeros((20, 6), np.float32))},
    "an array of another width": lambda _: {"GENOME": packed("", np.zeros((20, 5)))},
    "an array that is none": lambda _: {"GENOME": b"hello"},
    "a header that is no header": lambda _: {"GENOME": b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16},
    "a member that leads elsewhere": lambda _: {"../../evil.npy": packed("", np.zeros(3))},
    "a member that is no array": lambda _: {"evil.py": b"import os"},
    "one array too many": lambda _: {"population.evil.npy": packed("", np.zeros(3))},
}
TOLD = (
    r"damaged|does not belong there|only numbers are read|rows, more than the|would become [\d,]+ bytes|"
    r"has a column|has the columns"
)


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_checkpoint_is_refused(forgery, copy, capsys):
    newest(copy, 1).unlink()
    members = {name.replace("GENOME", "population.genome.npy"): content for name, content in FORGERIES[forgery](copy).items()}
    forge(newest(copy), members, level=9)
    around = {path.name for path in copy.parent.iterdir()}
    before = contents(copy)
    assert re.search(TOLD, refused(capsys, "resume", copy, "--trust"))
    assert contents(copy) == before
    assert {path.name for path in copy.parent.iterdir()} == around


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_archive_is_refused(forgery, whole, tmp_path):
    copy = shutil.copytree(whole, tmp_path / "copy")
    members = {name.replace("GENOME", "genome.npy"): content for name, content in FORGERIES[forgery](copy).items()}
    forge(copy / "archives" / "novelty.npz", members, level=9)
    with pytest.raises(stax.InvalidInputError, match=TOLD):
        stax.load(copy)
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_a_file_that_claims_to_be_longer_than_it_is(copy, capsys):
    """Its directory says so, which nobody checks before the memory is asked for."""
    newest(copy, 1).unlink()
    path = newest(copy)
    forge(path, {"population.genome.npy": claiming((10**5, 10**4))})
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("population.genome.npy")
        real = entry.compress_size.to_bytes(4, "little") + entry.file_size.to_bytes(4, "little")
    content = path.read_bytes().replace(real, (3 * 10**9).to_bytes(4, "little") + (4 * 10**9).to_bytes(4, "little"))
    path.write_bytes(content)
    path.with_suffix(".sha256").write_text(hashlib.sha256(content).hexdigest())
    assert "is damaged: it claims to hold more than it is long." in refused(capsys, "resume", copy, "--trust")


@pytest.mark.parametrize("encrypted", [0x1, 0x40])
def test_an_encrypted_file_is_refused(encrypted, whole, tmp_path):
    copy = shutil.copytree(whole, tmp_path / "copy")
    path = copy / "archives" / "novelty.npz"
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= encrypted
    path.write_bytes(content)
    with pytest.raises(stax.InvalidInputError, match="is damaged"):
        stax.load(copy)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda numbers: numbers["search"].pop("random"), "KeyError: 'random'"),
        (lambda numbers: numbers["search"].update(evaluations=10**9), "evaluations of a budget of"),
        (lambda numbers: numbers["search"].update(evaluations="many"), "evaluations must be an integer, not 'many'"),
        (lambda numbers: numbers["search"].update(chunks=float("inf")), "chunks must be an integer, not inf"),
        (lambda numbers: numbers["search"].update(seconds=[]), "AttributeError"),
        (lambda numbers: numbers["search"].update(retired=[{"evil": 1}]), "TypeError"),
        (lambda numbers: numbers["search"].update(metrics=3), "TypeError"),
        (lambda numbers: numbers["search"]["random"].update(mutation={"bit_generator": "MT19937"}), "ValueError"),
        (lambda numbers: numbers["run"].pop("counts"), "KeyError: 'counts'"),
        (lambda numbers: numbers["run"].update(seconds="long"), "ValueError"),
        (lambda numbers: numbers["run"].update(config=3), "TypeError"),
        (lambda numbers: numbers.update(search=3), "TypeError in state.json"),
    ],
)
def test_numbers_of_a_checkpoint_that_are_none_are_refused(change, told, copy, capsys):
    newest(copy, 1).unlink()
    numbers = json.loads(zipfile.ZipFile(newest(copy)).read("state.json"))
    change(numbers)
    forge(newest(copy), {"state.json": json.dumps(numbers).encode()})
    assert told in refused(capsys, "resume", copy, "--trust")


def test_deep_numbers_of_a_checkpoint_are_refused(copy, capsys):
    newest(copy, 1).unlink()
    forge(newest(copy), {"state.json": b"[" * 100_000})
    assert "RecursionError in state.json" in refused(capsys, "resume", copy, "--trust")


@pytest.mark.parametrize("name", ["archives", "checkpoints", "summary.json", "config.toml", "metrics.csv"])
def test_links_that_lead_out_of_the_folder_are_refused(name, whole, half, tmp_path, capsys):
    copy = shutil.copytree(half if name == "checkpoints" else whole, tmp_path / "copy")
    elsewhere = tmp_path / "elsewhere" / name
    elsewhere.parent.mkdir()
    shutil.move(copy / name, elsewhere)
    (copy / name).symlink_to(elsewhere)
    before = contents(tmp_path / "elsewhere")
    sentence = f"'{copy / name}{'/novelty.npz' if name == 'archives' else ''}' leads out of the run folder."
    with pytest.raises(stax.InvalidInputError, match=re.escape(sentence)):
        stax.resume(copy, trust=True) if name == "checkpoints" else stax.load(copy)
    if name not in ("archives", "metrics.csv"):
        assert refused(capsys, "resume", copy, "--trust") == sentence
    if name != "archives":
        assert refused(capsys, "show", copy) == sentence
    assert contents(tmp_path / "elsewhere") == before


def test_links_to_themselves_and_pipes_are_refused(whole, tmp_path, capsys):
    copy = shutil.copytree(whole, tmp_path / "copy")
    (copy / "metrics.csv").unlink()
    (copy / "metrics.csv").symlink_to(copy / "metrics.csv")
    assert "leads out of the run folder" in refused(capsys, "show", copy)
    (copy / "metrics.csv").unlink()
    os.mkfifo(copy / "metrics.csv")
    assert refused(capsys, "show", copy) == f"'{copy / 'metrics.csv'}' is neither a file nor a folder."
    with pytest.raises(stax.InvalidInputError, match="is neither a file nor a folder"):
        stax.load(copy)


def change_config(folder: Path, before: str, after: str) -> None:
    path = folder / "config.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_a_strangers_code_is_not_run_unless_it_is_trusted(copy, whole, tmp_path, monkeypatch, capsys):
    (tmp_path / "evil_module.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'evil')!r}).touch()\nfrom troubled_tasks import TroubledTask as Evil\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    finished = shutil.copytree(whole, tmp_path / "finished")
    for folder in (copy, finished):
        change_config(folder, TASK, "evil_module:Evil")
    sentence = f"The run in '{copy}' names code as its task, 'evil_module:Evil'. If you trust it, say so: --trust, or trust=True in Python."
    assert refused(capsys, "resume", copy) == sentence
    with pytest.raises(stax.InvalidInputError, match=re.escape(sentence)):
        stax.resume(copy)
    config = finished / "config.toml"
    assert refused(capsys, "run", "--config", config, "--out", tmp_path / "again").startswith(
        f"{config} names code as its task"
    )
    assert not (tmp_path / "again").exists()
    assert main(["show", str(finished)]) == 0
    assert main(["show", str(copy)]) == 0
    assert main(["resume", str(finished)]) == 0
    assert stax.load(finished).task.name == "square"
    assert not (tmp_path / "evil").exists()
    capsys.readouterr()
    for spelling in ("gym:evil_module:Evil-v0", "evil_module:Evil:x"):
        change_config(finished, "evil_module:Evil", spelling)
        assert "names code as its task" in refused(capsys, "run", "--config", config, "--out", tmp_path / "again")
        change_config(finished, spelling, "evil_module:Evil")
    assert "evil_module" not in sys.modules

    again = shutil.copytree(copy, tmp_path / "again")
    change_config(again, "evil_module:Evil", "other_module:Evil")
    assert "was begun with another task" in trusted(again, monkeypatch, capsys)
    assert not (tmp_path / "evil").exists()
    stax.load(finished, trust=True)
    assert (tmp_path / "evil").exists()


def trusted(folder: Path, monkeypatch, capsys) -> str:
    """What is said of a run whose task has become another."""
    from types import ModuleType

    import troubled_tasks

    module = ModuleType("other_module")
    module.Evil = troubled_tasks.TroubledTask
    monkeypatch.setitem(sys.modules, "other_module", module)
    return refused(capsys, "resume", folder, "--trust")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("budget = 240", "budget = 480", "was begun with another budget than its config.toml says now"),
        ("seed = 3", "seed = 8", "another seed than"),
        ("population_size = 12\n", "population_size = 13\n", "another population_size than"),
        ('algo = "serene"', 'algo = "ns"', "another algo than"),
        ("population_size = 12\n", "", "another population_size than"),
        ("mutation_sigma = 0.5", "mutation_sigma = 0.5\ntask.size = 3", "has no option 'size'"),
        ("budget = 240", "budget = 24", "another budget than"),
        ("budget = 240", "budget = 1_000_000_000_000_000", "budget must be a whole number from 1 to 1,000,000,000"),
    ],
)
def test_a_run_is_not_resumed_as_another_one(before, after, told, copy, capsys):
    change_config(copy, before, after)
    kept = contents(copy)
    assert main(["resume", str(copy), "--trust", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert contents(copy) == kept


def forget_parameter(folder: Path, name: str) -> None:
    """Remove a parameter from a run's configuration and checkpoint, as if an earlier version without it had written them."""
    kept = RunFolder(folder)
    state, numbers = kept.load_checkpoint(240)
    del numbers["config"][name]
    kept.save_checkpoint(state, numbers)
    config = folder / "config.toml"
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(line for line in lines if not line.startswith(f"{name} = ")))


def test_a_run_of_a_version_with_fewer_parameters_is_resumed(copy, whole):
    forget_parameter(copy, "iso_sigma")
    stax.resume(copy, trust=True)
    same_run(copy, whole)


def test_a_parameter_without_its_default_is_not_forgotten(copy, capsys):
    forget_parameter(copy, "iso_sigma")
    config = copy / "config.toml"
    config.write_text(config.read_text().replace("mutation_sigma = 0.5", "mutation_sigma = 0.5\niso_sigma = 0.7"))
    assert "was begun with another iso_sigma" in refused(capsys, "resume", copy, "--trust")


def test_what_decides_nothing_may_be_changed(copy, whole):
    """The preset is one: all that it stands for is spelt out."""
    change_config(copy, 'preset = "default"', 'preset = "paper"')
    change_config(copy, "checkpoint_seconds = 0", "checkpoint_seconds = 5")
    change_config(copy, "workers = 1", "workers = 2")
    stax.resume(copy, trust=True)
    said = {**summary(copy), "preset": "default"}
    (copy / "summary.json").write_text(json.dumps(said))
    same_run(copy, whole)


def deep(depth: int = 100_000) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[1, 2]", "is damaged"),
        (b"null", "is damaged"),
        (b"{", "is damaged: it is not JSON"),
        (deep(), "is damaged: it is not JSON"),
        (b'{"evaluations": ' + b"9" * 5000 + b"}", "is damaged: it is not JSON"),
        (b"\xff\xfe", "is not a text file"),
        (b" " * (17 * 2**20), "is too large: 17,825,792 bytes, at most 16,777,216 are read."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_summary_that_is_none_is_refused(content, told, copy, capsys):
    (copy / "summary.json").write_bytes(content)
    for command in (["show", copy], ["show", copy, "--json"], ["resume", copy, "--trust"]):
        assert told in refused(capsys, *command)
    with pytest.raises(stax.InvalidInputError, match="The summary"):
        stax.load(copy)


def test_a_summary_that_was_cut_off_with_the_power_does_not_matter(copy, whole, capsys):
    (copy / "summary.json").write_bytes(b"")
    assert main(["show", str(copy)]) == 0
    assert "not begun" in capsys.readouterr().out
    stax.resume(copy, trust=True)
    same_run(copy, whole)


@pytest.mark.parametrize("key", ["coverage", "max_reward", "seconds", "failed_evaluations", "training_episodes", "evaluations"])
@pytest.mark.parametrize(
    "value", [[], {}, "evil", float("nan"), float("inf"), -1, None, [{}], {"total": 0}, {"total": 1e400}, {"total": []}]
)
def test_numbers_of_a_summary_that_are_none_do_no_harm(key, value, whole, tmp_path_factory, capsys):
    """Refused in a sentence, or shown as they are."""
    copy = shutil.copytree(whole, tmp_path_factory.mktemp("copies") / "copy", ignore=shutil.ignore_patterns("checkpoints"))
    (copy / "summary.json").write_text(json.dumps({**summary(copy), key: value}))
    if main(["show", str(copy)]):
        assert re.fullmatch(r"stax: The summary [^\n]* is damaged: [^\n]*\n", capsys.readouterr().err)
    with suppress(stax.InvalidInputError):
        stax.load(copy)


def rewrite(path: Path, change) -> None:
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(change(table), path)


def as_text(table, name: str):
    return table.set_column(table.column_names.index(name), name, pyarrow.array(["evil"] * len(table)))


@pytest.mark.parametrize(
    ("name", "spoil", "told"),
    [
        ("ledger.parquet", lambda path: path.write_bytes(b"PAR1 evil PAR1"), "The ledger .* is damaged"),
        ("ledger.parquet", lambda path: path.unlink(), "ledger.parquet' is missing"),
        ("ledger.parquet", lambda path: rewrite(path, lambda t: t.drop_columns(["reward"])), "The ledger .* is damaged"),
        ("ledger.parquet", lambda path: rewrite(path, lambda t: as_text(t, "reward")), "The ledger .* is damaged"),
        ("ledger.parquet", lambda path: rewrite(path, lambda t: as_text(t, "origin")), "The ledger .* is damaged"),
        ("ledger.parquet", lambda path: rewrite(path, lambda t: t.slice(0, 50)), "is damaged: it has 50 rows for 100 evaluations"),
        ("ledger.parquet", lambda path: rewrite(path, lambda t: pyarrow.concat_tables([t] * 9)), "has 900 rows for a budget of 100"),
        ("ledger.parquet", lambda path: rewrite(path, lambda t: t.drop_columns(["ground_truth_1"])), "ground truths have 1 numbers"),
        ("emitters.csv", lambda path: path.write_text("id,evil\n1,2\n"), "The list of emitters .* is damaged"),
        ("emitters.csv", lambda path: path.write_text(f'id\n"{"x" * 200_000}"\n'), "The list of emitters .* is damaged"),
        ("emitters.csv", lambda path: path.write_text("id\n1,2,3\n"), "The list of emitters .* is damaged"),
        ("metrics.csv", lambda path: path.write_text(f'evaluations\n"{"x" * 200_000}"\n'), "The table of metrics .* is damaged"),
        ("metrics.csv", lambda path: path.write_bytes(b"\xff"), "The table of metrics .* is not a text file"),
        ("metrics.csv", lambda path: path.unlink(), "metrics.csv' is missing"),
        ("archives/reward.npz", lambda path: path.write_bytes(b"evil"), "The archive .* is damaged"),
        ("archives/reward.npz", lambda path: path.unlink(), "reward.npz' is missing"),
        ("autoencoder.safetensors", lambda path: path.write_bytes(b"evil"), "The autoencoder .* is damaged"),
        ("autoencoder.safetensors", lambda path: path.unlink(), "autoencoder.safetensors' is missing"),
        ("autoencoder.safetensors", lambda path: save_file({"evil": np.zeros(3)}, path), "are not the state of this autoencoder"),
        ("autoencoder.safetensors", lambda path: path.write_bytes(b"\xff" * 8 + b"{}"), "The autoencoder .* is damaged"),
    ],
)  # fmt: skip
def test_results_that_are_none_are_not_loaded(name, spoil, told, learned, tmp_path):
    copy = shutil.copytree(learned, tmp_path / "copy")
    spoil(copy / name)
    with pytest.raises(stax.InvalidInputError, match=told) as raised:
        stax.load(copy)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("[task_description]", "[evil]", "There is no key 'evil'"),
        ("genome_size = 6", 'genome_size = "six"', "The task's description in config.toml is damaged"),
        ("[[task_description.reward_areas]]", "[task_description.reward_areas]", ""),
        ('algo = "serene"', "algo = " + "[" * 3000, "is not TOML"),
        ('algo = "serene"', "algo = " + "9" * 5000, "is not TOML"),
        ("genome_bounds", "genome_bunds", "did you mean 'genome_bounds'?"),
        ("workers = 1", "workers = 1000000", "workers must be a whole number from 1 to 1024, not 1000000."),
    ],
)
def test_a_configuration_that_is_none_is_refused(before, after, told, copy, capsys):
    path = copy / "config.toml"
    path.write_text(path.read_text().replace(before, after))
    assert told in refused(capsys, "show", copy)


def test_names_that_are_no_checkpoints_are_passed_over(copy, whole):
    for name in ("999.npz", "9evil.npz", "9" * 13 + ".npz", "notes.txt", "000000000999.sha256"):
        (copy / "checkpoints" / name).write_text("evil")
    assert main(["show", str(copy)]) == 0
    stax.resume(copy, trust=True)
    same_run(copy, whole)
    assert (copy / "checkpoints" / "notes.txt").exists()


def test_metrics_with_gaps_and_nan_are_loaded_as_they_are(whole, tmp_path, capsys):
    copy = shutil.copytree(whole, tmp_path / "copy")
    with (copy / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    rows[1]["coverage"] = "nan"
    rows[2]["coverage"] = ""
    with (copy / "metrics.csv").open("w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert f"The metrics in '{copy}' are damaged" in refused(capsys, "show", copy)
    assert np.isnan(stax.load(copy).metrics[1]["coverage"])
    assert stax.load(copy).metrics[2]["coverage"] is None


def test_a_killed_process_leaves_its_lock_to_the_next(commands, trouble, tmp_path, whole):
    out = tmp_path / "run"
    first = commands.start(*arguments(out), **{VARIABLE: trouble(pause=0.1)})
    first.wait_for(lambda: checkpoints(out))
    first.send(signal.SIGKILL)
    first.wait()
    trouble()
    stax.resume(out, trust=True)
    same_run(out, whole)


def test_a_terminal_does_not_obey_a_stranger(copy, capsys):
    said = {**summary(copy), "status": "failed", "error": "it \x1b[2J fell\noff"}
    (copy / "summary.json").write_text(json.dumps(said))
    assert main(["show", str(copy)]) == 0
    assert "it ?[2J fell off" in capsys.readouterr().out
    with pytest.raises(stax.InvalidInputError, match=re.escape("(it ?[2J fell off)")):
        stax.load(copy)
