"""Encoding pictures that are mostly alike, with less arithmetic: only what differs from a reference picture is computed.

The first two convolutions are four fifths of the encoder's arithmetic, and most of what they see is a ground that never moves.
So their output is divided into tiles of 4 x 4. A tile depends on 22 x 22 pixels of the picture, its patch:

    the second convolution's outputs    4i     ... 4i + 3     the tile
    the first convolution's outputs     8i - 1 ... 8i + 8     10 x 10
    pixels                              16i - 3 ... 16i + 18  22 x 22

1. The reference is the per-pixel median of some of the pictures, so the ground.
2. Every patch is compared with the reference's, byte by byte. Those that differ are active.
3. The patches of the reference and the active ones go through both convolutions, always `_PATCHES_AT_ONCE` together.
4. The output of a picture is put together from its active tiles and, for the rest, the reference's; the other layers follow.

Nothing is approximated: a tile that is not active has the same pixels as the reference's. And the tiles of the reference come
from the same computation as all others, so that neither the choice of the reference nor the other pictures change a bit of a
code. That is why the reference need not be kept.

At the border, convolutions see zeros instead of pixels or outputs that are not there. The zeros around the picture are part of
the patches; what the first convolution makes of them outside of its own output is set to zero before the second one sees it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from stax.representation.autoencoder import ConvolutionalAutoencoder
from stax.representation.layers import selu

Pictures = NDArray[np.uint8]

_TILE = 4
"""Side of a tile, in outputs of the second convolution."""
_STEP = 4 * _TILE
"""Pixels from one patch to the next."""
_MARGIN = 3
"""Pixels by which a patch is larger than the step, on either side."""
_PATCH = _STEP + 2 * _MARGIN
_PATCHES_AT_ONCE = 128
"""More of them are no quicker. Always exactly so many: the order of summation depends on it."""
_PICTURES_AT_ONCE = 512
"""Pictures that share a reference and whose tiles are in memory at the same time."""
_PICTURES_FOR_REFERENCE = 15
_PICTURES_FOR_SHARE = 512


def distinct(pictures: Pictures) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which pictures to encode, and for every picture which of these it equals: an arm that collided stays as it is.

    Pictures with the same fingerprint are compared; should two of them differ after all, every picture is encoded.
    """
    words = _words(pictures)
    _, chosen, number = np.unique(_fingerprints(words), return_index=True, return_inverse=True)
    repeats = np.nonzero(chosen[number] != np.arange(len(words)))[0]
    if (words[repeats] != words[chosen[number[repeats]]]).any():
        return np.arange(len(words)), np.arange(len(words))
    return chosen, number


def reference(pictures: Pictures) -> Pictures:
    """The per-pixel median of a few pictures, evenly spread among these."""
    some = pictures[_spread(len(pictures), _PICTURES_FOR_REFERENCE)]
    middle = len(some) // 2
    sorted_pixels = np.partition(some.reshape(len(some), -1).T.copy(), middle, axis=1)
    return sorted_pixels[:, middle].reshape(pictures.shape[1:])


