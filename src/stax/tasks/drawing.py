"""Anti-aliased drawing of scenes in compiled code.

A scene is a list of shapes in world units, one row of `COLUMNS` numbers each, painted in order. The same rows make the small
observations for an autoencoder and the large pictures for people. The share of a pixel that a shape covers depends on how deep the
pixel's centre lies within it: from nothing half a pixel outside its edge to everything half a pixel inside.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stax.compiling import inner, kernel

Shapes = NDArray[np.float64]
"""Shapes of one scene (n, COLUMNS), or of several (scenes, n, COLUMNS)."""
Color = tuple[int, int, int]

WHITE: Color = (255, 255, 255)
WALL: Color = (70, 74, 84)
BLUE: Color = (31, 98, 191)
RED: Color = (214, 40, 40)
ORANGE: Color = (240, 140, 20)
GREEN: Color = (40, 150, 90)
GREY: Color = (110, 115, 125)
AREA_COLORS: tuple[Color, ...] = (GREEN, ORANGE, RED, BLUE, (140, 80, 170), (0, 150, 160))

# Kind; four points x, y; radius, or half of a line's width; smallest radius in pixels; colour; opacity.
_KIND, _X0, _Y0, _X1, _Y1, _X2, _Y2, _X3, _Y3, _RADIUS, _LEAST, _RED, _GREEN, _BLUE, _OPACITY = range(15)
COLUMNS = 15
_DISC, _LINE, _QUAD, _RING = range(4)


def _blank(count: tuple[int, ...], kind: int, color: Color, opacity: float, least: float) -> Shapes:
    rows = np.zeros((*count, COLUMNS))
    rows[..., _KIND] = kind
    rows[..., _RED : _BLUE + 1] = color
    rows[..., _OPACITY] = opacity
    rows[..., _LEAST] = least
    return rows


def discs(
    centers: NDArray[np.float64], radius: float, color: Color, *, opacity: float = 1.0, least: float = 0.0, ring: float = 0.0
) -> Shapes:
    """Return filled circles around centres (..., 2), or rings of that half width. `least`: smallest radius in pixels."""
    rows = _blank(centers.shape[:-1], _RING if ring else _DISC, color, opacity, least)
    rows[..., _X0 : _Y0 + 1] = centers
    rows[..., _RADIUS] = radius
    rows[..., _X1] = ring
    return rows


def lines(
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    half_width: float,
    color: Color,
    *,
    opacity: float = 1.0,
    least: float = 0.0,
) -> Shapes:
    """Return straight lines with round ends between points (..., 2). `least`: smallest half width in pixels."""
    rows = _blank(starts.shape[:-1], _LINE, color, opacity, least)
    rows[..., _X0 : _Y0 + 1] = starts
    rows[..., _X1 : _Y1 + 1] = ends
    rows[..., _RADIUS] = half_width
    return rows


def quads(corners: NDArray[np.float64], color: Color, *, opacity: float = 1.0) -> Shapes:
    """Return convex quadrilaterals, with corners (..., 4, 2) in order around them."""
    rows = _blank(corners.shape[:-2], _QUAD, color, opacity, 0.0)
    rows[..., _X0 : _Y3 + 1] = corners.reshape(*corners.shape[:-2], 8)
    return rows


class View(NamedTuple):
    """Square of the world that a picture shows."""

    left: float
    """Smallest x."""
    top: float
    """y of the upper edge: the smallest where y points down, the largest where it points up."""
    width: float
    y_down: bool


def paint(canvas: NDArray[np.uint8], shapes: Shapes, view: View) -> None:
    """Paint one scene over a square canvas (size, size, 3), in place."""
    _paint_scenes(canvas[None], np.ascontiguousarray(shapes)[None], canvas[None], view.left, view.top, view.width, view.y_down)


def paint_scenes(background: NDArray[np.uint8], shapes: Shapes, view: View, out: NDArray[np.uint8]) -> None:
    """Paint scenes (n, shapes, COLUMNS), each over a copy of the background, into `out` (n, size, size, 3)."""
    _paint_scenes(background[None], shapes, out, view.left, view.top, view.width, view.y_down)


def new_canvas(size: int, color: Color = WHITE) -> NDArray[np.uint8]:
    canvas = np.empty((size, size, 3), np.uint8)
    canvas[:] = color
    return canvas


@inner
def _line_distance(x, y, x0, y0, x1, y1):
    dx, dy = x1 - x0, y1 - y0
    length = dx * dx + dy * dy
    along = ((x - x0) * dx + (y - y0) * dy) / length if length > 0.0 else 0.0
    along = min(max(along, 0.0), 1.0)
    return math.hypot(x - x0 - along * dx, y - y0 - along * dy)


@inner
def _quad_depth(x, y, corners):
    """Return how far inside all four edges a point is; negative outside. Near a corner outside, only the nearer edge counts."""
    area = 0.0
    for i in range(4):
        j = (i + 1) % 4
        area += corners[i, 0] * corners[j, 1] - corners[j, 0] * corners[i, 1]
    turn = 1.0 if area > 0.0 else -1.0
    depth = 1e9
    for i in range(4):
        j = (i + 1) % 4
        dx, dy = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1]
        length = math.sqrt(dx * dx + dy * dy)
        if length > 0.0:
            depth = min(depth, turn * (dx * (y - corners[i, 1]) - dy * (x - corners[i, 0])) / length)
    return depth


@inner
def _paint_shape(canvas, shape, corners, left, top, scale, y_sign):
    size = canvas.shape[0]
    kind = int(shape[_KIND])
    points = 4 if kind == _QUAD else (2 if kind == _LINE else 1)
    # Pixel centres are at integers.
    low_x = low_y = 1e9
    high_x = high_y = -1e9
    for i in range(points):
        corners[i, 0] = (shape[_X0 + 2 * i] - left) * scale - 0.5
        corners[i, 1] = (shape[_Y0 + 2 * i] - top) * y_sign * scale - 0.5
        low_x, high_x = min(low_x, corners[i, 0]), max(high_x, corners[i, 0])
        low_y, high_y = min(low_y, corners[i, 1]), max(high_y, corners[i, 1])
    radius = max(shape[_RADIUS] * scale, shape[_LEAST])
    ring = max(shape[_X1] * scale, 0.6) if kind == _RING else 0.0
    reach = radius + ring + 0.5
    # Pixels off the canvas are not visited; the sums stay small enough to be integers.
    first_column = int(math.ceil(min(max(low_x - reach, 0.0), float(size))))
    last_column = int(math.floor(max(min(high_x + reach, size - 1.0), -1.0)))
    first_row = int(math.ceil(min(max(low_y - reach, 0.0), float(size))))
    last_row = int(math.floor(max(min(high_y + reach, size - 1.0), -1.0)))
    for row in range(first_row, last_row + 1):
        for column in range(first_column, last_column + 1):
            if kind == _QUAD:
                depth = _quad_depth(column, row, corners)
            elif kind == _LINE:
                distance = _line_distance(column, row, corners[0, 0], corners[0, 1], corners[1, 0], corners[1, 1])
                depth = radius - distance
            else:
                distance = math.hypot(column - corners[0, 0], row - corners[0, 1])
                depth = ring - abs(distance - radius) if kind == _RING else radius - distance
            cover = min(max(depth + 0.5, 0.0), 1.0) * shape[_OPACITY]
            if cover > 0.0:
                for channel in range(3):
                    old = float(canvas[row, column, channel])
                    canvas[row, column, channel] = np.uint8(old + cover * (shape[_RED + channel] - old) + 0.5)


@kernel
def _paint_scenes(background, shapes, out, left, top, width, y_down):
    corners = np.empty((4, 2))
    size = out.shape[1]
    y_sign = 1.0 if y_down else -1.0
    for i in range(shapes.shape[0]):
        out[i] = background[0]
        for j in range(shapes.shape[1]):
            _paint_shape(out[i], shapes[i, j], corners, left, top, size / width, y_sign)


@kernel
def average(picture, target):
    """Scale a picture: fill `target` (height, width, 3) with the means of the parts of `picture` that its pixels cover.

    Overlaps are integers in units in which a pixel of the picture is as long as the target's side has pixels, and a pixel of the
    target is as long as the picture's side has pixels.
    """
    tall, wide = picture.shape[0], picture.shape[1]
    height, width = target.shape[0], target.shape[1]
    for y in range(height):
        top, bottom = y * tall, (y + 1) * tall
        for x in range(width):
            left, right = x * wide, (x + 1) * wide
            sums = np.zeros(3, np.int64)
            for i in range(top // height, (bottom - 1) // height + 1):
                down = min(bottom, (i + 1) * height) - max(top, i * height)
                for j in range(left // width, (right - 1) // width + 1):
                    weight = down * (min(right, (j + 1) * width) - max(left, j * width))
                    for c in range(3):
                        sums[c] += weight * picture[i, j, c]
            for c in range(3):
                target[y, x, c] = (2 * sums[c] + tall * wide) // (2 * tall * wide)
