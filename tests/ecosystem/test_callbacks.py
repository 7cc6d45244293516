"""Callbacks: what they are told, that they change nothing, and what happens when one of them fails."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from diaries import BUDGET, Diary, rows

import stax
from run_folders import QUICK, same_run, summary
from stax.ecosystem import CsvCallback
from toy_tasks import SquareTask


def run(out=None, algo="stax", seed=2, **options):
    return stax.run(SquareTask(), algo=algo, budget=BUDGET, seed=seed, workers=1, out=out, **{**QUICK, **options})


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The same run without anybody watching."""
    out = tmp_path_factory.mktemp("callbacks") / "reference"
    run(out)
    return out


def test_they_hear_everything_in_order_and_change_nothing(tmp_path, reference):
    diary, second = Diary(), Diary()
    result = run(tmp_path / "run", callbacks=[diary, second])
    assert diary.heard[0] == "at_start"
    assert diary.heard[-2:] == ["at_end", "close"]
    counts = Counter(diary.heard)
    assert counts["after_chunk"] == len(result.metrics) > 5
    assert counts["after_training"] == result.training_episodes > 1
    assert diary.rows == [row["evaluations"] for row in result.metrics]
    assert diary.result is result
    assert result.status == "finished"
    assert second.heard == diary.heard
    same_run(tmp_path / "run", reference)


def test_a_run_without_a_folder_and_without_training():
    diary = Diary()
    run(algo="ns", callbacks=[diary])
    assert set(diary.heard) == {"at_start", "after_chunk", "at_end", "close"}


def test_a_training_is_reported_before_its_chunk_and_at_rest():
    class Looking(Diary):
        def after_training(self, search):
            assert search.at_rest
            assert search.metrics[-1]["training_episodes"] == search.training_episodes
            super().after_training(search)

    diary = Looking()
    run(callbacks=[diary])
    assert {second for first, second in pairwise(diary.heard) if first == "after_training"} == {"after_chunk"}


def test_an_interrupted_run_ends_too_and_goes_on(tmp_path, reference):
    out = tmp_path / "run"
    first, second = Diary(), Diary()
    with pytest.raises(stax.RunInterrupted):
        run(out, callbacks=[first], stop=lambda: len(first.rows) >= 4)
    assert first.result.status == "interrupted"
    assert first.heard[-2:] == ["at_end", "close"]
    result = stax.resume(out, task=SquareTask(), callbacks=[second])
    assert second.heard[0] == "at_resume"
    assert second.rows == [row["evaluations"] for row in result.metrics]
    same_run(out, reference)
    third = Diary()
    stax.resume(out, task=SquareTask(), callbacks=[third])
    assert third.heard == []


def test_at_resume_is_at_start_if_nothing_else_is_said(tmp_path):
    class Starting(stax.Callback):
        def __init__(self):
            self.starts = []

        def at_start(self, search):
            self.starts.append(search.evaluations)

    callback = Starting()
    count = iter(range(100))
    with pytest.raises(stax.RunInterrupted):
        run(tmp_path / "run", callbacks=[callback], stop=lambda: next(count) == 2)
    stax.resume(tmp_path / "run", task=SquareTask(), callbacks=[callback])
    assert callback.starts[0] == 0 < callback.starts[1] < BUDGET


@pytest.mark.parametrize(("method", "at"), [("after_chunk", 1), ("after_chunk", 4), ("after_training", 1)])
def test_one_that_fails_stops_the_run_with_everything_saved(tmp_path, reference, method, at):
    out = tmp_path / "run"
    failing, other = Diary(method, at), Diary()
    with pytest.raises(RuntimeError) as raised:
        run(out, callbacks=[failing, other])
    assert str(raised.value).startswith(f"The callback Diary failed in {method}: OSError: [Errno 28] No space left on device (")
    assert isinstance(raised.value.__cause__, OSError)
    assert failing.heard[-1] == other.heard[-1] == "close"
    assert "at_end" not in other.heard
    assert summary(out)["status"] == "failed"
    assert "The callback Diary failed" in summary(out)["error"]
    stopped = summary(out)["evaluations"]
    assert 0 < stopped < BUDGET
    # Not a single evaluation is lost.
    again = Diary()
    stax.resume(out, task=SquareTask(), callbacks=[again])
    assert again.rows[: len(other.rows)] == other.rows
    same_run(out, reference)


