"""Use of several cores for one network: shares of the work on Python threads, each using one core.

For small networks this is faster than torch's own threads, which wait for each other after every layer. The optimiser's step is
done by one thread: on two, with other work on the machine, it took 90 ms instead of 0.3 (vectors of 20 numbers, 2 cores).

In training, a batch is cut into parts of 32 pictures, whose gradients are added in order. The data of a part stays in the
cache, and neither descriptors nor weights depend on the number of threads.
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
    """The cores that torch may use, for shares of some work."""

    count: int

    def map(self, work: Callable[[Share], Done], shares: Sequence[Share]) -> list[Done]:
        """Return what `work` returns for every share, in their order."""
        if self.count == 1 or len(shares) == 1:
            return [work(share) for share in shares]
        return list(_pool(os.getpid(), self.count).map(work, shares))


@contextmanager
def own_cores() -> Iterator[Cores]:
    """Yield the cores that torch may use. While inside, torch itself uses one thread, here and on the threads of the shares.

    There are two reasons to limit it here as well. The limit of the matrix products (MKL's) holds for the whole process, so the last
    value set counts. And the work between two shares, such as a step of the optimiser, is too little for several threads: on a busy
    machine, waiting for the second thread took most of the time.
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
    """Return what `work` returns for all rows, without gradients, computed in shares on several cores.

    Shares consist of complete blocks. For some sizes of layers, the last bit that a matrix product gives for a row depends on the row's
    position in its block, and it must not depend on the number of threads.
    """

    def infer(part: Tensor) -> Arrays:
        with torch.inference_mode():
            return work(part)

    with own_cores() as cores:
        blocks = -(-len(rows) // block)
        firsts = [block * (blocks * share // cores.count) for share in range(1, cores.count)]
        parts = cores.map(infer, [part for part in rows.tensor_split(firsts) if len(part)] or [rows])
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
