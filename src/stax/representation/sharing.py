"""Several cores for one network: shares of the work on threads of Python's, each using one core.

For small networks this is quicker than torch's own threads, which wait for each other after every layer, and the results do not
depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Arrays = tuple[NDArray[np.float32], ...]
Share = TypeVar("Share")
Done = TypeVar("Done")

_LEAST_ROWS = 16
"""Fewer are not worth a thread of their own."""


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # The process is part of the key because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="stax-network", initializer=torch.set_num_threads, initargs=(1,))


def on_cores(work: Callable[[Share], Done], shares: Sequence[Share]) -> list[Done]:
    """What `work` gives for every share, in their order; on as many threads as torch may use."""
    threads = torch.get_num_threads()
    if threads == 1:
        return [work(share) for share in shares]
    # Here as well, since the limit of the matrix products (MKL's) is the whole process's: what it was set to last counts.
    torch.set_num_threads(1)
    try:
        if len(shares) == 1:
            return [work(shares[0])]
        return list(_pool(os.getpid(), threads).map(work, shares))
    finally:
        torch.set_num_threads(threads)


def in_shares(work: Callable[[Tensor], Arrays], rows: Tensor) -> Arrays:
    """What `work`, which must treat every row alone, gives for all rows without their gradients."""

    def infer(part: Tensor) -> Arrays:
        with torch.inference_mode():
            return work(part)

    shares = max(min(torch.get_num_threads(), len(rows) // _LEAST_ROWS), 1)
    parts = on_cores(infer, rows.tensor_split(shares))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
