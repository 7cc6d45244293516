"""The examples of docs/ecosystem.md run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from optional_packages import need

PAGE = Path(__file__).parents[2] / "docs" / "ecosystem.md"


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    for module in ("ribs", "onnx", "onnxruntime", "tensorboard"):
        need(module)
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) >= 8
    names: dict[str, object] = {"__name__": "example"}
    for number, code in enumerate(examples):
        exec(compile(code, f"{PAGE.name}, example {number}", "exec"), names)
    result, policy = names["result"], names["number"]
    archive = result.reward_archive
    row = archive.id.tolist().index(policy)
    assert names["info"]["ground_truth"] == pytest.approx(archive.ground_truth[row], abs=1e-6)
    assert names["reward"] == pytest.approx(archive.reward[row], abs=1e-4)
    assert "all areas found within" in capsys.readouterr().out
    assert (tmp_path / "logs" / "arm.csv").is_file()
    assert list((tmp_path / "board" / "second").iterdir())
    import matplotlib.pyplot as plt

    plt.close("all")
