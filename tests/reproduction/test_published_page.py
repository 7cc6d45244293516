"""The page that is published: docs/reproduction is what its records give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stax.cli.main import main

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "reproduction"
COMMAND = "stax reproduce all --records docs/reproduction/records --out docs/reproduction"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("page")
    assert main(["reproduce", "all", "--records", str(PAGE / "records"), "--out", str(out), "--quiet"]) == 0
    return out


def test_the_page_is_what_the_records_give_byte_for_byte(made):
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    published = sorted(
        str(path.relative_to(PAGE)) for path in PAGE.rglob("*") if path.is_file() and path.parent.name != "records"
    )
    assert names == published, f"make the page again: {COMMAND}"
    other = [name for name in names if (made / name).read_bytes() != (PAGE / name).read_bytes()]
    assert not other, f"make the page again: {COMMAND}"


def test_the_records_are_small():
    sizes = [path.stat().st_size for path in (PAGE / "records").iterdir()]
    assert sum(sizes) < 40_000_000
    assert max(sizes) < 250_000


def test_the_state_of_every_stage_is_that_of_the_records():
    command = [sys.executable, "studies/proof.py", "--out", "docs/reproduction", "--status"]
    table = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    text = (PROJECT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    shown = text.partition("<!-- stages -->\n")[2].partition("<!-- end of stages -->")[0]
    assert shown == table, f"put the output of `{' '.join(command[1:])}` between the marks of docs/reproduce.md"


def test_the_readme_shows_rows_of_the_page():
    rows = (PAGE / "README.md").read_text(encoding="utf-8").splitlines()
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    shown = (
        text.partition("<!-- the paper's coverage -->\n")[2].partition("<!-- end of the paper's coverage -->")[0].splitlines()
    )
    assert len(shown) > 2
    for number, row in enumerate(shown):
        assert number == 1 or row in rows
