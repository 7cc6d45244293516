"""Properties of the pictures of a task that save work: some are equal, and most show the same background."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Pictures = NDArray[np.uint8]

PICTURES_FOR_MEDIAN = 15


def distinct(pictures: Pictures) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which pictures to encode, and for every picture which of these it equals: an arm that collided stays as it is.

    Pictures with the same fingerprint are compared. If two of them differ after all, every picture is encoded.
    """
    words = _words(pictures)
    _, chosen, number = np.unique(_fingerprints(words), return_index=True, return_inverse=True)
    repeats = np.nonzero(chosen[number] != np.arange(len(words)))[0]
    if (words[repeats] != words[chosen[number[repeats]]]).any():
        return np.arange(len(words)), np.arange(len(words))
    return chosen, number


def median_picture(pictures: Pictures) -> Pictures:
    """Return the median, pixel by pixel, of a few pictures that are evenly spread among these: the background."""
    count = min(len(pictures), PICTURES_FOR_MEDIAN)
    some = pictures[np.arange(count) * len(pictures) // count]
    middle = len(some) // 2
    sorted_pixels = np.partition(some.reshape(len(some), -1).T.copy(), middle, axis=1)
    return np.ascontiguousarray(sorted_pixels[:, middle]).reshape(pictures.shape[1:])


def _fingerprints(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a random sum of each row's words."""
    return words @ np.random.default_rng(0).integers(-(2**63), 2**63, words.shape[1])


def _words(pictures: Pictures) -> NDArray[np.int64]:
    """Return the bytes of every picture as words of eight; the sides are multiples of 16."""
    return np.ascontiguousarray(pictures).reshape(len(pictures), -1).view(np.int64)
