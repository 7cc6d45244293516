"""Campaigns, in real processes: they do what single runs do, survive what happens to them, and say what is wrong."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import stax
from stax.cli.campaign_display import Course, PlainCampaign
from stax.cli.campaign_live import LiveCampaign
from stax.cli.main import main
from stax.errors import InvalidInputError
from stax.runs.campaign import COLUMNS, read_campaign
from stax.runs.campaign_estimate import seconds_by_kind, seconds_together
from stax.runs.folder import RunFolder
from stax.runs.status import RunStatus

TESTS = Path(__file__).parents[1]
STAX = Path(sys.executable).parent / "stax"
POINT = "campaign_tasks:PointTask"
QUICK = """
[parameters]
population_size = 10
novelty_neighbors = 4
code_size = 3
chunk_size = 20
isolation = "none"
checkpoint_seconds = 0
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def write(path: Path, text: str) -> Path:
    path.write_text(text + QUICK if "[parameters]" not in text else text)
    return path


def table(out: Path) -> dict[str, dict[str, str]]:
    with (out / "campaign.csv").open(newline="") as file:
        rows = {row["folder"]: row for row in csv.DictReader(file)}
    assert all(tuple(row) == COLUMNS for row in rows.values())
    return rows


def statuses(out: Path) -> dict[str, str]:
    return {name: row["status"] for name, row in table(out).items()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def summary(folder: Path) -> dict[str, object]:
    return json.loads((folder / "summary.json").read_text())


def assert_same(folder: Path, **run) -> None:
    """The run in the folder found what a single run finds, bit for bit."""
    quick = {"population_size": 10, "novelty_neighbors": 4, "code_size": 3, "chunk_size": 20, "isolation": "none"}
    alone = stax.run(run.pop("task", POINT), **{**quick, **run}, workers=1)
    kept = stax.load(folder, trust=True)
    for name in ("novelty_archive", "reward_archive"):
        one, other = getattr(kept, name).columns(), getattr(alone, name).columns()
        assert one.keys() == other.keys()
        for column in one:
            np.testing.assert_array_equal(one[column], other[column], strict=True)
    for column in alone.ledger:
        np.testing.assert_array_equal(kept.ledger[column], alone.ledger[column])
    assert (kept.coverage, kept.max_reward, kept.evaluations) == (alone.coverage, alone.max_reward, alone.evaluations)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty folder to be in, where everything can import the tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])))
    monkeypatch.syspath_prepend(str(TESTS))
    monkeypatch.setenv("HOLD", str(tmp_path / "hold"))
    monkeypatch.setenv("BROKEN_WHILE", str(tmp_path / "broken"))
    return tmp_path


@pytest.fixture
def hold(here) -> Path:
    """While this file is there, every run waits when it has just begun: after its first checkpoint, or after a resumption."""
    path = here / "hold"
    path.touch()
    return path


def start(*arguments: str, **more) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([str(STAX), "campaign", *arguments], text=True, start_new_session=True, **pipes)


def wait_until(condition, *, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)


def has_checkpoint(folder: Path) -> bool:
    return bool(RunFolder(folder).checkpoints())


def process_of(run: str) -> int | None:
    """Of the process that does a run of this name in the folder we are in."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and f"stax campaign: {run}\0".encode() in (entry / "cmdline").read_bytes():
                if (entry / "cwd").resolve() == Path.cwd().resolve():
                    return int(entry.name)
        except OSError:
            continue
    return None


# What it does


def test_runs_of_a_campaign_are_those_done_alone(here, capsys):
    file = write(
        here / "all.toml",
        f"""
tasks = ["{POINT}"]
algos = ["ns", "map-elites"]
seeds = [7]
budget = 120
processes = 3
{QUICK}
[[overrides]]

