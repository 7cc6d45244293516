"""The built-in policy network, compiled.

The built-in policy is a fully connected network. Each layer, the output included, is followed by 2 sigmoid(x) - 1, and has one
bias *shared by the whole layer*. A genome holds, for each layer in order, the weights (inputs x outputs, row-major) and then
that bias.

A policy that sees pictures has convolutions before that: 3 x 3 filters at every second pixel, with zeros around the picture, and the
same function and shared bias. Their weights (row, column, channel, filter) and bias come first in the genome.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from stax.compiling import inner, kernel


def network_genome_size(sizes: Sequence[int]) -> int:
    """Return the number of values in the genome of a network with these layer sizes, inputs first: 94 for (6, 5, 5, 5, 2)."""
    return sum(inputs * outputs + 1 for inputs, outputs in pairwise(sizes))


def picture_features(side: int, channels: int, filters: Sequence[int]) -> int:
    """Return how many numbers the convolutions make of a picture (side, side, channels), with so many filters in each layer."""
    for _ in filters:
        side = (side + 1) // 2
    return side * side * (filters[-1] if filters else channels)


def convolutions_genome_size(channels: int, filters: Sequence[int]) -> int:
    """Return the number of values that the convolutions take in a genome, for a picture with so many channels."""
    return sum(9 * before * after + 1 for before, after in pairwise((channels, *filters)))


@inner
def forward(genome, sizes, values, scratch):
    """Compute one pass through the network: `values` holds the inputs and, afterwards, the outputs.

    `values` and `scratch` are float64 buffers at least as long as the widest layer. `sizes` should be a global tuple, which the
    compiler unrolls.
    """
    start = 0
    for layer in range(len(sizes) - 1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        for j in range(outputs):
            scratch[j] = 0.0
        for i in range(inputs):
            value = values[i]
            row = start + i * outputs
            for j in range(outputs):
                scratch[j] += value * genome[row + j]
        start += inputs * outputs
        bias = genome[start]
        start += 1
        for j in range(outputs):
            values[j] = 2.0 / (1.0 + math.exp(-(scratch[j] + bias))) - 1.0


@kernel
def act(genome, sizes, inputs):
    """Return the network's outputs for one input vector, as the compiled rollouts compute them."""
    values = np.empty(max(sizes))
    values[: sizes[0]] = inputs
    forward(genome, sizes, values, np.empty(max(sizes)))
    return values[: sizes[-1]].copy()


@kernel
def act_each(genomes, rows, sizes, inputs, outputs):
    """Compute one pass through several networks of one shape, each with its own inputs.

    Row k of `outputs` holds the outputs of the network of `genomes[rows[k]]` for row k of `inputs`, with the same bits as `act`, whatever
    the other rows are. `sizes` is an array.
    """
    values, scratch = np.empty(sizes.max()), np.empty(sizes.max())
    for k in range(rows.size):
        values[: sizes[0]] = inputs[k]
        forward(genomes[rows[k]], sizes, values, scratch)
        outputs[k] = values[: sizes[-1]]


@inner
def convolve(genome, start, side, channels, filters, picture, features):
    """Compute one layer of convolutions from `picture` to `features`, both flat (row, column, channel); weights begin at `start`."""
    half = (side + 1) // 2
    bias = genome[start + 9 * channels * filters]
    for y in range(half):
        for x in range(half):
            target = (y * half + x) * filters
            for f in range(filters):
                features[target + f] = 0.0
            for dy in range(3):
                row = 2 * y + dy - 1
                if row < 0 or row >= side:
                    continue
                for dx in range(3):
                    column = 2 * x + dx - 1
                    if column < 0 or column >= side:
                        continue
                    for c in range(channels):
                        value = picture[(row * side + column) * channels + c]
                        weights = start + ((dy * 3 + dx) * channels + c) * filters
                        for f in range(filters):
                            features[target + f] += value * genome[weights + f]
            for f in range(filters):
                features[target + f] = 2.0 / (1.0 + math.exp(-(features[target + f] + bias))) - 1.0


@kernel
def see_each(genomes, rows, side, channels, sizes, pictures, outputs):
    """Compute one pass through several networks of one shape that begin with convolutions, each with a picture of its own.

    Row k of `outputs` is what the network of `genomes[rows[k]]` makes of row k of `pictures`, flat (side, side, channels[0]), whatever
    the other rows are. `channels` are those of the picture and of every layer of convolutions, `sizes` those of the layers behind.
    """
    widest = max(pictures.shape[1], sizes.max())
    for layer in range(channels.size):
        widest = max(widest, side * side * channels[layer])
    values, scratch = np.empty(widest), np.empty(widest)
    for k in range(rows.size):
        genome = genomes[rows[k]]
        values[: pictures.shape[1]] = pictures[k]
        start, length = 0, side
        for layer in range(channels.size - 1):
            convolve(genome, start, length, channels[layer], channels[layer + 1], values, scratch)
            start += 9 * channels[layer] * channels[layer + 1] + 1
            length = (length + 1) // 2
            values[:] = scratch
        forward(genome[start:], sizes, values, scratch)
        outputs[k] = values[: sizes[-1]]
