"""Events for TensorBoard, read by TensorBoard's own reader."""

from __future__ import annotations

import io

import numpy as np
import pytest
from diaries import BUDGET, Diary, rows
from PIL import Image

import stax
from optional_packages import need
from run_folders import QUICK, Commands, as_options, checkpoints, same_run
from stax.ecosystem import TensorBoardCallback
from toy_tasks import SquareTask

need("tensorboard")


class PictureTask(SquareTask):
    """A point in a picture of 16 x 16, seen three times."""

    name = "pictures"
    observation_shape = (16, 16, 3)
    observation_dtype = "uint8"

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        pictures = np.full((len(rollouts), 3, 16, 16, 3), 255, np.uint8)
        for policy, (x, y) in enumerate(rollouts.ground_truth):
            for time in range(3):
                column, row = (int(7.9 * (1 + place * (time + 1) / 3)) for place in (x, y))
                pictures[policy, time, row, column] = (200, 30, 30)
        return stax.Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, pictures, rollouts.ground_truth)


def run(out, task=None, **options):
    return stax.run(task or SquareTask(), algo="stax", budget=BUDGET, seed=2, workers=1, out=out, **{**QUICK, **options})


def curves(folder):
    """All there is, by tag; the reader is told to leave nothing out."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder), purge_orphaned_data=False, size_guidance={"scalars": 0, "images": 0})
    reader.Reload()
    return {tag: [(point.step, point.value) for point in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def images(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder), purge_orphaned_data=False, size_guidance={"images": 0})
    reader.Reload()
    return {tag: reader.Images(tag) for tag in reader.Tags()["images"]}


def same_curves(folder, metrics) -> None:
    """Every number of every row, once."""
    names = {"max_reward_0": "max_reward/near", "max_reward_1": "max_reward/far"}
    names |= {name: f"autoencoder/{name}" for name in ("training_episodes", "training_error", "validation_error")}
    found = curves(folder)
    counted = 0
    for column in (name for name in metrics[0] if not name.startswith("seconds") and name not in ("evaluations", "phase")):
        expected = [(int(row["evaluations"]), row[column]) for row in metrics if row[column] not in (None, "")]
        try:
            expected = [(step, np.float32(float(value))) for step, value in expected]
        except ValueError:
            continue  # words
        assert found.get(names.get(column, column), []) == expected, column
        counted += bool(expected)
    assert counted >= 10
    assert len(found["seconds/evaluation"]) == len(metrics)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    out = tmp_path_factory.mktemp("tensorboard") / "reference"
    run(out)
    return out


def test_metrics_become_curves(tmp_path, reference):
    run(tmp_path / "run", callbacks=[TensorBoardCallback(tmp_path / "board" / "run")])
    same_curves(tmp_path / "board" / "run", rows(reference / "metrics.csv"))
    assert images(tmp_path / "board" / "run") == {}
    same_run(tmp_path / "run", reference)


def test_pictures_show_what_is_seen_and_made_of_it(tmp_path):
    task = PictureTask()
    seen = []

    class Seeing(stax.Callback):
        def after_training(self, search):
            some = search.containers.population.take(
                np.linspace(0, len(search.containers.population) - 1, 8).round().astype(int)
            ).rollouts()
            seen.append((search.evaluations, some.snapshots[:, -1], search.space.reconstruct(some)[:, -1]))

    run(None, task, callbacks=[TensorBoardCallback(tmp_path), Seeing()])
    (found,) = images(tmp_path).values()
    assert [image.step for image in found] == [step for step, _, _ in seen]
    for image, (_, before, after) in zip(found, seen, strict=True):
        picture = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        assert picture.shape == (32, 128, 3)
        for number in range(8):
            part = picture[:, 16 * number : 16 * (number + 1)]
            np.testing.assert_array_equal(part[:16], before[number])
            np.testing.assert_array_equal(part[16:], np.round(255 * np.clip(after[number], 0, 1)).astype(np.uint8))


@pytest.mark.parametrize("damage", ["none", "later rows", "half a record", "nothing left", "last rows lost"])
def test_curves_are_continued_without_double_points(tmp_path, reference, damage):
    out, board = tmp_path / "run", tmp_path / "board"
    diary = Diary()
    with pytest.raises(stax.RunInterrupted):
        run(out, callbacks=[TensorBoardCallback(board), diary], stop=lambda: len(diary.rows) >= 6)
    (events,) = board.iterdir()
    whole = events.read_bytes()
    if damage == "later rows":
        # As if the process had been killed later than its last checkpoint.
        later = TensorBoardCallback(board)
        later._file = events.open("ab")
        later._write(later._event(diary.rows[-1] + 24, summary=_summary(later, "coverage", 0.5)))
        later.close()
    elif damage == "half a record":
        events.write_bytes(whole + whole[-40:-10])
    elif damage == "nothing left":
        events.unlink()
    elif damage == "last rows lost":
        events.write_bytes(whole[: len(whole) * 2 // 3])
    stax.resume(out, task=SquareTask(), callbacks=[TensorBoardCallback(board)])
    same_curves(board, rows(reference / "metrics.csv"))
    same_run(out, reference)


def _summary(callback, tag, value):
    summary = callback._summaries.Summary
    return summary(value=[summary.Value(tag=tag, simple_value=value)])


def test_two_resumes_in_a_row(tmp_path, reference):
    out, board = tmp_path / "run", tmp_path / "board"
    for count in (3, 3, 100):
        diary = Diary()
        watching = {
            "callbacks": [TensorBoardCallback(board), diary],
            "stop": lambda d=diary, c=count: d.heard.count("after_chunk") >= c,
        }
        try:
            stax.resume(out, task=SquareTask(), **watching) if out.exists() else run(out, **watching)
        except stax.RunInterrupted:
            continue
    assert len(list(board.iterdir())) == 3
    same_curves(board, rows(reference / "metrics.csv"))


def test_a_running_tensorboard_forgets_what_comes_again(tmp_path):
    """Its reader drops points after the step that a new session begins with."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    out, board = tmp_path / "run", tmp_path / "board"
    diary = Diary()
    with pytest.raises(stax.RunInterrupted):
        run(out, callbacks=[TensorBoardCallback(board), diary], stop=lambda: len(diary.rows) >= 4)
    late = TensorBoardCallback(board)
    (events,) = board.iterdir()
    late._file = events.open("ab")
    late._write(late._event(diary.rows[-1] + 1, summary=_summary(late, "coverage", 0.9)))
    late.close()
    reader = EventAccumulator(str(board), size_guidance={"scalars": 0})
    reader.Reload()
    assert reader.Scalars("coverage")[-1].value == np.float32(0.9)
    result = stax.resume(out, task=SquareTask(), callbacks=[TensorBoardCallback(board)])
    reader.Reload()
    assert [point.step for point in reader.Scalars("coverage")] == [row["evaluations"] for row in result.metrics]


