"""Autoencoders whose codes are behaviour descriptors: a convolutional one for pictures, a dense one for vectors.

All autoencoders have one interface, also those of `variational.py` and a user's own (`own.py`). `inputs` converts raw observations to
inputs of the network, `encode` and `decode` are its two halves, `observations` converts reconstructions back, `fit_to` adapts the
constants of the normalisation to a training set, and `loss` is what training minimises. Errors are measured between `inputs(...)` and
`decode(...)`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.representation.layers import double, linear, selu
from stax.representation.provenance import Provenance

ENCODER_CHANNELS = (32, 64, 32, 16)
DECODER_CHANNELS = (32, 64, 32)
"""Channels of the layers of the decoder. The last layer has the picture's own channels."""
_CONVOLUTION = 4, 2, 1
"""Kernel size, stride and padding of every convolution: one halves, a transposed one doubles the sides of a picture."""
_HALVINGS = len(ENCODER_CHANNELS)
_BLOCK = 256
"""Number of pictures whose statistics are computed at once. Sums of the squares of so many bytes are exact in single precision."""
_FARTHEST = 1e6
"""Largest distance from the mean, in standard deviations, of a number of a vector: squares of more would not be finite."""
_LEAST_CHANGE = 1e-6
"""Share of its largest value below which the deviation of a number is only rounding in 32 bits."""


class Autoencoder(nn.Module):
    """Base class of autoencoders.

    Args:
        observation_shape: shape of one observation.
        code_size: number of values in the code.
    """

    rows_at_once: int = 32
    """Number of observations that go through the network together, so small that the activations stay in the cache. It is always exactly
    this number when codes are computed, because the last bits of a code depend on it."""
    noise_size: int = 0
    """Number of random numbers that `loss` gets for every observation."""
    whole_batches: bool = False
    """Whether training needs complete batches on one core: with batch normalisation or dropout, or if `loss` compares observations."""
    uses_provenance: bool = False
    """Whether `loss` gets a third argument: rewards, policies and moments of the observations, see `Provenance`."""
    fitted_at_once: bool = False
    """Whether `fit_to` does all of the training, so that there are no epochs."""
    groups_policies: bool = False
    """Whether the observations of a policy stand together in the order in which an epoch goes through them."""

    def __init__(self, observation_shape: Sequence[int], code_size: int) -> None:
        super().__init__()
        self.observation_shape = tuple(observation_shape)
        self.code_size = check_whole("code_size", code_size, 1)

    @abstractmethod
    def inputs(self, observations: Tensor) -> Tensor:
        """Convert raw observations (n, *observation_shape) to the inputs of the network."""

    @abstractmethod
    def observations(self, reconstructions: Tensor) -> Tensor:
        """Convert reconstructions back to observations, in float32: pictures in [0, 1], vectors in their own units."""

    @abstractmethod
    def encode(self, inputs: Tensor) -> Tensor:
        """Compute the codes (n, code_size)."""

    @abstractmethod
    def decode(self, codes: Tensor) -> Tensor:
        """Compute the reconstructions, with the shape of the inputs."""

    @abstractmethod
    def fit_to(self, observations: Tensor, rows: Tensor) -> None:
        """Set the constants of the normalisation from these rows of raw observations, the training set."""

    def loss(self, inputs: Tensor, noise: Tensor, provenance: Provenance | None = None) -> tuple[Tensor, Tensor]:
        """Compute the loss that training minimises, and the mean squared error of the reconstructions.

        Args:
            inputs: observations, converted by `inputs`.
            noise: numbers drawn from N(0, 1) for each of them, (n, noise_size).
            provenance: rewards, policies and moments of them; given only if `uses_provenance`.
        """
        error = functional.mse_loss(self(inputs), inputs)
        return error, error

    def forward(self, inputs: Tensor) -> Tensor:
        reconstructions: Tensor = self.decode(self.encode(inputs))
        return reconstructions


