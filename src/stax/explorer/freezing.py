"""The page with all its content as one file that needs no server: everything but what is made on demand, and a few films."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from stax.analysis.replay import check_file
from stax.errors import InvalidInputError
from stax.explorer.content import best_policies
from stax.explorer.explored import Explored
from stax.runs.files import write_for_user

STATIC = Path(__file__).parent / "static"
MOST_FILMS = 6
"""Films of each run in the file."""
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def freeze(paths: Sequence[Path], target: Path, *, trust: bool = False) -> Path:
    """Write the page about some runs into one file, and return its path.

    Args:
        paths: the runs' folders.
        target: the file, whose name ends with .html.
        trust: whether code of a run's maker may be imported, to draw its task and films.
    """
    if target.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"The name of a frozen page must end with .html, not {target.name!r}.")
    check_file(target)
    explored = Explored(paths, trust=trust)
    try:
        contents = {"api/runs": json.dumps({**explored.overview(), "control": None}).encode()}
        for number in range(len(paths)):
            contents |= _contents(explored, number)
    finally:
        explored.close()
    write_for_user(target, frozen_page(contents).encode())
    return target


def _contents(explored: Explored, number: int) -> dict[str, bytes]:
    """Return what the page asks for about a run, by its address; what cannot be drawn is left out."""
    run = f"api/runs/{number}"
    contents = {f"{run}/data": explored.message(number)}
    _, kept = explored.read(number)
    wanted = {f"{run}/scene": partial(explored.scene, number)}
    for policy in best_policies(kept)[:MOST_FILMS]:
        wanted[f"{run}/film/{policy}"] = partial(explored.film, number, policy)
        wanted[f"{run}/seen/{policy}"] = partial(explored.observations, number, policy)
    for address, make in wanted.items():
        # What the task cannot draw, or may not without --trust, is left out.
        with suppress(InvalidInputError):
            contents[address] = make()
    return contents


def frozen_page(contents: dict[str, bytes]) -> str:
    """Return the page with these contents, by their addresses, in it."""
    style, script = (STATIC / "style.css").read_text(), bundle("main")
    icon = "data:image/svg+xml;base64," + base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data: blob:; base-uri 'none'"
    )
    parts = [
        f'<script type="text/plain" id="frozen:{address}">{base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()}</script>'
        for address, content in contents.items()
    ]
    page = (STATIC / "index.html").read_text()
    for old, new in (
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ('<link rel="stylesheet" href="static/style.css">', f"<style>{style}</style>"),
        ('<link rel="icon" href="static/icon.svg">', f'<link rel="icon" href="{icon}">'),
        ('<script type="module" src="static/main.js"></script>\n', ""),
        (
            "</body>",
            "\n".join(['<template id="frozen"></template>', *parts, f'<script type="module">{script}</script>', "</body>"]),
        ),
    ):
        if page.count(old) != 1:
            raise RuntimeError(f"index.html must have {old!r} once.")
        page = page.replace(old, new)
    return page


def bundle(name: str) -> str:
    """Return a module of the page and all that it imports as one script; each module becomes a function that returns its exports."""
    done: dict[str, str] = {}

    def add(module: str) -> None:
        if module in done:
            return
        source = (STATIC / f"{module}.js").read_text()
        for found in _IMPORT.finditer(source):
            add(found[2])
        exports = ", ".join(found[2] for found in _EXPORT.finditer(source))
        body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const {\1} = module_\2;", source))
        if re.search(r"^(import|export) ", body, re.MULTILINE):
            raise RuntimeError(f"{module}.js imports or exports in a way that cannot be put into one file.")
        done[module] = f"const module_{module} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"

    add(name)
    return "\n".join(done.values())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
