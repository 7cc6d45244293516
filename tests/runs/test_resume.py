"""A run that is interrupted, killed or done again ends like one that never was: bit for bit, for every method."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import stax
from run_folders import QUICK, STAX, TASK, Stop, as_options, checkpoints, contents, differences, same_run, summary
from stax.cli.main import main
from stax.runs.config import read_config
from stax.search.methods import METHODS

BUDGET = 400
SEED = 3
KILLED = ("stax", "serene", "ns", "map-elites")


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """Folders of runs that were never interrupted, made when they are asked for."""
    folder, made = tmp_path_factory.mktemp("references"), {}

    def reference(algo: str) -> Path:
        if algo not in made:
            made[algo] = folder / algo
            stax.run(
                TASK, algo=algo, budget=BUDGET, seed=SEED, workers=1, out=made[algo], **{**QUICK, "checkpoint_seconds": 60}
            )
        return made[algo]

    return reference


@pytest.fixture
def out(tmp_path):
    """Where the runs of a test are kept; `Commands` counts the files in there."""
    return tmp_path / "checked" / "run"


def arguments(algo: str, out: Path, *more: str) -> list[str | Path]:
    """Of the run that `references` has done."""
    given = ["--algo", algo, "--budget", str(BUDGET), "--seed", str(SEED), "--workers", "1", "--quiet"]
    return ["run", TASK, *given, *as_options(QUICK), "--out", out, *more]


def go_on(out: Path) -> list[str | Path]:
    return ["resume", out, "--trust", "--quiet"]


# Interrupted


def attempt(do, *given, **options) -> stax.Result | stax.RunInterrupted:
    """A result, or the interruption that came instead."""
    try:
        return do(*given, **options)
    except stax.RunInterrupted as interrupted:
        return interrupted


@pytest.mark.parametrize("algo", METHODS)
def test_a_run_interrupted_again_and_again_ends_like_one_that_never_was(algo, out, references):
    outcome = attempt(stax.run, TASK, algo=algo, budget=BUDGET, seed=SEED, workers=1, out=out, stop=Stop(1), **QUICK)
    reached = []
    while isinstance(outcome, stax.RunInterrupted):
        assert outcome.folder == out
        assert checkpoints(out)[-1] == outcome.evaluations == summary(out)["evaluations"]
        assert summary(out)["status"] == "interrupted"
        reached.append(outcome.evaluations)
        outcome = attempt(stax.resume, out, trust=True, workers=1 + len(reached) % 2, stop=Stop(2))
    assert len(reached) >= 2
    assert reached == sorted(set(reached))
    assert (outcome.status, outcome.evaluations) == ("finished", BUDGET)
    same_run(out, references(algo))


@pytest.mark.parametrize(
    ("task", "algo", "budget", "parameters"),
    [
        ("toy_tasks:NoTruthTask", "stax", 130, {}),
        ("own_tasks:NeverTask", "stax", 100, {}),
        ("toy_tasks:SquareTask", "serene", 13, {}),
        ("toy_tasks:SquareTask", "stax-reset", 200, {"preset": "paper", "kept_weights": "last"}),
        ("toy_tasks:SquareTask", "serene", 150, {"emitters": False, "archive_selection": "most-novel"}),
        ("redundant-arm", "ns", 60, {"descriptor": "states", "task.view": "end-effector"}),
    ],
    ids=["no ground truth", "no reward", "one more than a population", "another preset", "other parameters", "states"],
)
def test_odd_runs_are_no_exception(task, algo, budget, parameters, out, tmp_path):
    given = {"algo": algo, "budget": budget, "seed": SEED, "workers": 1, **QUICK, **parameters}
    stax.run(task, out=tmp_path / "whole", **given)
    outcome, interruptions = attempt(stax.run, task, out=out, stop=Stop(1), **given), 0
    while isinstance(outcome, stax.RunInterrupted):
        interruptions += 1
        outcome = attempt(stax.resume, out, trust=True, stop=Stop(1))
    assert interruptions
    same_run(out, tmp_path / "whole")


def test_an_interrupted_run_can_be_loaded_as_far_as_it_came(out, references):
    with pytest.raises(stax.RunInterrupted) as interrupted:
        stax.run(TASK, budget=BUDGET, seed=SEED, workers=1, out=out, stop=Stop(3), **QUICK)
    some, everything = stax.load(out), stax.load(references("stax"))
    assert (some.status, some.evaluations) == ("interrupted", interrupted.value.evaluations)
    assert some.evaluations < everything.evaluations
    for name, column in some.ledger.items():
        np.testing.assert_array_equal(column, everything.ledger[name][: some.evaluations])


def test_a_run_without_a_folder_can_be_stopped_too():
    with pytest.raises(stax.RunInterrupted, match="interrupted after 12 evaluations") as interrupted:
        stax.run(TASK, algo="ns", budget=BUDGET, stop=lambda: True, **QUICK)
    assert interrupted.value.folder is None


def test_a_task_given_as_an_object_is_resumed_with_it(out, references):
    from troubled_tasks import TroubledTask

    with pytest.raises(stax.RunInterrupted):
        stax.run(TroubledTask(), algo="serene", budget=BUDGET, seed=SEED, workers=1, out=out, stop=Stop(2), **QUICK)
    with pytest.raises(stax.InvalidInputError, match=re.escape(f"stax.resume({str(out)!r}, task=...)")):
        stax.resume(out, trust=True)
    stax.resume(out, task=TroubledTask())
    same_run(out, references("serene"))


def test_options_that_do_not_fit_a_file_are_not_forgotten(out):
    from own_tasks import AnyOptionTask

    task = stax.make_task("own_tasks:AnyOptionTask", table=np.eye(2))
    with pytest.raises(stax.RunInterrupted):
        stax.run(task, algo="stax-nt", budget=100, out=out, stop=lambda: True, **QUICK)
    with pytest.raises(stax.InvalidInputError, match="was given as an object"):
        stax.resume(out, trust=True)
    again = AnyOptionTask(table=np.eye(2))
    assert stax.resume(out, task=again).evaluations == 100


# Killed


def kill_somewhere(command, out: Path, chance: random.Random) -> bool:
    """Kills a command some moments after some checkpoint of its own; tells whether it was still at work."""
    target = chance.randint(max(checkpoints(out), default=0), BUDGET)
    moments = iter(range(chance.randrange(20)))
    command.wait_for(lambda: max(checkpoints(out), default=0) > target)
    command.wait_for(lambda: next(moments, None) is None)
    command.send(signal.SIGKILL)
    return command.wait() == -signal.SIGKILL


@pytest.mark.parametrize("algo", KILLED)
def test_a_run_killed_at_random_moments_ends_like_one_that_never_was(algo, out, commands, references, tmp_path):
    chance, trouble = random.Random(f"{algo} {SEED}"), tmp_path / "trouble.json"
    trouble.write_text('{"pause": 0.01}')
    hits, command = [], commands.start(*arguments(algo, out), STAX_TEST_TROUBLE=str(trouble))
    for _ in range(3):
        hits.append(kill_somewhere(command, out, chance) and summary(out)["status"] != "finished")
        command = commands.start(*go_on(out), STAX_TEST_TROUBLE=str(trouble))
    assert command.wait() == 0, command.said
    assert any(hits)
    same_run(out, references(algo))


def test_a_run_with_all_kinds_of_emitters_killed_at_random_moments_ends_like_one_that_never_was(out, commands, tmp_path):
    """With the states of CMA-ES and of bandits in its checkpoints."""
    parts = {"emitter_kinds": "cma-es,novelty,elitist", "scheduler": "adaptive", "emitter_population": 4}
    chance, trouble, whole = random.Random("emitters"), tmp_path / "trouble.json", tmp_path / "whole"
    trouble.write_text('{"pause": 0.01}')
    stax.run(TASK, algo="serene", budget=BUDGET, seed=SEED, workers=1, out=whole, **{**QUICK, **parts})
    assert len({record.kind for record in stax.load(whole).emitters}) == 3
    hits, command = [], commands.start(*arguments("serene", out, *as_options(parts)), STAX_TEST_TROUBLE=str(trouble))
    for _ in range(3):
        hits.append(kill_somewhere(command, out, chance) and summary(out)["status"] != "finished")
        command = commands.start(*go_on(out), STAX_TEST_TROUBLE=str(trouble))
    assert command.wait() == 0, command.said
    assert any(hits)
    same_run(out, whole)


@pytest.mark.parametrize(("algo", "first"), [("ns", 1), ("stax", 12)])
def test_a_run_killed_at_every_write_ends_like_one_that_never_was(algo, first, out, commands, references):
    """The first process is killed before its first write to the folder, the next one before its second, and so on."""
    half_written = set()
    for number in range(first, 100):
        begun = (out / "config.toml").exists()
        code, said = commands.do(*(go_on(out) if begun else arguments(algo, out)), kill_at=number)
        if code != -signal.SIGKILL or ((out / "summary.json").exists() and summary(out)["status"] == "finished"):
            break
        half_written |= {re.sub(r"\b(\d+|[0-9a-f]{16})\b", "N", path.name) for path in out.rglob("*.part")}
        assert not said
    assert number > 20
    assert commands.do(*go_on(out)) == (0, f"{out}\n")
    assert ".N.npz.N.part" in half_written
    assert len(half_written) > 1
    same_run(out, references(algo))


def test_the_command_itself_killed_and_resumed(tmp_path):
    """On a built-in task, which needs no trust."""
    given = ["redundant-arm", "--algo", "ns", "--budget", "3000", "--workers", "1", "--quiet"]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    out, whole = tmp_path / "a run", tmp_path / "whole"
    process = subprocess.Popen([STAX, "run", *given, "--set", "checkpoint_seconds=0", "--out", out], env=environment)
    while process.poll() is None and checkpoints(out)[-1:] < [300]:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert 300 <= checkpoints(out)[-1] < 3000
    done = subprocess.run([STAX, "resume", out, "--workers", "2"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{out}\n"
    assert re.search(r"3,000 evaluations, resumed after [\d,]+, preset default, 2 workers", done.stderr)
    stax.run("redundant-arm", algo="ns", budget=3000, workers=1, out=whole)
    same_run(out, whole)


def test_without_a_checkpoint_a_run_begins_at_its_beginning(out, commands, references):
    assert commands.do(*arguments("ns", out), kill_at=9)[0] == -signal.SIGKILL
    assert (out / "config.toml").exists()
    assert not checkpoints(out)
    assert main(["show", str(out)]) == 0
    assert commands.do(*go_on(out)) == (0, f"{out}\n")
    same_run(out, references("ns"))


# Asked to end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_once_a_run_saves_everything_and_says_how_to_go_on(number, commands, references, tmp_path):
    out, trouble = tmp_path / "my runs" / "läuft", tmp_path / "trouble.json"
    trouble.write_text('{"pause": 0.05}')
    command = commands.start(*arguments("serene", out), STAX_TEST_TROUBLE=str(trouble))
    command.wait_for(lambda: len(checkpoints(out)) > 1)
    command.send(number)
    assert command.wait() == 130
    evaluations = summary(out)["evaluations"]
    assert command.said == (
        f"stax: interrupted after {evaluations} evaluations; all is saved, go on with: stax resume '{out}' --trust\n"
    )
    assert summary(out)["status"] == "interrupted"
    assert checkpoints(out)[-1] == evaluations == len(stax.load(out).ledger["id"])
    assert commands.do(*go_on(out)) == (0, f"{out}\n")
    same_run(out, references("serene"))


def test_asked_twice_a_run_stops_at_once(out, commands, references, tmp_path):
    trouble = tmp_path / "trouble.json"
    trouble.write_text('{"pause": 0.05}')
    command = commands.start(*[word for word in arguments("serene", out) if word != "--quiet"], STAX_TEST_TROUBLE=str(trouble))
    command.wait_for(lambda: len(checkpoints(out)) > 1)
    (tmp_path / "longer.json").write_text(json.dumps({"pause": 1000, "mark": str(tmp_path / "pausing")}))
    (tmp_path / "longer.json").replace(trouble)
    command.wait_for((tmp_path / "pausing").exists)
    command.send(signal.SIGINT)
    command.wait_for(lambda: "Ctrl-C again stops at once" in command.said)
    command.send(signal.SIGINT)
    assert command.wait() == 130
    last = checkpoints(out)[-1]
    told = f"stax: interrupted; go on from the checkpoint after {last:,} evaluations with: stax resume {out} --trust"
    assert command.said.splitlines()[-1] == told
    assert summary(out)["status"] == "interrupted"
    with pytest.raises(stax.InvalidInputError, match=r"was interrupted after .* evaluations; go on with it: stax resume"):
        stax.load(out)
    assert commands.do(*go_on(out)) == (0, f"{out}\n")
    same_run(out, references("serene"))


def test_asked_before_anything_is_done_a_run_leaves_nothing(out, commands, tmp_path):
    trouble = tmp_path / "trouble.json"
    trouble.write_text('{"pause": 1000}')
    command = commands.start(*arguments("ns", out), STAX_TEST_TROUBLE=str(trouble))
    command.wait_for((out / "config.toml").exists)
    command.send(signal.SIGINT)
    assert command.wait() == 130
    assert command.said == "stax: interrupted\n"
    assert not out.parent.exists()


# Finished


def test_of_a_finished_run_nothing_is_left_to_do(references, tmp_path, capsys):
    folder = shutil.copytree(references("stax"), tmp_path / "run")
    (folder / "archives.png").touch()
    before = contents(folder)
    assert main(["resume", str(folder)]) == 0
    assert capsys.readouterr() == (f"{folder}\n", f"stax: the run in {folder} is finished; there is nothing to do.\n")
    assert main(["resume", str(folder), "--quiet"]) == 0
    assert capsys.readouterr() == (f"{folder}\n", "")
    assert stax.resume(folder).evaluations == BUDGET
    assert contents(folder) == before


def test_a_finished_run_can_be_loaded_field_by_field(tmp_path):
    result = stax.run(TASK, budget=BUDGET, seed=SEED, workers=1, out=tmp_path / "run", **QUICK)
    again = stax.load(tmp_path / "run", trust=True)
    for field in fields(result):
        ours, theirs = getattr(result, field.name), getattr(again, field.name)
        if field.name in ("novelty_archive", "reward_archive", "ledger"):
            ours, theirs = (part if isinstance(part, dict) else part.columns() for part in (ours, theirs))
            assert ours.keys() == theirs.keys()
            for name, column in ours.items():
                assert column.dtype == theirs[name].dtype
                np.testing.assert_array_equal(column, theirs[name], err_msg=name)
        elif field.name == "seconds":
            assert ours.keys() == theirs.keys()
        elif field.name not in ("task", "space"):
            assert ours == theirs, field.name
    assert type(result.task) is type(again.task)
    rollouts = result.task.evaluate(np.random.default_rng(0).normal(size=(40, 6)))
    np.testing.assert_array_equal(result.space.describe(rollouts), again.space.describe(rollouts))
    for ours, theirs in zip(
        result.space.describe_with_surprise(rollouts), again.space.describe_with_surprise(rollouts), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert [str(weights.shape) for weights in result.autoencoder.parameters()]
    np.testing.assert_array_equal(again.space.describe(again.novelty_archive.rollouts()), again.novelty_archive.descriptor)


def test_without_trust_a_loaded_task_can_be_looked_at_and_does_nothing(references):
    result = stax.load(references("stax"))
    assert (result.task.name, result.task.genome_size, len(result.task.reward_areas)) == ("square", 6, 2)
    assert result.task.ground_truth_bounds == ((-1, 1), (-1, 1))
    with pytest.raises(stax.InvalidInputError, match="only run when you say so"):
        result.task.evaluate(np.zeros((1, 6)))


@pytest.mark.parametrize("algo", ["ns", "stax"])
def test_a_built_in_task_is_loaded_with_its_observations(algo, tmp_path):
    settings = {"population_size": 10, "max_images_per_episode": 100, "max_epochs": 1, "chunk_size": 20}
    result = stax.run("redundant-arm", algo=algo, budget=70, workers=2, out=tmp_path / "run", **settings)
    again = stax.load(tmp_path / "run")
    rollouts = again.task.evaluate(result.novelty_archive.genome)
    np.testing.assert_array_equal(result.space.describe(rollouts), again.space.describe(rollouts))
    np.testing.assert_array_equal(again.space.describe(rollouts), result.novelty_archive.descriptor)


def test_what_cannot_be_loaded_is_told(tmp_path, references, commands):
    with pytest.raises(stax.InvalidInputError, match=r"There is no run folder '.*nothing'\.$"):
        stax.load(tmp_path / "nothing")
    with pytest.raises(stax.InvalidInputError, match=r"is empty: no run has been begun in it\.$"):
        stax.load(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(stax.InvalidInputError, match=r"is not a run folder: it has no config\.toml\.$"):
        stax.load(tmp_path)
    folder = shutil.copytree(references("ns"), tmp_path / "copy")
    said = {**summary(folder), "status": "running"}
    (folder / "summary.json").write_text(json.dumps(said))
    with pytest.raises(stax.InvalidInputError, match=r"was killed after .* evaluations; go on with it: stax resume"):
        stax.load(folder)
    (folder / "summary.json").write_text(json.dumps({**said, "status": "failed", "error": "the arm fell off"}))
    with pytest.raises(stax.InvalidInputError, match=r"failed after .* \(the arm fell off\); .* go on with it"):
        stax.load(folder)
    (folder / "summary.json").unlink()
    with pytest.raises(stax.InvalidInputError, match="was ended before its first results"):
        stax.load(folder)

    (tmp_path / "trouble.json").write_text('{"pause": 0.05}')
    running = commands.start(*arguments("ns", tmp_path / "running"), STAX_TEST_TROUBLE=str(tmp_path / "trouble.json"))
    running.wait_for((tmp_path / "running" / "summary.json").exists)
    with pytest.raises(stax.InvalidInputError, match="is still going"):
        stax.load(tmp_path / "running")
    running.send(signal.SIGKILL)
    running.wait()


# Done again


def test_a_run_is_done_again_from_its_configuration(tmp_path, references, capsys):
    folder = references("stax")
    config = str(folder / "config.toml")
    assert main(["run", "--config", config, "--trust", "--quiet", "--out", str(tmp_path / "again")]) == 0
    assert capsys.readouterr() == (f"{tmp_path / 'again'}\n", "")
    same_run(tmp_path / "again", folder)
    assert read_config(tmp_path / "again" / "config.toml") == read_config(folder / "config.toml")


def test_flags_beat_the_file_and_settings_beat_its_parameters(tmp_path, references, capsys):
    config = str(references("stax") / "config.toml")
    changed = ["--algo", "ns", "--budget", "120", "--seed", "9", "--workers", "2", "--set", "population_size=20"]
    given = ["--set", "descriptor=ground-truth", "--quiet", "--out", str(tmp_path / "other")]
    assert main(["run", TASK, "--config", config, *changed, *given]) == 0
    found = summary(tmp_path / "other")
    assert (found["algo"], found["budget"], found["seed"], found["workers"]) == ("ns", 120, 9, 2)
    assert found["parameters"]["population_size"] == 20
    assert found["parameters"]["chunk_size"] == QUICK["chunk_size"]
    capsys.readouterr()
    # The options of the file's task are not for another one.
    (tmp_path / "maze.toml").write_text('task = "hard-maze"\nalgo = "ns"\n[parameters]\ntask.sensors = "published-code"\n')
    assert main(["run", "redundant-arm", "--config", str(tmp_path / "maze.toml"), "--budget", "99"]) == 2
    assert "at least one population of 100" in capsys.readouterr().err


def test_a_configuration_written_by_hand(tmp_path, capsys):
    (tmp_path / "hand.toml").write_text(
        """
        task = "troubled_tasks:TroubledTask"
        algo = "ns"
        budget = 60
        population_size = 10      # a parameter may stand outside its table
        [parameters]
        isolation = "none"
        max_images_per_episode = "none"
        genome_bounds = [-2, 2]
        """
    )
    assert main(["run", "--config", str(tmp_path / "hand.toml"), "--trust", "--quiet", "--out", str(tmp_path / "run")]) == 0
    found = summary(tmp_path / "run")
    assert (found["task"], found["algo"], found["budget"], found["seed"]) == ("square", "ns", 60, 0)
    parameters = found["parameters"]
    assert (parameters["population_size"], parameters["genome_bounds"]) == (10, [-2.0, 2.0])
    assert parameters["max_images_per_episode"] is None
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "The configuration 'c.toml' is missing."),
        ("task = ", "The configuration 'c.toml' is not TOML: Invalid value (at end of document)."),
        ("budget = 100", "The configuration names no task; give one of curling, hard-maze, redundant-arm, or module:Class."),
        ('task = "redundant-arm"\nbugdet = 100', "c.toml: There is no key 'bugdet'; did you mean 'budget'? there are task, algo, "),
        ('task = "redundant-arm"\n[parameters]\nnovelty_neighbours = 3', "There is no parameter 'novelty_neighbours'; did you mean 'novelty_neighbors'?"),
        ('task = "redundant-arm"\nbudget = "many"', "budget must be a whole number from 1 to 1,000,000,000, not 'many'."),
        ('task = "redundant-arm"\nbudget = 2020-01-01', "budget must be a whole number from 1 to 1,000,000,000, not datetime.date(2020, 1, 1)."),
        ('task = "redundant-arm"\nseed = -1', "seed must be a whole number from 0 to 9,223,372,036,854,775,807, not -1."),
        ('task = "redundant-arm"\nalgo = "nss"', "There is no method 'nss'; did you mean 'ns'?"),
        ('task = "redundant-arm"\ndevice = "tpu"', "device must be one of 'auto', 'cpu', 'cuda', 'mps', not 'tpu'."),
        ('task = "redundant-arm"\nparameters = 3', "parameters in c.toml must be a table, not 3."),
        ('task = "redundant-arm"\n[parameters]\ncode_size = 0', "Parameter code_size must be a whole number from 1 to 10,000, not 0."),
        ('task = "redundant-arm"\n[parameters]\nisolation = "some"', "Parameter isolation must be one of 'auto', 'process', 'none', not 'some'."),
        ('task = "redundant-arm"\n[parameters]\ntask.view = 3', "Option view of redundant-arm must be one of 'arm', 'end-effector', not 3."),
        ("task = 7", "task must be a task's name, not 7."),
        ("x = " + "[" * 5000, "The configuration 'c.toml' is not TOML: "),
        ("x = " + "9" * 5000, "The configuration 'c.toml' is not TOML: "),
        ("#" * 2**21, "The configuration 'c.toml' is too large: 2,097,152 bytes, at most 1,048,576 are read."),
        (b"\xff\xfe", "The configuration 'c.toml' is not a text file."),
        ('task = "own_tasks:PointTask"', "c.toml names code as its task, 'own_tasks:PointTask'. If you trust it, say so with --trust, or name"),
    ],
    ids=lambda value: str(value)[:30] if value else "missing",
)  # fmt: skip
def test_a_configuration_that_is_no_use_is_one_sentence_and_leaves_nothing(text, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("c.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["run", "--config", "c.toml"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"stax: {message}")
    assert output.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"] * (text is not None)


def test_runs_that_differ_are_told_apart(references, tmp_path):
    """Or the tests above would not say much."""
    other = tmp_path / "other"
    stax.run(TASK, budget=BUDGET, seed=SEED + 1, workers=1, out=other, **QUICK)
    names = ["archives/novelty.npz", "archives/reward.npz", "ledger.parquet", "emitters.csv", "autoencoder.safetensors"]
    assert differences(other, references("stax")) == [*names, "metrics.csv", "summary.json"]
