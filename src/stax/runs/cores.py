"""One number of cores for the task's threads, BLAS and torch, so that they do not compete.

`stax` also sets `OMP_WAIT_POLICY=PASSIVE` when it is imported, unless the variable is set. The idle threads of OpenMP otherwise
keep their cores busy: on a machine with other work, describing 200 rollouts took 24 s instead of 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from stax.tasks.task import Task


@contextmanager
def sharing_cores(task: Task, *, workers: int, learns: bool) -> Iterator[None]:
    """Let the task's threads, BLAS and, if something is learned, torch use `workers` cores while inside.

    They take turns, so each may use all cores. Their limits before are restored afterwards.
    """
    threads: Any = getattr(task, "threads", None)
    with threadpool_limits(limits=workers, user_api="blas"):
        if threads is not None:
            task.threads = workers  # type: ignore[attr-defined]
        try:
            with _torch_threads(workers if learns else None):
                yield
        finally:
            if threads is not None:
                task.threads = threads  # type: ignore[attr-defined]


@contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    if threads is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
