"""Policies that come closest to a wanted behaviour: by a picture, an observation, the ground truth or another policy."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import stax
from stax.analysis.finding import chosen_moments, nearest
from stax.analysis.wanted_observation import array_observation, picture_observation
from stax.cli.main import main
from stax.errors import InvalidInputError

PICTURES = SimpleNamespace(name="drawn", observation_shape=(4, 8, 3), observation_dtype="uint8")
GREY = SimpleNamespace(name="grey", observation_shape=(4, 8, 1), observation_dtype="uint8")
VECTORS = SimpleNamespace(name="felt", observation_shape=(4,), observation_dtype="float32")
COLOURS = np.arange(96, dtype=np.uint8).reshape(4, 8, 3)


def file_of(picture: Image.Image, kind: str = "PNG", **options) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found") / "arm"
    settings = {
        "population_size": 20,
        "chunk_size": 50,
        "max_images_per_episode": 100,
        "batch_size": 32,
        "descriptor_samples": 3,
    }
    stax.run("redundant-arm", budget=200, seed=0, out=folder, workers=1, **settings)
    return folder


@pytest.fixture(scope="module")
def square(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found") / "square"
    settings = {"population_size": 12, "chunk_size": 24, "isolation": "none", "code_size": 3, "max_epochs": 2}
    stax.run("toy_tasks:SquareTask", budget=100, seed=0, out=folder, workers=1, **settings)
    return folder


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found") / "ground"
    stax.run("redundant-arm", algo="ns", budget=100, seed=0, out=folder, workers=1, population_size=20)
    return folder


# By hand


def test_the_nearest_rows_by_hand():
    places = np.array(
        [[[0.0, 0.0], [3.0, 4.0]], [[1.0, 1.0], [3.0, 3.0]], [[np.nan, 0.0], [3.0, 4.0]], [[9.0, 4.0], [0.0, 0.0]]]
    )
    found = nearest(places, np.array([3.0, 4.0]), 10)
    assert found.rows.tolist() == [0, 1, 3]
    assert found.moment.tolist() == [1, 1, 1]
    np.testing.assert_allclose(found.distance, [0, 1, 5])
    assert found.median_distance == 1
    assert nearest(places[:, :1], np.array([0.0, 0.0]), 1).rows.tolist() == [0]


def test_ties_go_to_the_earlier_row():
    places = np.array([[[1.0]], [[-1.0]], [[1.0]], [[0.5]]])
    assert nearest(places, np.zeros(1), 3).rows.tolist() == [3, 0, 1]


def test_moments():
    assert chosen_moments("last", 5).tolist() == [4]
    assert chosen_moments("any", 3).tolist() == [0, 1, 2]
    assert chosen_moments("2", 3).tolist() == chosen_moments(2, 3).tolist() == [1]
    for wrong in ("0", "4", "first", "", "-1", True, "1" * 5000):
        with pytest.raises(InvalidInputError, match="from 1 to 3"):
            chosen_moments(wrong, 3)


# In a run


def test_the_last_picture_of_a_policy_finds_it_at_distance_0(arm):
    result = stax.load(arm)
    for row in (0, 7):
        policy = result.novelty_archive.take([row])
        seen = result.task.observe(policy.rollouts())[0]
        found = result.find(picture=file_of(Image.fromarray(seen[-1])), count=3)
        assert found.distance[0] == 0
        # Others may look the same in the end.
        assert int(policy.id[0]) in found.policies.id[found.distance == 0]
        assert (np.diff(found.distance) >= 0).all()
        assert found.moment.tolist() == [3, 3, 3]
        # Of five observations, the second, the fourth... of the rollout are those that make the descriptor.
        earlier = result.find(picture=seen[result.space._samples[1]], moment=2, count=1000)
        assert int(policy.id[0]) in earlier.policies.id[earlier.distance == 0]
        anywhere = result.find(observation=seen[result.space._samples[0]], moment="any", count=1)
        assert anywhere.distance[0] == 0


def test_distances_are_those_of_the_codes(arm):
    result = stax.load(arm)
    kept = stax.PolicySet.union([result.reward_archive, result.novelty_archive])
    goal = result.task.observe(kept.take([3]).rollouts())[0, -1]
    found = result.find(observation=goal, count=10**6)
    assert len(found) == len(kept)
    code = kept.descriptor[3, -10:]
    expected = np.linalg.norm(kept.descriptor[:, -10:] - code, axis=1)
    np.testing.assert_allclose(found.distance, np.sort(expected), rtol=1e-12)
    assert found.median_distance == pytest.approx(np.median(expected))


def test_ground_truth_and_likeness(arm):
    result = stax.load(arm)
    kept = stax.PolicySet.union([result.reward_archive, result.novelty_archive])
    found = result.find(ground_truth=kept.ground_truth[4] + [0, 1e-9], count=1)
    np.testing.assert_array_equal(found.policies.ground_truth[0], kept.ground_truth[4])
    assert found.moment.tolist() == [0]
    alike = result.find(like=int(kept.id[4]), count=1000)
    assert int(kept.id[4]) not in alike.policies.id
    assert len(alike) == len(kept) - 1
    expected = np.linalg.norm(np.delete(kept.descriptor, 4, axis=0) - kept.descriptor[4], axis=1)
    np.testing.assert_allclose(alike.distance, np.sort(expected))


def test_vectors(square, tmp_path):
    result = stax.load(square, trust=True)
    policy = result.novelty_archive.take([2])
    np.save(tmp_path / "goal.npy", result.task.observe(policy.rollouts())[0, -1].astype(np.float64))
    found = result.find(observation=tmp_path / "goal.npy", count=1)
    assert (int(found.policies.id[0]), found.distance[0]) == (int(policy.id[0]), 0)
    with pytest.raises(InvalidInputError, match=r"numbers of shape \(4,\), not pictures"):
        result.find(picture=COLOURS)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({}, "none of them"),
        ({"like": 0, "ground_truth": (0, 0)}, "given were ground_truth, like"),
        ({"ground_truth": (0,)}, "2 finite numbers"),
        ({"ground_truth": (0, np.nan)}, "2 finite numbers"),
        ({"ground_truth": "ab"}, "2 numbers"),
        ({"like": 10**6}, "There is no policy 1000000"),
        ({"like": -1}, "like must be"),
        ({"like": 0, "moment": "last"}, "moment belongs to a picture"),
        ({"ground_truth": (0, 0), "count": 0}, "count must be"),
        ({"picture": "nowhere.png"}, "'nowhere.png' is missing"),
        ({"observation": np.zeros((3, 3))}, r"shape \(64, 64, 3\)"),
        ({"observation": np.full((64, 64, 3), 256)}, "whole numbers from 0 to 255"),
        ({"observation": np.full((64, 64, 3), np.nan)}, "not finite"),
        ({"observation": np.full((64, 64, 3), "a")}, "must hold numbers"),
    ],
)
def test_bad_questions(arm, question, words):
    with pytest.raises(InvalidInputError, match=words):
        stax.load(arm).find(**question)


def test_a_run_without_autoencoder_and_a_task_without_ground_truth(ground, tmp_path):
    result = stax.load(ground)
    assert len(result.find(ground_truth=(0, 0))) == 5
    with pytest.raises(InvalidInputError, match="descriptor=ground-truth, so it has no autoencoder"):
        result.find(observation=np.zeros((64, 64, 3), np.uint8))
    options = {"population_size": 12, "code_size": 3, "max_epochs": 1, "isolation": "none", "workers": 1}
    blind = stax.run("toy_tasks:NoTruthTask", budget=24, **options)
    with pytest.raises(InvalidInputError, match="no ground-truth descriptor"):
        blind.find(ground_truth=(0, 0))
    unknown = stax.run("redundant-arm", algo="random", budget=24, population_size=12, workers=1)
    with pytest.raises(InvalidInputError, match=r"compares no behaviours|archives are empty"):
        unknown.find(like=0)


# Pictures


def test_pictures_are_converted():
    exact = Image.fromarray(COLOURS)
    np.testing.assert_array_equal(picture_observation(file_of(exact), PICTURES), COLOURS)
    np.testing.assert_array_equal(picture_observation(file_of(exact, "BMP"), PICTURES), COLOURS)
    np.testing.assert_array_equal(picture_observation(COLOURS, PICTURES), COLOURS)
    # Three times as large, of the same proportions: every pixel is the mean of nine equal ones.
    large = exact.resize((24, 12), Image.Resampling.NEAREST)
    np.testing.assert_array_equal(picture_observation(file_of(large), PICTURES), COLOURS)
    opaque = exact.convert("RGBA")
    np.testing.assert_array_equal(picture_observation(file_of(opaque), PICTURES), COLOURS)
    grey = picture_observation(file_of(exact.convert("L")), PICTURES)
    assert (grey == grey[..., :1]).all()
    np.testing.assert_array_equal(picture_observation(file_of(exact), GREY)[..., 0], np.asarray(exact.convert("L")))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (file_of(Image.new("RGB", (8, 8))), "8 x 8 pixels; observations of this run have 8 x 4"),
        (file_of(Image.new("RGBA", (8, 4), (9, 9, 9, 100))), "transparent pixels"),
        (file_of(Image.new("I;16", (8, 4))), "mode 'I;16'"),
        (file_of(Image.new("RGB", (8192, 4))), "at most 4096 pixels a side, not 8,192"),
        (
            file_of(Image.new("RGB", (8, 4)), "GIF", save_all=True, append_images=[Image.new("RGB", (8, 4), "red")]),
            "2 frames",
        ),
        (b"no picture", "no picture that can be read"),
        (file_of(Image.new("RGB", (8, 4)))[:40], "no picture that can be read"),
        (b"", "no picture that can be read"),
    ],
    ids=["proportions", "transparent", "deep", "large", "frames", "text", "cut", "empty"],
)
def test_pictures_that_are_refused(content, words):
    with pytest.raises(InvalidInputError, match=words):
        picture_observation(content, PICTURES)


def test_arrays_of_files(tmp_path):
    np.save(tmp_path / "good.npy", np.arange(4))
    assert array_observation(tmp_path / "good.npy", VECTORS).dtype == np.float32
    np.save(tmp_path / "shape.npy", np.arange(5))
    np.save(tmp_path / "objects.npy", np.array([{}, 1, 2, 3]), allow_pickle=True)
    np.save(tmp_path / "large.npy", np.full(4, 1e300))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-1])
    (tmp_path / "text.npy").write_text("1 2 3 4")
    (tmp_path / "zeros.npy").write_bytes(bytes(10**6))
    for name, words in {
        "shape": r"shape \(4,\), not \(5,\)",
        "objects": "only numbers are read",
        "large": "not finite in 32 bits",
        "cut": "not as long as its shape",
        "text": "not an array in NumPy's .npy format",
        "zeros": "too large",
        "nowhere": "is missing",
    }.items():
        with pytest.raises(InvalidInputError, match=words):
            array_observation(tmp_path / f"{name}.npy", VECTORS)


# The command


def test_the_command(arm, tmp_path, capsys):
    result = stax.load(arm)
    policy = result.novelty_archive.take([7])
    Image.fromarray(result.task.observe(policy.rollouts())[0, -1]).save(tmp_path / "goal.png")
    assert main(["find", str(arm), "--picture", str(tmp_path / "goal.png"), "--count", "2"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0].split() == ["id", "distance", "moment", "reward", "reward", "area", "ground", "truth"]
    assert len(said.out.splitlines()) == 3
    assert said.out.splitlines()[1].split()[1] == "0"
    assert "median distance" in said.err
    assert main(["find", str(arm), "--like", str(int(policy.id[0])), "--json", "--quiet"]) == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert said.err == ""
    expected = result.find(like=int(policy.id[0]))
    assert [row["id"] for row in answer["policies"]] == expected.policies.id.tolist()
    assert [row["distance"] for row in answer["policies"]] == expected.distance.tolist()
    assert answer["policies"][0]["moment"] is None
    assert main(["find", str(arm), "--ground-truth", "-0.5,-0.2", "--json"]) == 0
    near = json.loads(capsys.readouterr().out)["policies"][0]["ground_truth"]
    assert near == result.find(ground_truth=(-0.5, -0.2)).policies.ground_truth[0].tolist()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "is required"),
        (["--like", "1", "--ground-truth", "0,0"], "not allowed with"),
        (["--ground-truth", "here"], "numbers with commas"),
        (["--ground-truth", "1,2,3"], "2 finite numbers"),
        (["--like", "199"], "Policy 199 was not kept"),
        (["--like", "first"], "whole number"),
        (["--picture", "none.png"], "is missing"),
        (["--picture", "."], "cannot be read"),
        (["--observation", "none.npy"], "is missing"),
        (["--ground-truth", "0,0", "--moment", "any"], "moment belongs to"),
        (["--ground-truth", "0,0", "--count", "0"], "at least 1"),
    ],
)
def test_bad_input_is_one_line(arm, words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["find", str(arm), *words])
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_code_of_the_runs_maker_is_not_needed_to_compare(square, capsys):
    assert main(["find", str(square), "--ground-truth", "0,0", "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
