"""Differences between the results of two runs, bit for bit."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

EXACT = ("archives/novelty.npz", "archives/reward.npz", "ledger.parquet", "emitters.csv", "autoencoder.safetensors")
"""Files that must be equal byte for byte."""


def run_differences(one: Path, other: Path) -> list[str]:
    """Return the names of files in which two runs differ, apart from seconds. Temporary files count as differences."""
    found = [name for name in EXACT if _bytes(one / name) != _bytes(other / name)]
    found += [name for name in ("metrics.csv",) if _metrics(one / name) != _metrics(other / name)]
    found += [name for name in ("summary.json",) if _summary(one / name) != _summary(other / name)]
    return found + [path.name for path in other.rglob("*.part")]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _metrics(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if not name.startswith("seconds")} for row in rows]


def _summary(path: Path) -> dict[str, Any]:
    summary = json.loads(path.read_text())
    return {name: value for name, value in summary.items() if name not in ("seconds", "core_seconds")}
