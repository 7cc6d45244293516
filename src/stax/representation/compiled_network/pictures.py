"""The input and the output of the compiled network: changed parts of pictures, and the comparison of reconstructions.

Most of a task's pictures is a background that never changes. So a picture is compared with a reference picture, whose activations are
known, and a layer is computed only where one of the pixels that it sees differs. Nothing is approximated: a number is computed by the
same operations wherever it is, so the numbers that are not computed would have had the same bits.
"""

from __future__ import annotations

import numpy as np

from stax.compiling import inner
from stax.representation.compiled_network.plan import (
    COARSE,
    DECODED,
    FINE,
    GRADIENTS,
    GROUP,
    HEIGHT,
    LAST,
    LINE,
    PACKED_OFFSETS,
    PACKED_SHIFT,
    PRODUCTS,
    RECONSTRUCTION,
    SUMS,
    UP,
    WIDTH,
)
from stax.representation.compiled_network.products import span_product
from stax.representation.compiled_network.vectors import FEW_PIXELS, LINEAR, NONE, add_eight, compare_line


@inner
def changed_pixels(picture, reference, height, width, channels, changed, changed_rows):
    """Mark the pixels in which a picture differs from the reference, and the rows that have any."""
    line = width * channels
    # A line is a multiple of 16 bytes.
    words, reference_words = picture.view(np.uint64), reference.view(np.uint64)
    for row in range(height):
        differences = np.uint64(0)
        for place in range(row * line // 8, (row + 1) * line // 8):
            differences |= words[place] ^ reference_words[place]
        changed_rows[row] = differences != 0
        if differences != 0:
            place = row * line
            for column in range(width):
                differs = False
                for _ in range(channels):
                    differs |= picture[place] != reference[place]
                    place += 1
                changed[row, column] = differs


@inner
def changed_outputs(fine, fine_rows, height, width, coarse, coarse_rows, seen):
    """Mark the pixels (height, width) of a coarse array that see a change in the fine one, and the rows that have any.

    `seen` has room for a row of the fine array and its border.
    """
    for row in range(height):
        coarse_rows[row] = False
        for above in range(max(2 * row - 1, 0), min(2 * row + 3, 2 * height)):
            if fine_rows[above]:
                fine_row = fine[above]
                if not coarse_rows[row]:
                    coarse_rows[row] = True
                    for column in range(2 * width + 2):
                        seen[column] = False
                for column in range(2 * width):
                    seen[column + 1] |= fine_row[column]
        if coarse_rows[row]:
            for column in range(width):
                left = 2 * column
                coarse[row, column] = seen[left] | seen[left + 1] | seen[left + 2] | seen[left + 3]


@inner
def find_spans(changed, changed_rows, height, width, spans):
    """Cover the marked pixels by spans of a length that is fast to compute, and return their number."""
    count = 0
    for row in range(height):
        if not changed_rows[row]:
            continue
        column = 0
        while column < width:
            if not changed[row, column]:
                column += 1
                continue
            # A gap of a few pixels costs less than another span.
            end = column + 1
            last = column
            while end < width and end - last <= FEW_PIXELS:
                if changed[row, end]:
                    last = end
                end += 1
            length = last + 1 - column
            length = min(length + -length % FEW_PIXELS, width)
            first = min(column, width - length)
            spans[count, 0], spans[count, 1], spans[count, 2] = row, first, length
            count += 1
            column = first + length
    return count


@inner
def all_spans(height, width, spans):
    """Cover all pixels by spans, and return their number."""
    for row in range(height):
        spans[row, 0], spans[row, 1], spans[row, 2] = row, 0, width
    return height


@inner
def normalise_row(picture, packed, places, row, channels, factor, work, array):
    """Write a row of a picture as the first layer gets it: pixel * factor + shift."""
    line = places[LINE]
    to = array + ((row + 1) * (line // channels + 2) + 1) * channels
    pixels = picture[row * line : (row + 1) * line]
    shift = packed[places[PACKED_SHIFT] + row * line : places[PACKED_SHIFT] + (row + 1) * line]
    result = work[to : to + line]
    for i in range(line):
        result[i] = np.float32(pixels[i]) * factor + shift[i]


@inner
def reconstruct_and_compare(picture, work, packed, layers, places, arrays, scale, gradient, factor):
    """Compute the last layer, compare the reconstruction with the picture, and return the squared error.

    The last layer has only a few output channels, which would not fill vectors. So each pixel of the coarse array is multiplied by
    all weights at once: (kernel row, half of a kernel row, group), where a group is two kernel columns of all channels, and zeros up
    to a multiple of eight. Two adjacent output pixels are the sum of four groups: the first halves of one coarse pixel and the
    second halves of its left neighbour, of two adjacent rows.

    If `gradient` is true, the gradient of the error, times the factor, is stored as the finest array of gradients.
    """
    layer = layers[LAST]
    channels, before, height, width = layer[FINE], layer[COARSE], layer[HEIGHT], layer[WIDTH]
    line, group = places[LINE], places[GROUP]
    coarse = arrays[DECODED + 1]
    sums, target = places[SUMS], places[RECONSTRUCTION]
    pixel_size = 8 * group
    row_size = (width + 2) * pixel_size
    products = places[PRODUCTS]
    zeros = products + 2 * row_size
    for i in range(16):
        work[sums + i] = 0
    above = zeros
    for row in range(height + 1):
        below = zeros
        if row < height:
            below = products + row % 2 * row_size
            a = coarse + ((row + 1) * (width + 2) + 1) * before
            span_product(work, packed, a, before, before, layer[UP], NONE, below + pixel_size, pixel_size, width, LINEAR, NONE)
        for output in range(max(2 * row - 1, 0), min(2 * row + 1, 2 * height)):
            # Rows of the kernel through which the rows above and below are seen.
            kernel_above, kernel_below = (2, 0) if output % 2 else (3, 1)
            for column in range(width + 1):
                a = above + column * pixel_size + 2 * kernel_above * group
                b = below + column * pixel_size + 2 * kernel_below * group
                for part in range(0, group, 8):
                    add_eight(
                        work,
                        target + 2 * channels * column + part,
                        a + pixel_size + part,
                        a + group + part,
                        b + pixel_size + part,
                        b + group + part,
                    )
            place = output * line
            to = np.int64(-1)
            if gradient:
                to = arrays[GRADIENTS] + ((output + 1) * (2 * width + 2) + 1) * channels
            compare_line(
                work, packed, picture, target + channels, line, places[PACKED_OFFSETS] + place, place, scale, sums, to, factor
            )
        above = below
    # The order of this sum is part of the result.
    half = 8
    while half > 0:
        for i in range(half):
            work[sums + i] += work[sums + half + i]
        half //= 2
    return work[sums]