[[overrides]]
name = "long"
algos = ["ns"]
budget = 200
parameters.mutation_sigma = 0.2
""",
    )
    assert main(["campaign", str(file)]) == 0
    said = capsys.readouterr()
    assert said.out == "runs/all\n"
    out = here / "runs" / "all"
    names = {f"campaign_tasks-PointTask-{kind}-7" for kind in ("ns", "ns-long", "map-elites")}
    assert {path.name for path in out.iterdir()} == {*names, "campaign.csv"}
    lines = [line for line in said.err.splitlines() if " gone, " not in line]
    assert lines[0] == "stax: campaign in runs/all: 3 runs, 3 at a time"
    assert lines[1] == "stax: campaign_tasks-PointTask-ns-7 begins"
    assert re.fullmatch(r"stax: 3 of 3 done, in \d:\d\d; the table of all runs is runs/all/campaign.csv", lines[-1])
    assert len(lines) == 8

    rows = table(out)
    assert rows.keys() == names
    row = rows["campaign_tasks-PointTask-ns-long-7"]
    assert (row["task"], row["algo"], row["override"], row["seed"], row["budget"]) == (POINT, "ns", "long", "7", "200")
    assert (row["status"], row["evaluations"], row["error"]) == ("finished", "200", "")
    found = summary(out / "campaign_tasks-PointTask-ns-long-7")
    assert float(row["coverage"]) == found["coverage"]
    assert [float(reward) for reward in row["max_reward"].split()] == found["max_reward"]

    assert_same(out / "campaign_tasks-PointTask-ns-7", algo="ns", seed=7, budget=120)
    assert_same(out / "campaign_tasks-PointTask-ns-long-7", algo="ns", seed=7, budget=200, mutation_sigma=0.2)
    assert_same(out / "campaign_tasks-PointTask-map-elites-7", algo="map-elites", seed=7, budget=120)

    # Called again, there is nothing to do.
    before = contents(out)
    assert main(["campaign", str(file)]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "runs/all\n",
        "stax: all 3 runs of the campaign in runs/all are finished; there is nothing to do.\n",
    )
    assert main(["campaign", str(file), "--quiet"]) == 0
    assert capsys.readouterr() == ("runs/all\n", "")
    assert main(["campaign", str(file), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "campaign_tasks-PointTask-ns-7          done"
    assert said.out.splitlines()[-1] == "3 runs in runs/all: 0 to do, 3 finished"
    assert contents(out) == before

    # Another campaign does not go into the same folder.
    for old, new, words in (
        ("budget = 120", "budget = 150", "runs/all/campaign_tasks-PointTask-ns-7' is another than the campaign's: they differ in budget;"),
        ("parameters.mutation_sigma = 0.2", "parameters.mutation_sigma = 0.3", "differ in mutation_sigma;"),
    ):  # fmt: skip
        changed = write(here / "changed.toml", file.read_text().replace(old, new))
        assert main(["campaign", str(changed), "--out", "runs/all"]) == 2
        assert words in capsys.readouterr().err
    assert contents(out) == before


@pytest.mark.slow
def test_an_interrupted_campaign_is_completed_to_the_same_end(here, hold, capsys):
    algos = ("ns", "stax-nt", "serene")
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = {list(algos)}\nbudget = 200\nprocesses = 2\n')
    out = here / "runs" / "c"
    names = [f"campaign_tasks-PointTask-{algo}-0" for algo in algos]
    process = start(str(file))
    wait_until(lambda: all(has_checkpoint(out / name) for name in names[:2]))
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    hold.unlink()
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    lines = errors.splitlines()
    assert "stax: stopping: each run finishes its chunk and is saved; Ctrl-C again stops at once" in lines
    assert lines[-1] == f"stax: interrupted, 0 of 3 done, 3 waiting, 2 of these begun; do the rest with: stax campaign {file}"
    assert list(statuses(out).values()) == ["interrupted", "interrupted", "not begun"]
    assert [summary(out / name)["status"] for name in names[:2]] == ["interrupted", "interrupted"]
    assert all(0 < summary(out / name)["evaluations"] < 200 for name in names[:2])
    assert not (out / names[2]).exists()

    assert main(["campaign", str(file), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert re.fullmatch(rf"{names[0]} +resume from \d+ of 200 evaluations", said.out.splitlines()[0])
    assert re.fullmatch(rf"{names[2]} +begin, 200 evaluations", said.out.splitlines()[2])
    assert main(["campaign", str(file)]) == 0
    assert re.search(rf"{names[0]} goes on after \d+ evaluations", capsys.readouterr().err)
    assert set(statuses(out).values()) == {"finished"}
    for name, algo in zip(names, algos, strict=True):
        assert_same(out / name, algo=algo, budget=200)


def test_runs_stop_and_are_saved_when_their_campaign_is_no_more(here, hold):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nbudget = 1000\n')
    folder = RunFolder(here / "runs" / "c" / "campaign_tasks-PointTask-ns-0")
    process = start(str(file))
    wait_until(lambda: has_checkpoint(folder.path))
    process.kill()
    process.communicate(timeout=60)
    time.sleep(0.5)
    hold.unlink()
    wait_until(lambda: not folder.in_use)
    assert folder.summary()["status"] == "interrupted"


def test_a_killed_run_has_failed_and_is_resumed_the_next_time(here, hold, capsys):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nseeds = 2\nbudget = 100\nprocesses = 2\n')
    out = here / "runs" / "c"
    killed = out / "campaign_tasks-PointTask-ns-0"
    process = start(str(file))
    wait_until(lambda: has_checkpoint(killed))
    found = process_of(killed.name)
    assert found is not None
    os.kill(found, signal.SIGKILL)
    hold.unlink()
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (1, "runs/c\n")
    reason = "Its process was ended by SIGKILL (memory may have run out)."
    assert f"stax: {killed.name} failed: {reason}" in errors
    assert errors.splitlines()[-3:] == [
        "stax: 1 run of 2 failed:",
        f"  {killed.name}: {reason}",
        f"stax: once that is repaired, do what is missing with: stax campaign {file}",
    ]
    assert sorted(statuses(out).values()) == ["failed", "finished"]
    assert table(out)[killed.name]["error"] == reason
    assert (summary(killed)["status"], summary(killed)["error"]) == ("failed", reason)

    assert main(["campaign", str(file), "--skip-failed"]) == 1
    assert f"  {killed.name}: {reason}" in capsys.readouterr().err
    assert main(["campaign", str(file), "--dry-run"]) == 0
    assert re.search(
        rf"{killed.name} +resume from \d+ of 100 evaluations; failed before: {re.escape(reason)}", capsys.readouterr().out
    )
    assert main(["campaign", str(file)]) == 0
    assert set(statuses(out).values()) == {"finished"}
    assert "error" not in summary(killed)
    assert_same(killed, algo="ns", seed=0, budget=100)


def test_a_task_that_raises_is_told_and_the_others_are_done(here, capsys):
    file = write(
        here / "c.toml",
        f"""
