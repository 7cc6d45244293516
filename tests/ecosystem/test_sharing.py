"""Folders for a model hub."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import stax
from optional_packages import need
from run_folders import QUICK
from stax.cli.main import main
from stax.ecosystem import share_run, shared_space
from stax.ecosystem.model_card import as_text
from toy_tasks import SquareTask

HOSTILE = (
    "</td><script>alert(1)</script> ![x](http://evil.example/x) `code` **bold** | cell | www.evil.example [l](javascript:1)"
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A run of a built-in task, and the folder that it was shared as."""
    folder = tmp_path_factory.mktemp("sharing")
    stax.run("redundant-arm", algo="stax", budget=200, seed=0, workers=1, out=folder / "run", **QUICK)
    assert main(["share", str(folder / "run"), "--out", str(folder / "shared"), "--quiet"]) == 0
    return folder / "run", folder / "shared"


def metadata(card):
    """The front matter; JSON values are YAML."""
    start, front, _ = card.split("---\n", 2)
    assert not start
    return {name: json.loads(value) for name, value in (line.split(": ", 1) for line in front.splitlines())}


def test_the_card_has_the_numbers_of_the_run(shared):
    run, folder = shared
    result = stax.load(run)
    card = (folder / "README.md").read_text()
    front = metadata(card)
    assert front["library_name"] == "stax"
    assert front["pipeline_tag"] == "reinforcement-learning"
    (model,) = front["model-index"]
    values = [metric["value"] for metric in model["results"][0]["metrics"]]
    assert values == pytest.approx([result.coverage, *result.max_reward], abs=1e-6)
    assert f"coverage | {100 * result.coverage:.1f} %" in card
    for name in re.findall(r"\]\(([^)]+)\)", card) + re.findall(r"^\| `([^`]+)`", card, re.MULTILINE):
        assert (folder / name).exists(), name
    for name in ("config.toml", "summary.json", "metrics.csv", "autoencoder.safetensors"):
        assert (folder / name).read_bytes() == (run / name).read_bytes()


def test_the_archives_come_back(shared):
    pandas = need("pandas")
    run, folder = shared
    result = stax.load(run)
    for name, archive in (("novelty", result.novelty_archive), ("reward", result.reward_archive)):
        if not len(archive):
            continue
        back = stax.PolicySet.from_pandas(pandas.read_parquet(folder / "archives" / f"{name}.parquet"), result.task)
        for column, values in archive.columns().items():
            if column != "snapshots":
                np.testing.assert_array_equal(getattr(back, column), values, column)


def test_the_lines_of_the_card_run(shared, monkeypatch, capsys):
    need("pandas")
    monkeypatch.chdir(shared[1])
    (code,) = re.findall(r"```python\n(.*?)```", (shared[1] / "README.md").read_text(), re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_space_of_a_shared_run_describes_as_the_run_did(shared):
    run, folder = shared
    result = stax.load(run)
    np.testing.assert_array_equal(
        shared_space(folder).describe(result.novelty_archive.rollouts()),
        result.space.describe(result.novelty_archive.rollouts()),
    )


@pytest.mark.parametrize("name", ["README.md", "mine.txt"])
def test_a_folder_with_something_in_it_is_left_alone(name, shared, tmp_path, capsys):
    (tmp_path / name).write_text("mine")
    assert main(["share", str(shared[0]), "--out", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_bad_input_is_refused(shared, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for words in (
        ["share", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")],
        ["share", str(shared[0]), "--out", str(tmp_path / "file")],
        ["share", str(shared[0]), "--out", str(tmp_path / "file" / "inside")],
    ):
        assert main(words) == 2, words
        assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(SystemExit):
        main(["share", str(shared[0])])
    assert not (tmp_path / "out").exists()


def test_a_task_of_ones_own_is_shared_without_films(tmp_path, capsys):
    out = tmp_path / "run"
    stax.run("toy_tasks:SquareTask", algo="ns", budget=60, workers=1, out=out, **QUICK)
    assert main(["share", str(out), "--out", str(tmp_path / "shared")]) == 0
    said = capsys.readouterr().err
    assert "no films" in said or not any(stax.load(out).max_reward)
    assert "--trust" in (tmp_path / "shared" / "README.md").read_text()


def test_a_strangers_words_are_shown_as_they_are(tmp_path):
    class Hostile(SquareTask):
        name = HOSTILE
        reward_areas = tuple(replace(area, name=f"{area.name} {HOSTILE}") for area in SquareTask.reward_areas)

    out = tmp_path / "run"
    result = stax.run(Hostile(), algo="ns", budget=60, workers=1, out=out, **QUICK)
    shared = share_run(result, out, tmp_path / "shared")
    card = (shared.path / "README.md").read_text()
    front = metadata(card)
    assert HOSTILE[:20] in front["model-index"][0]["name"]
    body = card.split("---\n", 2)[2]
    for dangerous in ("<script", "](http", "](javascript", "**bold", "`code", "| cell |", "www.evil"):
        assert dangerous not in body, dangerous


def test_a_link_in_a_run_folder_is_not_followed_out_of_it(shared, tmp_path, capsys):
    run = shutil.copytree(shared[0], tmp_path / "run")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (run / "metrics.csv").unlink()
    (run / "metrics.csv").symlink_to(secret)
    assert main(["share", str(run), "--out", str(tmp_path / "shared")]) == 2
    assert "leads out of the run folder" in capsys.readouterr().err
    assert not (tmp_path / "shared").exists()


def test_text_is_kept_by_entities():
    import html

    assert html.unescape(as_text(HOSTILE)) == HOSTILE
    assert "\n" not in as_text("one\n# two")
    assert as_text("hard-maze, far end 2") == "hard-maze, far end 2"
