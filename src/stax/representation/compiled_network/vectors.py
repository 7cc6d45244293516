"""Vector instructions for Numba: the inner loops of the network, written as LLVM instructions on vectors of float32.

Numba cannot be relied on to keep a block of sums in registers, so the loops that take nearly all of the time are emitted here
directly. Every number they compute is one chain of fused multiply-adds in a fixed order. Its bits therefore depend neither on the
width of the processor's vectors, nor on how many numbers are computed together. Nothing here is marked as "fast" floating-point
arithmetic, which would allow the compiler to change the order.

The functions take one-dimensional C-ordered arrays, and positions in them counted in numbers.
"""

from __future__ import annotations

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

_FLOAT, _BYTE, _INT32, _INT64 = ir.FloatType(), ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _assembly_of_multiply_add():
    """Return the machine code of Numba's target for a fused multiply-add of 16 numbers."""
    vector = "<16 x float>"
    module = binding.parse_assembly(f"""
        declare {vector} @llvm.fma.v16f32({vector}, {vector}, {vector})
        define {vector} @multiply_add({vector} %a, {vector} %b, {vector} %c) {{
            %d = call {vector} @llvm.fma.v16f32({vector} %a, {vector} %b, {vector} %c)
            ret {vector} %d
        }}
    """)
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return binding.Target.from_default_triple().create_target_machine(processor, features).emit_assembly(module)


_ASSEMBLY = _assembly_of_multiply_add()
HAS_FUSED_MULTIPLY_ADD = "fmaf" not in _ASSEMBLY
"""Whether the processor has fused multiply-add instructions. Without them the loops give the same bits, but very slowly."""
_HAS_AVX512 = "zmm" in _ASSEMBLY

LANES = 16 if _HAS_AVX512 else 8
"""Numbers of a vector in the large loops."""
PIXELS = 8 if _HAS_AVX512 else 4
"""Number of pixels whose sums are kept in registers at once: as many as there are registers for."""
FEW_PIXELS = 4
CHANNELS = 2 * LANES
"""Number of output channels whose sums are kept in registers at once."""
FEW_CHANNELS = 16
"""Divisor of all numbers of channels inside the network."""

# NumPy's integers here and below: Numba treats a plain integer as a constant and compiles a function for each one.
LINEAR, SELU, SELU_GRADIENT = np.int64(0), np.int64(1), np.int64(2)
"""Operation on a sum: it is stored as it is, after SELU, or multiplied by the derivative of SELU."""
NONE, ONCE = np.int64(0), np.int64(1)

_SELU_SCALE = 1.0507009873554805
_SELU_BOTTOM = _SELU_SCALE * 1.6732632423543772
_LOWEST_EXPONENT = -30.0
"""Exponent below which 1 - exp(x) is 1 in 32 bits."""
_EXP = (1.0, 1.0, 0.4999999403953552, 0.16666431725025177, 0.04166800156235695, 0.008374162949621677, 0.001384364441037178)
"""Polynomial for exp(x) with |x| <= log(2) / 2; its relative error is below 3e-9."""
_ROUNDING = 12582912.0
"""1.5 * 2**23. Adding it rounds a number of 32 bits to an integer, which is then in the lowest bits."""
_LINE_LANES = 16
"""Numbers of a vector for lines of a picture. It determines the order of summation, so it is the same everywhere."""


def _integer(value):
    return ir.Constant(_INT64, value)


def _all_lanes(value, lanes):
    """Return a constant vector of one number, rounded to 32 bits."""
    return ir.Constant(ir.VectorType(_FLOAT, lanes), [float(np.float32(value))] * lanes)


def _data(context, builder, signature, arguments, number):
    """Return the pointer to the data of the array that is this argument."""
    return cgutils.create_struct_proxy(signature.args[number])(context, builder, arguments[number]).data


def _vector_pointer(builder, data, place, vector_type):
    return builder.bitcast(builder.gep(data, [place]), vector_type.as_pointer())


