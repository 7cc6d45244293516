"""What a release needs: one version everywhere, and a script that refuses what is not ready."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import stax

ROOT = Path(__file__).parents[1]
FILES = ("CHANGELOG.md", "CITATION.cff", ".ci/release", "src/stax/__init__.py")


def test_changelog_and_citation_are_of_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == stax.__version__
    assert f"\nversion: {stax.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_changelog_has_the_fixed_headings():
    text = (ROOT / "CHANGELOG.md").read_text()
    for release in text.split("\n## ")[1:2]:
        headings = re.findall(r"^### (.*)$", release, re.MULTILINE)
        assert headings == [name for name in ("New", "Changed", "Fixed", "Breaking") if name in headings]


def test_the_sdist_has_all_that_its_makefile_names():
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"/mkdocs.yml", "/CITATION.cff", "/constraints.txt", "/docs", "/tests"} <= set(included)


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("CHANGELOG.md", "", "", "must give the date"),
        ("CHANGELOG.md", r"^## \S+ \(.*\)$", "## 9.9.9 (2026-01-01)", "must be VERSION, not '9.9.9"),
        ("CHANGELOG.md", r"^### New$", "### Added", "not: Added"),
        ("CITATION.cff", r"^version: .*$", "version: 9.9.9", "CITATION.cff has another version"),
    ],
)
def test_a_release_that_is_not_ready_is_refused(file, before, after, said, tmp_path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(
        re.sub(r"^(## \S+) \(.*\)$", r"\1 (not released yet)", changelog.read_text(), count=1, flags=re.MULTILINE)
    )
    path = tmp_path / file
    path.write_text(re.sub(before, after, path.read_text(), count=1, flags=re.MULTILINE) if before else path.read_text())
    done = subprocess.run([tmp_path / ".ci" / "release"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert said.replace("VERSION", stax.__version__) in done.stderr
    assert not (tmp_path / "dist").exists()
