"""Entry point of the `stax` command, which runs before anything that takes time to import.

It is a separate module beside the package, because importing any part of `stax` first imports NumPy and Gymnasium, and a signal that
arrives meanwhile would cause a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import cache
from types import FrameType

TORCH_LIMITS = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "AVX2"}
"""Environment variables that limit PyTorch, and the two libraries that it computes with, to AVX2."""
NUMPY_LIMITS = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR", "OPENBLAS_CORETYPE": "Haswell"}
"""Environment variables that limit NumPy, and the linear algebra of NumPy and SciPy, to AVX2."""
_INTERRUPTED = 130


def main() -> None:
    """Run the `stax` command."""
    prepare_process()
    from stax.cli.main import entry_point

    entry_point()


def prepare_process() -> None:
    """Open closed standard streams, end with one line on signals from now on, and limit libraries to AVX2."""
    open_standard_streams()
    limit_libraries()
    for number in stop_signals():
        signal.signal(number, _leave)


def limit_libraries() -> None:
    """Make libraries compute the same bits on all processors with AVX2, unless the user has set these variables.

    The libraries read them when they are loaded. See `stax.numerics`.
    """
    if processor_has_avx2():
        for name, value in {**TORCH_LIMITS, **NUMPY_LIMITS}.items():
            os.environ.setdefault(name, value)


@cache
def processor_has_avx2() -> bool:
    """Return whether this is an x86-64 processor with AVX2 and fused multiply-adds; False on systems other than Linux."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123
            flags = next((line.partition(":")[2].split() for line in file if line.startswith("flags")), [])
    except OSError:
        return False
    return {"avx2", "fma"} <= set(flags)


def stop_signals() -> list[signal.Signals]:
    """Return the signals that stop the command; signals that are ignored on start (`nohup`) stay ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def open_standard_streams() -> None:
    """Open the null device on every standard stream that is closed.

    Otherwise the next file that is opened becomes a standard stream, and messages are written into it. Writing to a standard output
    that was closed still fails, as it should, because the null device is opened for reading only.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _leave(_: int, __: FrameType | None) -> None:
    with suppress(OSError):  # standard error may be closed
        os.write(2, b"stax: interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