out = "here"
tasks = ["campaign_tasks:BrokenTask", "{POINT}"]
algos = ["ns"]
budget = 100
processes = 3
{QUICK}
[[overrides]]

[[overrides]]
name = "later"
tasks = ["campaign_tasks:BrokenTask"]
parameters.task.batches = 3
""",
    )
    (here / "broken").touch()
    assert main(["campaign", str(file), "--quiet"]) == 1
    said = capsys.readouterr()
    assert said.out == "here\n"
    at_once, later = "campaign_tasks-BrokenTask-ns-0", "campaign_tasks-BrokenTask-ns-later-0"
    rows = table(here / "here")
    assert {name: row["status"] for name, row in rows.items()} == {
        at_once: "failed",
        later: "failed",
        "campaign_tasks-PointTask-ns-0": "finished",
    }
    reason = "ArithmeticError: the arm has come off (campaign_tasks.py, line "
    for name in (at_once, later):
        assert reason in rows[name]["error"]
        assert f"stax: {name} failed: Task 'point' failed to evaluate" in said.err
        assert "oh dear" in (here / "here" / "logs" / f"{name}.log").read_text()
    assert rows[at_once]["evaluations"] == "0"
    assert int(rows[later]["evaluations"]) > 0
    assert summary(here / "here" / later)["error"] == rows[later]["error"]
    assert f"(what it printed: here/logs/{later}.log)" in said.err

    assert main(["campaign", str(file), "--dry-run", "--skip-failed"]) == 0
    listed = capsys.readouterr().out
    assert re.search(rf"{at_once} +left alone; failed before: .*{re.escape(reason)}", listed)
    assert listed.splitlines()[-1] == "3 runs in here: 0 to do, 1 finished"
    (here / "broken").unlink()
    # How a run is done may change on the way.
    file.write_text(file.read_text().replace("checkpoint_seconds = 0", "checkpoint_seconds = 60"))
    assert main(["campaign", str(file)]) == 0
    assert set(statuses(here / "here").values()) == {"finished"}
    assert_same(here / "here" / later, task="campaign_tasks:BrokenTask", algo="ns", budget=100, **{"task.batches": 3})


def test_what_a_dry_run_lists_and_that_it_writes_nothing(here, capsys):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nseeds = 4\nbudget = 2000\nprocesses = 2\n')
    before = contents(here)
    assert main(["campaign", str(file), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert contents(here) == before
    lines = said.out.splitlines()
    assert lines[:4] == [f"campaign_tasks-PointTask-ns-{seed}  begin, 2,000 evaluations" for seed in range(4)]
    assert lines[4] == "4 runs in runs/c: 4 to do"
    found = re.fullmatch(
        r"about 0:(\d\d) with 2 at a time, (\d):(\d\d) one after another \(from a short trial of each task and method; with"
        r" (\d+) s to start each\)",
        lines[5],
    )
    assert found, lines[5]
    # Rounded; the time to start each run counts.
    assert int(found[1]) + 1 >= 2 * int(found[4]) - 1
    assert int(found[1]) <= 60 * int(found[2]) + int(found[3])
    assert said.err == f"stax: trying {POINT} ns for a moment (1 of 1)\n"

    one = write(here / "one.toml", file.read_text().replace("seeds = 4", "seeds = 1"))
    assert main(["campaign", str(one), "--out", "runs/c", "--quiet"]) == 0
    capsys.readouterr()
    before = contents(here)
    assert main(["campaign", str(file), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[0] == "campaign_tasks-PointTask-ns-0  done"
    assert "4 runs in runs/c: 3 to do, 1 finished" in said.out
    assert "(from the finished runs; with" in said.out
    assert contents(here) == before

    (here / "broken").touch()
    file = write(here / "broken.toml", 'tasks = ["campaign_tasks:BrokenTask"]\nalgos = ["ns"]\nbudget = 100\n')
    assert main(["campaign", str(file), "--dry-run"]) == 0
    assert "campaign_tasks-BrokenTask-ns-0 fails at once: ArithmeticError: the arm has come off" in capsys.readouterr().out
    assert not (here / "runs" / "broken").exists()


def test_options_of_one_task_leave_the_others_alone(here):
    text = """
