"""Tests that the reference documents every public name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import stax

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def documented(page: str) -> list[str]:
    """Return the names that a page of the reference documents."""
    return re.findall(r"^::: (\S+)$", (REFERENCE / page).read_text(), re.MULTILINE)


def test_every_public_name_is_in_the_reference_once():
    assert sorted(documented("index.md")) == sorted(f"stax.{name}" for name in stax.__all__)


def test_every_name_of_the_ecosystem_is_in_the_reference():
    names = [f"stax.ecosystem.{name}" for name in importlib.import_module("stax.ecosystem").__all__]
    assert [name for name in names if name not in documented("ecosystem.md")] == []


@pytest.mark.parametrize("page", sorted(path.name for path in REFERENCE.glob("*.md")))
def test_documented_names_exist(page):
    for name in documented(page):
        parent, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(parent), last), name
