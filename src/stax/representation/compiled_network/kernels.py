"""Functions of the compiled network that Python calls."""

from __future__ import annotations

import numpy as np

from stax.compiling import inlined, inner, kernel, source_stamp
from stax.representation.compiled_network.packing import pack
from stax.representation.compiled_network.pictures import (
    all_spans,
    changed_outputs,
    changed_pixels,
    find_spans,
    normalise_row,
    reconstruct_and_compare,
)
from stax.representation.compiled_network.plan import (
    BIAS,
    COARSE,
    CODE,
    CODE_GRADIENT,
    CODE_SIZE,
    CODES,
    DECODED,
    DECODER_DENSE,
    DECODER_DENSE_BIAS,
    DIFFERENCES,
    ENCODED,
    ENCODER_DENSE,
    ENCODER_DENSE_BIAS,
    FINE,
    FLAT,
    GRADIENTS,
    HEIGHT,
    LAST,
    LAYERS,
    LEVELS,
    LINE,
    ONE,
    PACKED_DECODER_DENSE,
    PACKED_DECODER_DENSE_BACK,
    PACKED_DECODER_DENSE_BIAS,
    PACKED_ENCODER_DENSE,
    PACKED_ENCODER_DENSE_BACK,
    PACKED_ENCODER_DENSE_BIAS,
    START,
    TILES,
    WIDTH,
)
from stax.representation.compiled_network.products import (
    add_bias_gradient,
    add_weight_gradient,
    go_down,
    go_up,
    go_up_in_tiles,
    span_product,
)
from stax.representation.compiled_network.vectors import NONE, ONCE, SELU, SELU_GRADIENT


@inlined
def _start_from(work, known, arrays, rows):
    """Begin with the activations of the reference, none of which are changed."""
    for i in range(arrays[DECODED + 1]):
        work[i] = known[i]
    rows[:] = False


@inner
def _restore(work, known, layers, arrays, rows):
    """Restore the rows that the picture before had changed."""
    for level in range(LEVELS):
        height, width, channels = 2 * layers[level, HEIGHT], 2 * layers[level, WIDTH], layers[level, FINE]
        size = (width + 2) * channels
        for row in range(height):
            if rows[level, row]:
                place = arrays[ENCODED + level] + (row + 1) * size
                target, source = work[place : place + size], known[place : place + size]
                for i in range(size):
                    target[i] = source[i]


@inlined
def _encode(picture, reference, everything, work, packed, layers, places, arrays, factor, code_mode, changed, rows, spans):
    """Compute the code of a picture, and all activations of the encoder.

    Args:
        picture, reference: bytes; where they are equal, the activations in `work` are those of the picture.
        everything: whether to compute all of the picture; there is no reference then.
        work, packed, layers, places, arrays: see `plan.py`.
        factor: factor of the pixels.
        code_mode: SELU or LINEAR, the operation on the numbers of the code.
        changed, rows: marks of the pixels that were computed and of their rows, for all levels; `changed` has another for use inside.
        spans: memory for spans.
    """
    height, width, channels = 2 * layers[0, HEIGHT], 2 * layers[0, WIDTH], layers[0, FINE]
    if everything:
        rows[:] = True
    else:
        changed_pixels(picture, reference, height, width, channels, changed[0], rows[0])
    for row in range(height):
        if rows[0, row]:
            normalise_row(picture, packed, places, row, channels, factor, work, arrays[ENCODED])
    for level in range(LEVELS):
        layer = layers[level]
        height, width = layer[HEIGHT], layer[WIDTH]
        if everything or level == LEVELS - 1:
            count = all_spans(height, width, spans)
        else:
            changed_outputs(changed[level], rows[level], height, width, changed[level + 1], rows[level + 1], changed[LEVELS, 0])
            count = find_spans(changed[level + 1], rows[level + 1], height, width, spans)
        fine, coarse = arrays[ENCODED + level], arrays[ENCODED + level + 1]
        go_down(work, packed, layer, fine, coarse, spans, count, layer[START], SELU, coarse)
    narrowest, flat, code = arrays[ENCODED + LEVELS], places[FLAT], places[CODE]
    weights, start = places[PACKED_ENCODER_DENSE], places[PACKED_ENCODER_DENSE_BIAS]
    span_product(work, packed, narrowest, flat, flat, weights, start, code, places[CODES], ONCE, code_mode, code)