def test_folders_of_other_runs_are_left_alone(tmp_path):
    run(None, callbacks=[TensorBoardCallback(tmp_path / "board")])
    before = {path: path.read_bytes() for path in (tmp_path / "board").iterdir()}
    with pytest.raises(stax.InvalidInputError, match="holds events of another run; give one without"):
        run(tmp_path / "run", callbacks=[TensorBoardCallback(tmp_path / "board")])
    assert {path: path.read_bytes() for path in (tmp_path / "board").iterdir()} == before
    diary = Diary()
    with pytest.raises(stax.RunInterrupted):
        run(tmp_path / "run", callbacks=[diary], stop=lambda: len(diary.rows) >= 3)
    # Of another seed.
    stax.run(SquareTask(), algo="ns", budget=100, seed=5, callbacks=[TensorBoardCallback(tmp_path / "other")], **QUICK)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "events.out.tfevents.1700000000.host.1.0").write_bytes(b"not ours")
    for board in ("other", "torch"):
        before = {path: path.read_bytes() for path in (tmp_path / board).iterdir()}
        with pytest.raises(stax.InvalidInputError, match="holds events of another run"):
            stax.resume(tmp_path / "run", task=SquareTask(), callbacks=[TensorBoardCallback(tmp_path / board)])
        assert {path: path.read_bytes() for path in (tmp_path / board).iterdir()} == before
    (tmp_path / "file").write_text("x")
    with pytest.raises(stax.InvalidInputError, match="cannot be written to"):
        run(tmp_path / "new", callbacks=[TensorBoardCallback(tmp_path / "file" / "board")])


def test_the_command_writes_a_folder_for_each_run_and_survives_a_kill(tmp_path):
    commands = Commands(tmp_path)
    try:
        out, board = tmp_path / "runs" / "first", tmp_path / "board"
        command = [
            "run",
            "toy_tasks:SquareTask",
            "--algo",
            "stax",
            "--budget",
            str(BUDGET),
            "--seed",
            "2",
            "--workers",
            "1",
        ]
        command += ["--out", out, "--tensorboard", board, "--quiet", *as_options(QUICK)]
        killed = commands.start(*command)
        killed.wait_for(lambda: out.exists() and any(count > 100 for count in checkpoints(out)))
        killed.send(9)
        assert killed.wait() == -9
        code, said = commands.do("resume", out, "--tensorboard", board, "--trust", "--quiet")
        assert code == 0, said
        same_curves(board / "first", rows(out / "metrics.csv"))
    finally:
        commands.close()
