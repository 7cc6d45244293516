"""The layers of the compiled network: going down, going up, the dense layers, and the gradients of their weights.

All arrays are described in `plan.py`. A layer is computed for spans of pixels: rows of an array (first row, first column, count), so
that an array can be computed in part.
"""

from __future__ import annotations

import numpy as np

from stax.compiling import inlined, inner
from stax.representation.compiled_network.plan import COARSE, DOWN, FINE, HEIGHT, UP, UP_SIZE, WEIGHTS, WIDTH
from stax.representation.compiled_network.vectors import (
    CHANNELS,
    FEW_CHANNELS,
    FEW_PIXELS,
    LANES,
    LINEAR,
    NONE,
    ONCE,
    PIXELS,
    make_accumulate,
    make_combine_tiles,
    make_product,
)


def _make_pixels(vectors, lanes, most):
    """Make a function that computes some channels of a span of pixels, at most `rows` pixels together."""
    many, few, one = (make_product(pixels, vectors, lanes) for pixels in (most, FEW_PIXELS, 1))

    @inner
    def pixels(work, packed, a, a_step, a_pitch, runs, length, b, start, c, c_step, count, mode, y):
        """Compute `count` pixels, by blocks that may overlap at the end: a pixel computed twice has the same bits."""
        i = 0
        while i < count:
            if count - i >= most:
                to = i * c_step
                many(work, packed, a + i * a_step, a_step, a_pitch, runs, length, b, start, c + to, c_step, mode, y + to)
                i += most
            elif count >= FEW_PIXELS:
                i = min(i, count - FEW_PIXELS)
                to = i * c_step
                few(work, packed, a + i * a_step, a_step, a_pitch, runs, length, b, start, c + to, c_step, mode, y + to)
                i += FEW_PIXELS
            else:
                to = i * c_step
                one(work, packed, a + i * a_step, a_step, a_pitch, runs, length, b, start, c + to, c_step, mode, y + to)
                i += 1

    return pixels


_many_channels = _make_pixels(2, LANES, PIXELS)
_few_channels = _many_channels if FEW_CHANNELS == CHANNELS else _make_pixels(1, LANES, FEW_PIXELS)

