"""Layout of the arrays of the compiled network.

A convolution and a transposed convolution of kernel 4, stride 2 and padding 1 connect a fine and a coarse array, one of twice the
sides of the other. The convolution goes down from the fine to the coarse one, the transposed one goes up. Each is the gradient of
the other, and both have weights (coarse channels, fine channels, 4, 4) in PyTorch. So all eight layers of the network are described
alike here, numbered as data passes them: 0 to 3 in the encoder, 4 to 7 in the decoder.

Four kinds of arrays of float32 hold the data:

- *parameters*, their gradients and the two moments of Adam, all of one layout: for each layer a matrix (16 * fine channels, coarse
  channels), whose row is (kernel row, kernel column, fine channel), and the biases; for the two dense layers a matrix (numbers,
  codes) or (codes, numbers) and the biases. Numbers that the network does not have, at borders and for codes, are zero and stay so.
- *packed*: the weights in the order in which the inner loops read them.
- *work*: activations and gradients of one picture. Channels are last, and a border of one pixel of zeros surrounds every array.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stax.representation.autoencoder import DECODER_CHANNELS, ENCODER_CHANNELS
from stax.representation.compiled_network.vectors import FEW_CHANNELS

LEVELS = len(ENCODER_CHANNELS)
LAYERS = 2 * LEVELS
LAST = LAYERS - 1

FINE, COARSE, HEIGHT, WIDTH, WEIGHTS, BIAS, DOWN, UP, START = range(9)
"""Columns of `Plan.layers`: channels of the fine and of the coarse array, sides of the coarse array; positions of weights and biases in
the parameters, and of the weights to go down, the weights to go up and the biases in the packed array."""

(
    CODE_SIZE,
    CODES,
    FLAT,
    LINE,
    GROUP,
    ENCODER_DENSE,
    ENCODER_DENSE_BIAS,
    DECODER_DENSE,
    DECODER_DENSE_BIAS,
    PACKED_ENCODER_DENSE,
    PACKED_ENCODER_DENSE_BACK,
    PACKED_DECODER_DENSE,
    PACKED_DECODER_DENSE_BACK,
    PACKED_ENCODER_DENSE_BIAS,
    PACKED_DECODER_DENSE_BIAS,
    PACKED_SHIFT,
    PACKED_OFFSETS,
    CODE,
    CODE_GRADIENT,
    ONE,
    SUMS,
    PRODUCTS,
    RECONSTRUCTION,
    DIFFERENCES,
    TILES,
) = range(25)
"""Numbers of `Plan.places`: sizes first, then places in the parameters, in the packed array and in the work array.

- CODE_SIZE: numbers of a code; CODES: the same, rounded up to whole vectors; FLAT: numbers between convolutions and code, with
  border; LINE: numbers of a line of a picture; GROUP: see `packing.py`.
