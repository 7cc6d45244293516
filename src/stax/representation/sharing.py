"""Inference on several cores: shares of the rows on threads of Python's, each using one core.

For small networks this is quicker than torch's own threads, which wait for each other after every layer, and the results do not
depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Arrays = tuple[NDArray[np.float32], ...]

_LEAST_ROWS = 64
"""Fewer are not worth a thread of their own."""


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # The process is part of the key because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="stax-encoder", initializer=torch.set_num_threads, initargs=(1,))


def in_shares(work: Callable[[Tensor], Arrays], rows: Tensor) -> Arrays:
    """What `work` gives for all rows, each of which it must treat alone; on as many threads as torch may use."""
    threads = torch.get_num_threads()
    shares = min(threads, len(rows) // _LEAST_ROWS)
    if shares < 2:
        return _on_one_core(work, rows, threads)

    def share(part: Tensor) -> Arrays:
        with torch.inference_mode():
            return work(part)

    try:
        parts = list(_pool(os.getpid(), threads).map(share, rows.tensor_split(shares)))
    finally:
        # The threads' own limit is partly the process's, too.
        torch.set_num_threads(threads)
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _on_one_core(work: Callable[[Tensor], Arrays], rows: Tensor, threads: int) -> Arrays:
    if threads > 1:
        torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            return work(rows)
    finally:
        if threads > 1:
            torch.set_num_threads(threads)
