"""The examples of docs/notebooks.md run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import stax

PAGE = Path(__file__).parents[2] / "docs" / "notebooks.md"


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 3
    names: dict[str, object] = {"__name__": "example"}
    for number, code in enumerate(examples):
        exec(compile(code, f"{PAGE.name}, example {number}", "exec"), names)
    assert abs(names["reward"] - names["best"].reward[0]) < 1e-6
    assert "2,000 of 2,000" in capsys.readouterr().err
    assert stax.load(tmp_path / "runs" / "by-hand").status == "finished"