tasks = ["hard-maze", "gym:CartPole-v1"]
algos = ["random"]
budget = 200

[task_options.hard-maze]
sensors = "published-code"

[task_options."gym:CartPole-v1"]
horizon = 20
make.sutton_barto_reward = true

[[overrides]]

[[overrides]]
name = "long"
tasks = ["gym:CartPole-v1"]
parameters.task.horizon = 40
"""
    campaign = read_campaign(write(here / "c.toml", text))
    options = {run.name: run.config.task_options for run in campaign.runs}
    made = {"sutton_barto_reward": True}
    assert options == {
        "hard-maze-random-0": {"sensors": "published-code"},
        "gym-CartPole-v1-random-0": {"horizon": 20, "make": made},
        "gym-CartPole-v1-random-long-0": {"horizon": 40, "make": made},
    }


def test_two_campaigns_on_one_folder_share_the_work(here, hold):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nseeds = 3\nbudget = 100\nprocesses = 1\n')
    pair = [start(str(file)), start(str(file))]
    wait_until(lambda: sum(has_checkpoint(path) for path in (here / "runs" / "c").glob("campaign_tasks*")) == 2)
    hold.unlink()
    for process in pair:
        _, errors = process.communicate(timeout=60)
        assert process.returncode in (0, 1), errors
        assert "failed" not in errors
    assert main(["campaign", str(file)]) == 0
    for seed in range(3):
        assert_same(here / "runs" / "c" / f"campaign_tasks-PointTask-ns-{seed}", algo="ns", seed=seed, budget=100)


def test_a_run_that_is_being_done_elsewhere_is_left_alone(here, capsys):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nseeds = 2\nbudget = 50\n')
    elsewhere = RunFolder(here / "runs" / "c" / "campaign_tasks-PointTask-ns-1")
    elsewhere.path.mkdir(parents=True)
    with elsewhere.locked():
        assert main(["campaign", str(file), "--dry-run"]) == 0
        assert f"{elsewhere.path.name}  left alone: another process is working on it" in capsys.readouterr().out
        assert main(["campaign", str(file)]) == 1
    assert f"1 run of 2 is being done by another process: {elsewhere.path.name}" in capsys.readouterr().err
    assert list(statuses(here / "runs" / "c").values()) == ["finished", "elsewhere"]
    assert main(["campaign", str(file)]) == 0, "what a killed process has left is no obstacle"
    assert set(statuses(here / "runs" / "c").values()) == {"finished"}


# Ray


@pytest.mark.ray
def test_on_ray_the_runs_are_the_same_even_if_a_worker_dies(here, hold, ray_cluster, capsys):
    text = f'tasks = ["{POINT}"]\nalgos = ["ns"]\nseeds = 2\nbudget = 100\nbackend = "ray"\nprocesses = 1\n'
    # A worker that runs already does not know our environment.
    file = write(here / "c.toml", f'{text}{QUICK}task.hold = "{hold}"\n'.replace(POINT, "campaign_tasks:HeldTask"))
    out = here / "runs" / "c"
    killed: list[int] = []

    def kill_a_worker() -> None:
        wait_until(lambda: has_checkpoint(out / "campaign_tasks-HeldTask-ns-0"))
        killed.append(_kill_worker())
        hold.unlink()

    killer = threading.Thread(target=kill_a_worker)
    killer.start()
    assert main(["campaign", str(file)]) == 0
    killer.join()
    assert killed == [1]
    assert ray_cluster.is_initialized(), "it was running before"
    assert set(statuses(out).values()) == {"finished"}
    for seed in (0, 1):
        folder = out / f"campaign_tasks-HeldTask-ns-{seed}"
        assert_same(folder, task="campaign_tasks:HeldTask", algo="ns", seed=seed, budget=100, **{"task.hold": str(hold)})


def _kill_worker() -> int:
    """Kills the Ray worker that does a run for this process; returns how many there were."""
    killed = 0
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdecimal()
                and (entry / "cmdline").read_bytes().startswith(b"ray::_do")
                and _is_ours(int(entry.name))
            ):
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
        except OSError:
            continue
    return killed


def _is_ours(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        process = int((Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
    return False


# What is shown


class Terminal:
    """A campaign under a terminal of its own."""

    def __init__(self, *arguments: str, rows: int, columns: int, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
        variables |= {"TERM": "xterm-256color", **environment}
        self.process = start(*arguments, env=variables, stdin=slave, stderr=slave)
        os.close(slave)
        self._read = b""

    def read_until(self, words: str | None) -> None:
        """Reads on until the words are shown, or to the end."""
        deadline = time.monotonic() + 60
        while words is None or words not in self.text:
            assert time.monotonic() < deadline, self.text
            try:
                part = os.read(self.master, 65536)
            except OSError:  # the other side is closed
                part = b""
            if not part:
                assert words is None, self.text
                return
            self._read += part

    @property
    def shown(self) -> str:
        return self._read.decode(errors="ignore")

    @property
    def text(self) -> str:
        return CONTROL.sub("", self.shown).replace("\r\n", "\n").replace("\r", "\n")

    def interrupt(self) -> None:
        """As Ctrl-C does: all that belong to the terminal's group of processes hear of it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        self.read_until(None)
        self.process.communicate(timeout=60)
        os.close(self.master)
        return self.process.returncode


