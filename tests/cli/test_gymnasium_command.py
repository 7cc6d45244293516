"""Gymnasium environments by the command line: runs, replays and reports of them, and one sentence for everything that is wrong."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gymnasium_worlds  # noqa: F401 (registers its environments)
import stax
from run_folders import QUICK, as_options, same_run
from stax.cli.main import main
from stax.cli.settings import parse_settings
from stax.evaluation import TaskSource, make_evaluator
from stax.run_settings import RunSettings
from stax.tasks import in_tables

WALK = "gym:gymnasium_worlds:Walk-v0"
MAZE = "gym:gymnasium_robotics:PointMaze_UMaze-v3"


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch):
    """The worlds are found where the command is called, as a user's own module is; what it adds to the path is taken back."""
    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.setattr(sys, "path", list(sys.path))


def refused(capsys, *arguments: str) -> str:
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == 1, told.err
    assert lines[0].startswith("stax: ")
    return lines[0].removeprefix("stax: ")


def options(*settings: str) -> list[str]:
    return [part for setting in settings for part in ("--set", f"task.{setting}")]


TRUTH = ("ground_truth=0,1",)
REFUSALS = [
    ("gym:CartPol-v1", (), r"There is no environment 'CartPol-v1'.*; near it are CartPole-v1, CartPole-v0"),
    ("gym:cartpole", (), r"near it are CartPole-v1"),
    ("gym:CartPole-v9", (), r"There is no environment 'CartPole-v9'.*near it are CartPole-v1"),
    ("gym:", (), r"names no environment; write gym:ID, for instance gym:CartPole-v1, or gym:MODULE:ID"),
    ("gym:a:b:c-v0", (), r"names no environment"),
    ("gym:PointMaze_UMaze-v3", (), r"unless gymnasium_robotics is imported; write gym:gymnasium_robotics:PointMaze_UMaze-v3"),
    ("gym:ALE/Pong-v5", (), r"unless ale_py is installed \(pip install ale-py\); then write gym:ale_py:ALE/Pong-v5"),
    ("gym:ale_py:ALE/Pong-v5", (), r"from the module 'ale_py', which cannot be found: pip install ale-py"),
    ("gym:no_such_module:Any-v0", (), r"from the module 'no_such_module', which cannot be found"),
    ("gym:own_broken_module:Any-v0", (), r"the module 'own_broken_module' cannot be imported"),
    ("gym:gymnasium_worlds:Wolk-v0", (), r"'Wolk-v0' in the module 'gymnasium_worlds'; near it (is|are) Walk-v0"),
    ("gym:gymnasium_worlds:Missing-v0", (), r"needs a package that is not there: No module named 'no_such_package'"),
    ("gym:Walk-v0", (), r"'Walk-v0' is none of Gymnasium's own; write gym:MODULE:Walk-v0 with the module that registers it"),
    ("gym:gymnasium_worlds:Unmakable-v0", (), r"cannot be made: KeyError: 'nothing' \(gymnasium_worlds.py, line \d+\)"),
    (WALK, ("make.wind=3",), r"cannot be made with make = {'wind': 3}: TypeError: .*'wind'"),
    (WALK, ("make.render_mode=human",), r"make must not have 'render_mode', which the task sets itself; give observe"),
    (WALK, ("make=3",), r"make must be a table of keywords for the environment, .* not 3"),
    (WALK, ("make=3", "make.gain=1"), r"task.make.gain is an entry of a table, but make was given as 3"),
    (WALK, ("make={gain = ",), r"what begins like a list or a table must be one"),
    (WALK, ("reset=5",), r"reset must be a table of options"),
    ("gym:gymnasium_worlds:Endless-v0", (), r"'Endless-v0' does not say how many steps .*give a horizon, --set task.horizon=N"),
    ("gym:gymnasium_worlds:Blind-v0", ("observe=pictures",), r"cannot draw itself .*it can only render 'human'"),
    (
        WALK,
        ("observe=pictures", "make.trouble=no picture"),
        r"render must give uint8 of shape \(height, width, 3\), not float64",
    ),
    (WALK, ("observe=pictures", "make.trouble=no brush"), r"cannot be drawn: there is nothing to draw with"),
    (WALK, ("observe=pictures", "observe_indices=0"), r"observe_indices is for observe 'vector'"),
    (
        WALK,
        ("make.observes=text",),
        r"entry 'words' .* is a Text; .*; choose entries with observation_key, one or a list of 'place'",
    ),
    (WALK, ("make.observes=dict", "observation_key=plac"), r"observes no 'plac'; there are 'goal', 'place', 'side'"),
    (WALK, ("observation_key=place",), r"observation_key is for environments that observe a Dict; .* observes a Box"),
    (WALK, ("make.observes=huge",), r"its observation has 10,000 numbers, but a policy takes from 1 to 4,096"),
    (WALK, ("make.observes=pixels", "policy=dense"), r"its observation has 20,736 numbers, but a policy takes from 1 to 4,096"),
    (WALK, ("policy=convolutional",), r"observes no picture, which a convolutional policy needs"),
    (WALK, ("policy=deep",), r"policy must be one of 'auto', 'dense', 'convolutional', not 'deep'"),
    (WALK, ("picture_side=40",), r"picture_side must be a multiple of 16, not 40"),
    (WALK, ("filters=0",), r"Each of filters must be a whole number from 1 to 64, not 0"),
    (WALK, ("make.observes=pixels", "observe_indices=0"), r"observe_indices is for policies that are given a vector"),
    (WALK, ("make.acts=text",), r"takes actions of a Text; a policy can act in a bounded Box, a Discrete"),
    (WALK, ("make.acts=free",), r"number 0 of its actions has the bounds -inf and inf; .*finite bounds"),
    (WALK, ("horizon=0",), r"horizon must be a whole number from 1 to 10,000,000, not 0"),
    (WALK, ("hidden=5,0",), r"Each of hidden must be a whole number from 1 to 4096, not 0"),
    (WALK, ("hidden=wide",), r"Each of hidden must be a whole number from 1 to 4096, not 'wide'"),
    (WALK, ("inputs=big",), r"inputs must be one of 'raw', 'scaled', not 'big'"),
    (WALK, ("observe=sounds",), r"observe must be one of 'vector', 'pictures', not 'sounds'"),
    (WALK, ("observe_indices=0,7",), r"Each of observe_indices must be a whole number from 0 to 2, not 7"),
    (WALK, ("observe_indices=x:y",), r"observe_indices must be a list of indices or a slice such as '2:5', not 'x:y'"),
    (WALK, ("observe_indices=3:",), r"observe_indices must be at least one index from 0 to 2, each once, not '3:'"),
    (WALK, ("samples=0",), r"samples must be a whole number from 1 to 1000, not 0"),
    (WALK, ("samples=5,2",), r"samples must be a number, or numbers of steps that rise, not \(5, 2\)"),
    (WALK, ("samples=5,21",), r"Each of samples must be a whole number from 1 to 20, not 21"),
    (WALK, ("episodes=0",), r"episodes must be a whole number from 1 to 1000, not 0"),
    (WALK, ("seed=-1",), r"seed must be a whole number from 0 to 2,147,483,647, not -1"),
    (WALK, ("reward=7",), r"reward must be 'return' or a key of info, such as 'success', not 7"),
    (WALK, ("reward_over=max",), r"reward_over is for a key of info; .* 'max' means nothing"),
    (WALK, ("reward=far", "reward_over=mean"), r"reward_over must be one of 'last', 'max', 'sum', not 'mean'"),
    (WALK, ("reward_offset=much",), r"reward_offset must be a finite number within 1e.100 from 0, not 'much'"),
    (WALK, ("ground_truth=0,2",), r"ground_truth_bounds is needed, .* no finite bounds for number 2"),
    (WALK, ("ground_truth=place",), r"ground_truth_bounds is needed, .* bounds 'place' of info has"),
    (
        WALK,
        ("ground_truth_bounds=0,1",),
        r"ground_truth_bounds is for a ground truth; say which numbers that is with ground_truth",
    ),
    (WALK, (*TRUTH, "ground_truth_bounds=0,1"), r"a pair for each of the 2 numbers of ground_truth, not 1"),
    (
        WALK,
        (*TRUTH, "ground_truth_bounds=[[1, 0], [0, 1]]"),
        r"ground_truth_bounds must be pairs of a lowest and a higher value",
    ),
    (WALK, ('reward_areas=[{name="a", center=[0], radius=1}]',), r"reward_areas are places in the ground truth"),
    (WALK, (*TRUTH, "reward_areas=5"), r"reward_areas must be a list of tables with name, center and radius, not 5"),
    (WALK, (*TRUTH, 'reward_areas=[{name="a"}]'), r"with name, center and radius, not {'name': 'a'} in it"),
    (WALK, (*TRUTH, 'reward_areas=[{name="a", center=[0], radius=1}]'), r"must have 2 numbers, as the ground truth has, not 1"),
    (WALK, (*TRUTH, 'reward_areas=[{name="a", center=[0, 0], radius=0}]'), r"must be above 0, not 0"),
    (WALK, ("colour=red",), r"has no option 'colour'; it has make, reset, horizon"),
    (WALK, ("make.trouble=four things",), r"broke its contract: step must return five things .*, not 4"),
    (
        MAZE,
        ("observation_key=observations",),
        r"observes no 'observations'; there are 'achieved_goal', 'desired_goal', 'observation'",
    ),
    (MAZE, ("observation_key=observation", "ground_truth=0,1"), r"ground_truth_bounds is needed"),
    (
        MAZE,
        ("observation_key=observation", "make.maze_map=[[1, 2]]"),
        r"'PointMaze_UMaze-v3' failed at its first step: AssertionError",
    ),
]


