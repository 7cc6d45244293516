"""A reproduction by its records: kept, taken up again, made into the same page, and verified."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import stax
from run_folders import LEARNING
from stax import InvalidInputError
from stax.analysis.comparison import MeasuredGroup
from stax.analysis.grouping import RunGroup
from stax.analysis.measures import Curve, Measured
from stax.analysis.recorded import find_records
from stax.analysis.records.making import record_name, write_record
from stax.analysis.records.record import TEXT, read_record
from stax.analysis.records.verifying import chosen_records, verify
from stax.cli.main import main
from stax.reproduction import selection
from stax.reproduction.coverage_table import coverage_table
from stax.reproduction.make import make_all
from stax.reproduction.plan import ITEMS, PAPER_BUDGET, chosen_items, plan
from stax.reproduction.results import PaperRuns
from stax.reproduction.selection import paper_runs
from stax.runs.campaign_work import do_run

SETTINGS = [word for name, value in LEARNING.items() for word in ("--set", f"{name}={value}")]
ARM = "redundant-arm"


def reproduce(*words: str | Path) -> int:
    return main(["reproduce", *map(str, words)])


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> Path:
    """Records of methods without autoencoders on the arm, of different budgets and numbers of seeds; they are only read."""
    out = tmp_path_factory.mktemp("records-of-methods")
    for algo, budget, seeds, preset in (
        ("ns", 400, 3, "default"),
        ("map-elites", 200, 2, "default"),
        ("serene", 200, 1, "default"),
        ("serene", 400, 2, "default"),
        ("moo-nr", 200, 1, "published-code"),
        ("random", 200, 1, "default"),
    ):
        for seed in range(seeds):
            folder = out / f"{algo}-{budget}-{seed}"
            stax.run(ARM, algo=algo, budget=budget, seed=seed, preset=preset, workers=1, out=folder, **LEARNING)
            write_record(folder, out / "records")
            shutil.rmtree(folder)
    return out / "records"


# What is used of the records


def test_methods_are_compared_after_the_evaluations_that_all_have(records):
    runs = paper_runs(find_records(records), chosen_items("all"))
    assert runs.budget == 200
    used = {key: (len(group.measured), group.group.runs[0].evaluations) for (_, key), group in runs.groups.items()}
    # Of SERENE there are more seeds with more evaluations.
    assert used == {"ns": (3, 400), "map-elites": (2, 200), "serene": (2, 400)}
    for record, measured in zip(runs.records(ARM, "ns"), runs.group(ARM, "ns").measured, strict=True):
        assert measured.coverage.last == record.measured().coverage.at(200) < record.coverage
    assert runs.words.startswith("200 evaluations, 2 to 3 seeds, preset default, bootstrap_generations=2")
    assert any("SERENE on Redundant Arm, 200 evaluations" in words for words in runs.unused)
    assert any("MOO-NR on Redundant Arm, 200 evaluations, preset published-code" in words for words in runs.unused)
    assert any(words.startswith("random on Redundant Arm") for words in runs.unused)


def test_the_longest_runs_keep_their_whole_courses(records):
    runs = paper_runs(find_records(records), chosen_items("all"), longest=True)
    assert {key: group.measured[0].evaluations for (_, key), group in runs.groups.items()} == {
        "ns": 400,
        "map-elites": 200,
        "serene": 400,
    }
    cut = paper_runs(find_records(records), chosen_items("all"), longest=True, budget=200)
    assert {group.measured[0].evaluations for group in cut.groups.values()} == {200}


def test_a_budget_counts_if_it_has_enough_seeds(records, monkeypatch):
    found = [record for record in find_records(records) if record.config.algo == "serene"]
    assert paper_runs(found, [ITEMS["fig-coverage"]]).budget == 400
    few = [record for record in found if record.evaluations == 200 or record.config.seed == 0]
    assert paper_runs(few, [ITEMS["fig-coverage"]]).budget == 400
    more = [*few, replace(few[0], path=few[0].path.with_name("b"), config=replace(few[0].config, seed=9))]
    assert {record.evaluations for record in more if record.config.seed == 9} == {few[0].evaluations}
    expected = few[0].evaluations
    assert paper_runs(more, [ITEMS["fig-coverage"]]).budget == expected
    # With one seed being enough for verdicts, the longest runs count again.
    monkeypatch.setattr(selection, "MINIMUM_SEEDS", 1)
    assert paper_runs(more, [ITEMS["fig-coverage"]]).budget == 400


def test_the_table_of_coverage_has_a_column_for_every_budget(records):
    choose = partial(paper_runs, find_records(records))
    items = chosen_items("all")
    lines = coverage_table(choose(items, longest=True), lambda budget: choose(items, budget=budget))
    assert lines[0] == "| task | method | paper | ours at 200 | ours at 400 | verdict |"
    rows = [line[2:-2].split(" | ") for line in lines[2:] if line.startswith("| Redundant")]
    cells = {row[1]: row for row in rows}
    assert list(cells) == ["NS", "ME", "SERENE"]
    assert cells["NS"][2] == "93.3"
    assert all(cell.endswith("(3)") for cell in cells["NS"][3:5])
    # ME has no runs of 400 evaluations.
    assert cells["ME"][3].endswith("(2)")
    assert cells["ME"][4] == ""
    assert cells["NS"][5] == "cannot be told"


@pytest.mark.parametrize(
    ("sample", "verdict"),
    [
        ([92.0, 93.0, 93.5, 94.0, 95.0], "agrees"),
        ([99.0, 99.1, 99.2, 99.3, 99.4], "differs"),
        ([80.0, 81.0, 81.5, 82.0, 83.0], "differs"),
        ([90.0, 92.0, 94.0, 96.0, 98.0], "cannot be told"),
        ([93.0, 93.0, 93.0, 93.0], "cannot be told"),
    ],
)
def test_the_verdict_on_a_figure_of_the_paper(sample, verdict):
    def measured(coverage):
        curve = Curve(np.array([0, PAPER_BUDGET]), np.array([0.0, coverage / 100]))
        return Measured(PAPER_BUDGET, curve, curve, [], [])

    group = RunGroup(label="NS", algo="ns", number=0, learned=False, runs=[])
    groups = {(ARM, "ns"): MeasuredGroup(group, [measured(coverage) for coverage in sample])}
    runs = PaperRuns(PAPER_BUDGET, len(sample), "default", quick=False, changed={}, groups=groups)
    lines = coverage_table(runs, lambda budget: runs)
    (line,) = [line for line in lines if line.startswith("| Redundant")]
    assert line.endswith(f"| {verdict} |")
    # What is not explained is said to be open.
    assert any(line.startswith("- NS on Redundant Arm: ") for line in lines) == (verdict == "differs")


def test_a_budget_leaves_out_methods_that_have_less(records):
    runs = paper_runs(find_records(records), chosen_items("all"), budget=400)
    assert {key for _, key in runs.groups} == {"ns", "serene"}
    assert (runs.budget, runs.seeds) == (400, 2)
    with pytest.raises(InvalidInputError, match="No record of the runs that are needed has 500 evaluations"):
        paper_runs(find_records(records), chosen_items("all"), budget=500)


def test_a_preset_and_parameters_choose_records(records):
    found = find_records(records)
    runs = paper_runs(found, chosen_items("all"), preset="published-code", changed=LEARNING)
    assert {key for _, key in runs.groups} == {"moo-nr"}
    assert len(paper_runs(found, chosen_items("all"), changed=LEARNING).groups) == 3
    with pytest.raises(InvalidInputError, match=r"with preset default and .*population_size=13. There are: ME on"):
        paper_runs(found, chosen_items("all"), changed={**LEARNING, "population_size": 13})
    with pytest.raises(InvalidInputError, match="No record is of a run that fig-split could be made of"):
        paper_runs(found, [ITEMS["fig-split"]])


def test_the_same_run_twice_is_refused(records, tmp_path):
    shutil.copytree(records, tmp_path / "a")
    shutil.copytree(records, tmp_path / "b")
    with pytest.raises(InvalidInputError, match="are the same run, ns on redundant-arm with seed 0"):
        paper_runs(find_records(tmp_path), [ITEMS["fig-coverage"]])


def test_what_is_missing_is_named_on_the_page(records, tmp_path):
    choose = partial(paper_runs, find_records(records))
    written = make_all(chosen_items("all"), choose, tmp_path, command="stax reproduce all", say=lambda line: None)
    page = (tmp_path / "README.md").read_text()
    names = {path.name for path in written}
    assert {"fig-coverage.png", "fig-reward-redundant-arm.png", "fig-archives.png"} <= names
    assert not any(name.startswith(("fig-split", "fig-ablation", "fig-similarity", "fig-reward-curling")) for name in names)
    assert "| Redundant Arm | NS | 3 | 400 |" in page
    assert "| Redundant Arm | ME | 2 | 200 |" in page
    assert "Each figure and each claim compares its methods after as many evaluations as they all have" in page
    assert page.count("| Redundant Arm | NS | 93.3 |") == 1
    assert "TAXONS, STAX, STAX_ef on Redundant Arm" in page
    assert page.count("This figure is left out.") == 5
    assert "no runs of STAX on Redundant Arm" in page
    assert "Records that no figure and no claim uses" in page


# Pages


def test_the_page_is_the_same_byte_for_byte_and_does_not_depend_on_the_machine(records, tmp_path, monkeypatch, capsys):
    def elsewhere():
        raise AssertionError("the page tells of the machine that makes it")

    assert reproduce("all", "--records", records, "--out", tmp_path / "one", "--quiet") == 0
    for name in ("versions", "machine"):
        monkeypatch.setattr(f"stax.runs.config.{name}", elsewhere)
    moved = shutil.copytree(records, tmp_path / "elsewhere" / "moved")
    assert reproduce("all", "--records", moved, "--out", tmp_path / "two", "--quiet") == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "one"), str(tmp_path / "two")]
    one, two = files(tmp_path / "one"), files(tmp_path / "two")
    assert one.keys() == two.keys() >= {"README.md", "claims.csv", "figures/fig-coverage.png", "figures/fig-coverage.pdf"}
    assert [name for name in one if one[name] != two[name]] == []
    page = one["README.md"].decode()
    record = find_records(records)[0]
    assert f"numpy {record.versions['numpy']}" in page
    assert str(tmp_path) not in page
    assert "core hours" in page


def test_another_preset_is_compared_after_as_many_evaluations(records, tmp_path):
    folder = tmp_path / "run"
    stax.run(ARM, algo="ns", budget=200, seed=0, preset="published-code", workers=1, out=folder, **LEARNING)
    shutil.copytree(records, tmp_path / "records")
    write_record(folder, tmp_path / "records")
    assert reproduce("all", "--records", tmp_path / "records", "--out", tmp_path / "page", "--quiet") == 0
    page = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    section = page.partition("## With published-code instead of default")[2]
    assert "Coverage in % after 200 evaluations" in section
    found = paper_runs(find_records(tmp_path / "records"), chosen_items("all"), preset="published-code")
    (theirs,) = found.coverage(ARM, "ns")
    mine = paper_runs(find_records(tmp_path / "records"), chosen_items("all"), budget=200).coverage(ARM, "ns")
    row = next(line for line in section.splitlines() if line.startswith("| Redundant Arm | NS |"))
    assert f"| {np.median(mine):.1f} (3) |" in row
    assert f"| {theirs:.1f} (1) | {np.median(theirs - np.array(mine)):+.1f}" in row
    # Records of the other preset that were compared are not listed as unused.
    assert "NS on Redundant Arm, 200 evaluations, preset published-code" not in page


def test_a_changed_parameter_is_compared_with_the_records_of_the_page(records, tmp_path):
    shutil.copytree(records, tmp_path / "records")
    for seed in (0, 1):
        folder = tmp_path / f"run-{seed}"
        # Longer than the runs of the page.
        stax.run(ARM, algo="ns", budget=500, seed=seed, workers=1, out=folder, **{**LEARNING, "mutation_sigma": 0.25})
        write_record(folder, tmp_path / "records")
    assert reproduce("all", "--records", tmp_path / "records", "--out", tmp_path / "page", *SETTINGS, "--quiet") == 0
    page = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## With")]
    assert headings == ["## With mutation_sigma=0.25 instead of default"]
    rows = [line for line in page.partition(headings[0])[2].splitlines() if line.startswith("| Redundant Arm | NS |")]
    assert len(rows) == 1
    assert "Coverage in % after 400 evaluations" in page.partition(headings[0])[2]
    unused = page.partition("## Records that no figure and no claim uses")[2]
    assert "mutation_sigma" not in unused
    # Of its method there is nothing to compare with.
    assert "MOO-NR on Redundant Arm, 200 evaluations, preset published-code" in unused


def test_reproducing_with_records_alone_and_taking_it_up_again(tmp_path, capsys):
    out = tmp_path / "out"
    words = ["fig-reconstruction", "--budget", "60", "--seeds", "2", "--out", out, *SETTINGS, "--processes", "1"]
    assert reproduce(*words, "--keep", "records") == 0
    capsys.readouterr()
    kept = sorted(path.name for path in (out / "records").iterdir())
    assert len(kept) == 2
    assert [path.name for path in (out / "runs").iterdir()] == ["campaign.csv"]
    assert (out / "figures" / "fig-reconstruction.png").is_file()
    before = files(out)

    # Again: there is nothing to do, and the page is the same.
    assert reproduce(*words, "--keep", "records") == 0
    assert "all 2 runs are finished" in capsys.readouterr().err
    assert files(out) == before

    # From the records alone, twice.
    for name in ("one", "two"):
        assert reproduce("fig-reconstruction", "--records", out / "records", "--out", tmp_path / name, "--quiet") == 0
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert files(tmp_path / "one")["figures/fig-reconstruction.png"] == before["figures/fig-reconstruction.png"]

    # Half of it gone: what has neither a folder nor a record is done, to the same record but for the time it took.
    gone = read_record(out / "records" / kept[0])
    (out / "records" / kept[0]).unlink()
    capsys.readouterr()
    assert reproduce(*words, "--keep", "all") == 0
    assert "1 run of 60 evaluations to do, 1 done" in capsys.readouterr().err
    again = read_record(out / "records" / kept[0])
    assert again.digests == gone.digests
    assert (out / "runs" / f"{ARM}-stax-{gone.config.seed}" / "config.toml").is_file()

    # A folder without a record is recorded, not done again; then it is removed.
    (out / "records" / kept[0]).unlink()
    capsys.readouterr()
    assert reproduce(*words, "--keep", "records") == 0
    said = capsys.readouterr().err
    assert "all 2 runs are finished" in said
    assert "recording 1 run" in said
    assert sorted(path.name for path in (out / "records").iterdir()) == kept
    assert [path.name for path in (out / "runs").iterdir()] == ["campaign.csv"]


def test_a_run_is_only_removed_when_it_is_recorded_and_a_rest_of_it_is_removed_later(tmp_path):
    out = tmp_path / "out"
    options = {"budget": 60, "seeds": 1, "changed": LEARNING}
    campaign = plan([ITEMS["fig-reconstruction"]], out=out, **options)
    (run,) = campaign.runs
    assert do_run(run.folder.path, run.config, lambda: False).status == "finished"
    from stax.reproduction.keeping import KeptRecords

    kept = KeptRecords(out, "records")
    # The process was killed while a folder was being removed.
    rest = out / "runs" / ".removed.0123456789abcdef"
    rest.mkdir()
    (rest / "summary.json").write_text("{}")
    (out / "records").write_text("a file, where the folder of the records should be")
    with pytest.raises(InvalidInputError, match="cannot be written"):
        kept.keep(run)
    assert (run.folder.path / "ledger.parquet").is_file()
    (out / "records").unlink()
    kept.look(campaign)
    assert [record.config.seed for record in kept.keep_all(campaign)] == [0]
    assert not run.folder.path.exists()
    assert not rest.exists()
    kept.look(campaign)
    assert (run.status, run.evaluations) == ("finished", 60)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--records", "RECORDS", "--seeds", "3"], "--seeds is about runs to be done"),
        (["--records", "RECORDS", "--keep", "all"], "--keep is about runs to be done"),
        (["--records", "RECORDS", "--dry-run"], "--dry-run is about runs to be done"),
        (["--records", "nowhere"], "There is no folder 'nowhere'."),
        (["--records", "."], "There is no record in '.': no file in it has a name that ends with .record.npz."),
        (["--verify", "3"], "There is no folder 'reproduction/records'."),
        (["--seed", "3"], "--seed is that of the choice of --verify"),
    ],
)
def test_wrong_usage_is_one_sentence(words, message, records, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert reproduce("all", *(word.replace("RECORDS", str(records)) for word in words)) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"stax: {message}")
    assert list(tmp_path.iterdir()) == []


# Verifying


def tampered(path: Path, **digests: str) -> None:
    """Changes digests of a record."""
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(kept[TEXT])
    told["digests"] |= digests
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**kept, TEXT: json.dumps(told).encode()}.items():
            archive.writestr(name, content)


def test_recorded_runs_agree_when_they_are_done_again(records, capsys):
    assert reproduce("--verify", "3", "--records", records, "--seed", "1") == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 3
    assert all(line.endswith(".record.npz: agrees") for line in said.out.splitlines())
    assert "doing 3 of 10 recorded runs again" in said.err
    assert "--seed 1" in said.err


def test_a_run_with_an_autoencoder_agrees(tmp_path):
    folder = tmp_path / "run"
    stax.run(ARM, algo="stax", budget=60, seed=3, workers=2, out=folder, **LEARNING)
    (verified,) = verify([read_record(write_record(folder, tmp_path))])
    assert verified.agrees


def test_a_tampered_record_is_found(records, tmp_path, capsys):
    mine = shutil.copytree(records, tmp_path / "records")
    for path in mine.iterdir():
        tampered(path, ledger="0" * 64, reward_archive="f" * 64)
    assert reproduce("--verify", "2", "--records", mine) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["differs in ledger, reward_archive"] * 2


def test_the_choice_is_drawn_by_its_seed_and_leaves_code_of_others_alone(records, tmp_path, capsys):
    found = find_records(records)
    names = [[record.path.name for record in chosen_records(found, 4, seed)] for seed in (0, 0, 1, 2)]
    assert names[0] == names[1]
    assert len({tuple(some) for some in names}) > 1
    assert len(chosen_records(found, 100, 0)) == len(found)
    folder = tmp_path / "own"
    stax.run("troubled_tasks:TroubledTask", algo="ns", budget=30, workers=1, out=folder, population_size=10, isolation="none")
    write_record(folder, tmp_path / "records")
    assert reproduce("--verify", "1", "--records", tmp_path / "records") == 2
    assert "can be done again from its record alone" in capsys.readouterr().err


def test_another_version_of_the_results_is_said(records, monkeypatch):
    record = find_records(records)[0]
    (verified,) = verify([replace(record, config=replace(record.config, results_version=99))])
    assert verified.agrees
    assert "results version 99" in verified.otherwise
    assert record_name(record.config) == record.path.name
