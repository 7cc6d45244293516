"""Numerics of a run: portable, with the same bits on all x86-64 processors with AVX2, or native to this processor.

The simulators, the search and the convolutional autoencoder are compiled with one fixed order of operations, so they are portable.
PyTorch, and NumPy's linear algebra and exponentials in CMA-ES, choose their kernels by the processor. They are portable if
environment variables limited them to AVX2 when they were loaded. The `stax` command sets these variables
(`stax_command.limit_libraries`). In Python they are left to the user, because they affect everything that the process does with these
libraries.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stax.errors import InvalidInputError
from stax_command import NUMPY_LIMITS, TORCH_LIMITS, processor_has_avx2

if TYPE_CHECKING:
    from stax.search.search import Search

RESULTS_VERSION = 1
"""Version number of the results: versions of STAX with the same number give the same bits for the same portable run."""

PORTABLE, NATIVE = "portable", "native"
NUMERICS = (PORTABLE, NATIVE)


def numerics_of(search: Search) -> str:
    """Return the numerics of a search in this process. A user's own code is not taken into account."""
    emitters = search.containers.emitters.kinds.values()
    portable = (
        processor_has_avx2()
        and (not search.space.uses_torch or _torch_is_limited(search))
        and ((all(emitter.portable for emitter in emitters) and not search.space.uses_linear_algebra) or _numpy_is_limited())
    )
    return PORTABLE if portable else NATIVE


def _torch_is_limited(search: Search) -> bool:
    import torch

    on_processor = str(getattr(search.space, "device", "cpu")) == "cpu"
    return on_processor and _are_set(TORCH_LIMITS) and torch.backends.cpu.get_cpu_capability() == "AVX2"


def _numpy_is_limited() -> bool:
    import numpy as np
    from threadpoolctl import threadpool_info

    extensions = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    libraries = [library.get("architecture") for library in threadpool_info() if library["user_api"] == "blas"]
    limited = set(extensions).isdisjoint(NUMPY_LIMITS["NPY_DISABLE_CPU_FEATURES"].split()) and set(libraries) <= {"Haswell"}
    return limited and _are_set(NUMPY_LIMITS)


def _are_set(limits: Mapping[str, str]) -> bool:
    return all(os.environ.get(name) == value for name, value in limits.items())


def check_version(version: int | None, where: str) -> None:
    """Raise an error for a run that began with another results version; None stands for a run from before there were versions."""
    if version != RESULTS_VERSION:
        began = "before results had a version" if version is None else f"with results version {version}"
        raise InvalidInputError(
            f"The run in {where!r} began {began}, and this version of STAX computes results version {RESULTS_VERSION}, so it cannot be"
            " continued. Start it again with 'stax run --config'."
        )


def continued_numerics(was: str | None, now: str, accepted: str | None, where: str) -> str:
    """Return the numerics of a run that is continued in this process, or raise an error if they would change without permission.

    Args:
        was: numerics of the run so far.
        now: numerics of the run in this process.
        accepted: numerics to which the user allows a change.
        where: the run's folder.
    """
    if now == was:
        return now
    if now == accepted:
        # A mixture of numerics is not portable.
        return NATIVE
    raise InvalidInputError(
        f"The run in {where!r} began with {was} numerics, but this process has {now} numerics (see docs/runs.md). To continue anyway,"
        f" with other last digits from here on, use --numerics {now}, or numerics={now!r} in Python."
    )
