"""Hooks of MkDocs: add pages from outside docs/, and redirect links to source files to the reference."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "studies/README.md")
"""Pages outside docs/ that are part of the site."""
REFERENCE = {
    "search": "search",
    "representation": "representation",
    "tasks": "tasks",
    "evaluation": "tasks",
    "analysis": "analysis",
    "runs": "runs",
    "ecosystem": "ecosystem",
}
"""Page of the reference that documents each package."""
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s]+)(?=\))")


def on_files(files: Files, config: Any) -> Files:
    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for picture in sorted((ROOT / "studies").rglob("*.png")):
        name = picture.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Change links that are valid in the repository to links that are valid on the site."""
    page_name = page.file.src_uri
    place = page_name if page_name in OUTSIDE else f"docs/{page_name}"
    return _LINK.sub(lambda link: _on_site(link[1], place, page_name), markdown)


def _on_site(link: str, place: str, page_name: str) -> str:
    path, _, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    here = posixpath.dirname(page_name)
    if target.startswith("src/stax/"):
        parts = target.removeprefix("src/").removesuffix(".py").split("/")
        reference = REFERENCE.get(parts[1] if len(parts) > 1 else "")
        where = f"reference/{reference or 'index'}.md" + (f"#{'.'.join(parts)}" if reference and len(parts) > 2 else "")
        return posixpath.relpath(where, here or ".")
    if target == "README.md":
        return posixpath.relpath("index.md", here or ".")
    if target.startswith("docs/") and not place.startswith("docs/"):
        return posixpath.relpath(target.removeprefix("docs/"), here or ".") + (f"#{anchor}" if anchor else "")
    if target in OUTSIDE or target.startswith("studies/"):
        name = f"{target}/README.md" if target == "studies" else target
        return posixpath.relpath(name, here or ".") + (f"#{anchor}" if anchor else "")
    return link
