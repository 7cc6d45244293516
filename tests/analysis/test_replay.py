"""`stax replay`: which policies, what is drawn of them, the files, and what is refused."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from drawn_tasks import BrokenPenTask, FlatTask, PaperTask, SlidingTask
from PIL import Image

import stax
from stax.analysis.film_files import HOLD_SECONDS, gif_bytes, mp4_bytes
from stax.analysis.replay import Replay, play, write_replay
from stax.analysis.replay_pictures import Film, strip
from stax.cli.main import main
from stax.runs.archived_policies import best_policy, find_policies, kept_policies, random_policies
from stax.runs.array_files import write_arrays

PURPLE = (150, 90, 200)
"""Of the trail."""


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Tiny runs. Of the arm's, area 2 has policies in the reward archive, area 1 was found and not kept, area 0 not found."""
    made = {}
    for name, algo, budget, seed in (
        ("redundant-arm", "serene", 600, 6),
        ("hard-maze", "ns", 150, 0),
        ("curling", "ns", 110, 0),
    ):
        made[name] = tmp_path_factory.mktemp("replay") / name
        stax.run(name, algo=algo, budget=budget, seed=seed, workers=1, out=made[name])
    return made


@pytest.fixture(scope="session")
def arm(folders) -> stax.Result:
    return stax.load(folders["redundant-arm"])


@pytest.fixture
def folder(folders, tmp_path) -> Path:
    """The arm's run, to change."""
    return Path(shutil.copytree(folders["redundant-arm"], tmp_path / "run"))


def replay(capsys, *arguments: object) -> tuple[int, str, list[str]]:
    code = main(["replay", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err.splitlines()


def gif(content: bytes) -> tuple[list[np.ndarray], list[int]]:
    """Frames and their milliseconds."""
    frames, durations = [], []
    with Image.open(io.BytesIO(content)) as image:
        for number in range(image.n_frames):
            image.seek(number)
            frames.append(np.asarray(image.convert("RGB")))
            durations.append(image.info["duration"])
    return frames, durations


def mp4(content: bytes) -> tuple[list[np.ndarray], float]:
    """Frames and how many there are a second."""
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(content)) as film:
        return [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)], float(film.streams.video[0].average_rate)


def count(picture: np.ndarray, color: tuple[int, int, int]) -> int:
    return int((picture == color).all(axis=-1).sum())


def sliding(steps: int, number: int = 0, area: str | None = None) -> Replay:
    return Replay(number, np.linspace(0, 1, steps + 1)[:, None], 0.25 if area else 0.0, area)


# Which policies


def test_policies_come_from_both_archives_in_the_order_asked_for(arm):
    kept = kept_policies(arm)
    assert set(kept.id) == {*arm.novelty_archive.id, *arm.reward_archive.id}
    wanted = [int(arm.reward_archive.id[0]), int(arm.novelty_archive.id[3]), int(arm.novelty_archive.id[1])]
    found = find_policies(arm, [*wanted, wanted[0]])
    assert found.id.tolist() == wanted
    np.testing.assert_array_equal(found.genome[0], arm.reward_archive.genome[0])
    np.testing.assert_array_equal(found.genome[2], arm.novelty_archive.genome[1])


def test_the_best_of_an_area_by_name_and_by_number(arm):
    for area in ("upper left", "2", 2):
        best = best_policy(arm, area)
        assert best.reward.tolist() == [arm.reward_archive.reward.max()]
        assert best.reward_area.tolist() == [2]


def test_random_policies_differ_and_depend_on_the_seed_alone(arm):
    first, again, other = (random_policies(arm, 5, seed) for seed in (3, 3, 4))
    assert first.id.tolist() == again.id.tolist() != other.id.tolist()
    assert len(set(first.id.tolist())) == 5
    assert random_policies(arm, len(kept_policies(arm))).id.tolist() == kept_policies(arm).id.tolist()


