"""Variational autoencoders (Kingma and Welling, 2014): an observation has a distribution of codes, whose mean is its code.

The networks are those of `autoencoder.py` with one more layer, which gives the logarithm of the variance of every number of the
code; the mean is linear, since SELU could not reach all that N(0, 1) does. While it trains, the decoder sees codes drawn from that
distribution, and distributions far from N(0, 1) cost something, so that nearby codes come to mean nearby observations. Everywhere
else the mean alone counts: descriptors, surprise, reconstructions and the validation error that ends an episode are without noise,
and without that cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.layers import linear

_MOST_LOG_VARIANCE = 10.0
"""Of either sign; beyond it the exponential would leave 32 bits in the end."""


class VariationalConvolutionalAutoencoder(ConvolutionalAutoencoder):
    """For pictures (height, width, channels) whose sides are multiples of 16.

    Args:
        observation_shape: of one picture.
        code_size: numbers of the code.
        kl_weight: what a nat of divergence from N(0, 1) costs, in squared errors summed over a picture in [0, 1].
        options: centring and scaling, see `ConvolutionalAutoencoder`.
    """

    def __init__(
        self, observation_shape: Sequence[int] = (64, 64, 3), code_size: int = 10, *, kl_weight: float, **options: Any
    ) -> None:
        super().__init__(observation_shape, code_size, **options)
        self.kl_weight = kl_weight
        self.noise_size = self.code_size
        self.encoder_spread = nn.Linear(self.encoder_linear.in_features, self.code_size)

    def code(self, features: Tensor) -> Tensor:
        mean: Tensor = self.encoder_linear(features)
        return mean

    def loss(self, inputs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(inputs)
        return _bound(self, inputs, self.code(features), self.encoder_spread(features), noise, self.kl_weight)


class VariationalDenseAutoencoder(DenseAutoencoder):
    """For vectors (d,).

    Args:
        observation_shape: of one vector.
        code_size: numbers of the code.
        kl_weight: what a nat of divergence from N(0, 1) costs, in squared errors summed over a standardised vector.
        options: the hidden layers, see `DenseAutoencoder`.
    """

    def __init__(self, observation_shape: Sequence[int], code_size: int = 10, *, kl_weight: float, **options: Any) -> None:
        super().__init__(observation_shape, code_size, **options)
        self.kl_weight = kl_weight
        self.noise_size = self.code_size
        self.encoder_spread = nn.Linear(cast(nn.Linear, self.encoder_layers[-1]).in_features, self.code_size)

    def code(self, features: Tensor) -> Tensor:
        return linear(features, cast(nn.Linear, self.encoder_layers[-1]))

    def loss(self, inputs: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(inputs)
        return _bound(self, inputs, self.code(features), self.encoder_spread(features), noise, self.kl_weight)


def _bound(
    network: Autoencoder, inputs: Tensor, mean: Tensor, log_variance: Tensor, noise: Tensor, kl_weight: float
) -> tuple[Tensor, Tensor]:
    """The evidence lower bound as something to lower, per number of an observation, and the error of the codes drawn."""
    log_variance = log_variance.clamp(-_MOST_LOG_VARIANCE, _MOST_LOG_VARIANCE)
    drawn = mean + torch.exp(log_variance / 2) * noise
    error = functional.mse_loss(network.decode(drawn), inputs)
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean() / 2
    return error + kl_weight * divergence / inputs[0].numel(), error