_combine_tiles = make_combine_tiles(2, LANES)
_combine_few_tiles = make_combine_tiles(FEW_CHANNELS // LANES, LANES)

_DOWN_RUNS, _UP_RUNS = np.int64(4), np.int64(2)
"""Rows of the kernel that a pixel is computed from."""
GRADIENT_ROWS = PIXELS
_accumulate = make_accumulate(GRADIENT_ROWS, 2, LANES)
_accumulate_few_rows = make_accumulate(FEW_PIXELS, 2, LANES)
_accumulate_few_channels = make_accumulate(FEW_PIXELS, FEW_CHANNELS // LANES, LANES)
_accumulate_one_row = make_accumulate(1, FEW_CHANNELS // LANES, LANES)


@inlined
def _channels_at_once(first, channels):
    """Return how many channels are computed together, beginning with this one."""
    return CHANNELS if first + CHANNELS <= channels else FEW_CHANNELS


@inlined
def _pixels(channels, work, packed, a, a_step, a_pitch, runs, length, b, start, c, c_step, count, mode, y):
    """Compute this number of channels, all or a few, of a span of pixels; see `vectors.make_product`."""
    if channels == CHANNELS:
        _many_channels(work, packed, a, a_step, a_pitch, runs, length, b, start, c, c_step, count, mode, y)
    else:
        _few_channels(work, packed, a, a_step, a_pitch, runs, length, b, start, c, c_step, count, mode, y)


@inner
def span_product(work, packed, a, a_step, length, b, start, c, channels, count, mode, y):
    """Multiply `count` rows of `length` numbers by a matrix: a dense layer, or a part of a convolution."""
    n = 0
    while n < channels:
        step = _channels_at_once(n, channels)
        _pixels(
            step, work, packed, a, a_step, NONE, ONCE, length, b + n * length, start + n, c + n, channels, count, mode, y + n
        )
        n += step


@inner
def go_down(work, packed, layer, fine, coarse, spans, span_count, start, mode, result):
    """Compute a coarse array from a fine one.

    Args:
        work, packed: see `plan.py`.
        layer: a row of `Plan.layers`.
        fine, coarse: positions of the arrays.
        spans: (n, 3), the pixels of the coarse array to compute.
        span_count: number of spans.
        start: position in the packed array of the numbers from which sums start.
        mode: operation on a sum, see `vectors.py`.
        result: position of the results of SELU, for its gradient.
    """
    before, channels, width = layer[FINE], layer[COARSE], layer[WIDTH]
    pitch = (2 * width + 2) * before
    length = 4 * before
    n = 0
    while n < channels:
        step = _channels_at_once(n, channels)
        b = layer[DOWN] + n * 4 * length
        for number in range(span_count):
            row, column, count = spans[number, 0], spans[number, 1], spans[number, 2]
            a = fine + 2 * row * pitch + 2 * column * before
            to = ((row + 1) * (width + 2) + column + 1) * channels + n
            c, y = coarse + to, result + to
            _pixels(step, work, packed, a, 2 * before, pitch, _DOWN_RUNS, length, b, start + n, c, channels, count, mode, y)
        n += step


@inner
def go_up(work, packed, layer, coarse, fine, start, mode, result):
    """Compute a fine array from a coarse one; see `go_down`.

    The pixels of even and odd rows and columns form four arrays, each a convolution of kernel 2 and stride 1.
    """
    before, channels, height, width = layer[COARSE], layer[FINE], layer[HEIGHT], layer[WIDTH]
    pitch = (width + 2) * before
    length = 2 * before
    n = 0
    while n < channels:
        step = _channels_at_once(n, channels)
        for phase in range(4):
            odd_row, odd_column = phase // 2, phase % 2
            b = layer[UP] + (phase * channels + n) * 2 * length
            for row in range(height):
                a = coarse + (row + odd_row) * pitch + odd_column * before
                to = ((2 * row + odd_row + 1) * (2 * width + 2) + odd_column + 1) * channels + n
                c, y = fine + to, result + to
                _pixels(step, work, packed, a, before, pitch, _UP_RUNS, length, b, start + n, c, 2 * channels, width, mode, y)
        n += step


@inner
def _subtract_neighbours(work, array, distance, size, to):
    """Compute the differences between numbers at this distance from each other."""
    numbers, others, result = work[array : array + size], work[array + distance :], work[to : to + size]
    for i in range(size - distance):
        result[i] = numbers[i] - others[i]


@inner
def go_up_in_tiles(work, packed, layer, coarse, fine, start, mode, result, differences, tiles):
    """Compute a fine array from a coarse one with fewer multiplications (Winograd, 1980); its sides must be even.

    In one dimension, two adjacent outputs of a phase, y and z, are made of three inputs a, b, c and two weights g, h:

        y = a g + b h = (a - b) g + b (g + h)
        z = b g + c h = b (g + h) - (b - c) h

    Three products instead of four; in two dimensions, nine instead of sixteen. The inputs are found, with different steps, in four
    arrays: the coarse array, and its differences in columns, in rows, and in both. The sums of weights are in the packed array.
    """
    before, channels, height, width = layer[COARSE], layer[FINE], layer[HEIGHT], layer[WIDTH]
    pitch = (width + 2) * before
    size = (height + 2) * pitch
    _subtract_neighbours(work, coarse, before, size, differences)
    _subtract_neighbours(work, coarse, pitch, size, differences + size)
    _subtract_neighbours(work, differences, pitch, size, differences + 2 * size)
    n = 0
    while n < channels:
        step = _channels_at_once(n, channels)
        for phase in range(4):
            odd_row, odd_column = phase // 2, phase % 2
            b = layer[UP] + n * UP_SIZE * before + phase * 9 * before * step
            for row in range(0, height, 2):
                for tile in range(9):
                    tile_row, tile_column = tile // 3, tile % 3
                    a = coarse
                    if tile_row != 1:
                        a = differences + size if tile_column == 1 else differences + 2 * size
                    elif tile_column != 1:
                        a = differences
                    a += (row + odd_row + (tile_row > 0)) * pitch + (odd_column + (tile_column > 0)) * before
                    c = tiles + tile * (width // 2) * step
                    weights = b + tile * before * step
                    _pixels(
                        step, work, packed, a, 2 * before, NONE, ONCE, before, weights, NONE, c, step, width // 2, LINEAR, NONE
                    )
                to = ((2 * row + odd_row + 1) * (2 * width + 2) + odd_column + 1) * channels + n
                if step == CHANNELS:
                    _combine_tiles(
                        work, packed, tiles, width // 2, start + n, fine + to, channels, 2 * width + 2, mode, result + to
                    )
                else:
                    _combine_few_tiles(
                        work, packed, tiles, width // 2, start + n, fine + to, channels, 2 * width + 2, mode, result + to
                    )
        n += step


@inner
def add_weight_gradient(work, gradients, layer, fine, coarse):
    """Add the gradient of a layer's weights: products of the fine and the coarse array, one of which holds gradients."""
    before, channels, height, width = layer[FINE], layer[COARSE], layer[HEIGHT], layer[WIDTH]
    pitch = (2 * width + 2) * before
    coarse_pitch = (width + 2) * channels
    n = 0
    while n < channels:
        step = _channels_at_once(n, channels)
        b = coarse + coarse_pitch + channels + n
        for kernel_row in range(4):
            k = 0
            while k < 4 * before:
                a = fine + kernel_row * pitch + k
                c = layer[WEIGHTS] + (kernel_row * 4 * before + k) * channels + n
                if step != CHANNELS:
                    _accumulate_few_channels(
                        work, gradients, a, 2 * before, 2 * pitch, height, width, b, channels, coarse_pitch, c, channels
                    )
                    k += FEW_PIXELS
                elif k + GRADIENT_ROWS <= 4 * before:
                    _accumulate(
                        work, gradients, a, 2 * before, 2 * pitch, height, width, b, channels, coarse_pitch, c, channels
                    )
                    k += GRADIENT_ROWS
                else:
                    _accumulate_few_rows(
                        work, gradients, a, 2 * before, 2 * pitch, height, width, b, channels, coarse_pitch, c, channels
                    )
                    k += FEW_PIXELS
        n += step


@inner
def add_bias_gradient(work, gradients, place, array, pixels, channels, one):
    """Add the sum of an array of gradients over its pixels; `one` is the position of the number one."""
    for n in range(0, channels, FEW_CHANNELS):
        _accumulate_one_row(work, gradients, one, 0, 0, 1, pixels, array + n, channels, 0, place + n, 0)
