"""Runs with autoencoders that were chosen or brought: configured, interrupted, resumed, loaded, reported, compared."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import own_autoencoders
import stax
from run_folders import QUICK, Stop, same_run, summary
from stax.analysis.grouping import group_runs
from stax.analysis.measures import final_policies
from stax.analysis.recorded import find_runs
from stax.analysis.report import write_report
from stax.analysis.report.learned import learned_facts
from stax.cli.main import main
from stax.runs.campaign import read_campaign
from stax.runs.config import read_config
from stax.runs.folder import RunFolder
from toy_tasks import SquareTask

TASK = "toy_tasks:SquareTask"
GIVEN = {**QUICK, "budget": 200, "seed": 3, "workers": 1, "code_size": 3}
OPTIONS = ["--budget", "200", "--seed", "3", "--workers", "1", "--quiet"]
OPTIONS += [part for name, value in {**QUICK, "code_size": 3}.items() for part in ("--set", f"{name}={value}")]


def pair():
    """The same weights every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return own_autoencoders.normalised((4,), 3)


def local_factory(observation_shape, code_size):
    return own_autoencoders.plain(observation_shape, code_size)


local_factory.__qualname__ = "somewhere.<locals>.local_factory"  # as one that cannot be found by its name

CHOICES = {
    "variational": {"autoencoder": "variational", "kl_weight": 0.1},
    "sizes": {"hidden_sizes": [9, 5, 4]},
    "triplet": {"autoencoder": "triplet"},
    "temporal": {"autoencoder": "temporal", "contrast_margin": 2.0},
    "whitened": {"whiten_codes": True},
    "changing": {"descriptor_samples": 2, "descriptor_moments": "changing"},
    "sequence": {"sequence_size": 4, "whiten_codes": True},
    "by name": {"autoencoder": "own_autoencoders:normalised"},
    "class": {"autoencoder": own_autoencoders.Shifted},
    "pair": {"autoencoder": pair()},
    "factory": {"autoencoder": local_factory},
    "autoencoder": {"autoencoder": own_autoencoders.Shifted((4,), 3)},
}


def objects(choice) -> dict[str, object]:
    """What has to be given again."""
    return CHOICES[choice] if choice in ("pair", "factory", "autoencoder") else {}