def test_one_that_fails_at_the_start_leaves_nothing(tmp_path):
    diary = Diary("at_start")
    with pytest.raises(RuntimeError, match="Diary failed in at_start"):
        run(tmp_path / "run", callbacks=[diary])
    assert diary.heard == ["at_start", "close"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_one_that_fails_at_a_resume_changes_nothing(tmp_path, reference):
    out = tmp_path / "run"
    count = iter(range(100))
    with pytest.raises(stax.RunInterrupted):
        run(out, stop=lambda: next(count) == 2)
    before = summary(out)
    with pytest.raises(RuntimeError, match="Diary failed in at_resume"):
        stax.resume(out, task=SquareTask(), callbacks=[Diary("at_resume")])
    assert summary(out) == before
    stax.resume(out, task=SquareTask())
    same_run(out, reference)


@pytest.mark.parametrize(("method", "at"), [("at_end", 1), ("close", 1), ("after_chunk", -1)])
def test_one_that_fails_at_the_end_finds_the_run_finished(tmp_path, reference, method, at):
    out, other = tmp_path / "run", Diary()
    last = sum(1 for _ in rows(reference / "metrics.csv"))
    with pytest.raises(RuntimeError, match=f"Diary failed in {method}"):
        run(out, callbacks=[Diary(method, last if at < 0 else at), other])
    assert other.heard[-2:] == ["at_end", "close"]
    assert summary(out)["status"] == "finished"
    same_run(out, reference)


def test_what_is_no_callback_is_refused(tmp_path):
    for wrong in (print, Diary, "tensorboard"):
        with pytest.raises(stax.InvalidInputError, match=r"callbacks must be objects of subclasses of stax\.Callback, not"):
            run(tmp_path / "run", callbacks=[wrong])
    assert list(tmp_path.iterdir()) == []


# CSV


def test_a_csv_file_grows_with_every_chunk(tmp_path):
    path = tmp_path / "new" / "metrics.csv"
    lengths = []

    class Looking(stax.Callback):
        def after_chunk(self, search):
            lengths.append(len(rows(path)))

    out = tmp_path / "run"
    run(out, callbacks=[CsvCallback(path), Looking()])
    assert lengths == list(range(1, len(lengths) + 1))
    assert path.read_bytes() == (out / "metrics.csv").read_bytes()


def test_a_csv_file_has_the_rows_of_chunks_without_evaluations(tmp_path):
    path, out = tmp_path / "metrics.csv", tmp_path / "run"
    run(out, algo="serene", callbacks=[CsvCallback(path)], bootstrap_share=0.0)
    assert [row["phase"] for row in rows(path)].count("exploitation") > 1
    assert rows(path) == rows(out / "metrics.csv")


@pytest.mark.parametrize("behind", [0, 2])
def test_a_csv_file_is_continued_without_double_rows(tmp_path, reference, behind):
    path, out = tmp_path / "metrics.csv", tmp_path / "run"
    diary = Diary()
    with pytest.raises(stax.RunInterrupted):
        run(out, callbacks=[CsvCallback(path), diary], stop=lambda: len(diary.rows) >= 6)
    if behind:
        # As if the process had been killed after more chunks than the last checkpoint knows of, in the middle of a row.
        path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n" + "999,explo")
    stax.resume(out, task=SquareTask(), callbacks=[CsvCallback(path)])
    assert rows(path) == rows(reference / "metrics.csv")


def test_a_csv_file_that_is_first_given_at_a_resume_has_all_rows(tmp_path, reference):
    out, count = tmp_path / "run", iter(range(100))
    with pytest.raises(stax.RunInterrupted):
        run(out, stop=lambda: next(count) == 3)
    stax.resume(out, task=SquareTask(), callbacks=[CsvCallback(tmp_path / "late.csv")])
    assert rows(tmp_path / "late.csv") == rows(reference / "metrics.csv")


def test_csv_files_of_others_are_left_alone(tmp_path):
    taken = tmp_path / "taken.csv"
    taken.write_text("my own data\n1\n")
    with pytest.raises(stax.InvalidInputError, match="exists already"):
        run(tmp_path / "run", callbacks=[CsvCallback(taken)])
    with pytest.raises(stax.InvalidInputError, match="exists already"):
        run(tmp_path / "run", callbacks=[CsvCallback(tmp_path)])
    assert not (tmp_path / "run" / "config.toml").exists()
    with pytest.raises(stax.InvalidInputError, match="cannot be written"):
        run(tmp_path / "run", callbacks=[CsvCallback(taken / "metrics.csv")])
    count = iter(range(100))
    with pytest.raises(stax.RunInterrupted):
        run(tmp_path / "run", stop=lambda: next(count) == 2)
    run(seed=3, callbacks=[CsvCallback(tmp_path / "other.csv")])
    for content in ("my own data\n1\n", "evaluations,mine\n", (tmp_path / "other.csv").read_text()):
        taken.write_text(content)
        with pytest.raises(stax.InvalidInputError, match="does not hold the metrics of this run; give another one"):
            stax.resume(tmp_path / "run", task=SquareTask(), callbacks=[CsvCallback(taken)])
        assert taken.read_text() == content
