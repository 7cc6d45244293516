"""Numerics: what a run says about its arithmetic, and that `stax resume` does not change it silently."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

import stax
from run_folders import QUICK, STAX, as_options, summary
from stax.errors import InvalidInputError
from stax.numerics import NATIVE, PORTABLE, check_version, continued_numerics
from stax_command import NUMPY_LIMITS, TORCH_LIMITS, processor_has_avx2

pytestmark = pytest.mark.skipif(
    not processor_has_avx2(), reason="portable numerics need an x86-64 processor with AVX2 on Linux"
)
LIMITS = {**TORCH_LIMITS, **NUMPY_LIMITS}
RUN = ("run", "redundant-arm", "--algo", "ns", "--budget", "60", "--quiet", *as_options(QUICK))


def command(*arguments, **environment):
    """Run the `stax` command with these environment variables, and without those that limit libraries."""
    rest = {name: value for name, value in os.environ.items() if name not in LIMITS}
    return subprocess.run(
        [STAX, *map(str, arguments)], env={**rest, **environment}, capture_output=True, text=True, check=False
    )


def numerics_in_python(code, **environment):
    rest = {name: value for name, value in os.environ.items() if name not in LIMITS}
    code = f"import stax; print(stax.run('redundant-arm', budget=60, isolation='none', {code}).config.numerics)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**rest, **environment}, capture_output=True, text=True, check=True, cwd="/"
    )
    return done.stdout.strip()


EMITTERS = "algo='serene', population_size=20, emitter_kinds='cma-es'"
VARIATIONAL = "algo='stax', population_size=20, autoencoder='variational', descriptor_samples=1, max_images_per_episode=100"


@pytest.mark.parametrize(
    ("code", "environment", "expected"),
    [
        ("algo='serene', population_size=20", {}, PORTABLE),
        ("algo='stax', population_size=20, max_images_per_episode=100", {}, PORTABLE),
        (EMITTERS, {}, NATIVE),
        (EMITTERS, NUMPY_LIMITS, PORTABLE),
        (EMITTERS, {**NUMPY_LIMITS, "OPENBLAS_CORETYPE": "Nehalem"}, NATIVE),
        (VARIATIONAL, {}, NATIVE),
        (VARIATIONAL, TORCH_LIMITS, PORTABLE),
    ],
)
def test_numerics_in_python_depend_on_what_computes_and_how_it_is_limited(code, environment, expected):
    assert numerics_in_python(code, **environment) == expected


def test_the_command_limits_libraries_and_a_run_folder_says_so(tmp_path):
    done = command(
        *RUN, "--set", "emitter_kinds=cma-es", "--set", "emitter_population=4", "--out", tmp_path / "a", "--algo", "serene"
    )
    assert done.returncode == 0, done.stderr
    config = tomllib.loads((tmp_path / "a" / "config.toml").read_text())
    assert (config["numerics"], config["results_version"]) == (PORTABLE, stax.RESULTS_VERSION)
    told = summary(tmp_path / "a")
    assert (told["numerics"], told["results_version"]) == (PORTABLE, stax.RESULTS_VERSION)


@pytest.fixture
def unfinished(tmp_path):
    """A run folder that is interrupted after its first rest, and a function that changes its configuration."""
    path = tmp_path / "run"
    stops = iter([False, True])
    with pytest.raises(stax.RunInterrupted):
        stax.run("redundant-arm", algo="ns", budget=200, out=path, stop=lambda: next(stops), **QUICK)

    def change(name, value):
        lines = (path / "config.toml").read_text().splitlines()
        kept = [line for line in lines if not line.startswith(f"{name} = ")]
        assert len(kept) == len(lines) - 1
        added = [] if value is None else [f"{name} = {value}"]
        (path / "config.toml").write_text("\n".join([*added, *kept]) + "\n")

    return path, change


def test_resume_refuses_other_numerics_unless_they_are_accepted(unfinished):
    path, change = unfinished
    change("numerics", '"native"')
    refused = command("resume", path)
    assert refused.returncode == 2
    assert "native numerics" in refused.stderr
    assert "--numerics portable" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    accepted = command("resume", path, "--numerics", "portable", "--quiet")
    assert accepted.returncode == 0, accepted.stderr
    # A mixture of both is the same on this processor only.
    assert tomllib.loads((path / "config.toml").read_text())["numerics"] == NATIVE
    assert json.loads((path / "summary.json").read_text())["numerics"] == NATIVE


@pytest.mark.parametrize(("version", "words"), [(None, "before results had a version"), (99, "results version 99")])
def test_resume_refuses_another_results_version(unfinished, version, words):
    path, change = unfinished
    change("results_version", version)
    refused = command("resume", path)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert words in refused.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("numerics", '"fast"'), ("numerics", "3"), ("results_version", '"1"'), ("results_version", "true")]
)
def test_damaged_entries_are_refused_in_one_sentence(unfinished, name, value):
    path, change = unfinished
    change(name, value)
    refused = command("show", path)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert name in refused.stderr


def test_numerics_that_there_are_not():
    with pytest.raises(InvalidInputError, match="numerics must be one of"):
        stax.resume("anywhere", numerics="fast")


def test_continued_numerics():
    assert continued_numerics(PORTABLE, PORTABLE, None, "x") == PORTABLE
    assert continued_numerics(NATIVE, NATIVE, PORTABLE, "x") == NATIVE
    assert continued_numerics(PORTABLE, NATIVE, NATIVE, "x") == NATIVE
    with pytest.raises(InvalidInputError, match="portable numerics"):
        continued_numerics(PORTABLE, NATIVE, PORTABLE, "x")
    check_version(stax.RESULTS_VERSION, "x")