def active_tiles(pictures: Pictures, ground: Pictures) -> NDArray[np.bool_]:
    """(n, rows, columns): which patches of the pictures (n, height, width, channels) differ from those of the ground."""
    count, height, width, channels = pictures.shape
    # The sides are multiples of 16, so a line of pixels is a whole number of words.
    words = np.bitwise_xor(_words(pictures, height), _words(ground[None], height))
    active = np.empty((count, height // _STEP, width // _STEP), np.bool_)
    for row in range(active.shape[1]):
        lines = words[:, max(_STEP * row - _MARGIN, 0) : _STEP * (row + 1) + _MARGIN]
        differ = np.bitwise_or.reduce(lines, axis=1).view(np.uint8)
        for column in range(active.shape[2]):
            first, end = max(_STEP * column - _MARGIN, 0), _STEP * (column + 1) + _MARGIN
            active[:, row, column] = differ[:, channels * first : channels * end].any(1)
    return active


def active_share(pictures: Pictures) -> float:
    """The share of active tiles, of at most a few hundred of these pictures."""
    some = pictures[_spread(len(pictures), _PICTURES_FOR_SHARE)]
    return float(active_tiles(some, reference(some)).mean())


def encode(network: ConvolutionalAutoencoder, pictures: Pictures, at_once: int) -> Tensor:
    """What the network's `encode` gives for these pictures, up to rounding; so many pictures share the later layers.

    The codes of a picture are the same bits whatever pictures are encoded with it.
    """
    codes = [torch.empty(0, network.code_size)]
    for first in range(0, len(pictures), _PICTURES_AT_ONCE):
        some = pictures[first : first + _PICTURES_AT_ONCE]
        ground = reference(some)
        active = active_tiles(some, ground)
        # The ground is the first picture, all of it active.
        active = np.concatenate([np.ones_like(active[:1]), active])
        places = np.nonzero(active)
        tiles = _tile_outputs(network, np.concatenate([ground[None], some]), places)
        # For every tile of every picture, which of the computed tiles it is.
        number = np.broadcast_to(np.arange(active[0].size).reshape(active.shape[1:]), active.shape).copy()
        number[places] = np.arange(len(places[0]))
        # A line of outputs is made of lines of tiles.
        lines = number[1:, :, None] * _TILE + np.arange(_TILE)[:, None]
        for start in range(0, len(some), at_once):
            block = torch.from_numpy(_padded(lines[start : start + at_once], at_once))
            outputs = tiles.index_select(0, block.flatten())
            outputs = outputs.view(at_once, _TILE * active.shape[1], _TILE * active.shape[2], -1)
            codes.append(network.encode_from(2, outputs.permute(0, 3, 1, 2))[: len(some) - start])
    return torch.cat(codes)


def _tile_outputs(network: ConvolutionalAutoencoder, pictures: Pictures, places: tuple[NDArray[np.int64], ...]) -> Tensor:
    """The second convolution's outputs (lines of tiles, 4 * channels) at these places: pictures, rows and columns."""
    first, second = (cast(nn.Conv2d, layer) for layer in network.encoder_convolutions[:2])
    patches = _patches(pictures)
    rows, columns = (int(size) for size in patches.shape[1:3])
    # Pixels outside of the picture are zeros after centring, so the mean is zero there.
    means = _patches(network.mean.permute(1, 2, 0).numpy()[None])[0]
    mean = network.mean
    outputs = []
    for start in range(0, len(places[0]), _PATCHES_AT_ONCE):
        of, row, column = (_padded(place[start : start + _PATCHES_AT_ONCE], _PATCHES_AT_ONCE) for place in places)
        values = network.inputs(torch.from_numpy(patches[of, row, column]))
        if network.center_observations:
            mean = torch.from_numpy(means[row, column]).permute(0, 3, 1, 2)
        values = network.normalise(values, mean)
        values = selu(functional.conv2d(values, first.weight, first.bias, stride=2))
        lines = values.permute(0, 2, 3, 1)
        lines[row == 0, 0] = 0
        lines[row == rows - 1, -1] = 0
        lines[column == 0, :, 0] = 0
        lines[column == columns - 1, :, -1] = 0
        values = selu(functional.conv2d(values, second.weight, second.bias, stride=2))
        outputs.append(values.permute(0, 2, 3, 1).reshape(_PATCHES_AT_ONCE * _TILE, -1))
    return torch.cat(outputs)


def _patches(pictures: NDArray[Any]) -> NDArray[Any]:
    """(n, rows, columns, 22, 22, channels): the patches of pictures (n, height, width, channels), as a view of a copy."""
    around = np.pad(pictures, ((0, 0), (_MARGIN, _MARGIN), (_MARGIN, _MARGIN), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (_PATCH, _PATCH), axis=(1, 2))
    return windows[:, ::_STEP, ::_STEP].transpose(0, 1, 2, 4, 5, 3)


def _padded(rows: NDArray[Any], count: int) -> NDArray[Any]:
    """So many rows: the first one is repeated at the end."""
    return np.concatenate([rows, np.repeat(rows[:1], count - len(rows), axis=0)])


def _spread(count: int, most: int) -> NDArray[np.int64]:
    """At most so many of the numbers below the count, evenly spread."""
    return np.arange(min(count, most)) * count // min(count, most)


def _fingerprints(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """A random sum of each row's words."""
    return words @ np.random.default_rng(0).integers(-(2**63), 2**63, words.shape[1])


def _words(pictures: Pictures, *lines: int) -> NDArray[np.int64]:
    """The bytes of every picture, or of every line of it, as words of eight."""
    return np.ascontiguousarray(pictures).reshape(len(pictures), *lines, -1).view(np.int64)