@pytest.mark.parametrize("colourless", [{}, {"NO_COLOR": "1"}])
def test_live_table(colourless, here, hold):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nseeds = 2\nbudget = 100\nprocesses = 1\n')
    terminal = Terminal(str(file), rows=30, columns=100, **colourless)
    terminal.read_until("10 %")
    hold.unlink()
    assert terminal.end() == 0
    text, shown = terminal.text, terminal.shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"
    assert max(map(len, text.splitlines())) <= 100
    colours = [code for code in re.findall(r"\x1b\[([0-9;]*)m", shown) if re.search(r"\b(3\d|4\d|9\d)\b", code)]
    assert bool(colours) is not bool(colourless)
    assert re.search(r"campaign_tasks-PointTask-ns-0 +starting", text)
    assert re.search(r"campaign_tasks-PointTask-ns-0 +[━╸╺]+ +10 %", text)
    assert re.search(r"campaign_tasks-PointTask-ns-1 +waiting", text)
    assert "0 of 2 done, 1 running, 1 waiting" in text
    last = text[text.rindex("campaign in runs/c, 1 at a time") :]
    assert re.search(r"campaign_tasks-PointTask-ns-0 +done +coverage \d+.\d %", last)
    assert "100 %  2 of 2 done" in last


def test_live_table_of_many_runs(here, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "13")
    algos = ["ns", "moo-nr", "map-elites", "serene", "stax", "taxons"]
    campaign = read_campaign(write(here / "c.toml", f'tasks = ["redundant-arm"]\nalgos = {algos}\nseeds = 3\nbudget = 100\n'))
    for run in campaign.runs[:6]:
        run.status, run.coverage, run.evaluations = RunStatus.FINISHED, 0.25, 100
    campaign.runs[6].status = campaign.runs[7].status = RunStatus.RUNNING
    campaign.runs[8].status, campaign.runs[8].error = RunStatus.FAILED, "The arm has come off, " * 10
    display = LiveCampaign(Course(campaign, 2, {campaign.runs[8]}))
    display._console.file = io.StringIO()
    display._console.print(display._picture())
    lines = CONTROL.sub("", display._console.file.getvalue()).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 76
    assert lines[0] == "campaign in runs/c, 2 at a time"
    assert lines[1].split() == ["1", "more", "not", "shown", "done", "running", "waiting", "failed", "mean", "coverage"]
    assert lines[2].split() == ["redundant-arm", "ns", "1", "1", "1", "-", "25.0", "%"]
    assert lines[4].split() == ["redundant-arm", "map-elites", "1", "-", "1", "1", "25.0", "%"]
    assert lines[-5].split() == ["redundant-arm-ns-1", "starting"]
    assert lines[-3].startswith("redundant-arm-map-elites-1 failed: The arm has come off, The arm")
    assert lines[-2].split("%")[1] == "  6 of 18 done, 2 running, 9 waiting, 1 failed"
    assert lines[-1].startswith("time   0:00 gone, ")


