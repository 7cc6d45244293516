"""Parametric policies, compiled.

The built-in policy is a fully connected network. Each layer, the output included, is followed by 2 sigmoid(x) - 1, and has one
bias *shared by the whole layer*. A genome holds, for each layer in order, the weights (inputs x outputs, row-major) and then
that bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from stax.compiling import inner, kernel


def network_genome_size(sizes: Sequence[int]) -> int:
    """How many numbers a network with these layer sizes takes, inputs first: (6, 5, 5, 5, 2) takes 94."""
    return sum(inputs * outputs + 1 for inputs, outputs in pairwise(sizes))


@inner
def forward(genome, sizes, values, scratch):
    """One pass through the network: `values` holds the inputs and, afterwards, the outputs.

    `values` and `scratch` are float64 buffers at least as long as the widest layer. `sizes` is best a global tuple, which the
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
    """The network's outputs for one input vector, as the compiled rollouts compute them."""
    values = np.empty(max(sizes))
    values[: sizes[0]] = inputs
    forward(genome, sizes, values, np.empty(max(sizes)))
    return values[: sizes[-1]].copy()


@kernel
def act_each(genomes, rows, sizes, inputs, outputs):
    """One pass through several networks of one shape, each with inputs of its own.

    Row k of `outputs` is what the network of `genomes[rows[k]]` makes of row k of `inputs`, to the same bits as `act` and whatever
    the other rows are. `sizes` is an array.
    """
    values, scratch = np.empty(sizes.max()), np.empty(sizes.max())
    for k in range(rows.size):
        values[: sizes[0]] = inputs[k]
        forward(genomes[rows[k]], sizes, values, scratch)
        outputs[k] = values[: sizes[-1]]