@inlined
def _decode(work, packed, layers, places, arrays):
    """Compute all activations of the decoder from the code, except for its last layer."""
    narrowest, codes = arrays[DECODED + LEVELS], places[CODES]
    weights, start = places[PACKED_DECODER_DENSE], places[PACKED_DECODER_DENSE_BIAS]
    span_product(work, packed, places[CODE], codes, codes, weights, start, narrowest, places[FLAT], ONCE, SELU, narrowest)
    for number in range(LEVELS, LAST):
        level = LAYERS - number
        layer = layers[number]
        coarse, fine = arrays[DECODED + level], arrays[DECODED + level - 1]
        if level == LEVELS:
            go_up(work, packed, layer, coarse, fine, layer[START], SELU, fine)
        else:
            go_up_in_tiles(work, packed, layer, coarse, fine, layer[START], SELU, fine, places[DIFFERENCES], places[TILES])


@inlined
def _add_gradients(work, packed, layers, places, arrays, gradients, last_bias, spans):
    """Add the gradients of all parameters for a picture whose activations and whose gradient of the error are in `work`."""
    line, one = places[LINE], places[ONE]
    # The last layer has only a few channels: its biases get the sum of all lines first.
    height, width, channels = 2 * layers[LAST, HEIGHT], 2 * layers[LAST, WIDTH], layers[LAST, FINE]
    for row in range(height):
        place = arrays[GRADIENTS] + ((row + 1) * (width + 2) + 1) * channels
        values = work[place : place + line]
        for i in range(line):
            last_bias[i] += values[i]
    for number in range(LAST, LEVELS - 1, -1):
        layer = layers[number]
        level = LAYERS - number
        fine, coarse = arrays[GRADIENTS + level - 1], arrays[DECODED + level]
        pixels = (2 * layer[HEIGHT] + 2) * (2 * layer[WIDTH] + 2)
        if number < LAST:
            add_bias_gradient(work, gradients, layer[BIAS], fine, pixels, layer[FINE], one)
        add_weight_gradient(work, gradients, layer, fine, coarse)
        count = all_spans(layer[HEIGHT], layer[WIDTH], spans)
        go_down(work, packed, layer, fine, arrays[GRADIENTS + level], spans, count, NONE, SELU_GRADIENT, coarse)
    _add_dense_gradients(work, packed, places, arrays, gradients)
    for number in range(LEVELS - 1, -1, -1):
        layer = layers[number]
        fine, coarse = arrays[ENCODED + number], arrays[GRADIENTS + number + 1]
        pixels = (layer[HEIGHT] + 2) * (layer[WIDTH] + 2)
        add_bias_gradient(work, gradients, layer[BIAS], coarse, pixels, layer[COARSE], one)
        add_weight_gradient(work, gradients, layer, fine, coarse)
        if number == LEVELS - 1:
            go_up(work, packed, layer, coarse, arrays[GRADIENTS + number], NONE, SELU_GRADIENT, fine)
        elif number > 0:
            gradient = arrays[GRADIENTS + number]
            go_up_in_tiles(work, packed, layer, coarse, gradient, NONE, SELU_GRADIENT, fine, places[DIFFERENCES], places[TILES])


@inlined
def _add_dense_gradients(work, packed, places, arrays, gradients):
    """Add the gradients of the dense layers, and replace the coarsest gradient by that before the code."""
    flat, codes = places[FLAT], places[CODES]
    code, code_gradient = places[CODE], places[CODE_GRADIENT]
    encoded, gradient = arrays[ENCODED + LEVELS], arrays[GRADIENTS + LEVELS]
    values = work[gradient : gradient + flat]
    for i in range(places[CODE_SIZE]):
        number = work[code + i]
        target = gradients[places[DECODER_DENSE] + i * flat : places[DECODER_DENSE] + (i + 1) * flat]
        for j in range(flat):
            target[j] += number * values[j]
    target = gradients[places[DECODER_DENSE_BIAS] : places[DECODER_DENSE_BIAS] + flat]
    for j in range(flat):
        target[j] += values[j]
    weights = places[PACKED_DECODER_DENSE_BACK]
    span_product(work, packed, gradient, flat, flat, weights, NONE, code_gradient, codes, ONCE, SELU_GRADIENT, code)
    values = work[code_gradient : code_gradient + codes]
    for j in range(flat):
        number = work[encoded + j]
        target = gradients[places[ENCODER_DENSE] + j * codes : places[ENCODER_DENSE] + (j + 1) * codes]
        for i in range(codes):
            target[i] += number * values[i]
    for i in range(codes):
        gradients[places[ENCODER_DENSE_BIAS] + i] += values[i]
    weights = places[PACKED_ENCODER_DENSE_BACK]
    span_product(work, packed, code_gradient, codes, codes, weights, NONE, gradient, flat, ONCE, SELU_GRADIENT, encoded)


