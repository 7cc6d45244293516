"""The processor time of a run is in its summary, over all its parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stax
from run_folders import QUICK, Stop, summary
from stax.runs.result import load

ARM = {name: value for name, value in QUICK.items() if name != "isolation"}


def test_a_resumed_run_sums_the_processor_time_of_its_parts(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(stax.RunInterrupted):
        stax.run("redundant-arm", algo="ns", budget=200, workers=1, out=folder, stop=Stop(3), **ARM)
    first = summary(folder)["core_seconds"]
    assert first > 0
    result = stax.resume(folder)
    assert summary(folder)["core_seconds"] >= first
    assert result.core_seconds == pytest.approx(summary(folder)["core_seconds"], abs=1)
    assert load(folder).core_seconds == summary(folder)["core_seconds"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells the times of other processes that run")
def test_the_processor_time_of_workers_counts(tmp_path):
    folder = tmp_path / "run"
    stax.run("troubled_tasks:BusyTask", algo="ns", budget=100, workers=1, out=folder, **{**QUICK, "isolation": "process"})
    # A policy takes 0.02 s of the worker; the clock of the system counts in hundredths.
    assert summary(folder)["core_seconds"] > 100 * 0.02


def test_a_folder_of_an_earlier_version_does_not_say(tmp_path):
    folder = tmp_path / "run"
    stax.run("redundant-arm", algo="ns", budget=50, workers=1, out=folder, **ARM)
    said = summary(folder)
    del said["core_seconds"]
    (folder / "summary.json").write_text(json.dumps(said))
    assert load(folder).core_seconds is None
