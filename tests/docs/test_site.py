"""The documentation's site, opened from the file system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from browser import chromium

ROOT = Path(__file__).parents[2]


def test_the_search_works_from_the_file_system_and_fetches_nothing(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        timeout=300,
    )
    with chromium() as browser:
        page = browser.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file:") or wrong.append(request.url))
        page.goto((tmp_path / "site" / "tutorials" / "first-search.html").as_uri())
        page.click("input.md-search__input")
        page.keyboard.type("emitter")
        found = page.locator(".md-search-result__item a").first
        found.wait_for(state="attached", timeout=20_000)
        assert (found.get_attribute("href") or "").startswith("file:")
        assert not wrong