def _load(builder, data, place, vector_type):
    return builder.load(_vector_pointer(builder, data, place, vector_type), align=1 if vector_type.element == _BYTE else 4)


def _store(builder, vector, data, place):
    builder.store(vector, _vector_pointer(builder, data, place, vector.type), align=4)


def _splat(builder, number, lanes):
    """Return a vector of one number that is known only at run time."""
    undefined = ir.Constant(ir.VectorType(_FLOAT, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INT32, lanes), [0] * lanes))


def _fma(builder, a, b, c):
    """Return the vector a * b + c, rounded once."""
    name = f"llvm.fma.v{a.type.count}f32"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(a.type, [a.type] * 3), name)
    return builder.call(function, [a, b, c])


def _selu(builder, x):
    """Return SELU of a vector: scale * x above zero, scale * alpha * (exp(x) - 1) below. nan stays nan."""
    lanes = x.type.count
    integers = ir.VectorType(_INT32, lanes)
    zero, lowest = _all_lanes(0.0, lanes), _all_lanes(_LOWEST_EXPONENT, lanes)
    exponent = builder.select(builder.fcmp_ordered("<", x, zero), x, zero)
    exponent = builder.select(builder.fcmp_ordered("<", exponent, lowest), lowest, exponent)
    # exp(x) = 2**n * exp(r) with an integer n and a small r.
    rounded = _fma(builder, exponent, _all_lanes(1 / np.log(2), lanes), _all_lanes(_ROUNDING, lanes))
    n = builder.fsub(rounded, _all_lanes(_ROUNDING, lanes))
    r = _fma(builder, n, _all_lanes(-np.log(2), lanes), exponent)
    power = _all_lanes(_EXP[-1], lanes)
    for coefficient in _EXP[-2::-1]:
        power = _fma(builder, power, r, _all_lanes(coefficient, lanes))
    shifted = builder.shl(builder.bitcast(rounded, integers), ir.Constant(integers, [23] * lanes))
    power = builder.bitcast(builder.add(builder.bitcast(power, integers), shifted), x.type)
    bottom = _all_lanes(_SELU_BOTTOM, lanes)
    below = _fma(builder, power, bottom, _all_lanes(-np.float32(_SELU_BOTTOM), lanes))
    return builder.select(builder.fcmp_ordered("<=", x, zero), below, builder.fmul(x, _all_lanes(_SELU_SCALE, lanes)))


def _selu_gradient(builder, gradient, result):
    """Return the gradient at the input of SELU, from that at its output and from the output itself."""
    lanes = result.type.count
    below = builder.fadd(result, _all_lanes(_SELU_BOTTOM, lanes))
    positive = builder.fcmp_ordered(">", result, _all_lanes(0.0, lanes))
    return builder.fmul(gradient, builder.select(positive, _all_lanes(_SELU_SCALE, lanes), below))


