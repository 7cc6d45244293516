"""A deep spatial autoencoder (Finn et al., 2016): the code says where things are.

The encoder ends with a map per feature, and the code is the position of each feature in the picture, as a soft arg-max: the mean position,
weighted by the softmax of the map. Such a code has no capacity for anything but positions, which suits a few moving parts on a still
ground. The decoder is that of the paper's network.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from stax.representation.autoencoder import ConvolutionalAutoencoder
from stax.representation.choice import check_code_size
from stax.representation.layers import selu

_CHANNELS = (16, 16)
"""Channels of the layers before the maps of the features."""
_KERNEL = 5


class SpatialAutoencoder(ConvolutionalAutoencoder):
    """Autoencoder for pictures (height, width, channels) whose code is the positions of `code_size / 2` features.

    The first half of the code is the horizontal position of each feature, the second half the vertical one; -1 is the left or upper edge,
    1 the right or lower one.

    Args:
        observation_shape: shape of one picture, with sides that are multiples of 16.
        code_size: number of values in the code, which must be even.
        options: centring and scaling, see `ConvolutionalAutoencoder`.
    """

    columns: Tensor
    rows: Tensor

    def __init__(self, observation_shape: Sequence[int], code_size: int, **options: Any) -> None:
        super().__init__(observation_shape, code_size, **options)
        check_code_size("spatial", self.code_size)
        height, width, channels = self.observation_shape
        sizes = (channels, *_CHANNELS, self.code_size // 2)
        # The first layer halves the sides, since three quarters of the time would be spent on the full resolution.
        self.encoder_convolutions = nn.ModuleList(
            nn.Conv2d(before, after, _KERNEL, 2 if number == 0 else 1, _KERNEL // 2)
            for number, (before, after) in enumerate(pairwise(sizes))
        )
        del self.encoder_linear
        self.sharpness = nn.Parameter(torch.ones(()))
        self.register_buffer("columns", torch.linspace(-1, 1, width // 2), persistent=False)
        self.register_buffer("rows", torch.linspace(-1, 1, height // 2), persistent=False)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def features(self, inputs: Tensor) -> Tensor:
        """Compute the maps of the features, (n, code_size / 2, height / 2, width / 2)."""
        values = self.normalised(inputs)
        for convolution in self.encoder_convolutions[:-1]:
            values = selu(convolution(values))
        maps: Tensor = self.encoder_convolutions[-1](values)
        return maps

    def code(self, features: Tensor) -> Tensor:
        return soft_arg_max(features * self.sharpness, self.columns, self.rows)


def soft_arg_max(maps: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """Return the mean positions (n, 2 * k) under the softmax of maps (n, k, height, width): all horizontal ones, then all vertical ones.

    Args:
        maps: the maps.
        columns: position of each column, (width,).
        rows: position of each row, (height,).
    """
    weights = maps.flatten(2).softmax(2).view(maps.shape)
    across = (weights.sum(2) * columns).sum(2)
    down = (weights.sum(3) * rows).sum(2)
    return torch.cat([across, down], 1)
