"""Runs with kinds of emitters and schedulers that were chosen or brought: configured, interrupted, killed, resumed, loaded, reported."""

from __future__ import annotations

import csv
import json
import re

import pytest

import own_parts
import stax
from run_folders import QUICK, Stop, as_options, same_run, summary
from stax.analysis.report import write_report
from stax.cli.main import main
from stax.runs.config import read_config
from stax.runs.folder import RunFolder
from stax.search.emitters import EMITTER_KINDS
from stax.search.parameters import Parameters
from stax.search.schedulers import SCHEDULERS

TASK = "redundant-arm"
SMALL = {**QUICK, "emitter_population": 4, "chunk_size": 48, "checkpoint_seconds": 60}
GIVEN = {**SMALL, "algo": "serene", "budget": 600, "seed": 4, "workers": 1}
OPTIONS = ["--algo", "serene", "--budget", "600", "--seed", "4", "--workers", "1", "--quiet", *as_options(SMALL)]
CHOICES = {
    "all kinds": {"emitter_kinds": tuple(EMITTER_KINDS), "scheduler": "adaptive"},
    "by name": {"emitter_kinds": ("elitist", "own_parts:Widening"), "scheduler": "own_parts:Dice"},
    "objects": {"emitter_kinds": (own_parts.Widening(2.0), "cma-es"), "scheduler": own_parts.Dice()},
}


def emitters(folder):
    with (folder / "emitters.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("choice", CHOICES)
def test_a_run_interrupted_again_and_again_ends_like_one_that_never_was(choice, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "run"
    result = stax.run(TASK, out=whole, **GIVEN, **CHOICES[choice])
    assert len({record.kind for record in result.emitters}) >= 2
    again = CHOICES[choice] if choice == "objects" else {}
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, out=out, stop=Stop(5), **GIVEN, **CHOICES[choice])
    for workers in (2, 1):
        with pytest.raises(stax.RunInterrupted):
            stax.resume(out, trust=True, workers=workers, stop=Stop(3), **again)
    stax.resume(out, trust=True, workers=1, **again)
    same_run(out, whole)
    loaded = stax.load(out)
    assert [record.kind for record in loaded.emitters] == [record.kind for record in result.emitters]
    assert loaded.parameters == result.parameters


def test_parts_are_chosen_on_the_command_line_and_in_files(tmp_path, capsys):
    kinds = ["--set", "emitter_kinds=elitist,cma-es", "--set", "emitter_choice=round-robin", "--set", "scheduler=fixed-ratio"]
    assert main(["run", TASK, *OPTIONS, *kinds, "--out", str(tmp_path / "a")]) == 0
    (tmp_path / "b.toml").write_text(
        'task = "redundant-arm"\nemitter_kinds = ["elitist", "cma-es"]\nemitter_choice = "round-robin"\nscheduler = "fixed-ratio"\n'
    )
    assert main(["run", "--config", str(tmp_path / "b.toml"), *OPTIONS, "--out", str(tmp_path / "b")]) == 0
    same_run(tmp_path / "a", tmp_path / "b")
    assert read_config(tmp_path / "a" / "config.toml") == read_config(tmp_path / "b" / "config.toml")
    assert summary(tmp_path / "a")["parameters"]["emitter_kinds"] == ["elitist", "cma-es"]
    assert [row["kind"] for row in emitters(tmp_path / "a")][:2] == ["elitist", "cma-es"]
    capsys.readouterr()
    assert main(["show", str(tmp_path / "a")]) == 0
    made = len(emitters(tmp_path / "a"))
    assert re.search(
        rf"emitters +{made} made, \d+ ended, \d+ still running \(\d+ elitist, \d+ cma-es\)", capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["emitter_kinds=elitist,cma"], "Parameter emitter_kinds must be 1 to 100 different values, each one of 'elitist', 'cma-es', 'sep-cma-es', 'novelty', or your own as 'module:name' (in Python also an object), not 'elitist,cma'."),
        (["emitter_kinds=own_parts:Nobody"], "The emitter kind 'own_parts:Nobody' names 'Nobody', which is not in the module 'own_parts'."),
        (["scheduler=own_parts:Widening"], "The scheduler 'own_parts:Widening' must be a subclass of stax.Scheduler, not <class 'own_parts.Widening'>."),
        (["scheduler=sometimes"], "Parameter scheduler must be one of 'alternating', 'fixed-ratio', 'adaptive', or your own as 'module:name' (in Python also an object), not 'sometimes'."),
        (["emitter_kinds=cma-es", "emitter_population=3"], "Parameter emitter_population must be at least 4 for emitters of the kind cma-es, not 3."),
        (["emitter_kinds=given:Widening"], "The emitter kind 'given:Widening' was given as an object, which its name cannot bring back; give it again in Python."),
    ],
)  # fmt: skip
def test_bad_choices_are_one_sentence_and_leave_nothing(settings, sentence, tmp_path, capsys):
    given = [part for setting in settings for part in ("--set", setting)]
    assert main(["run", TASK, *OPTIONS, *given, "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == f"stax: {sentence}\n"
    assert not (tmp_path / "run").exists()


# Code and objects


def test_code_is_imported_only_if_it_is_trusted(tmp_path, capsys):
    out = tmp_path / "run"
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, out=out, stop=Stop(5), **GIVEN, **CHOICES["by name"])
    assert main(["resume", str(out)]) == 2
    said = capsys.readouterr().err
    assert "names code as its emitter_kinds, 'own_parts:Widening' and its scheduler, 'own_parts:Dice'." in said
    assert "If you trust it, say so: --trust" in said
    assert stax.load(out).parameters.scheduler == "own_parts:Dice", "to look at a run, no code is needed"
    assert main(["show", str(out)]) == 0
    assert "stax resume" in (shown := capsys.readouterr().out)
    assert "--trust" in shown
    config = str(out / "config.toml")
    assert main(["run", "--config", config, "--quiet", "--out", str(tmp_path / "again")]) == 2
    assert "names code as its emitter_kinds, 'own_parts:Widening' and its scheduler" in capsys.readouterr().err
    # What is typed is trusted.
    typed = ["--set", "emitter_kinds=own_parts:Widening", "--set", "scheduler=own_parts:Dice"]
    assert main(["run", "--config", config, *typed, "--quiet", "--out", str(tmp_path / "typed")]) == 0
    assert main(["resume", str(out), "--trust", "--quiet"]) == 0


def test_code_that_is_not_used_needs_no_trust(tmp_path):
    (tmp_path / "c.toml").write_text('task = "redundant-arm"\nalgo = "ns"\nscheduler = "own_parts:Dice"\n')
    options = [part if part != "serene" else "ns" for part in OPTIONS]
    assert main(["run", "--config", str(tmp_path / "c.toml"), *options, "--out", str(tmp_path / "run")]) == 0


def test_objects_are_given_again(tmp_path):
    out = tmp_path / "run"
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, out=out, stop=Stop(5), **GIVEN, **CHOICES["objects"])
    again = re.escape(f"stax.resume({str(out)!r}, emitter_kinds=..., scheduler=...).")
    with pytest.raises(
        stax.InvalidInputError, match=f"The emitter_kinds 'given:Widening' of .* was given as an object: .*{again}$"
    ):
        stax.resume(out)
    wrong = {"emitter_kinds": [own_parts.Stubborn(), "cma-es"], "scheduler": own_parts.Dice()}
    with pytest.raises(
        stax.InvalidInputError, match=r"was \('given:Stubborn', 'cma-es'\), but its own is \('given:Widening', 'cma-es'\)\.$"
    ):
        stax.resume(out, **wrong)
    assert stax.resume(out, **CHOICES["objects"]).status == "finished"
    assert RunFolder(out).read_config()[0].objects == {"emitter_kinds": "given:Widening", "scheduler": "given:Dice"}


