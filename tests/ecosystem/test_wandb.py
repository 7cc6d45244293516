"""Runs of Weights & Biases, offline."""

from __future__ import annotations

import pytest
from diaries import BUDGET

import stax
from optional_packages import need
from run_folders import QUICK, Stop, same_run
from stax.ecosystem import WandbCallback
from toy_tasks import SquareTask

wandb = need("wandb")


class Recorded:
    """A run of Weights & Biases that keeps what is logged to it."""

    def __init__(self, run) -> None:
        self.run, self.rows, self.finished = run, [], False

    def __getattr__(self, name):
        return getattr(self.run, name)

    def log(self, row, **options):
        self.rows.append(row)
        self.run.log(row, **options)

    def finish(self):
        self.finished, self.status = True, self.run.summary.get("status")
        self.run.finish()


@pytest.fixture(autouse=True)
def begun(tmp_path, monkeypatch):
    """The runs that were begun."""
    for name in ("DIR", "CACHE_DIR", "DATA_DIR", "CONFIG_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    init, runs = wandb.init, []

    def begin(**options):
        runs.append(Recorded(init(**options)))
        return runs[-1]

    monkeypatch.setattr(wandb, "init", begin)
    return runs


def run(out, **options):
    return stax.run(SquareTask(), algo="stax", budget=BUDGET, seed=2, workers=1, out=out, **{**QUICK, **options})


def test_metrics_and_parameters_are_logged(begun, tmp_path):
    result = run(tmp_path / "run", callbacks=[WandbCallback(project="tests", name="first")])
    run(tmp_path / "reference")
    same_run(tmp_path / "run", tmp_path / "reference")
    (logged,) = begun
    assert logged.finished
    assert [row["evaluations"] for row in logged.rows] == [row["evaluations"] for row in result.metrics]
    assert [row["coverage"] for row in logged.rows] == [row["coverage"] for row in result.metrics]
    assert logged.rows[-1]["max_reward/near"] == result.max_reward[0]
    assert {"autoencoder/validation_error", "seconds/evaluation"} <= set(logged.rows[-1])
    assert logged.config["algo"] == "stax"
    assert logged.config["population_size"] == QUICK["population_size"]
    assert logged.status == "finished"
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))


def test_a_resumed_run_logs_what_was_not_logged_before(begun, tmp_path):
    with pytest.raises(stax.RunInterrupted):
        run(tmp_path / "run", callbacks=[WandbCallback(id="same")], stop=Stop(3))
    before = begun[0].rows
    result = stax.resume(tmp_path / "run", task=SquareTask(), callbacks=[WandbCallback(id="same", resume="allow")])
    assert begun[0].finished
    assert begun[1].finished
    # Offline, Weights & Biases does not know what was logged before, so all rows are there again.
    assert [row["evaluations"] for row in begun[1].rows] == [row["evaluations"] for row in result.metrics]
    assert before == [row for row in begun[1].rows if row["evaluations"] <= before[-1]["evaluations"]]


def test_rows_that_weights_and_biases_knows_are_not_logged_again(begun, tmp_path, monkeypatch):
    callback = WandbCallback()
    search = stax.make_search("ns", SquareTask(), budget=72, population_size=12, chunk_size=24)
    while not search.done:
        search.tell(search.task.evaluate(search.ask()))
    known = search.metrics[0]["evaluations"]

    class Known:
        def __init__(self, **options):
            self.config, self.summary, self.rows = {}, {"evaluations": known}, []
            self.config = type("Config", (), {"update": lambda *_, **__: None})()

        def define_metric(self, *_, **__):
            pass

        def log(self, row, **_):
            self.rows.append(row["evaluations"])

    monkeypatch.setattr(wandb, "init", Known)
    callback.at_resume(search)
    assert callback._run.rows == [row["evaluations"] for row in search.metrics[1:]]


def test_options_that_wandb_does_not_know_are_refused(tmp_path):
    with pytest.raises(stax.InvalidInputError, match="cannot be begun"):
        run(tmp_path / "run", callbacks=[WandbCallback(no_such_option=1)])
    assert not (tmp_path / "run").exists()
