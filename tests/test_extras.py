"""The core runs without the extras, and what needs a missing one says in one sentence how to install it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import missing_extras
from stax.extras import EXTRAS

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
USED_BY_OTHERS = {"sb3"}
"""Extras that this package never imports."""
CASES = (*missing_extras.COMMANDS, *missing_extras.ONLY_VIDEO_IS_MISSING, "box2d", "pandas", "plots (call)", "ribs", "wandb")
WITHOUT_EXTRAS = ("run", "show", "resume", "compare")


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """How all cases end in a process that has none of the extras."""
    done = subprocess.run(
        [sys.executable, missing_extras.__file__],
        cwd=tmp_path_factory.mktemp("core"),
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", WITHOUT_EXTRAS)
def test_the_core_runs_without_extras(name, ended):
    assert ended[name]["code"] == 0
    if name in ("run", "resume"):
        assert "needs the package 'matplotlib': pip install 'stax-qd[plots]'." in ended[name]["said"]
        assert "stax resume kept" in ended[name]["said"]
        assert ended[name]["said"].count("pip install") == 1


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_EXTRAS])
def test_a_missing_extra_is_one_sentence_before_anything_is_written(name, ended):
    extra, end = name.partition(" ")[0], ended[name]
    assert end["code"] == 2
    assert end["said"].startswith("stax: ")
    assert end["said"].count("\n") == 1
    assert re.search(rf"pip install ['\"](stax-qd|gymnasium)\[{extra}\]['\"]", end["said"]), end["said"]
    assert end["new"] == []


def test_every_extra_is_tried():
    assert {name.partition(" ")[0] for name in CASES} - set(WITHOUT_EXTRAS) == EXTRAS.keys() - USED_BY_OTHERS


def test_the_extras_are_those_of_the_project():
    extras = PROJECT["optional-dependencies"]
    assert extras.keys() - {"all", "dev", "docs"} == EXTRAS.keys()
    assert set(re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")) == EXTRAS.keys()