# Results


def test_a_report_tells_the_kinds_apart(tmp_path):
    out = tmp_path / "run"
    result = stax.run(TASK, out=out, **GIVEN, **CHOICES["all kinds"])
    page = write_report(result, out, tmp_path / "report.html").path.read_text()
    section = re.search(r'<section id="emitters">(.*?)</section>', page, re.DOTALL)[1]
    for kind in {record.kind for record in result.emitters}:
        own = [record for record in result.emitters if record.kind == kind]
        spent = sum(record.evaluations for record in own)
        raised = sum(record.best_reward > record.first_reward for record in own)
        assert (
            f"{kind}: {len(own)} emitter{'s' * (len(own) > 1)}, {spent:,} evaluations, {raised} raised their reward." in section
        )
        assert f"<td>{kind}</td>" in section
    found = json.loads(re.search(r'<script[^>]*id="figures"[^>]*>(.*?)</script>', page, re.DOTALL)[1])["emitters"]["data"]
    marks = {trace["name"].partition(",")[0]: trace["marker"]["symbol"] for trace in found if trace["mode"] == "markers"}
    assert len(set(marks.values())) == len(marks) == len({record.kind for record in result.emitters})


def test_emitters_of_runs_from_before_there_were_kinds_are_read(tmp_path):
    out = tmp_path / "run"
    stax.run(TASK, out=out, **GIVEN)
    lines = (out / "emitters.csv").read_text().splitlines()
    assert lines[0].endswith(",ended_by,kind")
    (out / "emitters.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    assert {record.kind for record in stax.load(out).emitters} == {"elitist"}


def test_what_can_be_chosen_is_what_the_parameters_allow():
    described = Parameters.described()
    assert described["emitter_kinds"].constraint.item.choices == tuple(EMITTER_KINDS)
    assert described["scheduler"].constraint.choices == tuple(SCHEDULERS)
