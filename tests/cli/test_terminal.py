"""The command and its surroundings: lost terminals, full disks behind its streams, signals at any moment, odd names of folders."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import stax
import stax_command
from run_folders import differences
from stax.cli.main import main

STAX = [sys.executable, str(stax_command.__file__)]
"""As the installed script starts: with no more than this module."""
QUICK = ["--set", "population_size=10", "--set", "chunk_size=10", "--set", "archive_additions=2"]
ARGUMENTS = ["redundant-arm", "--algo", "ns", "--budget", "60", "--workers", "1", *QUICK]
SHELL = "/bin/sh"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "120", **more}


def in_shell(script: str, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `"$@"` is the command, its last word aside."""
    return subprocess.run(
        [SHELL, "-c", script, "sh", *STAX, *map(str, words)],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=cwd,
        timeout=120,
    )


def status(folder: Path) -> str:
    return json.loads((folder / "summary.json").read_text())["status"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("terminal") / "run"
    assert main(["run", *ARGUMENTS, "--out", str(folder), "--quiet"]) == 0
    return folder


# Streams


@pytest.mark.parametrize("streams", ["2>&1 | :", "2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_a_run_goes_on_without_anybody_to_read_its_messages(streams, tmp_path, finished):
    out = tmp_path / "run"
    script = f'{{ "$@"; echo $? > "{tmp_path}/code"; }} {streams}'
    done = in_shell(script, "run", *ARGUMENTS, "--out", out)
    assert (tmp_path / "code").read_text() == "0\n", done.stderr
    assert status(out) == "finished"
    assert (out / "archives.png").exists()
    assert not differences(out, finished)


def test_what_a_task_prints_in_a_worker_is_dropped_without_a_terminal(tmp_path):
    out = tmp_path / "run"
    words = ["run", "own_tasks:TalkingTask", "--algo", "stax-nt", "--budget", "100", "--workers", "1", "--out", out]
    script = f'cd "{Path(__file__).parents[1]}" && {{ "$@"; echo $? > "{tmp_path}/code"; }} 2>&1 | :'
    in_shell(script, *words)
    assert (tmp_path / "code").read_text() == "0\n"
    assert status(out) == "finished"
    assert not json.loads((out / "summary.json").read_text())["failed_evaluations"]


def test_a_campaign_goes_on_without_anybody_to_read_its_messages(tmp_path):
    (tmp_path / "campaign.toml").write_text(
        'tasks = ["redundant-arm"]\nalgos = ["ns"]\nseeds = 2\nbudget = 20\n[parameters]\npopulation_size = 10\n'
    )
    script = f'{{ "$@"; echo $? > "{tmp_path}/code"; }} 2>&1 | :'
    in_shell(script, "campaign", "campaign.toml", "--out", "runs", cwd=tmp_path)
    assert (tmp_path / "code").read_text() == "0\n"
    assert [status(tmp_path / "runs" / f"redundant-arm-ns-{seed}") for seed in (0, 1)] == ["finished", "finished"]


@pytest.mark.parametrize(("stream", "reason"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_a_list_that_cannot_be_written_is_a_failure(stream, reason, finished):
    for words in (["show", finished], ["compare", finished], ["--help"]):
        done = in_shell(f'"$@" {stream}', *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"stax: standard output cannot be written to: {reason}\n"


def test_the_path_of_a_finished_run_that_cannot_be_written_is_no_failure(tmp_path):
    done = in_shell('"$@" >/dev/full', "run", *ARGUMENTS, "--out", tmp_path / "run", "--quiet")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"stax: everything is written to {tmp_path / 'run'}, but standard output cannot be written to: No space left on device"
    ]


@pytest.mark.parametrize("command", ["show", "compare"])
def test_a_reader_that_has_seen_enough_is_no_failure(command, finished, tmp_path):
    done = in_shell(f'{{ "$@"; echo $? > "{tmp_path}/code"; }} | :', command, finished)
    assert (done.stderr, (tmp_path / "code").read_text()) == ("", "0\n")


def test_a_task_that_breaks_the_contract_fails_whoever_reads_it(tmp_path):
    script = f'cd "{Path(__file__).parents[1]}" && {{ "$@"; echo $? > "{tmp_path}/code"; }} | :'
    in_shell(script, "check-task", "own_tasks:NanRewardTask")
    assert (tmp_path / "code").read_text() == "1\n"


def test_files_do_not_become_standard_streams():
    code = "import stax_command, os; stax_command.open_standard_streams(); print(os.open('/', os.O_RDONLY) > 2)"
    done = in_shell(f'{sys.executable} -c "{code}" <&- 2>&-')
    assert done.stdout == "True\n"


# Signals


def test_a_closed_terminal_stops_a_run_and_saves_it(tmp_path, finished):
    out = tmp_path / "run"
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*STAX, "run", *ARGUMENTS, "--budget", "300000", "--out", str(out)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        # The first process of a session becomes the one that its terminal hangs up on.
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
        env=environment(TERM="xterm"),
    )
    os.close(slave)
    deadline = time.monotonic() + 60
    while not list(out.glob("checkpoints/*.npz")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        with suppress(BlockingIOError):
            os.set_blocking(master, False)
            os.read(master, 2**16)
        time.sleep(0.01)
    os.close(master)
    assert process.wait(60) == 130
    assert status(out) == "interrupted"


def test_a_run_under_nohup_does_not_hear_that_the_terminal_is_closed(tmp_path):
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\nimport stax_command; print(stax_command.stop_signals())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "SIGTERM" in done.stdout
    assert "SIGHUP" not in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3, 0.7])
def test_a_signal_while_modules_are_imported_is_one_line(number, seconds, tmp_path):
    # The script says when its first lines are done: before that, signals are Python's own affair.
    start = (
        "import sys, stax_command; stax_command.prepare_process(); print(flush=True); sys.argv[0] = 'stax'; stax_command.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, "run", *ARGUMENTS, "--budget", "300000", "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("stax: interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_callback_of_c_code_is_raised_after_it(number):
    """Such as the one by which Numba's compiler stores what it has compiled."""
    code = (
        "import ctypes, signal, time\nfrom stax.cli.interruption import raise_on_signals\n"
        f"raise_on_signals()\nctypes.CFUNCTYPE(None)(lambda: signal.raise_signal({int(number)}))()\n"
        "try:\n    time.sleep(50)\nexcept KeyboardInterrupt:\n    print('stopped')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped\n", "")


def test_the_command_is_ready_for_signals_before_anything_large_is_imported():
    code = "import sys, stax_command; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "stax_command" in loaded
    assert not {"stax", "numpy", "gymnasium"} & set(loaded)


# The picture


@pytest.fixture
def slow_picture(monkeypatch, tmp_path):
    """Has the command tell by a file when it draws its picture, and take very long for it."""
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\n\n\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'stax.analysis.picture':\n"
        "            import pathlib, time\n\n"
        f"            pathlib.Path({str(tmp_path / 'drawing')!r}).touch()\n"
        "            for _ in range(6000):  # one long sleep would miss a signal that comes just before it\n"
        "                time.sleep(0.01)\n\n\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return environment(PYTHONPATH=path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_stopped_while_its_picture_is_drawn_gets_it_by_resume(number, slow_picture, tmp_path, finished, capfd):
    out = tmp_path / "run"
    process = subprocess.Popen(
        [*STAX, "run", *ARGUMENTS, "--out", str(out), "--quiet"], stderr=subprocess.PIPE, text=True, env=slow_picture
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "drawing").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert status(out) == "finished"
    assert not (out / "archives.png").exists()
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert len(said.splitlines()) == 1
        assert "all results are saved" in said
        assert f"stax resume {out}" in said
    assert main(["resume", str(out)]) == 0
    assert "archives.png is missing and will be drawn now" in capfd.readouterr().err
    assert (out / "archives.png").read_bytes() == (finished / "archives.png").read_bytes()
    assert main(["resume", str(out)]) == 0
    assert "nothing to do" in capfd.readouterr().err


# Names of folders


@pytest.mark.parametrize("name", ["exp:1", "file:exp", os.fsdecode(b"n\xff\xfe"), "a b'c\"d", "-é-"])
def test_a_folder_may_have_any_name(name, commands, tmp_path):
    assert commands.do("run", *ARGUMENTS, f"--out={name}", "--quiet", cwd=tmp_path) == (0, f"{name}\n")
    for command in ("show", "report", "compare"):
        code, said = commands.do(command, "--", name, cwd=tmp_path)
        assert code == 0, said
    assert commands.do("resume", "--quiet", "--", name, cwd=tmp_path) == (0, f"{name}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert stax.load(name).evaluations == 60


def test_a_folder_that_results_cannot_be_written_to_is_refused_before_anything_is_evaluated(tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(5, "Input/output error")

    def evaluate(*_):
        raise AssertionError("evaluated")

    monkeypatch.setattr(sys.modules["stax.runs.run_in_progress"], "write_ledger", refuse)
    monkeypatch.setattr("stax.tasks.compiled.CompiledTask.evaluate", evaluate)
    assert main(["run", *ARGUMENTS, "--out", str(tmp_path / "run")]) == 2
    assert f"Results cannot be kept in the folder '{tmp_path / 'run'}': Input/output error." in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


# Permissions of an ordinary user


def as_ordinary_user(*words: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Do a command for which permissions hold, also if the tests are run by root."""
    powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*powerless, *STAX, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**variables),
        timeout=200,
    )


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of a finished run, whose permissions are given back at the end, so that it can be removed."""
    copy = shutil.copytree(finished, tmp_path / "copy")
    yield copy
    copy.chmod(0o700)
    for path in copy.rglob("*"):
        path.chmod(0o700)


@pytest.mark.parametrize("name", ["", "summary.json", "archives", "ledger.parquet"])
def test_a_run_that_may_not_be_read_is_one_sentence(name, copy, tmp_path):
    (copy / name).chmod(0)
    done = as_ordinary_user("report", copy, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Permission" in done.stderr
    assert str(copy / name) in done.stderr


@pytest.mark.parametrize(
    "words",
    [["run", *ARGUMENTS, "--out", "new"], ["run", *ARGUMENTS], ["report", "."], ["new-task", "walk"]],
    ids=["run --out", "run", "report", "new-task"],
)
def test_a_folder_that_may_not_be_written_to_is_one_sentence(words, copy):
    before = sorted(copy.rglob("*"))
    copy.chmod(0o500)
    done = as_ordinary_user(*words, cwd=copy)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Permission denied" in done.stderr
    assert sorted(copy.rglob("*")) == before


def test_a_finished_run_that_may_only_be_read_is_finished(copy, tmp_path):
    (copy / "archives.png").unlink()
    copy.chmod(0o500)
    done = as_ordinary_user("resume", copy, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{copy}\n")
    assert "the picture could not be drawn: PermissionError" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_needs_no_home_folder(copy, tmp_path):
    copy.chmod(0o500)
    out = tmp_path / "run"
    home = {"HOME": str(copy / "home"), "MPLCONFIGDIR": str(copy / "matplotlib"), "XDG_CACHE_HOME": str(copy / "cache")}
    done = as_ordinary_user("run", *ARGUMENTS, "--out", out, "--quiet", cwd=copy, **home)
    assert (done.returncode, done.stdout) == (0, f"{out}\n"), done.stderr
    assert (out / "archives.png").exists()


def test_messages_are_printable_and_of_bounded_length(monkeypatch, capsys):
    def show(*_, **__):
        raise stax.InvalidInputError("The name \x1b[31mred\x07 is " + "very " * 20_000 + "long.")

    monkeypatch.setattr("stax.cli.commands.show.run", show)
    assert main(["show", "folder"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("stax: The name ?[31mred? is very very")
    assert len(said) < 5_000
    assert all(letter.isprintable() for letter in said.removesuffix("\n"))
