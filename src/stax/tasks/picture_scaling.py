"""Scaling of pictures by the mean of what each new pixel covers.

All sums are sums of integers, so the result is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stax.compiling import announcing
from stax.tasks.drawing import WHITE, average
from stax.tasks.task import Picture


def squeezed(picture: Picture, size: int) -> Picture:
    """Return the whole picture on a square of `size` pixels a side, whatever its own sides are."""
    return _scaled(picture, size, size)


def fitted(picture: Picture, size: int) -> Picture:
    """Return the picture as large as it fits on a white square of `size` pixels a side, in its own proportions."""
    tall, wide = picture.shape[:2]
    height, width = (max(1, round(size * side / max(tall, wide))) for side in (tall, wide))
    square = np.full((size, size, 3), WHITE, np.uint8)
    top, left = (size - height) // 2, (size - width) // 2
    square[top : top + height, left : left + width] = _scaled(picture, height, width)
    return square


def _scaled(picture: Picture, height: int, width: int) -> NDArray[np.uint8]:
    if picture.shape == (height, width, 3):
        return picture.copy()
    target = np.empty((height, width, 3), np.uint8)
    with announcing("the scaling of pictures"):
        average(np.ascontiguousarray(picture), target)
    return target
