"""Several cores for one network: shares of the work on threads of Python's, each using one core.

For small networks this is quicker than torch's own threads, which wait for each other after every layer, and the results do not
depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Arrays = tuple[NDArray[np.float32], ...]
Share = TypeVar("Share")
Done = TypeVar("Done")


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # The process is part of the key because threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="stax-network", initializer=torch.set_num_threads, initargs=(1,))


@dataclass(frozen=True)
class Cores:
    """As many as torch may use, for shares of some work."""

    count: int

    def map(self, work: Callable[[Share], Done], shares: Sequence[Share]) -> list[Done]:
        """What `work` gives for every share, in their order."""
        if self.count == 1 or len(shares) == 1:
            return [work(share) for share in shares]
        return list(_pool(os.getpid(), self.count).map(work, shares))


@contextmanager
def own_cores() -> Iterator[Cores]:
    """The cores that torch may use. While inside, torch itself uses one thread, here as on the threads of the shares.

    Here as well, since the limit of the matrix products (MKL's) is the whole process's: what it was set to last counts. And since
    what is left to do between two shares, such as a step of the optimiser, is too little for several threads: on a machine with
    other work, waiting for the second one took most of the time.
    """
    threads = torch.get_num_threads()
    if threads == 1:
        yield Cores(1)
        return
    torch.set_num_threads(1)
    try:
        yield Cores(threads)
    finally:
        torch.set_num_threads(threads)


def in_shares(work: Callable[[Tensor], Arrays], rows: Tensor, *, block: int) -> Arrays:
    """What `work` gives for all rows without their gradients, if it is done for so many rows at a time, each alone or almost.

    Shares are of whole blocks: the last bit that a matrix product gives for a row depends, for some sizes of layers, on the row's
    place in its block, and must not depend on the number of threads.
    """

    def infer(part: Tensor) -> Arrays:
        with torch.inference_mode():
            return work(part)

    with own_cores() as cores:
        blocks = -(-len(rows) // block)
        firsts = [block * (blocks * share // cores.count) for share in range(1, cores.count)]
        parts = cores.map(infer, [part for part in rows.tensor_split(firsts) if len(part)] or [rows])
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