def _make_kernels(stamp):
    @kernel
    def pack_parameters(parameters, packed, layers, places):
        """Pack the weights, see `packing.py`."""
        _ = stamp
        pack(parameters, packed, layers, places)

    @kernel
    def infer(
        pictures,
        reference,
        known,
        everything,
        with_errors,
        work,
        packed,
        layers,
        places,
        arrays,
        factor,
        scale,
        code_mode,
        changed,
        rows,
        spans,
        codes,
        errors,
    ):
        """Compute codes and, if wanted, squared errors of the pictures (n, bytes).

        `known` holds the encoder's activations of the reference. With `everything` neither of them is used, and `work` then
        holds the activations of the last picture.
        """
        _ = stamp
        if not everything:
            _start_from(work, known, arrays, rows)
        code, code_size = places[CODE], places[CODE_SIZE]
        for number in range(len(pictures)):
            picture = pictures[number]
            if not everything:
                _restore(work, known, layers, arrays, rows)
            _encode(
                picture, reference, everything, work, packed, layers, places, arrays, factor, code_mode, changed, rows, spans
            )
            for i in range(code_size):
                codes[number, i] = work[code + i]
            if with_errors:
                _decode(work, packed, layers, places, arrays)
                errors[number] = reconstruct_and_compare(
                    picture, work, packed, layers, places, arrays, scale, False, np.float32(0)
                )

    @kernel
    def add_share(
        pictures,
        chosen,
        reference,
        known,
        work,
        packed,
        layers,
        places,
        arrays,
        factor,
        scale,
        error_factor,
        changed,
        rows,
        spans,
        last_bias,
        gradients,
        errors,
    ):
        """Compute the gradients of all parameters, summed over the chosen pictures, and the squared error of each of these.

        The gradients are those of the sum of the squared errors, times the error factor. `known` holds the encoder's activations
        of the reference.
        """
        _ = stamp
        gradients[:] = 0
        last_bias[:] = 0
        work[places[ONE]] = 1
        _start_from(work, known, arrays, rows)
        for number in range(len(chosen)):
            picture = pictures[chosen[number]]
            _restore(work, known, layers, arrays, rows)
            _encode(picture, reference, False, work, packed, layers, places, arrays, factor, SELU, changed, rows, spans)
            _decode(work, packed, layers, places, arrays)
            errors[number] = reconstruct_and_compare(
                picture, work, packed, layers, places, arrays, scale, True, np.float32(2) * error_factor * scale
            )
            _add_gradients(work, packed, layers, places, arrays, gradients, last_bias, spans)
        channels, bias = layers[LAST, FINE], layers[LAST, BIAS]
        for i in range(len(last_bias)):
            gradients[bias + i % channels] += last_bias[i]

    @kernel
    def adam_step(parameters, first_moments, second_moments, gradients, step_size, correction, beta1, beta2, epsilon):
        """Move the parameters by one step of Adam (Kingma and Ba, 2015), with the gradients of all shares added in order.

        The step size is divided by the correction of the first moment already; `correction` is the square root of the second's.
        """
        _ = stamp
        one = np.float32(1)
        for i in range(len(parameters)):
            gradient = gradients[0, i]
            for share in range(1, len(gradients)):
                gradient += gradients[share, i]
            first = first_moments[i] + (gradient - first_moments[i]) * (one - beta1)
            second = second_moments[i] * beta2 + gradient * gradient * (one - beta2)
            first_moments[i] = first
            second_moments[i] = second
            parameters[i] -= step_size * (first / (np.sqrt(second) / correction + epsilon))

    return pack_parameters, infer, add_share, adam_step


pack_parameters, infer, add_share, adam_step = _make_kernels(source_stamp("representation/compiled_network"))
