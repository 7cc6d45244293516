"""A run that gets a larger budget ends like one that had it from the start, bit for bit, or says in one sentence why it cannot."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path

import pytest

import stax
from run_folders import QUICK, TASK, Commands, Stop, as_options, checkpoints, contents, differences, same_run, summary
from stax.cli.main import main
from stax.runs.folder import RunFolder
from stax.runs.reader import RunReader

SHORT, LONG, SEED = 107, 214, 3
GIVEN = {**QUICK, "seed": SEED, "workers": 1, "checkpoint_seconds": 60}


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """Folders of runs that had their budget from the start, made when they are asked for."""
    folder, made = tmp_path_factory.mktemp("references"), {}

    def reference(algo: str, budget: int) -> Path:
        if (algo, budget) not in made:
            made[algo, budget] = folder / f"{algo}-{budget}"
            stax.run(TASK, algo=algo, budget=budget, out=made[algo, budget], **GIVEN)
        return made[algo, budget]

    return reference


@pytest.fixture
def short(references, tmp_path):
    """Return a copy of a finished run with a small budget."""

    def copy(algo: str = "serene", budget: int = SHORT) -> Path:
        return Path(shutil.copytree(references(algo, budget), tmp_path / "checked" / f"{algo}-{budget}"))

    return copy


@pytest.mark.parametrize("algo", ["stax", "stax-reset", "serene", "ns", "map-elites", "taxons", "moo-nr", "random"])
def test_a_run_of_a_small_budget_extended_to_twice_that_equals_one_of_twice(algo, references, short):
    run = short(algo)
    assert differences(run, references(algo, LONG))
    result = stax.resume(run, budget=LONG, trust=True)
    assert (result.budget, result.evaluations, result.status) == (LONG, LONG, "finished")
    same_run(run, references(algo, LONG))


@pytest.mark.parametrize("algo", ["serene", "map-elites"])
def test_it_does_not_matter_where_the_budget_has_cut_off_the_last_chunk(algo, references, tmp_path):
    for budget in range(93, 121, 7):
        run = tmp_path / str(budget)
        stax.run(TASK, algo=algo, budget=budget, out=run, **{**GIVEN, "checkpoint_seconds": 0})
        stax.resume(run, budget=LONG, trust=True)
        same_run(run, references(algo, LONG))


def test_a_run_can_be_extended_again_and_again(references, short):
    run = short()
    for budget in (SHORT + 1, SHORT + 30, LONG):
        stax.resume(run, budget=budget, trust=True)
    same_run(run, references("serene", LONG))
    assert RunFolder(run).read_config()[0].earlier_budgets == (SHORT, SHORT + 1, SHORT + 30)


def test_an_unfinished_run_can_be_extended_too(references, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, algo="serene", budget=SHORT, out=run, stop=Stop(2), **GIVEN)
    stax.resume(run, budget=LONG, trust=True)
    same_run(run, references("serene", LONG))


def test_an_extension_that_is_interrupted_goes_on_with_or_without_its_budget(references, short):
    run = short()
    with pytest.raises(stax.RunInterrupted):
        stax.resume(run, budget=LONG, trust=True, stop=Stop(1))
    assert (summary(run)["status"], summary(run)["budget"]) == ("interrupted", LONG)
    with pytest.raises(stax.RunInterrupted):
        stax.resume(run, budget=LONG, trust=True, stop=Stop(1))
    stax.resume(run, trust=True)
    same_run(run, references("serene", LONG))


@pytest.mark.slow
def test_an_extension_killed_at_every_write_ends_like_one_that_never_was(references, short, tmp_path):
    run, commands = short("ns"), Commands(tmp_path)
    again = ["resume", run, "--trust", "--quiet", "--budget", str(LONG)]
    try:
        for number in range(1, 100, 2):
            code, _ = commands.do(*again, kill_at=number)
            if code != -signal.SIGKILL:
                break
            assert RunReader(run).status in ("finished", "interrupted", "killed")
        assert number > 10
        assert commands.do(*again)[0] == 0
    finally:
        commands.close()
    same_run(run, references("ns", LONG))


def test_a_damaged_checkpoint_of_an_extension_does_not_lead_back_to_the_end_of_the_old_budget(references, short):
    run = short()
    with pytest.raises(stax.RunInterrupted):
        stax.resume(run, budget=LONG, trust=True, stop=Stop(1))
    assert SHORT not in checkpoints(run)
    newest = run / "checkpoints" / f"{checkpoints(run)[-1]:012d}.npz"
    newest.write_bytes(newest.read_bytes()[:-1])
    with pytest.warns(RuntimeWarning, match="The checkpoint before it is used"):
        stax.resume(run, trust=True)
    same_run(run, references("serene", LONG))


def test_what_belongs_to_the_old_end_is_removed_or_made_again(tmp_path):
    runs = {}
    for budget in (SHORT, LONG):
        runs[budget] = tmp_path / str(budget)
        given = ["--algo", "taxons", "--budget", str(budget), "--seed", str(SEED), "--workers", "1", "--quiet"]
        options = as_options({**QUICK, "keep_autoencoders": True})
        assert main(["run", "redundant-arm", *given, *options, "--out", str(runs[budget])]) == 0
    (runs[SHORT] / "validation.json").write_text("{}")
    first_picture = (runs[SHORT] / "archives.png").read_bytes()
    assert main(["resume", str(runs[SHORT]), "--budget", str(LONG), "--quiet"]) == 0
    same_run(runs[SHORT], runs[LONG])
    assert not (runs[SHORT] / "validation.json").exists()
    assert (runs[SHORT] / "archives.png").read_bytes() not in (first_picture, b"")
    names = sorted(path.name for path in (runs[LONG] / "autoencoders").iterdir())
    assert len(names) > 2
    assert names == sorted(path.name for path in (runs[SHORT] / "autoencoders").iterdir())
    for name in names:
        assert (runs[SHORT] / "autoencoders" / name).read_bytes() == (runs[LONG] / "autoencoders" / name).read_bytes()


# Refused


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (SHORT - 1, "must be larger than the 107 evaluations"),
        (0, "budget must be"),
        (2.5, "budget must be"),
        ("many", "budget must be"),
        (10**15, "budget must be"),
    ],
)
def test_a_budget_that_is_not_larger_is_refused_and_nothing_changes(budget, words, short):
    run = short("ns")
    before = contents(run)
    with pytest.raises(stax.InvalidInputError, match=words):
        stax.resume(run, budget=budget, trust=True)
    assert contents(run) == before


def test_the_command_refuses_a_smaller_budget_in_one_line(short, capsys):
    run = short("ns")
    before = contents(run)
    assert main(["resume", str(run), "--budget", "50", "--trust"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "larger than the 107 evaluations" in said
    assert contents(run) == before


def test_the_same_budget_leaves_nothing_to_do(short, capsys):
    run = short("ns")
    before = contents(run)
    assert stax.resume(run, budget=SHORT, trust=True).evaluations == SHORT
    assert contents(run) == before


def test_a_run_without_a_checkpoint_from_before_its_end_says_so(references, short, tmp_path):
    population = short("ns", QUICK["population_size"])
    saved = short("ns")
    shutil.rmtree(saved / "checkpoints")
    end_only = Path(shutil.copytree(references("ns", SHORT), tmp_path / "end"))
    for path in (end_only / "checkpoints").iterdir():
        if not path.name.startswith(f"{SHORT:012d}"):
            path.unlink()
    for run in (population, saved, end_only):
        before = contents(run)
        with pytest.raises(
            stax.InvalidInputError, match=re.escape(f"{str(run)!r} cannot get a larger budget: it has no checkpoint")
        ):
            stax.resume(run, budget=LONG, trust=True)
        assert contents(run) == before


def test_a_run_in_use_is_not_extended(short):
    run = short("ns")
    before = contents(run)
    with RunFolder(run).locked(), pytest.raises(stax.InvalidInputError, match="in use by another process"):
        stax.resume(run, budget=LONG, trust=True)
    assert contents(run) == before


def test_a_budget_whose_tables_could_not_be_read_again_is_refused(short):
    run = short("ns")
    before = contents(run)
    with pytest.raises(stax.InvalidInputError, match="which cannot be read again"):
        stax.resume(run, budget=900_000_000, trust=True)
    assert contents(run) == before


@pytest.mark.parametrize("forged", ["[107]", "[0]", "[50, 50]", '["a"]', "7", "[true]"])
def test_forged_earlier_budgets_are_refused(forged, short):
    run = short("ns")
    config = run / "config.toml"
    config.write_text(config.read_text().replace("\nresults_version", f"\nearlier_budgets = {forged}\nresults_version"))
    with pytest.raises(stax.InvalidInputError, match="earlier_budgets"):
        stax.load(run)
