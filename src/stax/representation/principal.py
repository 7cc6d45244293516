"""Principal components of smoothed pictures: a linear autoencoder that is computed from its training set at once, without an optimiser.

Of a picture, the autoencoder sees the low frequencies, and the finer ones count the less: the amplitude of a frequency f is divided by
f ** smoothing. The reason is that novelty needs distances that grow with the displacement of things. Two pictures of a small robot in
two places have the same difference of pixels wherever these places are, as soon as they do not overlap. With a smoothing of 1.5, the
distance of two such pictures is their energy distance (Székely and Rizzo, 2013), which in the plane weights the squared difference of
two densities at frequency f by f ** -3, and which grows with the square root of the displacement. Surprise is what the components leave
of these frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn import functional

from stax.errors import InvalidInputError
from stax.representation.autoencoder import Autoencoder

FREQUENCIES = 8
"""Number of frequencies along each side of a picture, the constant one among them."""
_CELLS = 16
"""Number of cells along each side of a picture, over which pixels are averaged first."""
_LEAST_VARIANCE = 1e-12
"""Share of the largest variance below which a component is only rounding."""
_AT_ONCE = 1024
"""Number of observations that are converted at once when the components are computed."""


def principal_components(values: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean (d,) and the first components (d, count) of values (n, d), those of the largest variance first.

    The largest number of each component is positive. Components along which nothing varies are zero. The bits do not depend on the
    number of threads, because BLAS has one thread.
    """
    mean = values.mean(0)
    centred = values - mean
    rows, size = values.shape
    components = np.zeros((size, count))
    with threadpool_limits(limits=1, user_api="blas"):
        # Both products have the same eigenvalues; the smaller one is taken apart sooner.
        variance, vectors = np.linalg.eigh(centred.T @ centred if size <= rows else centred @ centred.T)
        varying = np.flatnonzero(variance > _LEAST_VARIANCE * max(variance[-1], 0))[::-1][:count]
        found = vectors[:, varying]
        if size > rows:
            found = centred.T @ found / np.sqrt(variance[varying])
    largest = found[np.abs(found).argmax(0), np.arange(len(varying))]
    components[:, : len(varying)] = found * np.sign(largest)
    return mean, components


class PrincipalAutoencoder(Autoencoder):
    """Principal components of smoothed pictures (height, width, channels).

    Args:
        observation_shape: shape of one picture.
        code_size: number of values in the code.
        smoothing: exponent of the frequency by which amplitudes are divided; 0 for pictures as they are, 1.5 for the energy distance.
    """

    fitted_at_once = True
    mean: Tensor
    centre: Tensor
    down: Tensor
    across: Tensor
    weights: Tensor

    def __init__(self, observation_shape: Sequence[int], code_size: int, *, smoothing: float) -> None:
        super().__init__(observation_shape, code_size)
        shape = self.observation_shape
        if len(shape) != 3 or min(shape) < 1:
            raise InvalidInputError(f"Pictures must have the shape (height, width, channels), not {shape}.")
        height, width, channels = shape
        self._cells = min(_CELLS, height), min(_CELLS, width)
        down, across = (cosines(cells) for cells in self._cells)
        self.register_buffer("down", down, persistent=False)
        self.register_buffer("across", across, persistent=False)
        # Frequencies in half waves over the longer side, so that a picture that is not square is smoothed alike in both directions.
        longer = max(height, width)
        rows, columns = (torch.arange(len(basis)) * longer / side for basis, side in ((down, height), (across, width)))
        frequency = torch.hypot(rows[:, None], columns)
        frequency[0, 0] = 1
        self.register_buffer("weights", frequency**-smoothing, persistent=False)
        size = channels * len(down) * len(across)
        self.register_buffer("mean", torch.zeros(channels, height, width))
        self.register_buffer("centre", torch.zeros(size))
        # Before the first training, the code is a random projection.
        random = torch.zeros(size, self.code_size)
        known = min(size, self.code_size)
        random[:, :known] = torch.linalg.qr(torch.randn(size, known))[0]
        self.components = nn.Parameter(random, requires_grad=False)

    def inputs(self, observations: Tensor) -> Tensor:
        pictures = observations.permute(0, 3, 1, 2).to(torch.float32).mul_(1 / 255)
        cells = functional.adaptive_avg_pool2d(pictures, self._cells)
        return (self.down @ cells @ self.across.T * self.weights).flatten(1)

    def observations(self, reconstructions: Tensor) -> Tensor:
        """Return pictures in which only what differs from the mean picture is blurred."""
        height, width, channels = self.observation_shape
        amplitudes = (reconstructions - self.centre).view(-1, channels, len(self.down), len(self.across)) / self.weights
        cells = self.down.T @ amplitudes @ self.across
        pictures = self.mean + functional.interpolate(cells, (height, width), mode="bilinear")
        return pictures.permute(0, 2, 3, 1).clamp(0, 1)

    def encode(self, inputs: Tensor) -> Tensor:
        return (inputs - self.centre) @ self.components

    def decode(self, codes: Tensor) -> Tensor:
        return codes @ self.components.T + self.centre

    def fit_to(self, observations: Tensor, rows: Tensor) -> None:
        """Compute the mean and the components of these rows of raw observations."""
        total = torch.zeros(self.observation_shape, dtype=torch.int64)
        parts = []
        for block in (observations[some] for some in torch.split(rows, _AT_ONCE)):
            total += block.sum(0, dtype=torch.int64)
            parts.append(self.inputs(block.to(self.centre.device)).cpu().numpy())
        centre, components = principal_components(np.concatenate(parts).astype(np.float64), self.code_size)
        self.mean.copy_(total.permute(2, 0, 1) / (255 * len(rows)))
        self.centre.copy_(torch.from_numpy(centre))
        self.components.copy_(torch.from_numpy(components))


def cosines(cells: int) -> Tensor:
    """Return the first frequencies of the orthonormal discrete cosine transform of so many cells, (frequencies, cells)."""
    places = (torch.arange(cells, dtype=torch.float64) + 0.5) / cells
    frequencies = torch.arange(min(FREQUENCIES, cells), dtype=torch.float64)
    basis = torch.cos(math.pi * frequencies[:, None] * places) * math.sqrt(2 / cells)
    basis[0] /= math.sqrt(2)
    return basis.to(torch.float32)