class PictureAutoencoder(Autoencoder):
    """Base class for pictures (height, width, channels) of bytes: inputs are in [0, 1] with the channels first."""

    def inputs(self, observations: Tensor) -> Tensor:
        return observations.permute(0, 3, 1, 2).to(torch.float32).mul_(1 / 255)

    def observations(self, reconstructions: Tensor) -> Tensor:
        return reconstructions.permute(0, 2, 3, 1).clamp(0, 1)

    def fit_to(self, observations: Tensor, rows: Tensor) -> None:
        """Do nothing: the range of bytes is known."""


class VectorAutoencoder(Autoencoder):
    """Base class for vectors (d,) in any units: inputs are standardised by mean and standard deviation of the training set.

    Numbers farther from the mean than a million standard deviations are clipped to that distance. A component that never changes keeps
    its own unit.
    """

    rows_at_once = 256
    mean: Tensor
    deviation: Tensor

    def __init__(self, observation_shape: Sequence[int], code_size: int) -> None:
        super().__init__(observation_shape, code_size)
        if len(self.observation_shape) != 1 or self.observation_shape[0] < 1:
            raise InvalidInputError(f"Vectors must have the shape (d,), not {self.observation_shape}.")
        self.register_buffer("mean", torch.zeros(self.observation_shape))
        self.register_buffer("deviation", torch.ones(self.observation_shape))

    def inputs(self, observations: Tensor) -> Tensor:
        values = (observations.to(torch.float32) - self.mean) / self.deviation
        return values.clamp_(-_FARTHEST, _FARTHEST)

    def observations(self, reconstructions: Tensor) -> Tensor:
        return reconstructions * self.deviation + self.mean

    def fit_to(self, observations: Tensor, rows: Tensor) -> None:
        # Computed by NumPy, because sums of torch depend on the number of its threads.
        values = observations[rows].numpy().astype(np.float64)
        deviation = values.std(0)
        changes = deviation > np.maximum(_LEAST_CHANGE * np.abs(values).max(0), np.finfo(np.float32).tiny)
        self.mean.copy_(torch.from_numpy(values.mean(0)))
        self.deviation.copy_(torch.from_numpy(np.where(changes, deviation, 1.0)))


