"""Which runs are compared with which, under which names, and which are refused."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import stax
from stax import InvalidInputError
from stax.analysis.comparison import compare_runs
from stax.analysis.grouping import group_runs
from stax.analysis.recorded import find_runs
from stax.analysis.statistics import mann_whitney_p


def change(folder: Path, **values: str) -> None:
    """Other values in a run's configuration."""
    path = folder / "config.toml"
    text = path.read_text()
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", text)
        assert count == 1, name
    path.write_text(text)


def labels(folder: Path, **options) -> dict[str, list[str]]:
    tasks, _ = group_runs(find_runs([folder]), **options)
    return {task.task: [group.label for group in task.groups] for task in tasks}


def test_groups_of_one_task(runs):
    (task,), notes = group_runs(find_runs([runs]))
    assert notes == []
    assert (task.task, task.evaluations) == ("redundant-arm", 500)
    assert task.common == "chunk_size=50, population_size=20"
    assert task.areas == ["lower left", "upper right", "upper left"]
    assert [(group.label, group.algo, group.learned, group.seeds) for group in task.groups] == [
        ("stax-nt", "stax-nt", True, [0, 1]),
        ("serene", "serene", False, [0, 1, 2, 3, 4]),
        ("ns", "ns", False, [0, 1, 2, 3, 4]),
    ]


def test_what_differs_is_named(own_runs):
    for seed in (0, 1):
        change(own_runs / f"ns-{seed}", chunk_size="100", mutation_sigma="0.25")
    change(own_runs / "ns-2", preset='"paper"')  # by name only
    training = {"max_images_per_episode": '"none"', "center_observations": "false", "scale_observations": "false"}
    change(own_runs / "ns-3", preset='"paper"', emitter_sigma='"distance"', **training)
    assert labels(own_runs) == {
        "redundant-arm": [
            "stax-nt (chunk_size=50)",
            "serene (chunk_size=50)",
            "ns (chunk_size=50)",
            "ns (chunk_size=50, preset=paper)",
            "ns (mutation_sigma=0.25)",
        ]
    }


def test_a_campaigns_names_for_its_overrides(own_runs):
    for seed in (0, 1):
        change(own_runs / f"ns-{seed}", chunk_size="100", mutation_sigma="0.25")
    rows = [f"{folder.name},{'wide' if folder.name in ('ns-0', 'ns-1') else ''}" for folder in own_runs.iterdir()]
    (own_runs / "campaign.csv").write_text("\n".join(["folder,override", *rows]) + "\n")
    (found,) = labels(own_runs).values()
    assert found == ["stax-nt (chunk_size=50)", "serene (chunk_size=50)", "ns (chunk_size=50)", "ns (wide)"]
    # The same name for something else: both are told apart by what they are.
    change(own_runs / "ns-1", mutation_sigma="0.75")
    (found,) = labels(own_runs).values()
    assert found[-2:] == ["ns (wide, mutation_sigma=0.25)", "ns (wide, mutation_sigma=0.75)"]


def test_a_group_has_one_number_on_all_tasks(own_runs):
    for seed in (0, 1):
        change(own_runs / f"ns-{seed}", chunk_size="100")
    for seed in (2, 3):
        change(own_runs / f"ns-{seed}", chunk_size="25")
    config = own_runs / "ns-2" / "config.toml"
    config.write_text(config.read_text().replace('task = "redundant-arm"', 'task = "hard-maze"'))
    config = own_runs / "ns-4" / "config.toml"
    config.write_text(config.read_text().replace('task = "redundant-arm"', 'task = "hard-maze"'))
    tasks, _ = group_runs(find_runs([own_runs]))
    numbers = [{group.label: group.number for group in task.groups if group.algo == "ns"} for task in tasks]
    assert numbers == [{"ns (chunk_size=25)": 1, "ns (chunk_size=50)": 2}, {"ns": 0, "ns (chunk_size=25)": 1}]


def test_options_of_a_task_are_kept_apart_unless_asked(own_runs):
    for name in ("stax-nt-1", "ns-1"):
        config = own_runs / name / "config.toml"
        text = config.read_text().replace(
            "[task_description]", '[parameters.task]\nview = "end-effector"\n\n[task_description]'
        )
        config.write_text(text)
    # The usual value is no difference.
    config = own_runs / "ns-0" / "config.toml"
    config.write_text(config.read_text().replace("[task_description]", '[parameters.task]\nview = "arm"\n\n[task_description]'))
    found = find_runs([own_runs])
    tasks, notes = group_runs(found)
    assert notes == [
        "The runs of redundant-arm have different options, the usual ones and view=end-effector: they are compared apart;"
        " --mix-options puts them together."
    ]
    assert {task.task: [group.label for group in task.groups] for task in tasks} == {
        "redundant-arm": ["stax-nt", "serene", "ns"],
        "redundant-arm (view=end-effector)": ["stax-nt", "ns"],
    }
    assert labels(own_runs, mix_options=True) == {
        "redundant-arm": ["stax-nt", "stax-nt (task.view=end-effector)", "serene", "ns", "ns (task.view=end-effector)"]
    }


def test_what_cannot_be_compared(own_runs, tmp_path):
    shutil.copytree(own_runs / "ns-0", own_runs / "ns-again")
    with pytest.raises(
        InvalidInputError, match=r"ns-0' and .*ns-again' are the same run, ns on redundant-arm with seed 0; leave"
    ):
        group_runs(find_runs([own_runs]))
    shutil.rmtree(own_runs / "ns-again")
    config = own_runs / "ns-3" / "config.toml"
    config.write_text(config.read_text().replace("radius = 0.05", "radius = 0.06", 1))
    with pytest.raises(
        InvalidInputError, match=r"cannot be compared: the reward_areas of their task 'redundant-arm' differ\.$"
    ):
        group_runs(find_runs([own_runs]))


