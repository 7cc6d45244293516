"""Make the pictures of docs/explore.md: `python docs/make_explorer_gallery.py`.

Runs are made in a temporary folder, in some minutes, unless a folder that has them already is given:

    python docs/make_explorer_gallery.py --runs FOLDER
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
RUNS = {
    "maze": ["hard-maze", "--budget", "20000"],
    "maze-short": ["hard-maze", "--budget", "3000", "--seed", "1"],
    "arm": ["redundant-arm", "--algo", "ns", "--budget", "500000"],
}
_COLOURS = 256
"""Colours of a picture, so that it stays small."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="a folder of the runs; those that are missing are made in it")
    given = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as temporary:
        runs = given or Path(temporary)
        for name, words in RUNS.items():
            if not (runs / name).is_dir():
                subprocess.run([sys.executable, "-m", "stax", "run", *words, "--out", str(runs / name)], check=True)
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            draw(chromium, runs)
            chromium.close()


def draw(chromium: Any, runs: Path) -> None:
    """Take all pictures."""
    with Explorer(chromium, runs, "maze") as page:
        shoot(page, "explore")
        lasso(page, [(0.1, 0.22), (0.32, 0.22), (0.32, 0.48), (0.1, 0.48)])
        page.get_by_text("Watch the best 9").click()
        wait_for_films(page)
        page.locator("#pinned").scroll_into_view_if_needed()
        shoot(page, "explore-pinned", full=True)
    with Explorer(chromium, runs, "maze") as page:
        page.locator("#emitters tbody .chip").nth(1).click()
        shoot(page, "explore-emitter", full=True)
    with Explorer(chromium, runs, "maze", "maze-short") as page:
        shoot(page, "explore-compared", full=True)
    with Explorer(chromium, runs, "arm", color_scheme="dark") as page:
        shoot(page, "explore-dark")


class Explorer:
    """A page about runs, with the best policy's film and observations drawn: a context manager."""

    def __init__(self, chromium: Any, runs: Path, *names: str, **options: Any) -> None:
        command = [sys.executable, "-m", "stax", "explore", *names, "--no-open", "--quiet"]
        # Within the folder of the runs, so that the pictures show no path of this machine.
        self._server = subprocess.Popen(command, cwd=runs, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout
        self._context = chromium.new_context(viewport={"width": 1400, "height": 860}, **options)
        self._page = self._context.new_page()
        self._page.goto(self._server.stdout.readline().strip())

    def __enter__(self) -> Page:
        for selector in ("html[data-ready=all]", "html[data-scene]", "#panel .strip"):
            self._page.wait_for_selector(selector, state="attached", timeout=900_000)
        time.sleep(1)
        page: Page = self._page
        return page

    def __exit__(self, *_: object) -> None:
        self._context.close()
        self._server.terminate()
        self._server.communicate()


def lasso(page: Page, corners: list[tuple[float, float]]) -> None:
    """Drag around a part of the left map, by shares of its width and height."""
    box = page.locator("#left canvas[tabindex]").bounding_box()
    assert box
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()


def wait_for_films(page: Page) -> None:
    """Wait until all pinned policies play."""
    steps = page.locator("#pins .step")
    while steps.count() < 9 or not all(words.startswith("step") for words in steps.all_inner_texts()):
        time.sleep(0.2)


def shoot(page: Page, name: str, *, full: bool = False) -> None:
    """Write a picture of the window or of the whole page, with few colours."""
    time.sleep(0.5)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path, full_page=full)
    with Image.open(path) as image:
        few = image.convert("RGB").quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
