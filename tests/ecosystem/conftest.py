"""Shared by the tests of the ecosystem: one small run with all that a result can have."""

from __future__ import annotations

import pytest

import stax
from run_folders import QUICK


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    """Where the run is kept."""
    return tmp_path_factory.mktemp("ecosystem") / "run"


@pytest.fixture(scope="session")
def result(out):
    return stax.run("toy_tasks:SquareTask", algo="stax", budget=400, seed=1, workers=1, out=out, **QUICK)
