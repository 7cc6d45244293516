"""The examples of the documentation run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stax
from stax.tasks.contract import check_task

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/emitters.md", "docs/own-tasks.md", "docs/tasks.md")
EXAMPLES = [(page, code) for page in PAGES for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)]


@pytest.mark.parametrize(("page", "code"), EXAMPLES)
def test_examples_run(page, code):
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(code, page, "exec"), names)
    for made in list(names.values()):
        if isinstance(made, type) and issubclass(made, stax.Task):
            assert [finding for finding in check_task(made()) if finding.problem] == []


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


def test_pictures_and_links_are_there():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), (page.name, target)