def test_a_replay_is_the_recorded_rollout(folders):
    for path in folders.values():
        result = stax.load(path)
        policies = random_policies(result, 4)
        for row, played in enumerate(play(result.task, policies)):
            assert played.id == policies.id[row]
            assert played.differences == ()
            assert played.steps == policies.steps[row]
            assert played.reward == policies.reward[row]
            assert (played.area is None) == (policies.reward_area[row] < 0)


# What is drawn


@pytest.mark.parametrize("name", ["redundant-arm", "hard-maze", "curling"])
def test_a_film_shows_the_start_the_way_and_the_end(name, folders):
    result = stax.load(folders[name])
    (played,) = play(result.task, random_policies(result, 1, seed=2))
    film = Film(result.task, [played], size=128)
    assert film.steps[0] == 0
    assert film.steps[-1] == played.steps
    assert set(np.diff(film.steps[:-1])) <= {film.every}
    frames = film.frames()
    assert len(frames) == len(film)
    assert {frame.shape for frame in frames} == {frames[0].shape}
    assert {frame.dtype for frame in frames} == {np.dtype(np.uint8)}
    for number in (0, len(frames) // 2, -1):
        step = film.steps[number]
        scene = result.task.render(played.states[step], 128, trail=played.states[: step + 1])
        np.testing.assert_array_equal(frames[number][:128], scene)
    np.testing.assert_array_equal(film[-1], frames[-1])
    assert len(film[2:5]) == 3


def test_the_trail_grows(folders):
    result = stax.load(folders["hard-maze"])
    far = np.linalg.norm(result.novelty_archive.ground_truth - result.task.scene().start, axis=1).argmax()
    film = Film(result.task, play(result.task, result.novelty_archive.take([far])), size=200)
    purple = [count(film[number], PURPLE) for number in (0, len(film) // 2, -1)]
    assert purple[0] == 0
    assert 0 < purple[1] < purple[2]


def test_captions_lie_below_the_scene_and_tell_the_reward_only_at_the_end():
    film = Film(SlidingTask(), [sliding(7, 42, "anywhere")], size=240, every=1)
    first, second = np.array_split(np.arange(241, film[0].shape[0]), 2)
    for number, frame in enumerate(film):
        assert (frame[:240] == frame[0, 0]).all()
        assert frame[first].min() < 80
        assert (frame[second].min() < 80) == (number == 7)
        assert (frame[[-1, -2]] == 255).all()
    # The step, on the right, is another each time; the policy, on the left, is the same.
    assert (film[1][first, :80] == film[6][first, :80]).all()
    assert (film[1][first, 120:] != film[6][first, 120:]).any()


def test_a_film_lasts_about_six_seconds_and_a_short_episode_is_slowed_down():
    for steps in (61, 99, 100, 121, 500, 2000, 12_345):
        film = Film(SlidingTask(), [sliding(steps)], size=64)
        assert 3 <= len(film) / film.fps <= 6.1
        assert film.fps == 20
    for steps in (1, 5, 15, 40):
        film = Film(SlidingTask(), [sliding(steps)], size=64)
        assert film.every == 1
        assert 5 <= film.fps < 20
        assert len(film) == steps + 1
    assert len(Film(SlidingTask(), [sliding(2000)], size=64, fps=50)) / 50 <= 6.1
    film = Film(SlidingTask(), [sliding(100)], size=64, every=30)
    assert film.steps == [0, 30, 60, 90, 100]
    assert Film(SlidingTask(), [sliding(0)], size=64).steps == [0]


def test_a_grid_has_one_length_and_thin_gaps():
    """What ends early stays as it ended."""
    task = SlidingTask()
    film = Film(task, [sliding(10), sliding(4), sliding(7)], size=100, every=1)
    alone = Film(task, [sliding(10)], size=100, every=1)
    assert len(film) == 11
    height, width = alone[0].shape[:2]
    assert film[0].shape == (2 * height + 4, 2 * width + 4, 3)
    for number, frame in enumerate(film):
        np.testing.assert_array_equal(frame[:height, :width], alone[number])
        assert (frame[: 2 * height, width : width + 4] == frame[0, width]).all()
        second = frame[:height, width + 4 :]
        assert second[0, 0, 0] == (0 if number >= 4 else round(255 * (1 - number / 4)))
        if number >= 4:
            np.testing.assert_array_equal(second, film[4][:height, width + 4 :])
    # The fourth place is empty.
    assert (film[-1][height + 4 :, width + 4 :] == film[-1][0, width]).all()


def test_a_strip_shows_five_moments_and_has_a_row_per_policy(arm):
    replays = play(arm.task, random_policies(arm, 2))
    one, two = strip(arm.task, replays[:1]), strip(arm.task, replays)
    assert one.shape[1] == two.shape[1] == 5 * 256 + 4 * 4
    assert two.shape[0] == 2 * one.shape[0] + 4
    np.testing.assert_array_equal(two[: len(one)], one)
    heading = next(
        row for row in range(60) if (one[row] == arm.task.render(replays[0].states[0], 256)[0, 0]).all(axis=-1).sum() < 5
    )
    for place, step in ((0, 0), (4 * 260, replays[0].steps)):
        scene = arm.task.render(replays[0].states[step], 256, trail=replays[0].states[: step + 1])
        np.testing.assert_array_equal(one[heading + 1 : heading + 257, place : place + 256], scene)
    assert strip(arm.task, replays[:1], size=64, every=max(1, replays[0].steps // 3)).shape[1] in (4 * 68 - 4, 5 * 68 - 4)


def test_captions_fit_every_size():
    """Long words are shortened rather than written over the edge."""
    long = sliding(3, 123_456_789, "an area with a name that goes on and on and on")
    for size in (64, 100, 160, 333, 480):
        film = Film(SlidingTask(), [long], size=size)
        assert film[-1].shape[1] == size
        assert (film[-1][size + 1 :, [0, 1, -1, -2]] == 255).all()
        assert film[-1][size + 1 :].min() < 80


# Files


def test_gif_frames_time_and_colors(arm):
    film = Film(arm.task, play(arm.task, best_policy(arm, 2)), size=160)
    content = gif_bytes(film, film.fps)
    frames, durations = gif(content)
    assert len(content) < 300_000
    assert len(frames) == len(film)
    assert durations[:-1] == [50] * (len(film) - 1)
    assert durations[-1] == 1000 * HOLD_SECONDS
    for shown, drawn in zip(frames, film, strict=True):
        apart = np.abs(shown.astype(int) - drawn)
        assert apart.max() < 60
        assert apart.mean() < 0.5
        # The ground is neither tinted nor flickering.
        assert (shown[(drawn == 255).all(axis=-1)] == 255).all()
    assert content == gif_bytes(list(film), film.fps)


def test_gif_keeps_time_at_rates_that_are_no_hundredths_and_any_colors():
    noise = np.random.default_rng(0).integers(0, 256, (30, 24, 31, 3), dtype=np.uint8)
    frames, durations = gif(gif_bytes(list(noise), 30, hold=0))
    assert len(frames) == 30
    assert frames[0].shape == (24, 31, 3)
    assert set(durations) == {30, 40}
    assert sum(durations) == 1000
    assert gif(gif_bytes([noise[0]], 5))[0][0].shape == (24, 31, 3)


def test_mp4_frames_and_time(arm):
    film = Film(arm.task, play(arm.task, best_policy(arm, 2)), size=161)
    content = mp4_bytes(film, film.fps)
    frames, rate = mp4(content)
    assert rate == film.fps == 20
    assert len(frames) == len(film) + HOLD_SECONDS * 20 - 1
    height, width = film[0].shape[:2]
    assert frames[0].shape == (height + height % 2, 162, 3)
    for shown, number in ((frames[0], 0), (frames[30], 30), (frames[len(film) - 1], -1), (frames[-1], -1)):
        assert np.abs(shown[:height, :width].astype(int) - film[number]).mean() < 4


def test_the_same_frames_give_the_same_mp4():
    # x264's fastest code for processors with AVX-512 reads memory that it has not initialised, so the film is made many times.
    y, x = np.mgrid[:160, :160]
    frames = []
    for number in range(60):
        frame = np.full((160, 160, 3), 240, np.uint8)
        frame[np.hypot(x - 2.6 * number, y - 80 - 48 * np.sin(number / 9)) < 9.5] = (200, 30, 40)
        frame[53] = (4 * number, 10, 90)
        frames.append(frame)
    contents, kept = set(), []
    for number in range(8):
        kept.append(np.random.default_rng(number).bytes(1000 * (37 * number % 91 + 1)))
        if number % 3 == 0:
            kept.clear()
        contents.add(mp4_bytes(frames, 20))
    assert len(contents) == 1


def test_the_command_writes_and_tells(folders, arm, tmp_path, capsys):
    number = int(best_policy(arm, 2).id[0])
    for suffix in ("gif", "mp4", "PNG"):
        out = tmp_path / "deep" / f"film.{suffix}"
        code, written, said = replay(capsys, folders["redundant-arm"], number, "--size", 96, "--out", out)
        assert (code, written) == (0, f"{out}\n")
        assert said[0].startswith(f"stax: policy {number}, ")
        assert said[0].endswith("upper left: the replay equals the recording")
        assert len(said) == 2
        assert [path.name for path in out.parent.iterdir()] == [out.name]
        if suffix == "gif":
            assert gif(out.read_bytes())[0][0].shape[1] == 96
        elif suffix == "mp4":
            assert mp4(out.read_bytes())[0][0].shape[1] == 96
        else:
            with Image.open(out) as image:
                assert (image.format, image.width) == ("PNG", 5 * 96 + 4 * 4)
        out.unlink()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--best", "upper left"], "best-upper-left.gif"),
        (["--random", "3", "--seed", "5"], "random-3-seed-5.gif"),
        ([], "policies-{}-{}.gif"),
    ],
)
def test_files_in_the_run_folder_are_named_after_what_they_show(arguments, name, folder, arm, capsys):
    ids = [] if arguments else arm.novelty_archive.id[[3, 1]].tolist()
    # Policies may stand behind options, too.
    words = [*arguments, "--every", 20, "--size", 64, "--quiet", *ids]
    assert replay(capsys, folder, *words) == (0, f"{folder / 'replays' / name.format(*ids)}\n", [])
    assert [path.name for path in (folder / "replays").iterdir()] == [name.format(*ids)]


def test_a_recording_that_differs_is_told(folder, arm, tmp_path, capsys):
    columns = dict(arm.reward_archive.columns())
    best = int(columns["reward"].argmax())
    recorded = float(columns["reward"][best])
    columns["reward"] = columns["reward"].copy()
    columns["reward"][best] = 0.9999
    write_arrays(folder / "archives" / "reward.npz", columns)
    out = tmp_path / "film.png"
    code, written, said = replay(capsys, folder, "--best", "2", "--out", out, "--size", 64, "--quiet")
    assert (code, written) == (0, f"{out}\n")
    assert said == [
        f"stax: warning: the replay of policy {columns['id'][best]} differs from the recording: reward {recorded} instead of 0.9999;"
        " the task, a package or the archive has changed since"
    ]
    others = [int(arm.novelty_archive.id[0]), int(columns["id"][best])]
    said = replay(capsys, folder, *others, "--out", out, "--size", 64)[2]
    assert said[0] == "stax: 1 of 2 policies: the replay equals the recording"
    assert said[1].startswith("stax: warning: ")


def test_everything_that_differs_is_named(arm):
    policies = best_policy(arm, 2)
    columns = dict(policies.columns())
    columns["reward_area"] = np.array([-1])
    columns["ground_truth"] = np.array([[0.5, 0.25]])
    columns["steps"] = columns["steps"] + 1
    (played,) = play(arm.task, type(policies)(**columns))
    truth = tuple(policies.ground_truth[0].tolist())
    assert played.differences == (
        "reward area upper left instead of none",
        f"ground truth {truth} instead of (0.5, 0.25)",
        f"steps {policies.steps[0]} instead of {policies.steps[0] + 1}",
    )


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Say which policies to replay in one way: by ID, with --best AREA or with --random N."),
        (["3", "--best", "0"], "Say which policies to replay in one way: by ID, with --best AREA or with --random N."),
        (["600"], "There is no policy 600: the run did 600 evaluations, numbered from 0."),
        ([10**18], f"There is no policy {10**18}: the run did 600 evaluations, numbered from 0."),
        (["{gone}"], "Policy {gone} was not kept: only the {kept} policies of the two archives are, such as "),
        (range(37), "From 1 to 36 policies can be replayed at once, not 37."),
        (["--best", "nowhere"], "There is no reward area 'nowhere'; there are 0 'lower left', 1 'upper right', 2 'upper left'."),
        (["--best", "3"], "There is no reward area '3'; there are 0 'lower left', 1 'upper right', 2 'upper left'."),
        (["--best", "0"], "No policy of the archives ended in reward area 'lower left'; some did in 'upper left'."),
        (["--best", "1"], "No policy of the archives ended in reward area 'upper right' (the best that was found, of reward 0.048, was not kept); "),
        (["--random", "30"], "The archives hold {kept} policies, so 30 cannot be drawn from them."),
        (["--random", "37"], "From 1 to 36 policies can be replayed at once, not 37."),
        (["{id}", "--seed", "1"], "--seed is of the policies that --random draws, which was not given."),
        (["{id}", "--out", "film.avi"], "The suffix of the file must be one of '.gif', '.mp4', '.png', not '.avi'."),
        (["{id}", "--out", "film"], "The suffix of the file must be one of '.gif', '.mp4', '.png', not ''."),
        (["{id}", "--out", "folder.gif"], "The file 'folder.gif' cannot be written: it is a folder."),
        (["{id}", "--out", "notes.txt/film.gif"], "The file 'notes.txt/film.gif' cannot be written: a part of its path is not a folder."),
        (["{id}", "--size", "0"], "size must be a whole number from 64 to 2048, not 0."),
        (["{id}", "--size", "3000"], "size must be a whole number from 64 to 2048, not 3000."),
        (["{id}", "--fps", "0"], "fps must be a whole number from 1 to 50, not 0."),
        (["{id}", "--fps", "9", "--out", "film.png"], "fps is for films, .gif and .mp4; 'film.png' is a picture."),
        (["{id}", "--every", "1", "--out", "film.png"], "every must give at most 24 moments, not "),
        (["--random", "10", "--size", "2048"], "The film would have "),
        (["--random", "10", "--size", "2048", "--out", "film.png"], "The picture would have 10,"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_leaves_nothing(arguments, message, folder, arm, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.gif").mkdir()
    (tmp_path / "notes.txt").write_text("important")
    before = sorted(tmp_path.rglob("*"))
    kept = kept_policies(arm).id.tolist()
    words = {"gone": next(number for number in range(600) if number not in kept), "id": kept[0], "kept": len(kept)}
    code, written, said = replay(capsys, folder, *(str(argument).format(**words) for argument in arguments))
    assert (code, written) == (2, "")
    assert len(said) == 1
    assert said[0].startswith(f"stax: {message.format(**words)}")
    assert said[0].endswith(".")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "argument ID: must be a whole number of at least 0, not 'x'"),
        (["--random", "0"], "argument --random: must be a whole number of at least 1, not '0'"),
        (["3", "--every", "0"], "argument --every: must be a whole number of at least 1, not '0'"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["replay", "run", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"stax replay: {message}")


def test_a_policy_near_the_one_that_is_not_there_is_named(arm):
    kept = kept_policies(arm).id.tolist()
    gone = next(number for number in range(kept[-1], 0, -1) if number not in kept)
    with pytest.raises(stax.InvalidInputError) as told:
        find_policies(arm, [gone])
    near = min(kept, key=lambda number: abs(number - gone))
    assert f" {near}" in str(told.value).partition("such as")[2]


def test_folders_without_a_finished_run(folder, tmp_path, capsys):
    missing = tmp_path / "nowhere"
    assert replay(capsys, missing, 3) == (2, "", [f"stax: There is no run folder {str(missing)!r}."])
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "status": "running"}))
    code, written, said = replay(capsys, folder, 3)
    assert (code, written, len(said)) == (2, "", 1)
    assert said[0].startswith(f"stax: The run in {str(folder)!r} ")
    assert not (folder / "replays").exists()


def test_a_file_that_cannot_be_finished_is_not_there(arm, tmp_path, monkeypatch):
    replays = play(arm.task, best_policy(arm, 2))

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stax.runs.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_replay(arm.task, replays, tmp_path / "film.png", size=64)
    assert list(tmp_path.iterdir()) == []


# Tasks of one's own


@pytest.fixture(scope="session")
def own(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("own")
    for name in ("own_tasks:PointTask", "drawn_tasks:TalkingSlidingTask", "drawn_tasks:BrokenPenTask"):
        folder = out / name.partition(":")[2]
        stax.run(name, algo="stax-nt", budget=60, population_size=20, workers=1, isolation="none", out=folder)
    stax.run(SlidingTask(), algo="stax-nt", budget=60, population_size=20, workers=1, out=out / "given")
    return out


def test_code_of_others_is_run_only_if_trusted(own, tmp_path, capsys):
    folder, out = own / "TalkingSlidingTask", tmp_path / "film.gif"
    code, written, said = replay(capsys, folder, "--random", 1, "--out", out)
    assert (code, written) == (2, "")
    assert said == [
        f"stax: The run in {str(folder)!r} names code as its task, 'drawn_tasks:TalkingSlidingTask'. If you trust it, say so: --trust."
    ]
    code, written, said = replay(capsys, folder, "--random", 1, "--out", out, "--trust")
    assert (code, written) == (0, f"{out}\n")
    assert "hello from the simulator" in said
    assert any(line.endswith("the replay equals the recording") for line in said)
    frames, _ = gif(out.read_bytes())
    assert [frame[0, 0, 0] for frame in frames] == [round(255 * (1 - step / 7)) for step in range(8)]


def test_tasks_that_cannot_be_replayed(own, tmp_path, capsys):
    out = tmp_path / "film.gif"
    code, _, said = replay(capsys, own / "PointTask", "--random", 1, "--trust", "--out", out)
    assert (code, said) == (2, ["stax: Task 'point' cannot replay a rollout: it has no trajectory."])
    code, _, said = replay(capsys, own / "BrokenPenTask", "--random", 1, "--trust", "--out", out)
    assert code == 1
    assert said[0].startswith("stax: Task 'sliding' failed to draw policy ")
    assert "OSError: the pen is broken" in said[0]
    code, _, said = replay(capsys, own / "given", "--random", 1, "--out", out)
    assert code == 2
    assert said[0].startswith(
        f"stax: The task of the run in {str(own / 'given')!r} was given as an object; replay it in Python"
    )
    assert not out.exists()
    result = stax.load(own / "given", task=SlidingTask())
    write_replay(result.task, play(result.task, random_policies(result, 2)), out)
    assert len(gif(out.read_bytes())[0]) == 8


def test_tasks_that_draw_something_else(own):
    result = stax.load(own / "given", task=SlidingTask())
    policies = random_policies(result, 1)
    with pytest.raises(
        stax.InvalidInputError, match=r"trajectory of task 'sliding' must give a 2-D array .* not one of shape \(8,\)"
    ):
        play(FlatTask(), policies)
    with pytest.raises(
        stax.InvalidInputError, match=r"render of task 'sliding' must give uint8 of shape \(64, 64, 3\), not uint8"
    ):
        Film(PaperTask(), play(PaperTask(), policies), size=64).frames()
    with pytest.raises(RuntimeError, match=r"failed to draw policy .*the pen is broken"):
        strip(BrokenPenTask(), play(BrokenPenTask(), policies))