class ConvolutionalAutoencoder(PictureAutoencoder):
    """Network of the paper's Section 4, for pictures (height, width, channels) whose sides are multiples of 16.

    Args:
        observation_shape: shape of one picture.
        code_size: number of values in the code.
        center_observations: whether to subtract the mean picture of the training set before encoding, and add it before the last ReLU,
            so that what never moves need not be learned.
        scale_observations: whether to divide by the training set's standard deviation, one number for all pixels, and multiply by it
            again, so that a robot of a few pixels has some weight.
    """

    mean: Tensor
    scale: Tensor

    def __init__(
        self,
        observation_shape: Sequence[int],
        code_size: int,
        *,
        center_observations: bool = False,
        scale_observations: bool = False,
    ) -> None:
        super().__init__(observation_shape, code_size)
        shape = self.observation_shape
        smallest = 2**_HALVINGS
        if len(shape) != 3 or any(side < smallest or side % smallest for side in shape[:2]) or shape[2] < 1:
            raise InvalidInputError(
                f"Pictures must have the shape (height, width, channels) with sides that are multiples of {smallest}, not {shape}."
            )
        height, width, channels = shape
        self.center_observations = center_observations
        self.scale_observations = scale_observations
        self._narrowest = (ENCODER_CHANNELS[-1], height // smallest, width // smallest)
        flat = self._narrowest[0] * self._narrowest[1] * self._narrowest[2]
        self.encoder_convolutions = nn.ModuleList(
            nn.Conv2d(before, after, *_CONVOLUTION) for before, after in pairwise((channels, *ENCODER_CHANNELS))
        )
        self.encoder_linear = nn.Linear(flat, self.code_size)
        self.decoder_linear = nn.Linear(self.code_size, flat)
        self.decoder_convolutions = nn.ModuleList(
            nn.ConvTranspose2d(before, after, *_CONVOLUTION)
            for before, after in pairwise((ENCODER_CHANNELS[-1], *DECODER_CHANNELS, channels))
        )
        self.register_buffer("mean", torch.zeros(channels, height, width))
        self.register_buffer("scale", torch.ones(()))
        # Pictures have their channels last in memory; weights with the same layout avoid a copy before and after every layer.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def encode(self, inputs: Tensor) -> Tensor:
        return self.code(self.features(inputs))

    def features(self, inputs: Tensor) -> Tensor:
        """Compute the inputs of the encoder's last layer, (n, numbers)."""
        values = self.normalised(inputs)
        for convolution in self.encoder_convolutions:
            values = selu(convolution(values))
        return values.flatten(1)

    def normalised(self, inputs: Tensor) -> Tensor:
        """Return the inputs centred and scaled, as the options say."""
        values = inputs
        if self.center_observations:
            values = values - self.mean
        if self.scale_observations:
            values = values / self.scale
        return values

    def code(self, features: Tensor) -> Tensor:
        return selu(self.encoder_linear(features))

    def decode(self, codes: Tensor) -> Tensor:
        values = selu(self.decoder_linear(codes)).view(-1, *self._narrowest)
        values = values.contiguous(memory_format=torch.channels_last)
        for convolution in self.decoder_convolutions[:-1]:
            values = selu(convolution(values))
        values = double(values, cast(nn.ConvTranspose2d, self.decoder_convolutions[-1]))
        if self.scale_observations:
            values = values * self.scale
        if self.center_observations:
            values = values + self.mean
        return functional.relu_(values)

    def fit_to(self, observations: Tensor, rows: Tensor) -> None:
        if not (self.center_observations or self.scale_observations):
            return
        total, squares = torch.zeros(2, *self.observation_shape, dtype=torch.float64)
        for block in (observations[some].float() for some in torch.split(rows, _BLOCK)):
            total += block.sum(0)
            squares += block.square_().sum(0)
        mean = total / len(rows)
        # A sum by torch would depend on the processor in its last bits.
        variance = (int(squares.sum()) / len(rows) - math.fsum(mean.square().flatten().tolist())) / mean.numel()
        if self.center_observations:
            self.mean.copy_(mean.permute(2, 0, 1) / 255)
        if self.scale_observations:
            self.scale.fill_(math.sqrt(max(variance, 0.0)) / 255 or 1.0)


class DenseAutoencoder(VectorAutoencoder):
    """Network for vectors (d,): fully connected layers with SELU, and a linear output.

    Args:
        observation_shape: shape of one vector.
        code_size: number of values in the code.
        hidden_sizes: sizes of the encoder's layers between input and code; those of the decoder mirror them.
    """

    def __init__(self, observation_shape: Sequence[int], code_size: int, *, hidden_sizes: Sequence[int]) -> None:
        super().__init__(observation_shape, code_size)
        hidden = [check_whole("Each of hidden_sizes", size, 1) for size in hidden_sizes]
        sizes = (self.observation_shape[0], *hidden, self.code_size)
        self.encoder_layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(sizes))
        self.decoder_layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(sizes[::-1]))

    def encode(self, inputs: Tensor) -> Tensor:
        return self.code(self.features(inputs))

    def features(self, inputs: Tensor) -> Tensor:
        """Compute the inputs of the encoder's last layer, (n, numbers)."""
        values = inputs
        for layer in self.encoder_layers[:-1]:
            values = selu(linear(values, cast(nn.Linear, layer)))
        return values

    def code(self, features: Tensor) -> Tensor:
        return selu(linear(features, cast(nn.Linear, self.encoder_layers[-1])))

    def decode(self, codes: Tensor) -> Tensor:
        values = codes
        for layer in self.decoder_layers[:-1]:
            values = selu(linear(values, cast(nn.Linear, layer)))
        return linear(values, cast(nn.Linear, self.decoder_layers[-1]))
