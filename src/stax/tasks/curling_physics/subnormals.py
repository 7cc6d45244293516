"""Control of the processor's setting that flushes subnormal numbers to zero.

An arm at rest has speeds that decay towards zero through the subnormal numbers, those below 1.2e-38 in 32 bits. Many processors take
a hundred cycles and more for an operation on one, which made the solver three times slower than on ordinary numbers. The
processor can treat them as zero instead. The setting belongs to the thread: a kernel changes it for the time of its own work, and
restores it afterwards.

On processors other than x86-64 nothing is changed.

The other two simulators make no subnormal numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

FLUSH = np.uint32(0x8040)
"""Bits of the control register MXCSR: results that are subnormal become zero (15), and so do operands (6)."""

_WORD, _POINTER = ir.IntType(32), ir.IntType(8).as_pointer()


def _on_x86(builder: Any) -> bool:
    return str(builder.module.triple).startswith(("x86_64", "amd64"))


def _call_control(builder: Any, name: str, slot: Any) -> None:
    """Store MXCSR into a slot in memory (`stmxcsr`), or load it from there (`ldmxcsr`)."""
    function_type = ir.FunctionType(ir.VoidType(), [_POINTER])
    function = builder.module.declare_intrinsic(f"llvm.x86.sse.{name}", (), function_type)
    builder.call(function, [builder.bitcast(slot, _POINTER)])


@intrinsic
def float_control(typing_context):
    """Return the control register of the calling thread's floating-point unit; 0 where it is not known."""

    def generate(context, builder, signature, arguments):
        if not _on_x86(builder):
            return ir.Constant(_WORD, 0)
        slot = builder.alloca(_WORD)
        _call_control(builder, "stmxcsr", slot)
        return builder.load(slot)

    return types.uint32(), generate


@intrinsic
def set_float_control(typing_context, value):
    """Set the control register of the calling thread's floating-point unit to a value that `float_control` returned."""

    def generate(context, builder, signature, arguments):
        if _on_x86(builder):
            slot = builder.alloca(_WORD)
            builder.store(arguments[0], slot)
            _call_control(builder, "ldmxcsr", slot)
        return context.get_dummy_value()

    return types.void(types.uint32), generate
