"""A run folder is read lazily, runs nobody's code, and says in one sentence what is wrong with it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import stax
from stax import InvalidInputError
from stax.analysis.recorded import find_runs
from stax.runs.folder import RunFolder
from stax.runs.ledger_file import LEDGER
from stax.runs.reader import RunReader
from stax.runs.status import RunStatus


def change_summary(folder: Path, **values: object) -> None:
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture
def folder(square_run, tmp_path) -> Path:
    return Path(shutil.copytree(square_run, tmp_path / "run"))


def refused(words: str):
    return pytest.raises(InvalidInputError, match=f"^{re.escape(words)}$")


def test_it_holds_what_the_result_holds(square_run):
    result, run = stax.load(square_run, trust=True), RunReader(square_run)
    assert (run.status, run.evaluations, run.coverage, run.max_reward) == (
        "finished", 600, result.coverage, result.max_reward,
    )  # fmt: skip
    assert run.config == result.config
    assert (run.task.name, run.task.reward_areas) == ("square", result.task.reward_areas)
    assert run.metrics == result.metrics
    assert run.emitters == result.emitters
    assert run.why_unfinished() == ""
    for own, other in ((run.novelty_archive, result.novelty_archive), (run.reward_archive, result.reward_archive)):
        for name, column in own.columns().items():
            np.testing.assert_array_equal(column, getattr(other, name))
    ledger = run.ledger()
    assert tuple(ledger) == LEDGER
    for name, column in result.ledger.items():
        np.testing.assert_array_equal(ledger[name], column)
    np.testing.assert_array_equal(run.ledger("reward", "failed")["failed"], result.ledger["failed"])


def test_only_the_columns_asked_for_are_read(folder):
    path = folder / "ledger.parquet"
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).drop_columns(["parent"]), path)
    run = RunReader(folder)
    assert list(run.ledger("reward", "ground_truth")) == ["reward", "ground_truth"]
    with pytest.raises(InvalidInputError, match="is damaged: it has the columns id, origin"):
        run.ledger("reward", "parent")
    with pytest.raises(InvalidInputError, match=r"^There is no column of the ledger 'rewards'; did you mean 'reward'\?"):
        run.ledger("rewards")


def test_no_code_of_its_maker_is_run_and_neither_torch_nor_matplotlib_is_needed(folder, tmp_path):
    config = folder / "config.toml"
    config.write_text(config.read_text().replace("toy_tasks:SquareTask", "nowhere_to_be_found:Task"))
    code = (
        "import sys\nfrom stax.runs.reader import RunReader\nrun = RunReader('run')\n"
        "run.metrics, run.ledger(), run.novelty_archive, run.reward_archive, run.emitters\n"
        "assert not {'torch', 'matplotlib', 'nowhere_to_be_found'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_there_must_be_a_run(tmp_path, square_run):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    missing, empty, other, file = (str(tmp_path / name) for name in ("missing", "empty", "other", "file"))
    with refused(f"There is no run folder '{missing}'."):
        RunReader(missing)
    with refused(f"The folder '{empty}' is empty: no run has been begun in it."):
        RunReader(empty)
    with refused(f"'{other}' is not a run folder: it has no config.toml."):
        RunReader(other)
    with refused(f"There is no folder '{missing}'."):
        find_runs([square_run, missing])
    with refused(f"The folder '{empty}' is empty."):
        find_runs([empty])
    with pytest.raises(InvalidInputError, match=f"^{re.escape(repr(file))} is a file; a run's folder is needed"):
        find_runs([file])
    with pytest.raises(InvalidInputError, match=f"^There is no run in {re.escape(repr(other))}: .*config.toml.*record"):
        find_runs([other])


def test_a_run_that_still_goes_on(folder):
    change_summary(folder, status="running", evaluations=240)
    with RunFolder(folder).locked():
        run = RunReader(folder)
        assert run.status is RunStatus.RUNNING
        with refused(f"The run in '{folder}' is still going (240 of 600 evaluations)."):
            run.require_finished()
    (folder / "ledger.parquet").unlink()
    with RunFolder(folder).locked(), refused(f"The run in '{folder}' is still going (240 of 600 evaluations)."):
        RunReader(folder).ledger("reward")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("running", "was killed after 240 of 600 evaluations; go on with it: stax resume FOLDER --trust."),
        ("interrupted", "was interrupted after 240 of 600 evaluations; go on with it: stax resume FOLDER --trust."),
        (
            "failed",
            "failed after 240 of 600 evaluations (the disk is full); once that is repaired, go on with it: stax resume FOLDER --trust.",
        ),
    ],
)
def test_a_run_that_was_ended_before_its_time(folder, status, words):
    change_summary(folder, status=status, evaluations=240, error="the disk\nis full.")
    sentence = f"The run in '{folder}' {words.replace('FOLDER', str(folder))}"
    run = RunReader(folder)
    assert run.status is (RunStatus.KILLED if status == "running" else RunStatus(status))
    with refused(sentence):
        run.require_finished()
    # Results of an earlier interruption are not those of the run as it was last.
    with refused(sentence):
        run.ledger("reward")
    (folder / "emitters.csv").unlink()
    with refused(sentence):
        _ = run.emitters


def test_a_run_without_a_summary(folder):
    (folder / "summary.json").unlink()
    with refused(f"The run in '{folder}' was ended before its first results; go on with it: stax resume {folder} --trust."):
        RunReader(folder).require_finished()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("ledger.parquet", lambda run: run.ledger("reward")),
        ("metrics.csv", lambda run: run.metrics),
        ("emitters.csv", lambda run: run.emitters),
        ("archives/novelty.npz", lambda run: run.novelty_archive),
        ("archives/reward.npz", lambda run: run.reward_archive),
    ],
)
def test_missing_and_damaged_files(folder, name, read):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(b"\xff\x00" + whole[10:-20])
    with pytest.raises(InvalidInputError, match=r"is damaged|is not a text file") as damaged:
        read(RunReader(folder))
    assert name in str(damaged.value)
    (folder / name).unlink()
    with refused(f"The file '{folder / name}' is missing."):
        read(RunReader(folder))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"status": "lost"}, "status is 'lost'"),
        ({"evaluations": "600", "status": "failed"}, "evaluations is '600'"),
        ({"max_reward": [1]}, "max_reward is [1]"),
        ({"max_reward": None}, "max_reward is None"),
        ({"coverage": True}, "coverage is True"),
    ],
)
def test_a_damaged_summary(folder, values, words):
    change_summary(folder, **values)
    run = RunReader(folder)
    with refused(f"The summary '{folder / 'summary.json'}' is damaged: {words}."):
        _ = run.why_unfinished(), run.max_reward, run.coverage


def test_a_ledger_of_another_run(folder):
    change_summary(folder, evaluations=599)
    with refused(f"The ledger '{folder / 'ledger.parquet'}' is damaged: it has 600 rows for 599 evaluations."):
        RunReader(folder).ledger()


def test_runs_are_found_wherever_they_are_and_each_once(own_runs, square_run, tmp_path):
    campaign = own_runs / "deep" / "campaign"
    campaign.mkdir(parents=True)
    (own_runs / "ns-4").rename(campaign / "ns-4")
    # A file of the same name that other software has.
    (own_runs / "config.toml").write_text("[tool]\nname = 'other'\n")
    (own_runs / "ns-3" / "copy").mkdir()
    shutil.copy(own_runs / "ns-3" / "config.toml", own_runs / "ns-3" / "copy")
    found = find_runs([own_runs, own_runs / "ns-0", square_run, str(campaign)])
    expected = ["deep/campaign/ns-4", *(f"ns-{seed}" for seed in range(4)), *(f"serene-{seed}" for seed in range(5))]
    assert [str(run.path.relative_to(own_runs)) for run in found[:-1]] == [*expected, "stax-nt-0", "stax-nt-1"]
    assert found[-1].path == square_run
    assert str(found[1]) == f"ns on redundant-arm with seed 0 in '{own_runs / 'ns-0'}'"
