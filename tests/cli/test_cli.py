"""The command line, end to end, in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import stax
from stax.cli import commands
from stax.cli.main import main

TESTS = Path(__file__).parents[1]
COMMANDS = (
    *("run", "resume", "campaign", "show", "compare", "reproduce", "report", "replay", "find"),
    *("tasks", "algos", "check-task", "new-task", "bench", "completion", "reevaluate"),
)


def run(*arguments: str, cwd: Path = TESTS, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stax", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, timeout=300)


def test_version_and_help():
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"stax {stax.__version__} (Python 3.")
    for arguments in (["--help"], [], *([command, "--help"] for command in COMMANDS)):
        done = run(*arguments)
        assert done.returncode == 0
        assert "usage: stax" in done.stdout


def test_every_module_of_a_command_is_listed():
    modules = {path.stem for path in Path(commands.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules == set(commands.COMMANDS)
    assert {name.replace("-", "_") for name in COMMANDS} <= modules


def test_help_imports_nothing_heavy():
    code = "import sys; from stax.cli.main import build_parser; build_parser().format_help(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "torch", "matplotlib", "PIL", "Box2D", "scipy", "rich"} & set(loaded)


def test_tasks_are_listed():
    done = run("tasks")
    assert done.returncode == 0
    for words in ("curling", "hard-maze", "redundant-arm", "task.sensors=lasers", "228 parameters"):
        assert words in done.stdout
    listed = json.loads(run("tasks", "--json").stdout)
    assert [task["name"] for task in listed] == ["curling", "hard-maze", "redundant-arm"]
    assert listed[1]["options"]["sensors"] == "lasers"


def test_check_task():
    done = run("check-task", "hard-maze", "--set", "task.sensors=published-code")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "hard-maze keeps the contract (14 checks).")
    done = run("check-task", "own_tasks:PointTask")
    assert done.returncode == 0, done.stderr
    done = run("check-task", "own_tasks:NanRewardTask")
    assert done.returncode == 1
    assert "WRONG  rewards and reward areas: reward must be finite, but policy 0 got nan" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["check-task", "nope"],
            "stax: There is no task 'nope'; there are curling, hard-maze, redundant-arm, gym:ID for a Gymnasium environment, and your own as 'module:Class' or 'module:function'.",
        ),
        (
            ["check-task", "hard-maze", "--set", "sensors=radar"],
            "stax: Option sensors of hard-maze must be one of 'lasers', 'published-code', not 'radar'.",
        ),
        (
            ["check-task", "hard-maze", "--set", "wheels=3"],
            "stax: Task 'hard-maze' has no option 'wheels'; it has sensors, sensor_noise, action_noise, seed, episodes, threads.",
        ),
        (["check-task", "hard-maze", "--set", "sensors"], "stax: --set takes OPTION=VALUE, not 'sensors'."),
        (
            ["check-task", "own_tasks:Nobody"],
            "stax: Task 'own_tasks:Nobody' names 'Nobody', which is not in the module 'own_tasks'.",
        ),
        (["check-task"], "stax check-task: the following arguments are required: NAME (see 'stax check-task --help')"),
        (
            ["check-task", "curling", "--seed", "-1"],
            "stax check-task: argument --seed: must be a whole number of at least 0, not '-1' (see 'stax check-task --help')",
        ),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == message


def test_unknown_commands_are_told_which_there_are():
    done = run("fly")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("stax: argument COMMAND: invalid choice: 'fly'")
    assert all(command in done.stderr for command in COMMANDS)
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_trouble():
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    for arguments in (["tasks"], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "stax", *arguments]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment, check=False)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, "")


def test_interruption_is_one_line_and_exit_code_130(tasks):
    tasks["curling"].evaluate(np.zeros((1, 94)))  # compiled, so that the command is soon at work
    command = [sys.executable, "-m", "stax", "bench"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert "rollouts and pictures of curling" in process.stderr.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "stax: interrupted"


def test_compiling_is_announced_once_and_kept(tmp_path):
    first = run("check-task", "redundant-arm", NUMBA_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0
    lines = first.stderr.splitlines()
    assert sum("compiling the simulator of redundant-arm" in line for line in lines) >= 1
    assert len(lines) <= 4
    second = run("check-task", "redundant-arm", NUMBA_CACHE_DIR=str(tmp_path))
    assert (second.returncode, second.stderr) == (0, "")


def test_example_of_own_evaluation():
    command = [sys.executable, str(TESTS.parent / "examples" / "own_evaluation.py"), "--budget", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("300 evaluations, coverage 0.")
    bad = subprocess.run([*command, "--task", "nope"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert "There is no task 'nope'" in bad.stderr


def test_methods_are_listed(capsys):
    done = run("algos")
    assert (done.returncode, done.stderr) == (0, "")
    assert main(["algos", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == 16
    for words in [method["name"] for method in listed] + ["published-code", "the letter of the paper"]:
        assert words in done.stdout
    assert {"name": "stax", "emitters": True, "training": "continued"}.items() <= listed[0].items()


def test_a_method_is_explained_with_all_its_parameters(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["algos", "stax-single"]) == 0
    page = capsys.readouterr().out
    assert "last observation only" in page
    lines = [line.split() for line in page.splitlines()]
    assert ["chunk_size", "K_Bud", "100", "100", "1000"] in lines
    assert ["descriptor_samples", "K", "1", "1", "1"] in lines
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["algos", "stax-single"]) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) < 68
    assert "(K_Bud)" in narrow
    assert main(["algos", "stax", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parameters"]["max_images_per_episode"]["values"]["paper"] is None
    assert told["parameters"]["population_size"]["allowed"] == "a whole number from 2 to 1,000,000"
    assert told["presets"].keys() == told["parameters"]["code_size"]["values"].keys()
    assert main(["algos", "stacks"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("stax: There is no method 'stacks'; did you mean 'stax'?")
