"""The script that makes the film of the README."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import stax

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    stax.run("redundant-arm", algo="serene", budget=2_000, seed=0, out=folder / "arm")
    stax.run("hard-maze", algo="ns", budget=100, seed=0, out=folder / "maze")
    return folder


def make(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DOCS / "make_readme_film.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_a_film_ends_with_the_whole_run(runs, tmp_path):
    done = make("--run", runs / "arm", "--out", tmp_path / "arm.gif")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2,000 evaluations, seed 0" in done.stdout
    with Image.open(tmp_path / "arm.gif") as film:
        assert film.n_frames > 90
        first = film.convert("RGB")
        film.seek(film.n_frames - 1)
        assert film.convert("RGB").tobytes() != first.tobytes()


@pytest.mark.parametrize(
    ("run", "out", "named"),
    [("nowhere", "a.gif", "nowhere"), ("arm", "a.png", ".png"), ("maze", "a.gif", "'far end'"), ("arm", "", "suffix")],
)
def test_bad_input_gets_one_sentence(runs, tmp_path, run, out, named):
    done = make("--run", runs / run, "--out", tmp_path / out)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_film_of_the_readme_is_small():
    assert (DOCS / "images" / "search.gif").stat().st_size < 1_500_000
