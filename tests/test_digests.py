"""Results are frozen: short runs have the digests of the committed table, on whatever processor they are done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import digest_runs
import stax
from stax.search.methods import METHODS
from stax.tasks import BUILT_IN

SCRIPT = Path(digest_runs.__file__)


def test_every_method_on_every_task_is_in_the_table():
    table = json.loads(digest_runs.TABLE.read_text())
    assert table["results_version"] == stax.RESULTS_VERSION
    assert table["runs"].keys() == digest_runs.RUNS.keys()
    assert {f"{algo} on {task}" for algo in METHODS for task in BUILT_IN} <= table["runs"].keys()
    assert {run["numerics"] for run in table["runs"].values()} == {"portable"}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_results_have_not_changed(part):
    """If they have changed on purpose, CONTRIBUTING.md says what to do."""
    names = list(digest_runs.RUNS)[part::2]
    # In a process of its own: libraries have to be limited before they are loaded.
    path = os.pathsep.join([str(SCRIPT.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, SCRIPT, *names], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode == 3:
        pytest.skip(done.stdout)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_a_changed_digest_is_named(tmp_path, monkeypatch):
    table = json.loads(digest_runs.TABLE.read_text())
    table["runs"]["ns on redundant-arm"]["novelty_archive"] = "0" * 64
    changed = tmp_path / "digests.json"
    changed.write_text(json.dumps(table))
    monkeypatch.setattr(digest_runs, "TABLE", changed)
    assert digest_runs.differences(["ns on redundant-arm"]) == {"ns on redundant-arm": "differs in novelty_archive"}