- PACKED_SHIFT: what is added to the pixels of a picture; PACKED_OFFSETS: what is added to a reconstruction.
- ONE: the number one; SUMS: squared errors; PRODUCTS and RECONSTRUCTION: lines of the last layer.
- DIFFERENCES and TILES: see `products.go_up`."""

UP_SIZE = 4 * 9
"""Number of matrices (coarse channels, fine channels) that the weights to go up become, see `products.go_up`."""

ENCODED, DECODED, GRADIENTS = 0, LEVELS, 2 * LEVELS + 1
"""Offsets in `Plan.arrays`. Added to a level, from 0 for the picture's own size to 4 for the smallest, they give the index of an array of
activations of the encoder, of activations of the decoder (which has none of level 0), or of gradients."""


@dataclass(frozen=True)
class Plan:
    """Sizes and positions for pictures of one shape and codes of one size, as integers for the compiled code."""

    layers: NDArray[np.int64]
    """(8, 9): the sizes of every layer and the positions of its weights."""
    places: NDArray[np.int64]
    """(25,): other sizes and positions."""
    arrays: NDArray[np.int64]
    """(14,): positions of the arrays of activations and gradients in the work array."""
    parameter_count: int
    packed_size: int
    work_size: int
    shape: tuple[int, int, int]
    """Height, width and channels of a picture."""
    code_size: int


class _Space:
    """Allocation of positions in an array, each at a multiple of 16 numbers."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, count: int) -> int:
        place = self.size
        self.size += -(-count // FEW_CHANNELS) * FEW_CHANNELS
        return place


def make_plan(shape: tuple[int, int, int], code_size: int) -> Plan:
    """Lay out the arrays of a network for pictures (height, width, channels)."""
    height, width, channels = shape
    encoder = (channels, *ENCODER_CHANNELS)
    decoder = (channels, *DECODER_CHANNELS[::-1], ENCODER_CHANNELS[-1])
    parameters, packed, work = _Space(), _Space(), _Space()
    layers = np.zeros((LAYERS, 9), np.int64)
    pairs = [*pairwise(encoder), *list(pairwise(decoder))[::-1]]
    group = -(-2 * channels // 8) * 8
    codes = -(-code_size // FEW_CHANNELS) * FEW_CHANNELS
    sides = [(height >> level) + 2 for level in range(LEVELS + 1)], [(width >> level) + 2 for level in range(LEVELS + 1)]
    sizes = [rows * columns for rows, columns in zip(*sides, strict=True)]
    flat = sizes[-1] * encoder[-1]
    line = width * channels
    packed.take(max(*encoder, codes, flat, 8 * group))  # zeros to start sums from
    for number, (fine, coarse) in enumerate(pairs):
        level = number + 1 if number < LEVELS else LAYERS - number
        biases = coarse if number < LEVELS else fine
        up = coarse * 8 * group if number == LAST else (UP_SIZE if level < LEVELS else 16) * coarse * fine
        layers[number] = (
            *(fine, coarse, height >> level, width >> level),
            *(parameters.take(16 * fine * coarse), parameters.take(biases)),
            *(packed.take(16 * fine * coarse), packed.take(up), packed.take(biases)),
        )
    places = np.zeros(25, np.int64)
    places[[CODE_SIZE, CODES, FLAT, LINE, GROUP]] = code_size, codes, flat, line, group
    for name in (ENCODER_DENSE, DECODER_DENSE):
        places[name] = parameters.take(codes * flat)
    places[ENCODER_DENSE_BIAS] = parameters.take(codes)
    places[DECODER_DENSE_BIAS] = parameters.take(flat)
    for name in range(PACKED_ENCODER_DENSE, PACKED_ENCODER_DENSE_BIAS):
        places[name] = packed.take(codes * flat)
    places[PACKED_ENCODER_DENSE_BIAS] = packed.take(codes)
    places[PACKED_DECODER_DENSE_BIAS] = packed.take(flat)
    places[PACKED_SHIFT], places[PACKED_OFFSETS] = packed.take(height * line), packed.take(height * line)
    arrays = [work.take(size * depth) for size, depth in zip(sizes, encoder, strict=True)]
    arrays += [work.take(size * depth) for size, depth in zip(sizes[1:], decoder[1:], strict=True)]
    places[CODE], places[CODE_GRADIENT], places[ONE], places[SUMS] = (work.take(n) for n in (codes, codes, 1, 16))
    places[PRODUCTS] = work.take(3 * sides[1][1] * 8 * group)
    places[RECONSTRUCTION] = work.take(sides[1][0] * channels + 2 * group)
    arrays += [work.take(size * depth) for size, depth in zip(sizes, encoder, strict=True)]
    places[DIFFERENCES] = work.take(3 * max(sizes[level] * encoder[level] for level in (2, 3)))
    places[TILES] = work.take(9 * sides[1][2] * max(encoder))
    return Plan(
        layers=layers,
        places=places,
        arrays=np.array(arrays, np.int64),
        parameter_count=parameters.size,
        packed_size=packed.size,
        work_size=work.size,
        shape=shape,
        code_size=code_size,
    )
