"""Run the code of the tutorials, and write its output into their pages: `make tutorials`.

All Python blocks of a page share one namespace. Lines of a console block that begin with `$` are commands, and a block with a title is a
file to be saved. The output of a block is written between the marks below it. A picture that a page shows from `images/NAME` is copied
from the file that the mark before the picture names. With --short, as in the tests, budgets are small and pages are not changed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).resolve().parent / "tutorials"
SHORT_BUDGET = 1500
_BLOCK = re.compile(
    r"^```(?P<kind>python|console|toml)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_OUTPUT = re.compile(r"<!-- output -->\n(?:```text\n.*?^```\n<!-- end of output -->\n)?", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"<!-- picture: (?P<made>\S+) -->\n!\[[^\]]*\]\((?P<shown>[^)]+)\)")
_BUDGET = re.compile(r"(?P<before>--budget |budget ?= ?)[\d_]+")
_PROGRESS = re.compile(
    r"^stax: .*(?:evaluations \(\d+ %\)|compil|\d+ of \d+ done, \d+ running| begins$| done: ).*\n", re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A block of code in a page."""

    kind: str
    title: str | None
    text: str
    end: int
    """Position in the page at which the block ends."""


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of code of a page."""
    for found in _BLOCK.finditer(page):
        yield Block(found["kind"], found["title"], found["text"], found.end())


def run_page(path: Path, folder: Path, *, short: bool = False) -> dict[int, str]:
    """Run all blocks of a page in this folder; return what each one printed, by the position at which it ends."""
    printed: dict[int, str] = {}
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        sys.path.insert(0, str(folder))
        for block in blocks(path.read_text()):
            text = _BUDGET.sub(rf"\g<before>{SHORT_BUDGET}", block.text) if short else block.text
            if block.title is not None:
                Path(block.title).write_text(text)
            elif block.kind == "console":
                printed[block.end] = "".join(
                    _run_command(line[2:], path) for line in text.splitlines() if line.startswith("$ ")
                )
            elif block.kind == "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile(text, f"{path.name}", "exec"), names)
                printed[block.end] = output.getvalue()
    return printed


def _run_command(command: str, path: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{path.name}: {command!r} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def with_outputs(page: str, printed: dict[int, str]) -> str:
    """Return the page with the output of its blocks where it has marks for them."""
    parts, last = [], 0
    for end in sorted(printed):
        mark = _OUTPUT.match(page, end + len(page[end:]) - len(page[end:].lstrip()))
        if mark:
            text = _PROGRESS.sub("", printed[end]).strip("\n")
            parts += [page[last : mark.start()], f"<!-- output -->\n```text\n{text}\n```\n<!-- end of output -->\n"]
            last = mark.end()
    return "".join([*parts, page[last:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tutorials, by name (default all)")
    parser.add_argument("--short", action="store_true", help="with small budgets, and without changing the pages")
    options = parser.parse_args()
    for path in [TUTORIALS / f"{name}.md" for name in options.names] or sorted(TUTORIALS.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            printed = run_page(path, Path(folder), short=options.short)
            if not options.short:
                page = with_outputs(path.read_text(), printed)
                for picture in _PICTURE.finditer(page):
                    shutil.copyfile(Path(folder, picture["made"]), TUTORIALS / picture["shown"])
                path.write_text(page.replace(folder, "."))
        print(f"{path.name}: done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
