"""`stax run`, end to end, in processes of its own: what it writes, says, shows and refuses."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest

from stax.cli.main import build_parser, main
from stax.cli.progress import Pace, PlainProgress
from stax.cli.settings import parse_settings
from stax.wording import clock_time

TESTS = Path(__file__).parents[1]
STAX = Path(sys.executable).parent / "stax"
PYTHON_PATH = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
ENVIRONMENT = {**os.environ, "PYTHONPATH": PYTHON_PATH, "TERM": "xterm-256color"}
SUMMARY = {
    "task", "algo", "seed", "budget", "evaluations", "coverage", "max_reward", "novelty_archive_size", "reward_archive_size",
    "training_episodes", "status", "seconds",
}  # fmt: skip
SECONDS = {"total", "evaluation", "training", "encoding", "selection", "storage"}
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(STAX), "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**ENVIRONMENT, **environment}, timeout=300)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_novelty_search_writes_a_folder_with_all_it_promises(tmp_path):
    done = run("redundant-arm", "--algo", "ns", "--budget", "450", "--seed", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "runs/redundant-arm-ns-3-1\n"
    folder = tmp_path / "runs" / "redundant-arm-ns-3-1"
    assert {"summary.json", "metrics.csv", "archives/novelty.npz", "archives/reward.npz", "archives.png"} <= files(folder)
    assert not [name for name in files(folder) if name.endswith(".part")]

    summary = json.loads((folder / "summary.json").read_text())
    assert summary.keys() >= SUMMARY
    assert summary["seconds"].keys() >= SECONDS
    assert (summary["task"], summary["algo"], summary["seed"]) == ("redundant-arm", "ns", 3)
    assert (summary["budget"], summary["evaluations"], summary["status"]) == (450, 450, "finished")
    assert 0 < summary["coverage"] < 1
    assert len(summary["max_reward"]) == 3
    with np.load(folder / "archives" / "novelty.npz", allow_pickle=False) as archive:
        assert len(archive["id"]) == summary["novelty_archive_size"] > 0
        assert archive["genome"].shape[1] > 0
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert int(rows[-1]["evaluations"]) == 450
    assert float(rows[-1]["coverage"]) == pytest.approx(summary["coverage"])
    assert (folder / "archives.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    lines = done.stderr.splitlines()
    assert lines[
        0
    ] == f"stax: ns on redundant-arm, seed 3, 450 evaluations, preset default, {len(os.sched_getaffinity(0))} " + (
        "worker" if len(os.sched_getaffinity(0)) == 1 else "workers"
    )
    assert re.match(
        r"stax: 450 of 450 evaluations \(100 %\); coverage .* %; best reward lower left .*; done after 0:\d\d", lines[1]
    )
    assert lines[2].startswith("ns on redundant-arm, seed 3, preset default: 450 evaluations in 0:")
    assert f"  coverage         {100 * summary['coverage']:.1f} %" in lines
    assert any(re.match(r"  best reward +lower left +none found", line) for line in lines)
    assert any(line.startswith("  time ") and "evaluation " in line for line in lines)
    assert "\x1b" not in done.stderr


def test_stax_learns_and_writes_what_it_learned_with(tmp_path):
    out = tmp_path / "deep" / "er"
    settings = [
        "max_images_per_episode=200",
        "max_epochs=1",
        "population_size=20",
        "task.view=end-effector",
        "genome_bounds=-2,2",
    ]
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    done = run("redundant-arm", "--budget", "600", "--workers", "1", *arguments, "--out", str(out), "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}\n", "")
    summary = json.loads((out / "summary.json").read_text())
    assert summary["evaluations"] == 600
    assert summary["training_episodes"] >= 1
    assert summary["parameters"]["genome_bounds"] == [-2.0, 2.0]
    assert summary["parameters"]["max_images_per_episode"] == 200
    with np.load(out / "archives" / "novelty.npz", allow_pickle=False) as archive:
        assert np.abs(archive["genome"]).max() <= 2


def test_no_folder_is_taken_twice_and_own_tasks_may_print(tmp_path):
    (tmp_path / "runs" / "own_tasks-TalkingTask-stax-nt-0-1").mkdir(parents=True)
    done = run("own_tasks:TalkingTask", "--algo", "stax-nt", "--budget", "100", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "runs/own_tasks-TalkingTask-stax-nt-0-2\n"), done.stderr
    # Each of its workers says so, perhaps at the same moment.
    assert done.stderr.replace("hello from the simulator", "").strip() == ""
    assert "hello from the simulator" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["redundant-arm", "--algo", "nss"], "There is no method 'nss'; did you mean 'ns'?"),
        (["redundant-arm", "--preset", "papr"], "There is no preset 'papr'; did you mean 'paper'?"),
        (["redundant-arm", "--set", "novelty_neighbours=3"], "There is no parameter 'novelty_neighbours'; did you mean 'novelty_neighbors'?"),
        (["redundant-arm", "--set", "view=arm"], "There is no parameter 'view'; did you mean 'task.view'?"),
        (["hard-maze", "--set", "sensor=lasers"], "There is no parameter 'sensor'; did you mean 'task.sensors'?"),
        (["gym:CartPole-v1", "--set", "observation_key=pos"], "There is no parameter 'observation_key'; did you mean 'task.observation_key'?"),
        (["redundant-arm", "--set", "code_size=0"], "Parameter code_size must be a whole number from 1 to 10,000, not 0."),
        (["redundant-arm", "--set", "learning_rate=nan"], "Parameter learning_rate must be a number above 0 and at most 100, not nan."),
        (["redundant-arm", "--set", "genome_bounds=2,-2"], "Parameter genome_bounds must be two numbers from -1e+30 to 1e+30, the lower one first"),
        (["redundant-arm", "--set", "seed=3"], "seed is no parameter of the search; give --seed VALUE instead of --set seed=VALUE."),
        (["redundant-arm", "--set", "code_size"], "--set takes OPTION=VALUE, not 'code_size'."),
        (["redundant-arm", "--set", "task.view=3"], "Option view of redundant-arm must be one of 'arm', 'end-effector', not 3."),
        (["redundant-arm", "--algo", "ns", "--budget", "99"], "budget must be at least one population of 100 evaluations, not 99."),
        (["nope"], "There is no task 'nope'; there are curling, hard-maze, redundant-arm"),
        (["own_tasks:PointTask", "--algo", "ns"], "Task 'point' has no ground-truth descriptor"),
        (["own_tasks:NanRewardTask", "--quiet"], "Task 'point' returned a reward of nan for policy 0 of 100; rewards must be finite and not negative."),
        (["redundant-arm", "--out", "/dev/null/x"], "The output folder '/dev/null/x' cannot be made: /dev/null is a file."),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_leaves_nothing(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"stax: {message}")
    assert output.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "0"], "argument --budget: must be a whole number of at least 1, not '0'"),
        (["--budget", "many"], "argument --budget: must be a whole number of at least 1, not 'many'"),
        (["--workers", "0"], "argument --workers: must be a whole number of at least 1, not '0'"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["run", "redundant-arm", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"stax run: {message}")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("important")
    assert main(["run", "redundant-arm", "--out", "mine"]) == 2
    assert capsys.readouterr() == ("", "stax: The output folder 'mine' is not empty; give a new or an empty one.\n")
    assert files(tmp_path) == {"mine/notes.txt"}


def test_a_failing_task_is_one_line_and_exit_code_1(tmp_path):
    done = run("own_tasks:CrashingTask", "--algo", "stax-nt", "--quiet", "--out", "here", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    said = r"stax: Task 'point' failed to evaluate \d+ policies: RuntimeError: the simulator is not connected"
    assert re.match(said, done.stderr)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("budget", [str(10**9 + 1), str(2**62), str(10**14), "9" * 5000])
def test_a_budget_that_nobody_can_spend_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, budget):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["run", "redundant-arm", "--algo", "ns", "--budget", budget])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--budget: must be a whole number of at most 1,000,000,000, not" in said
    assert len(said) < 300
    assert list(tmp_path.iterdir()) == []


class Terminal:
    """A command under a terminal of its own."""

    def __init__(self, *arguments: str, cwd: Path, columns: int, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        variables = {name: value for name, value in ENVIRONMENT.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
        command = [str(STAX), "run", *arguments]
        self.process = subprocess.Popen(
            command, cwd=cwd, env={**variables, **environment}, stdin=slave, stdout=subprocess.PIPE, stderr=slave, text=True
        )
        os.close(slave)
        self.shown = ""

    def read_until(self, words: str | None) -> None:
        """Reads on until the words are shown, or to the end."""
        deadline = time.monotonic() + 120
        while (words is None or words not in self.shown) and time.monotonic() < deadline:
            try:
                part = os.read(self.master, 65536)
            except OSError:  # the other side is closed
                part = b""
            if not part:
                assert words is None, self.shown
                return
            self.shown += part.decode()

    def end(self) -> str:
        self.read_until(None)
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            output = stdout.read()
        self.process.wait(60)
        os.close(self.master)
        return str(output)


@pytest.mark.parametrize(("columns", "colourless"), [(100, {}), (60, {"NO_COLOR": "1"})])
def test_live_display(tmp_path, columns, colourless):
    arguments = ("redundant-arm", "--algo", "serene", "--budget", "9000")
    terminal = Terminal(*arguments, cwd=tmp_path, columns=columns, **colourless)
    assert terminal.end() == "runs/redundant-arm-serene-0-1\n"
    assert terminal.process.returncode == 0
    shown = terminal.shown
    assert "\x1b[?25l" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"
    text = CONTROL.sub("", shown).replace("\r\n", "\n").replace("\r", "\n")
    for words in ("serene on redundant-arm, seed 0, preset default", "phase        exploration", "━", " of 9,000", " left, "):
        assert words in text
    last = text[text.rindex("100 %  9,000 of 9,000") :]
    for words in (
        "phase        done",
        "coverage",
        "best reward  lower left",
        "upper right 0.",
        "archives     ",
        "candidates waiting",
    ):
        assert words in last
    assert "written to runs/redundant-arm-serene-0-1:" in last
    assert max(map(len, text.splitlines())) <= columns
    colours = [code for code in re.findall(r"\x1b\[([0-9;]*)m", shown) if re.search(r"\b(3\d|4\d|9\d)\b", code)]
    assert bool(colours) is not bool(colourless)


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_live_display_ends_well_when_asked_to_end(tmp_path, request_to_end):
    terminal = Terminal("redundant-arm", "--algo", "ns", "--budget", "5000000", cwd=tmp_path, columns=80)
    terminal.read_until("exploration")
    terminal.process.send_signal(request_to_end)
    assert terminal.end() == ""
    assert terminal.process.returncode == 130
    assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rindex("\x1b[?25l")
    assert "phase        interrupted" in CONTROL.sub("", terminal.shown)
    said = r"stax: interrupted after [\d,]+ evaluations; all is saved, go on with: stax resume runs/redundant-arm-ns-0-1\r\n$"
    assert re.search(said, terminal.shown)
    assert json.loads((tmp_path / "runs/redundant-arm-ns-0-1/summary.json").read_text())["status"] == "interrupted"


def test_a_terminal_that_can_show_nothing_gets_lines(tmp_path):
    dumb = Terminal("redundant-arm", "--algo", "ns", "--budget", "300", cwd=tmp_path, columns=80, TERM="dumb")
    dumb.end()
    assert "\x1b" not in dumb.shown
    assert dumb.shown.startswith("stax: ns on redundant-arm, seed 0, 300 evaluations")


def test_values_given_with_set():
    given = ["a=3", "b=1e-3", "c=true", "d=None", "e=-2,2.5", "f=most-novel", "task.g=1_000", "h=a,b", "i=x=y"]
    expected = {
        "a": 3, "b": 1e-3, "c": True, "d": None, "e": (-2, 2.5), "f": "most-novel", "task.g": 1000, "h": "a,b", "i": "x=y",
    }  # fmt: skip
    assert parse_settings(given) == expected


class _Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = _Clock()
    monkeypatch.setattr("stax.cli.progress.time", clock)
    return clock


def test_pace_is_recent_and_time_left_is_steady(clock):
    pace = Pace()
    assert pace.rate() == 0
    assert pace.seconds_left(1000) is None
    for second in range(1, 101):
        clock.now = 100.0 + second
        pace.note(10 * second)
    assert pace.rate() == pytest.approx(10)
    assert pace.seconds_left(2000) == pytest.approx(100)
    clock.now += 40  # a long training, seen at its end
    pace.note(1000)
    assert pace.rate() == 0
    assert 100 < (pace.seconds_left(2000) or 0) < 1000


def test_plain_lines_are_ten_seconds_and_a_tenth_apart(clock, tasks, capsys):
    from stax import make_search

    progress = PlainProgress("preset default, 2 workers")
    task = tasks["redundant-arm"]
    search = make_search("ns", task, budget=2000)
    with progress:
        progress.at_start(search)
        while not search.done:
            clock.now += 3
            search.tell(task.evaluate(search.ask()))
            if search.at_rest:
                progress.after_chunk(search)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("stax: ns on redundant-arm, seed 0, 2,000 evaluations, preset default")
    assert lines[-1].startswith("stax: 2,000 of 2,000 evaluations (100 %)")
    assert 1 <= len(lines[1:-1]) <= 9
    assert all(re.search(r"; \d+ a second, \d:\d\d left; exploration$", line) for line in lines[1:-1])


def test_durations():
    assert [clock_time(seconds) for seconds in (0, 59.6, 125, 7384, None)] == ["0:00", "1:00", "2:05", "2:03:04", "?"]