def test_a_second_request_ends_everything_at_once(here, hold):
    file = write(here / "c.toml", f'tasks = ["{POINT}"]\nalgos = ["ns"]\nbudget = 1000\nprocesses = 1\n')
    folder = here / "runs" / "c" / "campaign_tasks-PointTask-ns-0"
    terminal = Terminal(str(file), rows=24, columns=100)
    wait_until(lambda: has_checkpoint(folder))
    time.sleep(0.5)
    terminal.interrupt()
    terminal.read_until("Ctrl-C again stops at once")
    assert process_of(folder.name) is not None, "it waits for the run's next rest"
    terminal.interrupt()
    assert terminal.end() == 130
    assert process_of(folder.name) is None
    assert "stax: interrupted, 0 of 1 done, 1 waiting, 1 of these begun; do the rest with:" in terminal.text.replace("\n", "")
    hold.unlink()
    assert main(["campaign", str(file), "--quiet"]) == 0
    assert_same(folder, algo="ns", budget=1000)


def test_how_far_it_has_come_and_the_time_left(here, monkeypatch, capsys):
    file = write(here / "c.toml", 'tasks = ["redundant-arm"]\nalgos = ["ns"]\nseeds = 4\nbudget = 1000\nprocesses = 2\n')
    campaign = read_campaign(file)
    done, running, waiting, also_waiting = campaign.runs
    assert seconds_by_kind(campaign.runs) == {}
    course = Course(campaign, 2, set())
    assert course.all_seconds_left() is None
    done.status, done.evaluations, done.seconds = RunStatus.FINISHED, 1000, 20.0
    running.status, running.evaluations, running.seconds = RunStatus.RUNNING, 500, 10.0
    assert seconds_by_kind(campaign.runs) == {done.kind: 20.0}
    assert course.all_seconds_left() == pytest.approx(30.0), "half of one, then one after another beside it"
    assert course.in_words() == "1 of 4 done, 1 running, 2 waiting"
    assert course.share == pytest.approx(0.375)
    display = PlainCampaign(course)
    course.begin(running)
    display("turn", None)
    assert capsys.readouterr().err == "stax: campaign in runs/c: 4 runs, 1 of them done before, 2 at a time\n"
    monkeypatch.setattr("stax.cli.campaign_display._LINE_SECONDS", 0.0)
    display("turn", None)
    assert capsys.readouterr().err == "stax: 1 of 4 done, 1 running, 2 waiting; 0:00 gone, 0:30 left\n"
    waiting.status, also_waiting.status = RunStatus.FAILED, RunStatus.ELSEWHERE
    course.ended.add(waiting)
    assert course.in_words() == "1 of 4 done, 1 running, 1 failed, 1 elsewhere"
    assert course.all_seconds_left() == pytest.approx(10.0)
    assert seconds_together([3, 1, 1, 1], 2) == 3
    assert seconds_together([], 2) == 0