@pytest.mark.parametrize(("name", "settings", "told"), REFUSALS)
def test_what_cannot_be_a_task_is_told_in_one_sentence(name, settings, told, capsys, tmp_path):
    out = tmp_path / "run"
    sentence = refused(capsys, "run", name, "--budget", 100, "--out", out, *options(*settings))
    assert re.search(told, sentence), sentence
    assert sentence.endswith(".")
    assert not out.exists()


def test_settings_that_are_lists_and_tables():
    given = ["a=1,2,3", "b=[1, [2, 'x']]", "c={d = 1, e = [true]}", 'f={"g": null}', "task.make.h.i=2"]
    parsed = parse_settings(given)
    assert parsed == {"a": (1, 2, 3), "b": (1, (2, "x")), "c": {"d": 1, "e": (True,)}, "f": {"g": None}, "task.make.h.i": 2}
    assert in_tables({"make.h.i": 2, "make": {"h": {"j": 3}, "k": 4}, "l": 5}) == {
        "make": {"h": {"i": 2, "j": 3}, "k": 4},
        "l": 5,
    }


CONTRACT = [
    ("no number", 1, r"gave nan or infinity as its observation after \d+ steps with seed 0 \(--set on_failure=discard goes on"),
    ("nan reward", 1, r"gave nan or infinity as its reward after \d+ steps"),
    ("raise", 1, r"failed to evaluate \d+ policies: ValueError: the floor is missing \(gymnasium_worlds.py, line \d+\)"),
    ("other shape", 2, r"broke its contract: it observed an array of shape \(2,\), but its observation space says \(3,\)"),
]


