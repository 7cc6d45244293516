"""Shared by the tests of measures and comparisons: real runs, done once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import stax

SEEDS = {"ns": 5, "serene": 5, "stax-nt": 2}
BUDGET = 500


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Path:
    """Folders of small runs on Redundant Arm, METHOD-SEED each; they are only read."""
    folder = tmp_path_factory.mktemp("compared") / "runs"
    for algo, seeds in SEEDS.items():
        for seed in range(seeds):
            out = folder / f"{algo}-{seed}"
            settings = {"population_size": 20, "checkpoint_seconds": 1000, "chunk_size": 50}
            stax.run("redundant-arm", algo=algo, budget=BUDGET, seed=seed, out=out, workers=1, **settings)
    return folder


@pytest.fixture
def own_runs(runs, tmp_path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(runs, tmp_path / "runs"))


@pytest.fixture(scope="session")
def square_run(tmp_path_factory) -> Path:
    """A run with emitters on a task of one's own."""
    out = tmp_path_factory.mktemp("square") / "run"
    settings = {"population_size": 12, "chunk_size": 24, "isolation": "none", "workers": 1}
    stax.run("toy_tasks:SquareTask", algo="serene", budget=600, seed=1, out=out, **settings)
    return out
