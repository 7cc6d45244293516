"""Weights in the order in which the inner loops read them.

`CHANNELS` output channels that are computed together have their weights in one matrix (inputs, channels), which is read from
beginning to end. The last layer is computed in another way than the others, because it has only a few output channels; see
`pictures.reconstruct_and_compare`.
"""

from __future__ import annotations

import numpy as np

from stax.compiling import inlined, inner
from stax.representation.compiled_network.plan import (
    BIAS,
    COARSE,
    CODES,
    DECODER_DENSE,
    DECODER_DENSE_BIAS,
    DOWN,
    ENCODER_DENSE,
    ENCODER_DENSE_BIAS,
    FINE,
    FLAT,
    GROUP,
    LAST,
    LEVELS,
    PACKED_DECODER_DENSE,
    PACKED_DECODER_DENSE_BACK,
    PACKED_DECODER_DENSE_BIAS,
    PACKED_ENCODER_DENSE,
    PACKED_ENCODER_DENSE_BACK,
    PACKED_ENCODER_DENSE_BIAS,
    START,
    UP,
    UP_SIZE,
    WEIGHTS,
)
from stax.representation.compiled_network.vectors import CHANNELS, FEW_CHANNELS


@inner
def _place(input_count, channel_count, channel):
    """Return the position of the first weight of an output channel in a packed matrix, and the distance to the next."""
    first = channel // CHANNELS * CHANNELS
    step = CHANNELS
    if first + CHANNELS > channel_count:
        first = channel // FEW_CHANNELS * FEW_CHANNELS
        step = FEW_CHANNELS
    return first * input_count + channel - first, step


@inner
def _pack_matrix(parameters, matrix, row_step, column_step, rows, columns, packed, to):
    """Pack a matrix (rows, columns) that is found at these steps in the parameters."""
    for column in range(columns):
        place, step = _place(rows, columns, column)
        for row in range(rows):
            packed[to + place + row * step] = parameters[matrix + row * row_step + column * column_step]


@inner
def _pack_up(parameters, packed, layer):
    """Pack the weights to go up, one matrix (2, 2, coarse channels; fine channels) for every phase."""
    fine, coarse = layer[FINE], layer[COARSE]
    for phase in range(4):
        to = layer[UP] + phase * 4 * coarse * fine
        for row in range(2):
            # Even rows see the kernel's rows 3 and 1, odd ones its rows 2 and 0; columns likewise.
            kernel_row = 3 - phase // 2 - 2 * row
            for column in range(2):
                kernel_column = 3 - phase % 2 - 2 * column
                matrix = layer[WEIGHTS] + (4 * kernel_row + kernel_column) * fine * coarse
                for channel in range(fine):
                    place, step = _place(4 * coarse, fine, channel)
                    place += to + (2 * row + column) * coarse * step
                    for i in range(coarse):
                        packed[place + i * step] = parameters[matrix + channel * coarse + i]


@inner
def _pack_up_in_tiles(parameters, packed, layer):
    """Pack the weights to go up by tiles: 3 x 3 matrices (coarse; fine channels) for every phase; see `go_up_in_tiles`."""
    fine, coarse = layer[FINE], layer[COARSE]
    for phase in range(4):
        first_row, first_column = 3 - phase // 2, 3 - phase % 2
        for row in range(3):
            for column in range(3):
                number = phase * 9 + row * 3 + column
                for channel in range(fine):
                    place, step = _place(UP_SIZE * coarse, fine, channel)
                    place += layer[UP] + number * coarse * step
                    for i in range(coarse):
                        total = np.float32(0)
                        for one in range(2):
                            for other in range(2):
                                # Of the kernel's two rows, the first tile has the first, the second both, the third the second.
                                if row != 2 - 2 * one and column != 2 - 2 * other:
                                    kernel = 4 * (first_row - 2 * one) + first_column - 2 * other
                                    total += parameters[layer[WEIGHTS] + (kernel * fine + channel) * coarse + i]
                        packed[place + i * step] = -total if (row == 2) != (column == 2) else total


@inner
def _pack_last(parameters, packed, layer, group):
    """Pack the last layer's weights as a matrix (coarse channels; kernel rows, halves of kernel rows, group)."""
    fine, coarse = layer[FINE], layer[COARSE]
    for channel in range(8 * group):
        within = channel % group
        place, step = _place(coarse, 8 * group, channel)
        matrix = layer[WEIGHTS] + (channel // group * 2 * fine + within) * coarse
        for i in range(coarse):
            packed[layer[UP] + place + i * step] = parameters[matrix + i] if within < 2 * fine else 0


@inlined
def pack(parameters, packed, layers, places):
    """Pack all weights and biases."""
    for number in range(len(layers)):
        layer = layers[number]
        coarse, fine = layer[COARSE], layer[FINE]
        _pack_matrix(parameters, layer[WEIGHTS], coarse, 1, 16 * fine, coarse, packed, layer[DOWN])
        if number == LAST:
            _pack_last(parameters, packed, layer, places[GROUP])
        elif number in (LEVELS - 1, LEVELS):
            _pack_up(parameters, packed, layer)
        elif number > 0:
            _pack_up_in_tiles(parameters, packed, layer)
        for i in range(coarse if number < LEVELS else fine):
            packed[layer[START] + i] = parameters[layer[BIAS] + i]
    codes, flat = places[CODES], places[FLAT]
    encoder, decoder = places[ENCODER_DENSE], places[DECODER_DENSE]
    _pack_matrix(parameters, encoder, codes, 1, flat, codes, packed, places[PACKED_ENCODER_DENSE])
    _pack_matrix(parameters, encoder, 1, codes, codes, flat, packed, places[PACKED_ENCODER_DENSE_BACK])
    _pack_matrix(parameters, decoder, flat, 1, codes, flat, packed, places[PACKED_DECODER_DENSE])
    _pack_matrix(parameters, decoder, 1, flat, flat, codes, packed, places[PACKED_DECODER_DENSE_BACK])
    for i in range(codes):
        packed[places[PACKED_ENCODER_DENSE_BIAS] + i] = parameters[places[ENCODER_DENSE_BIAS] + i]
    for i in range(flat):
        packed[places[PACKED_DECODER_DENSE_BIAS] + i] = parameters[places[DECODER_DENSE_BIAS] + i]
