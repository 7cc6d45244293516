"""The tutorials run as they stand, with small budgets."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page.stem for page in (DOCS / "tutorials").glob("*.md"))

_spec = importlib.util.spec_from_file_location("make_tutorials", DOCS / "make_tutorials.py")
assert _spec
assert _spec.loader
make_tutorials = importlib.util.module_from_spec(_spec)
sys.modules["make_tutorials"] = make_tutorials
_spec.loader.exec_module(make_tutorials)


def test_there_are_tutorials():
    assert {"first-search", "gymnasium", "ask-and-tell", "comparing", "ray"} <= set(PAGES)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_tutorials_run(name):
    command = [sys.executable, str(DOCS / "make_tutorials.py"), "--short", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{name}.md: done\n"


@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_where_they_belong(name):
    page = (DOCS / "tutorials" / f"{name}.md").read_text()
    blocks = list(make_tutorials.blocks(page))
    assert blocks
    assert make_tutorials.with_outputs(page, {}) == page
    marks = page.count("<!-- output -->")
    assert page.count("<!-- end of output -->") == marks, "run docs/make_tutorials.py"
    again = make_tutorials.with_outputs(page, {block.end: "said" for block in blocks})
    assert again.count("```text\nsaid\n```") == marks
    assert make_tutorials.with_outputs(again, {block.end: "said" for block in make_tutorials.blocks(again)}) == again


def test_a_page_is_done_in_order(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '```python title="own.py"\nanswer = 42\n```\n\n```python\nimport own\n\nprint(own.answer)\n```\n\n<!-- output -->\n\n'
        "```console\n$ echo --budget 7000 > said\n$ cat said\n```\n\n<!-- output -->\n"
    )
    (tmp_path / "folder").mkdir()
    printed = make_tutorials.run_page(page, tmp_path / "folder", short=True)
    sys.path.remove(str(tmp_path / "folder"))
    assert list(printed.values()) == ["42\n", "--budget 1500\n"]
    text = make_tutorials.with_outputs(page.read_text(), printed)
    assert "<!-- output -->\n```text\n42\n```\n<!-- end of output -->\n" in text
    empty_again = text.replace("```text\n42\n```\n<!-- end of output -->\n", "")
    assert make_tutorials.with_outputs(empty_again, dict.fromkeys(list(printed)[:1], "42\n")) == text
    page.write_text("```console\n$ exit 3\n```\n")
    with pytest.raises(SystemExit, match=r"page\.md: 'exit 3' ended with 3"):
        make_tutorials.run_page(page, tmp_path / "folder")