def test_different_budgets(own_runs):
    settings = {"population_size": 20, "chunk_size": 50, "workers": 1}
    stax.run("redundant-arm", algo="ns", budget=300, seed=7, out=own_runs / "ns-7", **settings)
    found = find_runs([own_runs])
    with pytest.raises(InvalidInputError) as refused:
        compare_runs(found)
    assert str(refused.value) == (
        "The runs on redundant-arm have different budgets: 300 (ns, seed 7), 500 (ns, seed 0); compare them after a number of"
        " evaluations that all have, with --budget 300 or less."
    )
    with pytest.raises(InvalidInputError, match=r"is 301 evaluations, but the run in .*ns-7' has 300; give at most that\.$"):
        compare_runs(found, budget=301)
    (task,) = compare_runs(found, budget=250, against="ns").tasks
    for group in task.groups:
        for run, measured in zip(group.group.runs, group.measured, strict=True):
            ledger = run.ledger("ground_truth")["ground_truth"][:250]
            cells = {tuple(cell) for cell in np.minimum(np.floor(50 * ledger), 49).astype(int).tolist()}
            assert measured.coverage.at(250) == len(cells) / 2500
    ends = {finding.label: finding.values for finding in task.families[0]}
    assert ends["ns"] == [float(measured.coverage.at(250)) for measured in task.groups[2].measured]


def test_every_measure_is_compared_with_the_reference(runs):
    compared = compare_runs(find_runs([runs]), against="ns")
    (task,) = compared.tasks
    assert task.against == "ns"
    measures = [(family[0].measure, family[0].area) for family in task.families]
    profile = [(f"cells with reward {level}", "") for level in (0.2, 0.5, 0.8)]
    assert measures == [("coverage", ""), ("coverage by exploration", ""), ("QD-score", ""), *profile] + [
        (measure, area)
        for area in task.runs.areas
        for measure in ("best reward", "best archived reward", "evaluations to 80 %")
    ]
    summaries = {folder.name: json.loads((folder / "summary.json").read_text()) for folder in runs.iterdir()}
    coverage, rewards, archived, soon = task.families[0], *task.families[6:9]
    columns = ("qd_score", "profile_0.2", "profile_0.5", "profile_0.8")
    for column, family in zip(columns, task.families[2:6], strict=True):
        for finding in family:
            folders = [runs / f"{finding.label}-{seed}" for seed in range(len(finding.values))]
            expected = [stax.load(folder).metrics[-1][column] for folder in folders]
            np.testing.assert_allclose(finding.values, expected, atol=1e-12)
    assert [finding.label for finding in coverage] == ["stax-nt", "serene", "ns"]
    for finding in coverage:
        assert finding.values == [summaries[f"{finding.label}-{seed}"]["coverage"] for seed in range(len(finding.values))]
    for finding in rewards:
        assert finding.values == [summaries[f"{finding.label}-{seed}"]["max_reward"][0] for seed in range(len(finding.values))]
    for finding, all_evaluations in zip(archived, rewards, strict=True):
        assert all(value <= other for value, other in zip(finding.values, all_evaluations.values, strict=True))
    nt, serene, ns = coverage
    assert ns.comparison is None
    assert ns.verdict == ""
    assert serene.comparison.p == pytest.approx(mann_whitney_p(serene.values, ns.values))
    assert nt.comparison.p is None
    assert nt.verdict == "too few seeds (2 and 5; p at best 0.19)"
    assert all(value == math.inf or value <= 500 for finding in soon for value in finding.values)


def test_the_reference(runs):
    found = find_runs([runs])
    assert compare_runs(found).tasks[0].against == "stax-nt"
    with pytest.raises(InvalidInputError) as refused:
        compare_runs(found, against="sereen")
    assert str(refused.value) == (
        "On redundant-arm: There is no method 'sereen'; did you mean 'serene'? there are stax-nt, serene, ns."
    )


def test_a_reference_of_several_groups(own_runs):
    for seed in (0, 1):
        change(own_runs / f"ns-{seed}", chunk_size="25")
    found = find_runs([own_runs])
    with pytest.raises(InvalidInputError) as refused:
        compare_runs(found, against="ns")
    assert str(refused.value) == (
        "There are several groups of 'ns' on redundant-arm: give one of 'ns (chunk_size=25)', 'ns (chunk_size=50)'."
    )
    assert group_runs(found)[0][0].find("ns (chunk_size=50)").seeds == [2, 3, 4]
    assert group_runs(found)[0][0].find("serene").label == "serene (chunk_size=50)"


def test_different_grids(own_runs):
    for seed in range(5):
        change(own_runs / f"ns-{seed}", grid_cells="20")
    compared = compare_runs(find_runs([own_runs]))
    assert compared.notes == [
        "The runs of redundant-arm have different grid_cells, 20, 50: coverage is counted on 50 cells along each dimension for all"
        " of them."
    ]


def test_unfinished_runs_are_refused(own_runs):
    path = own_runs / "ns-1" / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "interrupted"}))
    with pytest.raises(
        InvalidInputError, match=r"ns-1' was interrupted after 500 of 500 evaluations; go on with it: stax resume"
    ):
        compare_runs(find_runs([own_runs]))


def test_one_group_alone(runs):
    (task,) = compare_runs(find_runs([runs / "ns-0"])).tasks
    assert [finding.comparison for family in task.families for finding in family] == [None] * 14
    assert [group.label for group in task.groups] == ["ns"]


def test_it_is_told_how_far_the_reading_has_come(runs):
    seen = []
    compare_runs(find_runs([runs]), progress=lambda read, there_are: seen.append((read, there_are)))
    assert seen == [(read, 12) for read in range(1, 13)]
