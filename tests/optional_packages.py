"""Packages that come with extras: tests that need one are skipped without it, unless STAX_REQUIRE_EXTRAS=1 says that all must be there."""

from __future__ import annotations

import importlib
import os

import pytest


def need(module: str):
    """The module; without it, the tests that ask for it are skipped or fail."""
    if os.environ.get("STAX_REQUIRE_EXTRAS") == "1":
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"{module} is not installed")
