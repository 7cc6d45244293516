"""`stax compare`, end to end."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import stax
from stax.analysis.comparison_files import COLUMNS
from stax.cli.main import main
from stax.runs.folder import RunFolder

STAX = Path(sys.executable).parent / "stax"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PLOTS = ("coverage-over-evaluations", "coverage-at-the-end", "reward-over-evaluations")


@pytest.fixture(scope="module")
def output(runs) -> str:
    done = subprocess.run([str(STAX), "compare", str(runs), "--against", "ns"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_the_table(runs, output):
    lines = output.splitlines()
    assert lines[0] == "redundant-arm after 500 evaluations, all with chunk_size=50, population_size=20"
    heading = ["seeds", "median", "(range)", "p", "(Holm)", "A", "verdict", "evaluations", "to", "80", "%", "of", "1"]
    assert lines[1].split() == heading
    assert [line for line in lines[2:-1] if not line.startswith("  ")] == [
        *("coverage", "coverage by exploration", "QD-score"),
        *("cells with reward 0.2", "cells with reward 0.5", "cells with reward 0.8"),
        *("best reward, lower left", "best archived reward, lower left"),
        *("best reward, upper right", "best archived reward, upper right"),
        *("best reward, upper left", "best archived reward, upper left"),
    ]
    shares = sorted(100 * summary(runs / f"ns-{seed}")["coverage"] for seed in range(5))
    row = f"  ns           5  {shares[2]:.1f} % ({shares[0]:.1f} to {shares[4]:.1f})"
    assert lines[5].startswith(row)
    assert lines[5].rstrip().endswith("the reference")
    assert lines[3].startswith("  stax-nt      2  ")
    assert lines[3].rstrip().endswith("too few seeds")
    assert re.match(
        r"  serene +5 .* [01]\.\d{3}  [01]\.\d\d  (not significant|higher, large effect|lower, large effect)$", lines[4]
    )
    assert lines[-1].startswith(
        "Each against ns: two-sided Mann-Whitney U test over seeds, p after Holm for the 2 comparisons of"
    )
    assert lines[-1].endswith("Too few seeds: however clear the difference, p could not be significant.")
    assert "\x1b" not in output
    assert not any(line.endswith(" ") for line in lines)


def test_json_has_every_value(runs, capsys):
    assert main(["compare", str(runs), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    (task,) = found["tasks"]
    assert (task["task"], task["evaluations"], task["against"]) == ("redundant-arm", 500, "stax-nt")
    assert [method["label"] for method in task["methods"]] == ["stax-nt", "serene", "ns"]
    assert task["methods"][2]["seeds"] == [0, 1, 2, 3, 4]
    assert task["methods"][2]["folders"][3] == str(runs / "ns-3")
    coverage = [finding for finding in task["findings"] if finding["measure"] == "coverage"]
    for finding in coverage:
        seeds = range(finding["seeds"])
        assert finding["values"] == [summary(runs / f"{finding['method']}-{seed}")["coverage"] for seed in seeds]
    assert coverage[0]["verdict"] == ""
    assert coverage[2]["verdict"] == "too few seeds (5 and 2; p at best 0.19)"
    assert coverage[2]["p"] is None
    never = [
        finding for finding in task["findings"] if finding["measure"] == "evaluations to 80 %" and not any(finding["values"])
    ]
    assert never
    assert never[0]["median"] is None


def test_files(runs, tmp_path, capsys):
    out = tmp_path / "deep" / "er"
    table = tmp_path / "table.csv"
    assert main(["compare", str(runs), "--against", "ns", "--out", str(out), "--csv", str(table)]) == 0
    printed = capsys.readouterr()
    expected = ["comparison.csv", "comparison.md", *(f"{plot}.{kind}" for plot in PLOTS for kind in ("png", "pdf"))]
    assert printed.err == f"stax: written to {out}: {', '.join(expected)}\n"
    assert sorted(path.name for path in out.iterdir()) == sorted(expected)
    assert table.read_text() == (out / "comparison.csv").read_text()
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 3 * 15
    assert {row["method"] for row in rows} == {"stax-nt", "serene", "ns"}
    serene = next(row for row in rows if (row["measure"], row["method"]) == ("coverage", "serene"))
    shares = sorted(summary(runs / f"serene-{seed}")["coverage"] for seed in range(5))
    assert [float(serene[name]) for name in ("lowest", "median", "highest")] == [shares[0], shares[2], shares[4]]
    assert float(serene["interval_low"]) <= shares[2] <= float(serene["interval_high"])
    assert serene["against"] == "ns"
    page = (out / "comparison.md").read_text()
    assert page.startswith("# Comparison\n\n## redundant-arm after 500 evaluations, all with")
    assert "### best reward, upper left\n\n| method | seeds |" in page
    assert page.count("\n| ns |") == 15
    assert page.rstrip().endswith("![reward over evaluations](reward-over-evaluations.png)")
    # Again into the same folder: the same bytes.
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert main(["compare", str(runs), "--against", "ns", "--out", str(out)]) == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize("columns", [80, 140])
def test_on_a_terminal(runs, columns):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "COLUMNS", "FORCE_COLOR"):
        environment.pop(name, None)
    command = [str(STAX), "compare", str(runs)]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment, text=True)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.stderr is not None
    with process.stderr as errors:
        assert errors.read() == ""
    assert process.wait(60) == 0
    os.close(master)
    text = shown.decode()
    assert "\x1b[1m" in text
    lines = CONTROL.sub("", text).replace("\r", "").splitlines()
    beside = "evaluations to 80 %" in lines[1] or "evaluations to 80 %" in lines[2]
    assert beside is (columns == 140)
    assert ("evaluations to 80 % of 1, lower left" in lines) is not beside
    assert max(map(len, lines)) <= columns


def test_unfinished_runs(own_runs, capsys):
    def set_status(name: str, status: str) -> None:
        path = own_runs / name / "summary.json"
        path.write_text(json.dumps(summary(own_runs / name) | {"status": status, "evaluations": 120}))

    set_status("ns-1", "running")
    assert main(["compare", str(own_runs)]) == 2
    assert capsys.readouterr().err == (
        f"stax: The run in '{own_runs}/ns-1' was killed after 120 of 500 evaluations; go on with it: stax resume {own_runs}/ns-1."
        " (--finished-only leaves such runs out.)\n"
    )
    set_status("ns-2", "failed")
    with RunFolder(own_runs / "ns-1").locked():
        assert main(["compare", str(own_runs)]) == 2
    assert capsys.readouterr().err == (
        f"stax: 2 of 12 runs are not finished. The first of them: The run in '{own_runs}/ns-1' is still going (120 of 500"
        " evaluations). (--finished-only leaves such runs out.)\n"
    )
    assert main(["compare", str(own_runs), "--finished-only"]) == 0
    out, err = capsys.readouterr()
    assert err == "stax: 2 of 12 runs are not finished and left out.\n"
    assert re.search(r"(?m)^  ns +3 ", out)
    assert main(["compare", str(own_runs / "ns-1"), "--finished-only"]) == 2
    assert capsys.readouterr().err.endswith("stax: None of the 1 runs is finished: there is nothing to compare.\n")


def test_bad_input(runs, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    broken = shutil.copytree(runs / "ns-0", tmp_path / "broken")
    (broken / "ledger.parquet").unlink()
    damaged = shutil.copytree(runs / "ns-0", tmp_path / "damaged")
    (damaged / "config.toml").write_text("task = ")
    for arguments, words in (
        ([str(tmp_path / "nowhere")], f"There is no folder '{tmp_path}/nowhere'."),
        ([str(tmp_path / "empty")], f"The folder '{tmp_path}/empty' is empty."),
        ([str(broken)], f"The file '{broken}/ledger.parquet' is missing."),
        ([str(runs), "--out", str(tmp_path / "file")], f"The output folder '{tmp_path}/file' is a file."),
        ([str(runs), "--budget", "9000"], "The budget to compare at is 9,000 evaluations, but the run in "),
        ([str(runs), "--against", "nss"], "On redundant-arm: There is no method 'nss'; did you mean 'ns'?"),
        (
            [str(runs), "--csv", str(tmp_path / "no" / "table.csv")],
            f"The file '{tmp_path}/no/table.csv' cannot be written: No such",
        ),
        ([str(damaged)], f"The configuration '{damaged}/config.toml' is not TOML: "),
    ):
        assert main(["compare", *arguments]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"stax: {words}")
        assert err.count("\n") == 1
    with pytest.raises(SystemExit) as wrong:
        main(["compare"])
    assert wrong.value.code == 2


def test_tasks_are_compared_each_by_itself_and_nobodys_code_is_run(runs, square_run, tmp_path, capsys):
    shutil.copytree(runs, tmp_path / "runs")
    own = Path(shutil.copytree(square_run, tmp_path / "runs" / "own"))
    config = own / "config.toml"
    config.write_text(config.read_text().replace("toy_tasks:SquareTask", "gone_with_the_wind:SquareTask"))
    assert main(["compare", str(tmp_path / "runs")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    arm, own_part = out.split("\n\n")
    assert arm.startswith("redundant-arm after 500 evaluations, all with chunk_size=50, population_size=20\n")
    assert own_part.startswith(
        "gone_with_the_wind:SquareTask after 600 evaluations, all with chunk_size=24, population_size=12\n"
    )
    assert " ".join(own_part.splitlines()[1].split()).startswith("seeds median (range) evaluations to 80 % of")
    assert f"  serene      1  {100 * stax.load(square_run).coverage:.1f} %" in own_part
    assert "Mann-Whitney" not in own_part


def test_different_options_are_told(own_runs, capsys):
    config = own_runs / "ns-1" / "config.toml"
    text = config.read_text().replace("[task_description]", '[parameters.task]\nview = "end-effector"\n\n[task_description]')
    config.write_text(text)
    assert main(["compare", str(own_runs)]) == 0
    out, err = capsys.readouterr()
    assert err.startswith(
        "stax: The runs of redundant-arm have different options, the usual ones and view=end-effector: they are"
    )
    assert "\nredundant-arm (view=end-effector) after 500 evaluations" in out
    assert main(["compare", str(own_runs), "--mix-options"]) == 0
    assert "  ns (task.view=end-effector)      1  " in capsys.readouterr().out