@pytest.mark.parametrize("algo", ["stax", "stax-reset"])
@pytest.mark.parametrize("choice", CHOICES)
def test_a_run_interrupted_again_and_again_ends_like_one_that_never_was(choice, algo, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "run"
    result = stax.run(TASK, algo=algo, out=whole, **GIVEN, **CHOICES[choice])
    assert result.training_episodes > 1
    outcome, interruptions = None, 0
    while outcome is None:
        try:
            if not interruptions:
                outcome = stax.run(TASK, algo=algo, out=out, stop=Stop(2), **GIVEN, **CHOICES[choice])
            else:
                workers = 1 + interruptions % 2
                outcome = stax.resume(out, trust=True, workers=workers, stop=Stop(2), **objects(choice))
        except stax.RunInterrupted:
            interruptions += 1
    assert interruptions > 1
    same_run(out, whole)
    again = stax.load(out, trust=True, **objects(choice))
    rollouts = result.novelty_archive.rollouts()
    np.testing.assert_array_equal(again.space.describe(rollouts), result.space.describe(rollouts))
    rounding = 1e-6 if choice in ("by name", "class", "pair", "factory", "autoencoder") else 0
    np.testing.assert_allclose(again.novelty_archive.descriptor, again.space.describe(rollouts), rtol=0, atol=rounding)


def test_the_configuration_tells_the_choice_and_can_be_used_again(tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    stax.run(TASK, out=first, **GIVEN, hidden_sizes=(9, 5, 4), autoencoder="variational", kl_weight=0.25)
    _, parameters = read_config(first / "config.toml")
    assert (parameters["hidden_sizes"], parameters["autoencoder"], parameters["kl_weight"]) == ((9, 5, 4), "variational", 0.25)
    assert summary(first)["parameters"]["hidden_sizes"] == [9, 5, 4]
    assert main(["run", "--config", str(first / "config.toml"), "--trust", "--quiet", "--out", str(again)]) == 0
    same_run(first, again)
    keywords = stax.load(first).config
    assert keywords.parameters.hidden_sizes == (9, 5, 4)
    assert not keywords.differences(stax.load(again).config)


@pytest.mark.parametrize(("text", "sizes"), [("9,5,4", (9, 5, 4)), ("7", (7,)), ("[8, 6]", (8, 6))])
def test_sizes_on_the_command_line(text, sizes, tmp_path):
    assert main(["run", TASK, *OPTIONS, "--set", f"hidden_sizes={text}", "--out", str(tmp_path / "run")]) == 0
    config, _ = RunFolder(tmp_path / "run").read_config()
    assert config.parameters.hidden_sizes == sizes


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("hidden_sizes=0", "Parameter hidden_sizes must be 1 to 20 values, each a whole number from 1 to 10,000, not 0."),
        (
            "hidden_sizes=8,2.5",
            "Parameter hidden_sizes must be 1 to 20 values, each a whole number from 1 to 10,000, not (8, 2.5).",
        ),
        ("kl_weight=-1", "Parameter kl_weight must be a number from 0 to 1,000,000, not -1."),
        (
            "autoencoder=deep",
            "Parameter autoencoder must be one of 'auto', 'auto-principal', 'convolutional', 'dense', 'variational', 'triplet', 'temporal', 'spatial', 'principal', or your own",
        ),
        ("autoencoder=convolutional", "which takes pictures (height, width, channels), not observations of shape (4,)."),
        ("autoencoder=given:pair", "Autoencoder 'given:pair' was given as an object, which its name cannot bring back"),
        ("autoencoder=nowhere:make", "Autoencoder 'nowhere:make' names the module 'nowhere', which cannot be found."),
        ("autoencoder=own_autoencoders:bent", "it must give (256, 4), as the encoder got."),
    ],
)
def test_bad_choices_on_the_command_line(setting, sentence, tmp_path, capsys):
    assert main(["run", TASK, *OPTIONS, "--set", setting, "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_code_is_only_run_when_it_is_trusted(tmp_path, capsys, monkeypatch):
    out = tmp_path / "run"
    assert main(["run", "redundant-arm", "--set", "autoencoder=own_autoencoders:pictures", *OPTIONS, "--out", str(out)]) == 0
    # From here on, importing it would be told.
    monkeypatch.setitem(__import__("sys").modules, "own_autoencoders", None)
    capsys.readouterr()
    assert main(["run", "--config", str(out / "config.toml"), "--out", str(tmp_path / "again")]) == 2
    assert (
        "names code as its autoencoder, 'own_autoencoders:pictures'. If you trust it, say so with --trust"
        in capsys.readouterr().err
    )
    result = stax.load(out)
    assert result.novelty_archive.descriptor.shape[1] == result.space.size == 15
    for use in (lambda: result.autoencoder, lambda: result.space.describe(result.novelty_archive.rollouts())):
        with pytest.raises(stax.InvalidInputError, match="'own_autoencoders:pictures' is code of a run folder's maker"):
            use()
    assert main(["show", str(out)]) == 0
    assert main(["report", str(out), "--quiet"]) == 0
    assert "is code of a run folder&#39;s maker" in (out / "report.html").read_text()
    assert main(["compare", str(out)]) == 0
    monkeypatch.undo()
    assert stax.load(out, trust=True).autoencoder.code_size == 3
    assert main(["report", str(out), "--quiet", "--trust"]) == 0
    assert "is code of a run folder&#39;s maker" not in (out / "report.html").read_text()


def test_a_stopped_run_says_what_it_needs(tmp_path, capsys):
    by_name, given = tmp_path / "by name", tmp_path / "given"
    for out, autoencoder in ((by_name, "own_autoencoders:plain"), (given, pair())):
        with pytest.raises(stax.RunInterrupted):
            stax.run("toy_tasks:SquareTask", out=out, stop=Stop(2), **GIVEN, autoencoder=autoencoder)
    assert main(["resume", str(by_name)]) == 2
    assert (
        "names code as its task, 'toy_tasks:SquareTask' and its autoencoder, 'own_autoencoders:plain'."
        in capsys.readouterr().err
    )
    assert main(["resume", str(given), "--trust"]) == 2
    assert f"resume it in Python, with stax.resume({str(given)!r}, autoencoder=...)." in capsys.readouterr().err
    with pytest.raises(stax.InvalidInputError, match="'given:pair' was given as an object: load or resume the run in Python"):
        _ = stax.load(given).autoencoder
    with pytest.raises(stax.InvalidInputError, match="names, shapes or types differ"):
        stax.load(given, autoencoder=own_autoencoders.plain)
    assert stax.resume(given, trust=True, autoencoder=pair()).status == "finished"


def test_an_autoencoder_for_a_run_that_had_another(tmp_path):
    for name, parameters, had in (("built in", {}, "was 'auto'"), ("none", {"algo": "ns"}, "there is none")):
        out = tmp_path / name
        stax.run(TASK, out=out, **GIVEN, **parameters)
        with pytest.raises(stax.InvalidInputError, match=re.escape(f"but its own {had}.")):
            stax.load(out, autoencoder=pair())


def test_ask_and_tell_take_objects_too():
    task = stax.make_task(TASK)
    searches = [
        stax.make_search("stax", task, budget=100, seed=1, population_size=12, chunk_size=24, code_size=3, autoencoder=pair())
        for _ in range(2)
    ]
    for search in searches:
        while not search.done:
            search.tell(task.evaluate(search.ask()))
    first, second = (search.novelty_archive.policies.descriptor for search in searches)
    np.testing.assert_array_equal(first, second)
    assert searches[0].parameters.autoencoder == "given:pair"


def test_runs_are_compared_by_their_autoencoders(tmp_path):
    runs = {
        "auto": {},
        "dense": {"autoencoder": "dense"},
        "small": {"hidden_sizes": (8,)},
        "variational": {"autoencoder": "variational"},
    }
    for seed, (name, parameters) in enumerate(runs.items()):
        stax.run(TASK, out=tmp_path / name, **{**GIVEN, "seed": seed}, **parameters)
    ((task,), _) = group_runs(find_runs([tmp_path]))
    labels = {group.label: group.seeds for group in task.groups}
    assert labels == {"stax": [0, 1], "stax (hidden_sizes=8)": [2], "stax (autoencoder=variational)": [3]}


def test_campaigns_may_differ_in_autoencoders(tmp_path):
    (tmp_path / "campaign.toml").write_text(
        f"""
        tasks = ["{TASK}"]
        algos = ["stax"]
        budget = 100
        out = "{tmp_path / "runs"}"
        parameters = {{population_size = 12, code_size = 3, max_epochs = 1}}
        [[overrides]]
        name = "sizes"
        parameters.hidden_sizes = [6, 4]
        [[overrides]]
        name = "own"
        parameters.autoencoder = "own_autoencoders:plain"
        """
    )
    campaign = read_campaign(tmp_path / "campaign.toml")
    chosen = [(run.config.parameters.hidden_sizes, run.config.parameters.autoencoder) for run in campaign.runs]
    assert chosen == [((6, 4), "auto"), ((64, 32), "own_autoencoders:plain")]
    text = (tmp_path / "campaign.toml").read_text()
    (tmp_path / "wrong.toml").write_text(text.replace(":plain", ":bent").replace('/runs"', '/wrong"'))
    assert main(["campaign", str(tmp_path / "wrong.toml"), "--quiet"]) == 2


def test_the_report_of_an_own_autoencoder(tmp_path):
    result = stax.run(TASK, out=tmp_path / "run", **GIVEN, autoencoder=pair())
    written = write_report(result, tmp_path / "run", tmp_path / "report.html")
    assert not written.failures
    page = (tmp_path / "report.html").read_text()
    assert "plot-vectors" in page
    assert "given:pair" in page


def test_the_report_draws_numbers_of_any_size_beside_each_other():
    class Wide(SquareTask):
        def observe(self, rollouts):
            return (rollouts.snapshots * np.array([1, 1e6, 1e-6, 0])).astype(np.float32)

    result = stax.run(Wide(), **GIVEN)
    facts = learned_facts(result, "")
    observed, made = facts.vectors["data"][:2]
    policy = int(observed["name"].split()[1].rstrip(","))
    archived = final_policies(result)
    seen = Wide().observe(archived.rollouts())[:, -1].astype(np.float64)
    expected = (seen[archived.id == policy][0, :3] - seen[:, :3].mean(0)) / seen[:, :3].std(0)
    assert np.allclose(observed["y"][:3], expected, rtol=1e-3)
    assert observed["y"][3] == 0
    assert float(observed["text"][1]) == pytest.approx(seen[archived.id == policy][0, 1], rel=1e-3)
    assert np.abs(made["y"]).max() < 100


def test_metrics_of_a_variational_run_have_errors(tmp_path):
    result = stax.run(TASK, **GIVEN, autoencoder="variational")
    errors = [row["validation_error"] for row in result.metrics if row["validation_error"] is not None]
    assert errors
    assert np.isfinite(errors).all()
    assert json.dumps(result.summary())


# The page


PAGE = (Path(__file__).parents[2] / "docs" / "autoencoders.md").read_text()
PAIR, OWN, REWARDED, AGAIN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_s_pair_runs():
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(PAIR, "pair", "exec"), names)
    result = names["result"]
    assert result.training_episodes
    assert result.parameters.autoencoder == "given:make"
    assert result.novelty_archive.descriptor.shape[1] == 50


@pytest.mark.parametrize("name", ["Forgiving", "Rewarded"])
def test_the_page_s_autoencoders_run(name):
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(OWN, "own", "exec"), names)
    exec(compile(REWARDED, "rewarded", "exec"), names)
    first, again = (stax.run(TASK, **{**GIVEN, "workers": workers}, autoencoder=names[name]) for workers in (1, 2))
    assert first.training_episodes > 1
    np.testing.assert_array_equal(first.novelty_archive.descriptor, again.novelty_archive.descriptor)


def test_the_page_s_way_to_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(stax.RunInterrupted):
        stax.run("redundant-arm", out="runs/mine", stop=Stop(2), **GIVEN, autoencoder=arm_pair())
    encoder, decoder = arm_pair()
    rollouts = stax.make_task("redundant-arm").evaluate(np.zeros((1, stax.make_task("redundant-arm").genome_size)))
    exec(compile(AGAIN, "again", "exec"), {"encoder": encoder, "decoder": decoder, "rollouts": rollouts})
    assert summary(tmp_path / "runs" / "mine")["status"] == "finished"


def arm_pair():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return own_autoencoders.pictures((64, 64, 3), 3)
