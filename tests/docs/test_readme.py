"""The examples of the documentation run as they stand, and print what the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stax
from stax.tasks.contract import check_task

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/index.md", "docs/emitters.md", "docs/own-tasks.md", "docs/tasks.md")
_EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
"""The code, and if a block of text follows, what the code prints."""
EXAMPLES = [(page, code, printed) for page in PAGES for code, printed in _EXAMPLE.findall((ROOT / page).read_text())]


@pytest.mark.parametrize(("page", "code", "printed"), EXAMPLES)
def test_examples_run(page, code, printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(code, page, "exec"), names)
    if printed:
        assert capsys.readouterr().out == printed
    for made in list(names.values()):
        if isinstance(made, type) and issubclass(made, stax.Task):
            assert [finding for finding in check_task(made()) if finding.problem] == []


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
    assert all(printed for page, _, printed in EXAMPLES if page == "README.md")


def test_pictures_and_links_are_there():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), (page.name, target)
