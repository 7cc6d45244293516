"""The pages about the algorithms keep up with the code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from stax.search.methods import METHODS
from stax.search.parameters import allowed

DOCS = Path(__file__).parent.parent / "docs"
FOLDER = DOCS / "algorithms"
PAGES = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.md"))}
EXAMPLES = [(name, code) for name, page in PAGES.items() for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]


def named_parameters(page: str) -> set[str]:
    """Parameters that a page names: given to --set, written as `name=value`, or in the first column of a table of parameters."""
    names = {*re.findall(r"--set ([a-z]\w*)=", page), *re.findall(r"`([a-z]\w*)=[^`]*`", page)}
    in_table = False
    for line in page.splitlines():
        in_table = line.startswith("| parameter |") or (in_table and line.startswith("|"))
        if in_table:
            names.update(re.findall(r"`(\w+)`", line.split("|")[1]))
    return names


def test_names_of_parameters_are_found():
    page = "`a=1`, `--set b=2`, `task.c=3`, `--set NAME=VALUE`\n```\nstax run x --set d=4\n```\n| parameter | x |\n|---|---|\n| `e`, `f` | `g` |\n\n| `h` |"
    assert named_parameters(page) == {"a", "b", "d", "e", "f"}


def test_the_parameter_table_is_that_of_the_code():
    path = DOCS / "make_algorithm_pages.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for page, make in script.PAGES.items():
        text = page.read_text()
        assert text == script.with_table(text, make()), f"the parameter table of {page.name} is stale: run 'make docs'"


def test_every_method_has_a_page_and_is_in_the_index():
    assert set(PAGES) == {"README", "published-code", *METHODS}
    assert [name for name in METHODS if f"]({name}.md)" not in PAGES["README"]] == []


@pytest.mark.parametrize("name", PAGES)
def test_named_parameters_exist(name):
    named = named_parameters(PAGES[name])
    assert named
    assert named - set(allowed()) == set()


@pytest.mark.parametrize("name", METHODS)
def test_usage_is_told_twice(name):
    assert re.search(rf"^stax run .*--algo {name} ", PAGES[name], re.MULTILINE)
    assert f'algo="{name}"' in PAGES[name]


@pytest.mark.parametrize(("name", "code"), EXAMPLES)
def test_examples_run(name, code):
    exec(compile(code, f"{name}.md", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[name]):
        assert target.startswith("https://") or (FOLDER / target).exists(), target