def _call_outlined(builder, name, arguments, emit):
    """Call a function whose body `emit` emits once in a module: it is large, and inlining it would only cost time."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments]), name)
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        body = ir.IRBuilder(function.append_basic_block("entry"))
        emit(body, *function.args)
        body.ret_void()
    builder.call(function, arguments)


def _sums_of_products(builder, sums, *, steps, runs, operands):
    """Add a product to every sum in each of `steps` steps of each of `runs` runs.

    Args:
        builder: LLVM builder to emit with.
        sums: one list of vectors for every row.
        steps, runs: numbers of steps and runs, as integers known at run time.
        operands: called with the numbers of the run and of the step; returns the scalars of the rows and the vectors that these are
            multiplied with.
    """
    flat = [vector for row in sums for vector in row]
    width = len(sums[0])
    before = builder.block
    run_block, step_block, end_block, done_block = (builder.append_basic_block(name) for name in ("run", "step", "end", "done"))
    builder.branch(run_block)
    builder.position_at_end(run_block)
    run = builder.phi(_INT64)
    run.add_incoming(_integer(0), before)
    at_run = [builder.phi(vector.type) for vector in flat]
    operands_of_step = operands(run)
    builder.branch(step_block)
    builder.position_at_end(step_block)
    step = builder.phi(_INT64)
    step.add_incoming(_integer(0), run_block)
    at_step = [builder.phi(vector.type) for vector in flat]
    scalars, vectors = operands_of_step(step)
    results = []
    for row, scalar in enumerate(scalars):
        splat = _splat(builder, scalar, vectors[0].type.count)
        results += [_fma(builder, splat, vector, at_step[row * width + column]) for column, vector in enumerate(vectors)]
    next_step = builder.add(step, _integer(1))
    step.add_incoming(next_step, step_block)
    builder.cbranch(builder.icmp_signed("<", next_step, steps), step_block, end_block)
    builder.position_at_end(end_block)
    next_run = builder.add(run, _integer(1))
    run.add_incoming(next_run, end_block)
    builder.cbranch(builder.icmp_signed("<", next_run, runs), run_block, done_block)
    for start, outer, inner, result in zip(flat, at_run, at_step, results, strict=True):
        outer.add_incoming(start, before)
        outer.add_incoming(result, end_block)
        inner.add_incoming(outer, run_block)
        inner.add_incoming(result, step_block)
    builder.position_at_end(done_block)
    return [results[row * width : (row + 1) * width] for row in range(len(sums))]


def _store_outputs(builder, outputs, work, c, mode, y):
    """Store vectors at their positions relative to c, after the operation of the mode; results of SELU are at y."""

    def store(finish):
        for vector, place in outputs:
            _store(builder, finish(vector, place), work, builder.add(c, place))

    def times_gradient(vector, place):
        return _selu_gradient(builder, vector, _load(builder, work, builder.add(y, place), vector.type))

    with builder.if_else(builder.icmp_signed("==", mode, _integer(int(SELU)))) as (is_selu, is_other):
        with is_selu:
            store(lambda vector, place: _selu(builder, vector))
        with is_other, builder.if_else(builder.icmp_signed("==", mode, _integer(int(LINEAR)))) as (is_linear, is_gradient):
            with is_linear:
                store(lambda vector, place: vector)
            with is_gradient:
                store(times_gradient)


def make_product(rows, vectors, lanes):
    """Make a function for `rows` pixels and `vectors` vectors of output channels.

    The function computes, for every pixel i and channel j,

        sum = start[j] + work[a + i * a_step + run * a_pitch + t] * packed[b + (run * length + t) * channels + j] + ...

    over all runs and all t below length in this order, applies `mode`, and stores it in work[c + i * c_step + j]. With the mode
    SELU_GRADIENT, the result of SELU is in work[y + i * c_step + j].
    """
    channels = vectors * lanes

    @intrinsic
    def product(typing_context, work, packed, a, a_step, a_pitch, runs, length, b, start, c, c_step, mode, y):
        def emit(builder, work, packed, a, a_step, a_pitch, runs, length, b, start, c, c_step, mode, y):
            vector_type = ir.VectorType(_FLOAT, lanes)
            starts = [
                _load(builder, packed, builder.add(start, _integer(column * lanes)), vector_type) for column in range(vectors)
            ]

            def operands(run):
                line = builder.add(a, builder.mul(run, a_pitch))
                pointers = [builder.gep(work, [builder.add(line, builder.mul(a_step, _integer(row)))]) for row in range(rows)]
                weights = builder.add(b, builder.mul(builder.mul(run, length), _integer(channels)))

                def of_step(step):
                    place = builder.add(weights, builder.mul(step, _integer(channels)))
                    loaded = [
                        _load(builder, packed, builder.add(place, _integer(column * lanes)), vector_type)
                        for column in range(vectors)
                    ]
                    return [builder.load(builder.gep(pointer, [step])) for pointer in pointers], loaded

                return of_step

            sums = _sums_of_products(builder, [list(starts) for _ in range(rows)], steps=length, runs=runs, operands=operands)
            places = [
                [builder.add(builder.mul(c_step, _integer(row)), _integer(column * lanes)) for column in range(vectors)]
                for row in range(rows)
            ]

            outputs = [(sums[row][column], places[row][column]) for row in range(rows) for column in range(vectors)]
            _store_outputs(builder, outputs, work, c, mode, y)

        def generate(context, builder, signature, arguments):
            data = [_data(context, builder, signature, arguments, number) for number in (0, 1)]
            _call_outlined(builder, f"stax_product_{rows}_{vectors}_{lanes}", [*data, *arguments[2:]], emit)
            return context.get_dummy_value()

        return types.void(work, packed, *[types.intp] * 11), generate

    return product


def make_combine_tiles(vectors, lanes):
    """Make a function that adds the products of `products.go_up_in_tiles`, for `vectors` vectors of output channels.

    The function reads 9 x count pixels from work[tiles] on, and writes 2 x 2 x count pixels, every second one in rows and columns,
    of an array of so many channels and with lines of `pitch` pixels, from work[c] on; for the rest see `make_product`.
    """
    size = vectors * lanes

    @intrinsic
    def combine_tiles(typing_context, work, packed, tiles, count, start, c, channels, pitch, mode, y):
        def emit(builder, work, packed, tiles, count, start, c, channels, pitch, mode, y):
            vector_type = ir.VectorType(_FLOAT, lanes)
            right = builder.mul(channels, _integer(2))
            below = builder.mul(right, pitch)
            with cgutils.for_range(builder, count) as loop:
                outputs = []
                for vector in range(0, size, lanes):
                    bias = _load(builder, packed, builder.add(start, _integer(vector)), vector_type)
                    first = builder.add(tiles, builder.add(builder.mul(loop.index, _integer(size)), _integer(vector)))
                    step = builder.mul(count, _integer(size))
                    loaded = [
                        _load(builder, work, builder.add(first, builder.mul(step, _integer(tile))), vector_type)
                        for tile in range(9)
                    ]
                    # Sums of two adjacent columns, then of two adjacent rows of those.
                    columns = [
                        [builder.fadd(loaded[3 * row + column], loaded[3 * row + column + 1]) for column in range(2)]
                        for row in range(3)
                    ]
                    for row in range(2):
                        for column in range(2):
                            total = builder.fadd(columns[row][column], columns[row + 1][column])
                            place = builder.add(builder.mul(below, _integer(row)), builder.mul(right, _integer(column)))
                            outputs.append((builder.fadd(total, bias), builder.add(place, _integer(vector))))
                to = builder.mul(builder.mul(right, _integer(2)), loop.index)
                _store_outputs(builder, outputs, work, builder.add(c, to), mode, builder.add(y, to))

        def generate(context, builder, signature, arguments):
            data = [_data(context, builder, signature, arguments, number) for number in (0, 1)]
            _call_outlined(builder, f"stax_combine_{vectors}_{lanes}", [*data, *arguments[2:]], emit)
            return context.get_dummy_value()

        return types.void(work, packed, *[types.intp] * 8), generate

    return combine_tiles


def make_accumulate(rows, vectors, lanes):
    """Make a function for `rows` rows and `vectors` vectors of a matrix of gradients.

    The function adds to gradients[c + i * c_step + j], for every row i and column j, the products

        work[a + run * a_pitch + t * a_step + i] * work[b + run * b_pitch + t * b_step + j]

    over all runs and all t below length in this order.
    """

    @intrinsic
    def accumulate(typing_context, work, gradients, a, a_step, a_pitch, runs, length, b, b_step, b_pitch, c, c_step):
        def emit(builder, work, gradients, a, a_step, a_pitch, runs, length, b, b_step, b_pitch, c, c_step):
            vector_type = ir.VectorType(_FLOAT, lanes)
            places = [
                [
                    builder.add(builder.add(c, builder.mul(c_step, _integer(row))), _integer(column * lanes))
                    for column in range(vectors)
                ]
                for row in range(rows)
            ]
            sums = [[_load(builder, gradients, place, vector_type) for place in row] for row in places]

            def operands(run):
                a_line = builder.add(a, builder.mul(run, a_pitch))
                b_line = builder.add(b, builder.mul(run, b_pitch))

                def of_step(step):
                    a_place = builder.add(a_line, builder.mul(step, a_step))
                    b_place = builder.add(b_line, builder.mul(step, b_step))
                    scalars = [builder.load(builder.gep(work, [builder.add(a_place, _integer(row))])) for row in range(rows)]
                    loaded = [
                        _load(builder, work, builder.add(b_place, _integer(column * lanes)), vector_type)
                        for column in range(vectors)
                    ]
                    return scalars, loaded

                return of_step

            sums = _sums_of_products(builder, sums, steps=length, runs=runs, operands=operands)
            for row, row_places in zip(sums, places, strict=True):
                for vector, place in zip(row, row_places, strict=True):
                    _store(builder, vector, gradients, place)

        def generate(context, builder, signature, arguments):
            data = [_data(context, builder, signature, arguments, number) for number in (0, 1)]
            _call_outlined(builder, f"stax_accumulate_{rows}_{vectors}_{lanes}", [*data, *arguments[2:]], emit)
            return context.get_dummy_value()

        return types.void(work, gradients, *[types.intp] * 10), generate

    return accumulate


@intrinsic
def add_eight(typing_context, work, result, a, b, c, d):
    """Compute (a + b) + (c + d) of eight numbers at each of these positions in work."""

    def generate(context, builder, signature, arguments):
        work = _data(context, builder, signature, arguments, 0)
        result, *places = arguments[1:]
        a, b, c, d = (_load(builder, work, place, ir.VectorType(_FLOAT, 8)) for place in places)
        _store(builder, builder.fadd(builder.fadd(a, b), builder.fadd(c, d)), work, result)
        return context.get_dummy_value()

    return types.void(work, *[types.intp] * 5), generate


@intrinsic
def compare_line(typing_context, work, packed, picture, line, count, offsets, pixels, scale, sums, gradient, factor):
    """Compare a line of a reconstruction with that of the picture.

    The reconstruction is the ReLU of work[line + e] * scale + packed[offsets + e], the picture is picture[pixels + e] / 255, for
    all e below count, a multiple of 16. Squared differences are added to the 16 numbers at work[sums]. Unless gradient is
    negative, the gradient of the error, times the factor, is stored in work[gradient + e].
    """

    def generate(context, builder, signature, arguments):
        work, packed, picture = (_data(context, builder, signature, arguments, number) for number in (0, 1, 2))
        line, count, offsets, pixels, scale, sums, gradient, factor = arguments[3:]
        floats, bytes_ = ir.VectorType(_FLOAT, _LINE_LANES), ir.VectorType(_BYTE, _LINE_LANES)
        zero = _all_lanes(0.0, _LINE_LANES)
        scales, factors = (_splat(builder, number, _LINE_LANES) for number in (scale, factor))
        total = cgutils.alloca_once_value(builder, _load(builder, work, sums, floats))
        with cgutils.for_range_slice(builder, _integer(0), count, _integer(_LINE_LANES)) as (e, _):
            value = _load(builder, work, builder.add(line, e), floats)
            value = _fma(builder, value, scales, _load(builder, packed, builder.add(offsets, e), floats))
            value = builder.select(builder.fcmp_ordered("<=", value, zero), zero, value)
            pixel = builder.uitofp(_load(builder, picture, builder.add(pixels, e), bytes_), floats)
            difference = builder.fsub(value, builder.fmul(pixel, _all_lanes(1 / 255, _LINE_LANES)))
            builder.store(_fma(builder, difference, difference, builder.load(total)), total)
            with builder.if_then(builder.icmp_signed(">=", gradient, _integer(0))):
                visible = builder.select(builder.fcmp_unordered(">", value, zero), difference, zero)
                _store(builder, builder.fmul(visible, factors), work, builder.add(gradient, e))
        _store(builder, builder.load(total), work, sums)
        return context.get_dummy_value()

    return types.void(work, packed, picture, *[types.intp] * 4, types.float32, *[types.intp] * 2, types.float32), generate
