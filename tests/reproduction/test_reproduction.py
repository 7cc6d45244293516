"""The paper's figures and claims, from real runs that are tiny."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection

from run_folders import LEARNING
from stax.analysis.measures import archive_ends, final_policies
from stax.analysis.records.record import read_record
from stax.analysis.splits import parts
from stax.cli.main import main
from stax.reproduction.claims import CLAIMS
from stax.reproduction.keeping import KeptRecords
from stax.reproduction.learned_figures import similarities, splits
from stax.reproduction.make import answers, arm_errors, figures_of, make_all
from stax.reproduction.plan import ITEMS, TASKS, VARIANTS, chosen_items, needed, plan
from stax.reproduction.results import PaperRuns
from stax.reproduction.selection import paper_runs
from stax.runs.result import load
from stax.runs.run import begin

OPTIONS = {"budget": 130, "seeds": 1, "changed": LEARNING}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """All runs of the reproduction with their records, each as `stax reproduce` would do it."""
    out = tmp_path_factory.mktemp("reproduction")
    for run in plan(chosen_items("all"), out=out, **OPTIONS).runs:
        begin(run.config, out=run.folder.path)
        KeptRecords(out).keep(run)
    return out


@pytest.fixture(scope="module")
def choose(folder):
    records = [read_record(path) for path in (folder / "records").iterdir()]
    return partial(paper_runs, records, changed=LEARNING)


@pytest.fixture(scope="module")
def runs(choose) -> PaperRuns:
    return choose(chosen_items("all"))


def results(folder: Path, task: str, key: str) -> list:
    """The results of all seeds of a method on a task."""
    return [load(folder / "runs" / f"{task}-{key}-{seed}") for seed in range(OPTIONS["seeds"])]


def test_an_item_needs_what_its_figure_shows():
    assert {task for task, _ in needed([ITEMS["fig-reconstruction"]])} == {"redundant-arm"}
    assert [variant.key for _, variant in needed([ITEMS["fig-training"]])] == ["stax", "stax-nt", "stax-reset"] * 3
    everything = list(needed(chosen_items("all")))
    assert len(everything) == len(VARIANTS) * 3 - 2
    assert sum(variant.key == "stax-ef" for _, variant in everything) == 1


def test_runs_are_shared_between_items(tmp_path):
    one = {run.name for run in plan([ITEMS["fig-training"]], out=tmp_path, budget=500, seeds=2).runs}
    every = {run.name for run in plan(chosen_items("all"), out=tmp_path, budget=500, seeds=2).runs}
    assert one < every


def test_coverage_drawn_is_coverage_measured(folder, runs):
    figure = figures_of("fig-coverage", runs)["fig-coverage"]
    assert [axes.get_title() for axes in figure.axes] == list(TASKS.values())
    for axes, task in zip(figure.axes, TASKS, strict=True):
        names = [label.get_text() for label in axes.get_xticklabels()]
        points = [line for line in axes.get_lines() if line.get_marker() == "o"]
        assert len(points) == len(names)
        for name, line in zip(names, points, strict=True):
            key = next(key for key, variant in VARIANTS.items() if variant.name == name)
            expected = [100 * result.coverage for result in results(folder, task, key)]
            np.testing.assert_allclose(line.get_ydata(), expected)


def test_rewards_drawn_are_rewards_measured(folder, runs):
    figures = figures_of("fig-reward", runs)
    assert set(figures) == {f"fig-reward-{task}" for task in TASKS}
    figure = figures["fig-reward-redundant-arm"]
    for number, axes in enumerate(figure.axes[::2]):
        for line in axes.get_lines():
            key = next(key for key, variant in VARIANTS.items() if variant.name == line.get_label())
            ends = [result.max_reward[number] for result in results(folder, "redundant-arm", key)]
            assert line.get_ydata()[-1] == pytest.approx(np.median(ends))


def test_archives_drawn_are_those_of_the_run_that_covered_most(folder, runs):
    figure = figures_of("fig-archives", runs)["fig-archives"]
    drawn = {}
    for axes, (key, task) in zip(
        figure.axes, ((key, task) for key in ITEMS["fig-archives"].variants for task in TASKS), strict=True
    ):
        drawn[key, task] = [part.get_offsets() for part in axes.collections if isinstance(part, PathCollection)]
    for (key, task), (exploring, rewarded) in drawn.items():
        best = max(runs.group(task, key).group.runs, key=lambda run: run.coverage)
        ends = archive_ends(best)
        result = load(folder / "runs" / f"{task}-{key}-{best.config.seed}")
        np.testing.assert_allclose(exploring, result.task.picture_place(ends.exploring), rtol=0, atol=2e-3)
        assert len(rewarded) == len(ends.rewarded)
        # The record keeps rounded places, not always in the order of the archive.
        own = result.task.picture_place(archive_ends(result).exploring)
        np.testing.assert_allclose(np.sort(exploring, axis=0), np.sort(own, axis=0), rtol=0, atol=1e-2)


@pytest.mark.parametrize("item", ["fig-ablation", "fig-training"])
def test_courses_have_a_line_a_variant_and_a_panel_an_area(runs, item):
    figures = figures_of(item, runs)
    names = [VARIANTS[key].name for key in ITEMS[item].variants]
    for figure, panels in zip(figures.values(), (3, 7), strict=True):
        assert len(figure.axes) == panels
        for axes in figure.axes:
            assert [line.get_label() for line in axes.get_lines()] == names
            assert all(line.get_linestyle() == "-" for line in axes.get_lines())


def test_reconstructions_are_of_the_arm(folder, runs):
    (result,) = results(folder, "redundant-arm", "stax")
    policies = final_policies(result)
    chosen = policies.take(np.unique(np.linspace(0, len(policies) - 1, 8).astype(int))).rollouts()
    seen, made = result.task.observe(chosen)[:, -1] / 255, np.clip(result.space.reconstruct(chosen)[:, -1], 0, 1)
    figure = figures_of("fig-reconstruction", runs)["fig-reconstruction"]
    pictures = [axes.get_images()[0].get_array() for axes in figure.axes]
    np.testing.assert_allclose(np.stack(pictures), np.concatenate([seen, made]), rtol=0, atol=0.5 / 63 + 1e-6)
    assert seen.shape[1:] == (64, 64, 3)
    pictures = result.task.observe(final_policies(result).rollouts()) / 255
    errors = np.square(pictures - result.space.reconstruct(final_policies(result).rollouts()))
    mean_picture = pictures.reshape(-1, 64, 64, 3).mean(axis=0)
    assert arm_errors(runs) == pytest.approx([errors.mean() / np.square(pictures - mean_picture).mean()], rel=1e-5)


def test_similarities_are_drawn_for_trained_and_random(runs):
    values = similarities(runs)
    assert set(values) == set(TASKS)
    figure = figures_of("fig-similarity", runs)["fig-similarity"]
    points = [line.get_ydata() for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    expected = [sample for task in TASKS for sample in (values[task].trained, values[task].random)]
    for drawn, sample in zip(points, expected, strict=True):
        np.testing.assert_allclose(drawn, sample)
        assert all(0 <= value <= 1 for value in sample)


def test_parts_of_an_area():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(300, 3))
    assert parts(one) == 1
    assert parts(np.concatenate([one, one + 50])) == 2
    assert parts(np.concatenate([one, one + 50, one - [0, 60, 0]])) == 3
    assert parts(np.zeros((5, 2))) == 1


def test_a_split_shows_the_policies_of_one_area(folder, runs):
    for split in splits(runs):
        (result,) = results(folder, split.task, "stax")
        policies = final_policies(result)
        inside = (policies.reward_area == split.area) & (policies.reward > 0)
        spans = np.ptp(result.task.ground_truth_bounds, axis=1)
        assert (np.abs(split.ground_truth - policies.ground_truth[inside]) <= spans / 2**15).all()
        assert split.components.shape == (inside.sum(), 2)
        np.testing.assert_allclose(split.components.mean(axis=0), 0, atol=np.ptp(split.components) / 2**15)
    assert figures_of("fig-split", runs)["fig-split"] is not None


def test_every_claim_has_an_answer_and_a_single_seed_proves_nothing(runs):
    answered = answers(runs)
    assert [one.claim for one in answered] == list(CLAIMS)
    for one in answered:
        assert all(part.words for part in one.answer.parts)
        assert one.answer.verdict == ("cannot be told" if one.counted else "by construction")
        if one.counted and one.claim.id != "split-area":
            assert "1 seed of " in one.answer.parts[0].words


def test_everything_is_written_and_labelled_as_a_quick_look(choose, tmp_path):
    said = []
    written = make_all(chosen_items("all"), choose, tmp_path, command="stax reproduce all --quick", say=said.append)
    assert len(said) == len(ITEMS)
    names = {path.name for path in written}
    assert {"README.md", "claims.csv", "fig-coverage.png", "fig-coverage.pdf", "fig-split.png"} <= names
    assert all(path.is_file() for path in written)
    page = (tmp_path / "README.md").read_text()
    assert "QUICK LOOK: 130 evaluations, 1 seed" in page
    assert "(the paper: 500,000 and 15)" in page
    assert "`stax reproduce all --quick`" in page
    for path in written:
        if path.suffix == ".png":
            assert f"(figures/{path.name})" in page
    with (tmp_path / "claims.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["claim"] for row in rows] == [claim.words for claim in CLAIMS]
    assert "46 claims: 0 agree, 0 differ, 46 cannot be told." in page


def test_the_command_makes_one_figure_of_runs_that_are_there(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    settings = [word for name, value in LEARNING.items() for word in ("--set", f"{name}={value}")]
    arguments = ["reproduce", "fig-coverage", "--budget", "130", "--seeds", "1", "--out", str(folder), *settings]
    assert main(arguments) == 0
    output = capsys.readouterr()
    assert output.out == f"{folder}\n"
    assert "all 19 runs are finished; only figures and tables are made" in output.err
    assert (folder / "figures" / "fig-coverage.pdf").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig-coverag"], "There is no item 'fig-coverag'; did you mean 'fig-coverage'?"),
        (["all", "--preset", "papr"], "There is no preset 'papr'; did you mean 'paper'?"),
        (["all", "--budget", "50", "--dry-run"], "budget must be at least one population of 100 evaluations, not 50."),
        (["all", "--set", "population=3"], "There is no parameter 'population'; did you mean 'population_size'?"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"stax: {message}")
    assert list(tmp_path.iterdir()) == []
