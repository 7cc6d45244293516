"""Digests of what a run found, by which two runs are compared without keeping either of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stax.runs.result import Result


def digest(columns: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays, their names, types and shapes included; the order in which they are given does not count."""
    total = hashlib.sha256()
    for name in sorted(columns):
        array = np.asarray(columns[name])
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def result_digests(result: Result) -> dict[str, str]:
    """Return the digests of the ledger and of both archives of a run. Seconds have no part in them."""
    return {
        "ledger": digest(result.ledger),
        "novelty_archive": digest(result.novelty_archive.columns()),
        "reward_archive": digest(result.reward_archive.columns()),
    }
