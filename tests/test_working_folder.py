"""A working folder that is a stranger's: nothing in it is imported or obeyed unless the user says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stax
import stax_command
from every_command import COMMANDS
from run_folders import Stop
from stax.cli.main import main

TESTS = Path(__file__).parent
PARAMETERS = {
    "population_size": 10,
    "chunk_size": 10,
    "max_epochs": 1,
    "max_images_per_episode": 100,
    "code_size": 2,
    "emitter_population": 3,
    "bootstrap_generations": 2,
}
HIDDEN = (
    "multiprocessing",
    "numba",
    "numpy",
    "pandas",
    "pickle",
    "pyarrow",
    "sitecustomize",
    "socket",
    "torch",
    "usercustomize",
)
"""Names of modules that are there, and must not be hidden by files of the working folder."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of a finished run, and in it a run that is not finished and a campaign."""
    folder = tmp_path_factory.mktemp("working-folder") / "run"
    stax.run("redundant-arm", algo="stax", budget=60, out=folder, **PARAMETERS)
    with pytest.raises(stax.RunInterrupted):
        stax.run(
            "redundant-arm", algo="ns", budget=60, out=folder / "unfinished", stop=Stop(2), isolation="process", **PARAMETERS
        )
    (folder / "campaign.toml").write_text(
        'tasks = ["redundant-arm"]\nalgos = ["ns"]\nbudget = 20\n[parameters]\npopulation_size = 10\n'
    )
    return folder


def do_every_command(folder: Path) -> dict:
    environment = {**os.environ, "MPLCONFIGDIR": str(folder.parent / "matplotlib")}
    done = subprocess.run(
        [sys.executable, TESTS / "every_command.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_command_runs_a_file_of_the_working_folder(folder, tmp_path):
    clean, hostile = tmp_path / "clean", tmp_path / "hostile"
    shutil.copytree(folder, clean)
    shutil.copytree(folder, hostile)
    found = do_every_command(clean)
    assert found["codes"] == [0] * len(COMMANDS), list(zip(COMMANDS, found["codes"], strict=True))
    # Optional packages that libraries try to import, for instance pandas' tabulate.
    assert len(found["missing"]) > 10
    marker = tmp_path / "code-was-run"
    for name in {*found["missing"], *HIDDEN}:
        (hostile / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r} + '\\n')\n")
    (hostile / "matplotlibrc").write_text("savefig.dpi: 17\nbackend: module://backend_of_a_stranger\n")
    (hostile / ".numba_config.yaml").write_text(f"cache_dir: {hostile / 'cache'}\n")
    seen = do_every_command(hostile)
    assert not marker.exists(), marker.read_text()
    assert seen["codes"] == found["codes"]
    assert seen["on_path"] == []
    assert (seen["dpi"], seen["cache"]) == ("figure", os.environ.get("NUMBA_CACHE_DIR", ""))
    assert not (hostile / "cache").exists()


@pytest.fixture
def own_folder(tmp_path, monkeypatch) -> Path:
    """A working folder with a module `task_of_folder` that is not on the import path."""
    shutil.copy(TESTS / "troubled_tasks.py", tmp_path / "task_of_folder.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    yield tmp_path
    sys.modules.pop("task_of_folder", None)


def test_the_working_folder_is_searched_for_code_that_the_user_names(own_folder, capsys):
    assert main(["check-task", "stax.tasks.redundant_arm:RedundantArm"]) == 0
    assert main(["tasks"]) == 0
    assert str(own_folder) not in sys.path
    assert main(["check-task", "task_of_folder:SquareTask"]) == 0, capsys.readouterr()
    # Behind everything that is installed.
    assert sys.path[-1] == str(own_folder)


@pytest.mark.parametrize(("command", "code"), [("resume", 0), ("report", 0), ("replay", 2)], ids=["resume", "report", "replay"])
def test_code_of_a_run_is_imported_from_the_working_folder_with_trust_alone(command, code, own_folder, capsys):
    words = [command, "run", *(["--random", "1"] if command == "replay" else [])]
    sizes = ["--set", "population_size=10", "--set", "chunk_size=10", "--set", "isolation=none"]
    run = ["run", "task_of_folder:SquareTask", "--algo", "ns", "--budget", "20", *sizes, "--out", "run", "--quiet"]
    assert main(run) == 0, capsys.readouterr().err
    (own_folder / "run" / "archives.png").unlink()
    del sys.modules["task_of_folder"]
    sys.path.remove(str(own_folder))

    assert main(words) == code
    assert "task_of_folder" not in sys.modules
    assert str(own_folder) not in sys.path
    if command == "resume":
        assert "task_of_folder:SquareTask" in capsys.readouterr().err
        assert not (own_folder / "run" / "archives.png").exists()

    # The task cannot be replayed as a film, since it has no picture of itself.
    assert main([*words, "--trust"]) == code, capsys.readouterr().err
    assert "task_of_folder" in sys.modules
    if command == "resume":
        assert (own_folder / "run" / "archives.png").exists()


def test_python_dash_m_does_not_import_from_the_working_folder(tmp_path):
    for name in ("numpy", "gymnasium", "argparse", "stax_command"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the working folder was run')\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(stax_command.__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-m", "stax", "--version"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
