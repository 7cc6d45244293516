"""A real browser for tests of pages: Chromium of the system, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield the browser; without one the test is skipped, or fails where CI requires it."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        missing = "no Chromium is installed: apt-get install chromium"
        if os.environ.get("STAX_REQUIRE_BROWSER") or os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # The sandbox refuses to start for root, who runs CI; what is opened is our own.
        opened = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