# What is wrong

GOOD = 'tasks = ["redundant-arm"]\nalgos = ["ns"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasks = [", "The configuration 'c.toml' is not TOML: "),
        ('algos = ["ns"]', "c.toml has no tasks; give a list of names, as in tasks = ['hard-maze']."),
        ('tasks = ["redundant-arm"]', "c.toml has no algos; give a list of names, as in algos = ['stax']."),
        ('tasks = "redundant-arm"\nalgos = ["ns"]', "tasks in c.toml must be a list of names, not 'redundant-arm'."),
        ('tasks = []\nalgos = ["ns"]', "tasks in c.toml must be a list of names, not []."),
        ('tasks = ["redundant-arm"]\nalgos = ["ns", "ns"]', "algos in c.toml names 'ns' twice."),
        ('tasks = ["nope"]\nalgos = ["ns"]', "There is no task 'nope'; there are curling,"),
        ('tasks = ["redundant-arm"]\nalgos = ["nss"]', "There is no method 'nss'; did you mean 'ns'?"),
        ('tasks = ["campaign_tasks:AbsentTask"]\nalgos = ["ns"]', "Task 'campaign_tasks:AbsentTask' cannot be made: OSError: no such robot"),
        (GOOD + "seed = 3", "c.toml: There is no key 'seed'; did you mean 'seeds'? there are out, tasks, algos,"),
        (GOOD + "population_size = 3", "c.toml: population_size belongs in the table [parameters]."),
        (GOOD + 'task = "curling"', "c.toml: task belongs in the table [parameters]; a list of tasks is called tasks."),
        (GOOD + "seeds = 0", "seeds in c.toml must be a whole number from 1 to 10,000, not 0."),
        (GOOD + "seeds = []", "seeds in c.toml must be how many or a list of them, not []."),
        (GOOD + "seeds = [1, -1]", "each of the seeds in c.toml must be a whole number from 0 to 9,223,372,036,854,775,807, not -1."),
        (GOOD + "seeds = [1, 1]", "seeds in c.toml has 1 twice."),
        (GOOD + "processes = 0", "processes must be a whole number from 1 to 10,000, not 0."),
        (GOOD + "workers = 1.5", "workers must be a whole number from 1 to 10,000, not 1.5."),
        (GOOD + "budget = 99", "budget must be at least one population of 100 evaluations, not 99."),
        (GOOD + 'preset = "papr"', "There is no preset 'papr'; did you mean 'paper'?"),
        (GOOD + 'device = "tpu"', "device must be one of 'auto', 'cpu', 'cuda', 'mps', not 'tpu'."),
        (GOOD + 'backend = "slurm"', "backend must be one of 'local', 'ray', not 'slurm'."),
        (GOOD + 'address = "auto"', "address must be that of a Ray cluster, with backend 'ray', not 'auto'."),
        (GOOD + "out = 3", "out in c.toml must be a folder, not 3."),
        (GOOD + "parameters = 3", "parameters in c.toml must be a table, not 3."),
        (GOOD + "[parameters]\ncodesize = 3", "There is no parameter 'codesize'; did you mean 'code_size'?"),
        (GOOD + '[parameters]\ndescriptor = "magic"', "Parameter descriptor must be one of"),
        (GOOD + "[parameters]\ntask.wheels = 3", "Task 'redundant-arm' has no option 'wheels'; it has"),
        (GOOD + "task_options = 3", "task_options in c.toml must be tables [task_options.TASK], not 3."),
        (GOOD + '[task_options.curling]\nx = 1', "task_options in c.toml is for 'curling', which is not among the campaign's tasks: "),
        (GOOD + "overrides = 3", "overrides in c.toml must be tables [[overrides]], not 3."),
        (GOOD + '[[overrides]]\nname = "a/b"', "name of override 1 in c.toml must be of at most 100 letters, digits, '_', '.' and '-', not 'a/b'."),
        (GOOD + '[[overrides]]\nname = "a"\n[[overrides]]\nname = "a"', "override 2 in c.toml has the name 'a', as another has."),
        (GOOD + '[[overrides]]\n[[overrides]]', "override 2 in c.toml has no name, as another has."),
        (GOOD + '[[overrides]]\nalgos = ["stax"]', "override 1 in c.toml is for 'stax', which is not among the campaign's algos: ns."),
        (GOOD + "[[overrides]]\nseeds = 3", "override 1 in c.toml: There is no key 'seeds'; there are name, tasks,"),
        (GOOD + "[[overrides]]\nchunk_size = 3", "override 1 in c.toml: chunk_size belongs in the table [parameters]."),
        (GOOD + "[[overrides]]\nparameters.chunk_size = 0", "Parameter chunk_size must be a whole number from 1 to 1,000,000,000, not 0."),
        (
            'tasks = ["campaign_tasks:PointTask"]\nalgos = ["stax", "stax-nt"]\n[[overrides]]\nname = "nt"\nalgos = ["stax"]',
            "stax on campaign_tasks:PointTask (nt) and stax-nt on campaign_tasks:PointTask would be kept in the same folder",
        ),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_sentence_and_nothing_is_begun(text, message, here, capsys):
    (here / "c.toml").write_text(text)
    assert main(["campaign", "c.toml"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"stax: {message}")
    assert said.err.count("\n") == 1
    assert [path.name for path in here.iterdir() if path.name != "__pycache__"] == ["c.toml"]


def test_other_bad_input(here, capsys):
    assert main(["campaign", "nowhere.toml"]) == 2
    assert capsys.readouterr().err == "stax: The configuration 'nowhere.toml' is missing.\n"
    write(here / "c.toml", GOOD)
    assert main(["campaign", "c.toml", "--out", "/dev/null/x"]) == 2
    assert capsys.readouterr().err.startswith("stax: The campaign's folder '/dev/null/x' cannot be made: ")
    folder = here / "runs" / "c" / "redundant-arm-ns-0"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("important")
    assert main(["campaign", "c.toml"]) == 2
    assert capsys.readouterr().err == (
        "stax: 'runs/c/redundant-arm-ns-0' is not the folder of a run: it has no config.toml; move it away.\n"
    )
    assert contents(here / "runs") == {"c/redundant-arm-ns-0/notes.txt": b"important"}


def test_without_ray(here, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    write(here / "c.toml", GOOD)
    assert main(["campaign", "c.toml", "--backend", "ray"]) == 2
    assert capsys.readouterr().err == "stax: The backend 'ray' needs the package 'ray': pip install 'stax-qd[ray]'.\n"
    assert not (here / "runs").exists()


def test_options_change_the_file(here):
    file = write(here / "c.toml", GOOD + 'backend = "ray"\naddress = "auto"\nprocesses = 7\nworkers = 2\n')
    campaign = read_campaign(file, {"backend": "local", "out": "there", "processes": None})
    assert (campaign.backend, campaign.address, campaign.processes, campaign.workers) == ("local", None, 7, 2)
    assert [run.folder.path for run in campaign.runs] == [Path("there/redundant-arm-ns-0")]
    assert campaign.runs[0].config.workers == 2
    with pytest.raises(InvalidInputError, match="address must be that of a Ray cluster"):
        read_campaign(write(here / "d.toml", GOOD), {"address": "auto"})


def test_the_example_is_a_campaign(here):
    campaign = read_campaign(TESTS.parent / "examples" / "campaign.toml")
    assert len(campaign.runs) > 1