@pytest.mark.parametrize(("trouble", "code", "told"), CONTRACT)
def test_environments_that_break_their_contract(trouble, code, told, capsys, tmp_path):
    command = ["run", WALK, "--algo", "random", "--budget", "40", "--workers", "1", "--out", str(tmp_path / "run"), "--quiet"]
    command += [*as_options(QUICK), *options(f"make.trouble={trouble}")]
    assert main(command) == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert re.search(told, lines[0]), lines


def test_info_that_is_not_there():
    task = stax.make_task(WALK, reward="succes")
    with pytest.raises(stax.InvalidInputError, match=r"without 'succes' in its info; there was 'far', 'success', 'place'"):
        task.evaluate(np.zeros((1, task.genome_size)))
    task = stax.make_task(WALK, ground_truth=("place", "far"), ground_truth_bounds=((0, 1), (0, 1)))
    with pytest.raises(stax.InvalidInputError, match=r"has 2 pairs, but 'place', 'far' of its info have 3 numbers"):
        task.evaluate(np.zeros((1, task.genome_size)))


@pytest.mark.parametrize(("trouble", "isolation"), [("kill", "process"), ("raise", "none"), ("no number", "none")])
def test_policies_that_break_the_world_are_discarded(trouble, isolation):
    """Also those that kill their worker: another takes its place."""
    options = {"make": {"trouble": trouble, "where": 0.5}, "hidden": None, "ground_truth": (0, 1)}
    task = stax.make_task(WALK, **options)
    genomes = np.zeros((4, task.genome_size))
    # The shared bias pushes the point to where the trouble is; without it, it stays.
    genomes[1, -1] = 5.0
    source = TaskSource(task, WALK, options)
    settings = RunSettings(isolation=isolation, on_failure="discard", max_failed_share=0.5)
    with make_evaluator(source, workers=2, settings=settings) as evaluator:
        rollouts = evaluator.evaluate(genomes)
        assert (evaluator.workers_replaced > 0) == (trouble == "kill")
        assert sum(evaluator.failures.values()) == 1
    assert rollouts.failures().tolist() == [False, True, False, False]
    sound = stax.make_task(WALK, hidden=None, ground_truth=(0, 1)).evaluate(genomes)
    assert np.array_equal(rollouts.snapshots[[0, 2, 3]], sound.snapshots[[0, 2, 3]])


