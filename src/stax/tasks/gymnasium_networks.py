"""The networks that policies of Gymnasium tasks are: of a vector, or of a picture."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stax.policies import act_each, convolutions_genome_size, network_genome_size, picture_features, see_each
from stax.tasks.task import Genomes


class Network(Protocol):
    """The shape of all policies of a task."""

    genome_size: int
    sizes: tuple[int, ...]
    """Layers of the fully connected part, inputs first."""

    def act_each(self, genomes: Genomes, rows: NDArray[np.int64], inputs: NDArray[Any], outputs: NDArray[Any]) -> None:
        """Write to each row of `outputs` what the network of `genomes[rows[k]]` makes of that row of `inputs`."""


class DenseNetwork:
    """A fully connected network of a vector.

    Args:
        sizes: of the layers, inputs first.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes, self.genome_size = sizes, network_genome_size(sizes)
        self._sizes = np.array(sizes, np.int64)

    def act_each(self, genomes: Genomes, rows: NDArray[np.int64], inputs: NDArray[Any], outputs: NDArray[Any]) -> None:
        act_each(genomes, rows, self._sizes, inputs, outputs)


class ConvolutionalNetwork:
    """Convolutions of a square picture, and a fully connected network behind them.

    Args:
        side: of the picture, in pixels.
        channels: of the picture.
        filters: how many each layer of convolutions has.
        behind: neurons of the layers behind the convolutions, outputs last.
    """

    def __init__(self, side: int, channels: int, filters: tuple[int, ...], behind: tuple[int, ...]) -> None:
        self.sizes = (picture_features(side, channels, filters), *behind)
        self.genome_size = convolutions_genome_size(channels, filters) + network_genome_size(self.sizes)
        self._side = side
        self._channels, self._sizes = np.array((channels, *filters), np.int64), np.array(self.sizes, np.int64)

    def act_each(self, genomes: Genomes, rows: NDArray[np.int64], inputs: NDArray[Any], outputs: NDArray[Any]) -> None:
        see_each(genomes, rows, self._side, self._channels, self._sizes, inputs, outputs)
