"""A record tells of a run what its folder tells: curves to the bit, ends and rewards to 16 bits."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import stax
from stax import InvalidInputError
from stax.analysis.measures import archive_ends, budget_by_origin, coverage_grid, final_policies, measure_recorded
from stax.analysis.recorded import find_records, find_runs
from stax.analysis.records.compact import quantised, restored
from stax.analysis.records.making import make_record, record_name, write_record
from stax.analysis.records.record import TEXT, Record, read_record
from stax.cli.main import main
from stax.runs import limits
from stax.runs.digests import result_digests
from stax.runs.reader import RunReader


@pytest.fixture(scope="module")
def records(runs, square_run, tmp_path_factory) -> Path:
    """Records of all runs; they are only read."""
    folder = tmp_path_factory.mktemp("records")
    for run in [*sorted(runs.iterdir()), square_run]:
        write_record(run, folder)
    return folder


def pairs(runs: Path, square_run: Path, records: Path) -> list[tuple[RunReader, Record]]:
    """Every run by its folder and by its record."""
    found = [RunReader(run) for run in [*sorted(runs.iterdir()), square_run]]
    return [(run, read_record(records / record_name(run.config))) for run in found]


def curves(measured) -> list:
    shares = (measured.coverage, measured.exploration_coverage, measured.qd_score, *measured.profile)
    return [*shares, *measured.max_reward, *measured.archived_reward]


def test_curves_are_those_of_the_folder_to_the_bit(runs, square_run, records):
    for run, record in pairs(runs, square_run, records):
        expected, found = measure_recorded(run), measure_recorded(record)
        assert found.evaluations == expected.evaluations
        for one, other in zip(curves(expected), curves(found), strict=True):
            np.testing.assert_array_equal(one.evaluations, other.evaluations)
            np.testing.assert_array_equal(one.values, other.values)
        assert (record.coverage, record.max_reward) == (run.coverage, run.max_reward)


def test_ends_keep_their_cell_and_rewards_their_area(runs, square_run, records):
    for run, record in pairs(runs, square_run, records):
        grid = coverage_grid(run.task, run.config.parameters.grid_cells)
        for own, kept in ((run.novelty_archive, record.novelty_archive), (run.reward_archive, record.reward_archive)):
            assert len(own) == len(kept)
            rows = sorted(zip(grid.cell(own.ground_truth), own.reward_area, np.round(own.reward, 4), strict=True))
            again = sorted(zip(grid.cell(kept.ground_truth), kept.reward_area, np.round(kept.reward, 4), strict=True))
            np.testing.assert_allclose(np.array(rows, float), np.array(again, float), atol=2e-4)
            assert np.count_nonzero(own.reward > 0) == np.count_nonzero(kept.reward > 0)
            spans = [high - low for low, high in run.task.ground_truth_bounds]
            for column, span in enumerate(spans):
                low, high = run.task.ground_truth_bounds[column]
                ends = np.sort(np.clip(own.ground_truth[:, column], low, high))
                np.testing.assert_allclose(ends, np.sort(kept.ground_truth[:, column]), atol=span / 2**15)
        assert len(archive_ends(run).rewarded) == len(archive_ends(record).rewarded)


def test_everything_else_is_what_the_run_left(runs, records):
    folder = runs / "stax-nt-1"
    result, record = stax.load(folder), read_record(records / record_name(stax.load(folder).config))
    assert record.config == result.config
    assert record.digests == result_digests(result)
    assert record.spent == budget_by_origin(result.ledger["origin"], result.ledger["failed"])
    assert sum(emitters.count for emitters in record.emitters) == len(result.emitters)
    assert record.core_seconds == result.core_seconds > 0
    assert record.versions["stax"] == stax.__version__
    assert record.machine["cores"].isdigit()
    assert record.learned.similarity == stax.analysis.measures.descriptor_similarity(final_policies(result)).similarity
    assert 0 <= record.learned.random_similarity <= 1
    assert record.learned.reconstruction_error > 0
    assert record.learned.random_reconstruction_error > 0
    assert record.learned.mean_observation_error > 0
    observed, reconstructed = record.learned.pictures
    policies = final_policies(result)
    chosen = policies.take(np.unique(np.linspace(0, len(policies) - 1, 8).astype(int))).rollouts()
    np.testing.assert_array_equal(observed, result.task.observe(chosen)[:, -1] / 255)
    expected = np.clip(result.space.reconstruct(chosen)[:, -1], 0, 1)
    np.testing.assert_allclose(reconstructed, expected, atol=0.5 / 63 + 1e-6)


def test_a_run_that_learns_nothing_has_no_measures_of_a_learned_space(runs, records):
    record = read_record(records / record_name(RunReader(runs / "ns-0").config))
    assert record.learned is None
    assert record.emitters == []


def test_the_same_run_gives_the_same_bytes_under_the_same_name(runs, tmp_path):
    first = write_record(runs / "serene-0", tmp_path)
    before = first.read_bytes()
    assert write_record(runs / "serene-0", tmp_path) == first
    assert (first.read_bytes(), len(list(tmp_path.iterdir()))) == (before, 1)
    assert make_record(runs / "serene-0")[0] == before
    assert len(before) < 100_000
    # Another record of the same run, as another machine would have made it.
    first.write_bytes(write_record(runs / "serene-1", tmp_path).read_bytes())
    with pytest.raises(InvalidInputError, match="There is another record of the run in"):
        write_record(runs / "serene-0", tmp_path)


def test_no_two_runs_have_the_same_name(records, runs):
    assert len(list(records.iterdir())) == len(list(runs.iterdir())) + 1
    names = {record_name(RunReader(run).config) for run in runs.iterdir()}
    assert "redundant-arm-ns-0-500" in min(names)


def test_comparing_records_gives_the_table_of_the_folders(runs, records, tmp_path, capsys):
    arm = tmp_path / "records"
    arm.mkdir()
    for path in records.glob("redundant-arm-*"):
        shutil.copy(path, arm)
    assert main(["compare", str(runs), "--against", "ns", "--csv", str(tmp_path / "folders.csv")]) == 0
    by_folders = capsys.readouterr().out
    assert main(["compare", str(arm), "--against", "ns", "--csv", str(tmp_path / "records.csv")]) == 0
    assert capsys.readouterr().out == by_folders
    assert (tmp_path / "records.csv").read_bytes() == (tmp_path / "folders.csv").read_bytes()
    # Mixed, and a single file by its name.
    some = [path for path in arm.iterdir() if "-ns-" in path.name]
    folders = [runs / name for name in ("serene-0", "serene-1", "serene-2", "serene-3", "serene-4", "stax-nt-0", "stax-nt-1")]
    assert main(["compare", *map(str, [*some, *folders]), "--against", "ns"]) == 0
    assert capsys.readouterr().out == by_folders
    # A run that is there both ways counts once.
    assert len(find_runs([runs, arm])) == len(list(runs.iterdir()))


def test_coverage_on_another_grid_is_refused(records):
    record = next(iter(find_records(records)))
    with pytest.raises(InvalidInputError, match="on a grid of 50 cells along each dimension, not of 10"):
        measure_recorded(record, grid_cells=10)


def test_curves_can_be_cut(records):
    for record in find_records(records):
        for budget in (1, 77, 400, 10**6):
            cut = record.measured().until(budget)
            assert cut.evaluations == min(budget, record.evaluations)
            for whole, part in zip(curves(record.measured()), curves(cut), strict=True):
                assert part.last == whole.at(budget)
                assert part.evaluations[-1] <= budget


def test_the_command_writes_a_record_per_run(runs, tmp_path, capsys):
    out = tmp_path / "out"
    chosen = [str(runs / "ns-0"), str(runs / "serene-1")]
    assert main(["record", *chosen, "--out", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [str(out / record_name(RunReader(run).config)) for run in chosen]
    assert sorted(map(str, out.iterdir())) == sorted(printed)


def test_an_unfinished_or_damaged_run_is_refused_and_nothing_is_written(own_runs, tmp_path, capsys):
    out = tmp_path / "out"
    summary = own_runs / "ns-1" / "summary.json"
    whole = summary.read_text()
    summary.write_text(json.dumps({**json.loads(whole), "status": "interrupted", "evaluations": 240}))
    assert main(["record", str(own_runs / "ns-0"), str(own_runs / "ns-1"), "--out", str(out)]) == 2
    assert "was interrupted after 240 of 500 evaluations" in capsys.readouterr().err
    assert not out.exists()
    summary.write_text(json.dumps({**json.loads(whole), "coverage": 0.5}))
    assert main(["record", str(own_runs / "ns-1"), "--out", str(out)]) == 2
    assert "do not belong together: coverage is" in capsys.readouterr().err
    summary.write_text(whole)
    (own_runs / "ns-1" / "ledger.parquet").write_bytes(b"nothing")
    assert main(["record", str(own_runs / "ns-1"), "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert "ledger" in said.err
    assert (said.out, out.exists()) == ("", False)
    assert main(["record", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_a_run_of_ones_own_task_is_recorded_without_running_its_code(square_run, records, tmp_path):
    record = read_record(records / record_name(RunReader(square_run).config))
    assert record.config.task == "toy_tasks:SquareTask"
    assert record.task.name == "square"
    assert sum(spent.evaluations for spent in record.spent) == 600


def test_a_record_that_would_be_too_large_is_not_written(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "RECORD_BYTES", 5000)
    with pytest.raises(InvalidInputError, match=r"would have \d,\d\d\d bytes, and at most 5,000 are allowed"):
        write_record(runs / "serene-0", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_large_archives_are_sampled_by_the_same_share(runs, tmp_path, monkeypatch):
    whole = read_record(write_record(runs / "serene-0", tmp_path / "whole"))
    total = len(whole.novelty_archive) + len(whole.reward_archive)
    monkeypatch.setattr(limits, "RECORD_POLICIES", total // 2)
    half = read_record(write_record(runs / "serene-0", tmp_path / "half"))
    assert len(half.novelty_archive) + len(half.reward_archive) == total // 2
    assert half.summary["novelty_archive_size"] == len(whole.novelty_archive)


def test_a_record_opens_with_nothing_but_numpy(records):
    path = next(records.glob("redundant-arm-stax-nt-0-*"))
    with np.load(path, allow_pickle=False) as arrays, zipfile.ZipFile(path) as archive:
        told = json.loads(archive.read(TEXT))
        steps = np.cumsum(arrays["coverage.gaps"])
    assert len(steps) / 2500 == told["summary"]["coverage"]


@pytest.mark.parametrize("cells", [1, 3, 50, 1000, 70_000])
def test_points_are_rounded_within_their_cell(cells):
    points = np.random.default_rng(cells).uniform(-0.2, 1.2, (5000, 2)) * [4.0, 0.1] + [3.0, -7.0]
    points[:51, 0] = 3.0 + 4.0 * np.arange(51) / 50
    bounds = ((3.0, 7.0), (-7.0, -6.9))
    again = restored(quantised(points, bounds, cells), bounds, cells)
    inside = np.clip(points, [3.0, -7.0], [7.0, -6.9])
    assert (np.abs(again - inside) <= np.array([4.0, 0.1]) / 2**15).all()
    if cells <= 2**16:
        places = [np.clip(np.floor((some - [3.0, -7.0]) / [4.0, 0.1] * cells), 0, cells - 1) for some in (points, again)]
        same = (places[0] == places[1]).all(axis=1)
        assert same.all() if cells <= 1000 else same.mean() > 0.99
