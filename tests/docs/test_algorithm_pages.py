"""The pages about the algorithms keep up with the code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from stax.search.methods import METHODS
from stax.search.parameters import Parameters

DOCS = Path(__file__).parents[2] / "docs"
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


@pytest.fixture(scope="module")
def script():
    path = DOCS / "make_algorithm_pages.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_parameter_table_is_that_of_the_code(script):
    for page, make in script.PAGES.items():
        text = page.read_text()
        assert text == script.with_table(text, make()), f"the parameter table of {page.name} is stale: run 'make docs'"


def test_every_line_beside_the_pseudo_code_says_what_is_quoted(script):
    for link in script.QUOTED_LINE.finditer(PAGES["stax"]):
        quoted, file, number = link[1], link[2], int(link[3])
        lines = (FOLDER / file).read_text().splitlines()
        line = lines[number - 1].strip() if number <= len(lines) else "beyond the end"
        name = Path(file).name
        assert quoted in line, f"stax.md quotes `{quoted}` from line {number} of {name}, which is `{line}`: run 'make docs'"


def test_every_row_of_the_three_algorithms_quotes_a_line(script):
    tables = PAGES["stax"].split("| Algorithm ")[1:]
    assert [table[0] for table in tables] == ["1", "2", "3"]
    for table in tables:
        rows = table.partition("\n\n")[0].splitlines()[2:]
        assert len(rows) > 10
        assert [row for row in rows if not script.QUOTED_LINE.search(row)] == []


def test_line_numbers_are_found_again(script):
    moved = script.QUOTED_LINE.sub(lambda link: f"[`{link[1]}`]({link[2]}#L{int(link[3]) + 1})", PAGES["stax"])
    assert script.with_lines(moved) == PAGES["stax"]
    with pytest.raises(ValueError, match=r"No line of .*search\.py contains `no such code`"):
        script.with_lines("[`no such code`](../../src/stax/search/search.py#L1)")


def test_every_method_has_a_page_and_is_in_the_index():
    assert set(PAGES) == {"README", "published-code", *METHODS}
    assert all((DOCS.parent / method.page).is_file() for method in METHODS.values())
    assert [name for name in METHODS if f"]({name}.md)" not in PAGES["README"]] == []


@pytest.mark.parametrize("name", PAGES)
def test_named_parameters_exist(name):
    named = named_parameters(PAGES[name])
    assert named
    assert named - set(Parameters.described()) == set()


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
