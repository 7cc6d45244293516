"""Variational autoencoders (Kingma and Welling, 2014): an observation has a distribution of codes, whose mean is its code.

The networks are those of `autoencoder.py` with one more layer, which computes the logarithm of the variance of every number of the
code. The mean is linear, because SELU could not reach all values of N(0, 1). During training the decoder sees codes drawn from that
distribution, and a distribution that differs from N(0, 1) has a cost, so that nearby codes come to mean nearby observations.
Everywhere else only the mean is used: descriptors, surprise, reconstructions and the validation error that ends an episode have no
noise, and do not include that cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.layers import linear
from stax.representation.provenance import Provenance

_MOST_LOG_VARIANCE = 10.0
"""Largest absolute value of a logarithm of variance; beyond it the exponential would overflow 32 bits."""


class VariationalConvolutionalAutoencoder(ConvolutionalAutoencoder):
    """Variational autoencoder for pictures (height, width, channels) whose sides are multiples of 16.

    Args:
        observation_shape: shape of one picture.
        code_size: number of values in the code.
        kl_weight: cost of a nat of divergence from N(0, 1), in squared errors summed over a picture in [0, 1].
        options: centring and scaling, see `ConvolutionalAutoencoder`.
    """

    def __init__(self, observation_shape: Sequence[int], code_size: int, *, kl_weight: float, **options: Any) -> None:
        super().__init__(observation_shape, code_size, **options)
        self.kl_weight = kl_weight
        self.noise_size = self.code_size
        self.encoder_spread = nn.Linear(self.encoder_linear.in_features, self.code_size)

    def code(self, features: Tensor) -> Tensor:
        mean: Tensor = self.encoder_linear(features)
        return mean

    def loss(self, inputs: Tensor, noise: Tensor, provenance: Provenance | None = None) -> tuple[Tensor, Tensor]:
        features = self.features(inputs)
        return _bound(self, inputs, self.code(features), self.encoder_spread(features), noise, self.kl_weight)


class VariationalDenseAutoencoder(DenseAutoencoder):
    """Variational autoencoder for vectors (d,).

    Args:
        observation_shape: shape of one vector.
        code_size: number of values in the code.
        kl_weight: cost of a nat of divergence from N(0, 1), in squared errors summed over a standardised vector.
        options: the hidden layers, see `DenseAutoencoder`.
    """

    def __init__(self, observation_shape: Sequence[int], code_size: int, *, kl_weight: float, **options: Any) -> None:
        super().__init__(observation_shape, code_size, **options)
        self.kl_weight = kl_weight
        self.noise_size = self.code_size
        self.encoder_spread = nn.Linear(cast(nn.Linear, self.encoder_layers[-1]).in_features, self.code_size)

    def code(self, features: Tensor) -> Tensor:
        return linear(features, cast(nn.Linear, self.encoder_layers[-1]))

    def loss(self, inputs: Tensor, noise: Tensor, provenance: Provenance | None = None) -> tuple[Tensor, Tensor]:
        features = self.features(inputs)
        return _bound(self, inputs, self.code(features), self.encoder_spread(features), noise, self.kl_weight)


def _bound(
    network: Autoencoder, inputs: Tensor, mean: Tensor, log_variance: Tensor, noise: Tensor, kl_weight: float
) -> tuple[Tensor, Tensor]:
    """Return the negative evidence lower bound per number of an observation, and the error of the codes drawn."""
    log_variance = log_variance.clamp(-_MOST_LOG_VARIANCE, _MOST_LOG_VARIANCE)
    drawn = mean + torch.exp(log_variance / 2) * noise
    error = functional.mse_loss(network.decode(drawn), inputs)
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean() / 2
    return error + kl_weight * divergence / inputs[0].numel(), error