RUN = (
    *(
        "make.gain=0.4",
        "reset={start = [0.1, 0.0]}",
        "samples=3",
        "hidden=4,3",
        *TRUTH,
        "ground_truth_bounds=[[-2, 4], [-3, 3]]",
    ),
    'reward_areas=[{name="near", center=[1, 0], radius=0.4}, {name="far", center=[2.5, 1], radius=0.5}]',
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A short run in this process, and one in two worker processes."""
    folder = tmp_path_factory.mktemp("gymnasium")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(Path(__file__).parents[1])
        patch.setattr(sys, "path", list(sys.path))
        for name, more in (("one", {}), ("two", {"isolation": "auto"})):
            command = ["run", WALK, "--budget", "240", "--seed", "3", "--workers", "2", "--out", str(folder / name), "--quiet"]
            assert main([*command, *as_options({**QUICK, **more}), *options(*RUN)]) == 0
    return folder


def test_a_run_in_processes_is_the_run_in_one(finished):
    same_run(finished / "one", finished / "two")


def test_a_run_can_be_done_again_from_its_configuration(finished, tmp_path):
    config = stax.load(finished / "one", trust=True).config
    assert config.task_options["make"] == {"gain": 0.4}
    assert config.task_options["reward_areas"][1] == {"name": "far", "center": (2.5, 1), "radius": 0.5}
    command = ["run", "--config", str(finished / "one" / "config.toml"), "--trust", "--out", str(tmp_path / "again"), "--quiet"]
    assert main(command) == 0
    same_run(finished / "one", tmp_path / "again")


def test_a_strangers_module_is_imported_only_by_those_who_trust_it(finished, capsys):
    assert "names code as its task" in refused(capsys, "replay", finished / "one", "--random", 1)
    config = finished / "one" / "config.toml"
    assert "names code as its task" in refused(capsys, "run", "--config", config, "--out", finished / "another")
    assert stax.load(finished / "one").task.name == WALK
    with pytest.raises(stax.InvalidInputError, match="trust=True"):
        stax.load(finished / "one").task.evaluate([[0.0]])


def test_a_run_goes_on_to_the_same_end(finished, tmp_path):
    rests = iter(range(100))
    with pytest.raises(stax.RunInterrupted):
        stax.run(
            WALK,
            budget=240,
            seed=3,
            workers=2,
            out=tmp_path / "run",
            stop=lambda: next(rests) == 3,
            **{**QUICK, **parse_settings([f"task.{setting}" for setting in RUN])},
        )
    stax.resume(tmp_path / "run", trust=True)
    same_run(finished / "one", tmp_path / "run")


def test_show_replay_report_and_compare(finished, capsys, tmp_path):
    folder = finished / "one"
    assert main(["show", str(folder)]) == 0
    assert "gym:gymnasium_worlds:Walk-v0" in capsys.readouterr().out
    assert (folder / "archives.png").stat().st_size > 5000
    film = tmp_path / "some.gif"
    assert main(["replay", str(folder), "--random", "3", "--trust", "--out", str(film), "--size", "96"]) == 0
    assert "3 of 3 policies: the replay equals the recording" in capsys.readouterr().err
    assert film.read_bytes()[:3] == b"GIF"
    page = tmp_path / "report.html"
    assert main(["report", str(folder), "--trust", "--out", str(page)]) == 0
    assert page.read_text().count("data:image/gif") >= 1
    capsys.readouterr()
    assert main(["compare", str(finished), "--json"]) == 2  # the same run twice
    assert "seed 3" in capsys.readouterr().err


def test_a_world_that_cannot_be_drawn_is_not_replayed(capsys, tmp_path):
    blind = "gym:gymnasium_worlds:Blind-v0"
    command = ["run", blind, "--algo", "ns", "--budget", "40", "--out", str(tmp_path / "run"), "--quiet"]
    assert main([*command, *as_options(QUICK), *options(*TRUTH)]) == 0
    told = refused(capsys, "replay", tmp_path / "run", "--random", 1, "--trust")
    assert told == "Environment 'Blind-v0' cannot draw itself as an array ('rgb_array'): it can only render 'human'."
    assert main(["report", str(tmp_path / "run"), "--trust", "--out", str(tmp_path / "page.html")]) == 0


def test_check_task(capsys):
    assert main(["check-task", WALK, "--set", "task.make.acts=discrete", "--set", "horizon=7"]) == 0
    assert "ok     film" in capsys.readouterr().out
    assert main(["check-task", "gym:gymnasium_worlds:Blind-v0"]) == 0
    assert "note   film: Environment 'Blind-v0' cannot draw itself" in capsys.readouterr().out
    assert main(["check-task", WALK, "--set", "make.trouble=raise"]) == 1
    assert "WRONG  evaluate gives rollouts: it raised ValueError: the floor is missing" in capsys.readouterr().out


def test_campaigns_take_environments_and_their_options(capsys, tmp_path):
    file = tmp_path / "walks.toml"
    file.write_text(
        f"""
tasks = ["{WALK}"]
algos = ["ns", "random"]
seeds = [0]
budget = 40

[parameters]
isolation = "none"
population_size = 12
task.make.gain = 0.4
task.ground_truth = [0, 1]
"""
    )
    assert main(["campaign", str(file), "--out", str(tmp_path / "runs"), "--processes", "1", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "runs"), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert [task["task"] for task in compared["tasks"]] == [f"{WALK} (ground_truth=0,1, make.gain=0.4)"]
    assert sorted(group["label"] for group in compared["tasks"][0]["methods"]) == ["ns", "random"]
