"""A run folder that earlier code wrote still opens: `tests/data/earlier-run`, a small run of SERENE made in November 2026."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import stax
from stax.cli.main import main
from stax.runs import RunReader, RunStatus

EARLIER = Path(__file__).parents[1] / "data" / "earlier-run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER, tmp_path / "run"))


def test_it_can_be_read_and_loaded(folder):
    run, result = RunReader(folder), stax.load(folder)
    assert (run.status, run.evaluations, result.coverage, len(run.metrics)) == (RunStatus.FINISHED, 400, 0.1136, 6)
    assert [emitter.ended_by for emitter in result.emitters] == ["no improvement", "no improvement", ""]
    assert (len(result.novelty_archive), len(result.reward_archive)) == run.archive_sizes == (14, 4)
    assert result.ledger["reward"].max() == max(run.max_reward) == max(result.max_reward)


def test_its_policies_do_what_was_recorded(folder):
    result = stax.load(folder)
    archive = result.reward_archive
    rollouts = result.task.evaluate(archive.genome)
    assert rollouts.reward_area.tolist() == archive.reward_area.tolist()
    assert rollouts.reward == pytest.approx(archive.reward)


def test_commands_open_it(folder, tmp_path, capsys):
    assert main(["show", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "finished"
    assert main(["show", str(folder)]) == 0
    assert "finished, 400 of 400 evaluations" in capsys.readouterr().out
    assert main(["compare", str(folder), "--json"]) == 0
    assert "serene" in capsys.readouterr().out
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html"), "--quiet"]) == 0
    assert "serene" in (tmp_path / "page.html").read_text()
