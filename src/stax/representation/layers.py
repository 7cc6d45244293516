"""Layers that compute the same as PyTorch's own, up to rounding: two are faster on a CPU, and one rounds all rows alike.

Measured on one core with AVX2, SELU takes two thirds of the time, and the last transposed convolution a bit more than half. Other
devices use PyTorch's own layers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805
_EVEN = 16
"""Divisor of the number of outputs for which all rows are computed in the same order."""


class _Selu(torch.autograd.Function):
    """SELU by `exp` and a few fast passes; PyTorch's own spends most of its time in a very exact `expm1`."""

    @staticmethod
    def forward(context: Any, values: Tensor) -> Tensor:
        negative = values.clamp(max=0).exp_().sub_(1)
        values.clamp_(min=0).add_(negative, alpha=SELU_ALPHA).mul_(SELU_SCALE)
        context.mark_dirty(values)
        context.save_for_backward(values)
        return values

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        (result,) = context.saved_tensors
        gradient: Tensor = torch.ops.aten.elu_backward(gradients[0], SELU_ALPHA, SELU_SCALE, 1.0, True, result)
        return gradient


class _Doubling(torch.autograd.Function):
    """Transposed convolution of kernel 4, stride 2 and padding 1, computed by an ordinary convolution.

    Every output is a sum over 2 x 2 inputs; which of the kernel's numbers weigh them depends on whether the output's row and
    column are even or odd. So an ordinary 2 x 2 convolution computes the four types of outputs as four groups of channels,
    which are then moved to their positions. For few output channels this fills the processor's vectors better.
    """

    @staticmethod
    def forward(context: Any, values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        context.save_for_backward(values, weight)
        count, before, height, width = values.shape
        after = weight.shape[1]
        kernel = weight.flip(2, 3).reshape(before, after, 2, 2, 2, 2).permute(3, 5, 1, 0, 2, 4)
        kernel = kernel.reshape(4 * after, before, 2, 2).contiguous(memory_format=torch.channels_last)
        kinds = functional.conv2d(values, kernel, bias.repeat(4), padding=1).permute(0, 2, 3, 1)
        doubled = torch.empty((count, after, 2 * height, 2 * width), memory_format=torch.channels_last)
        places = doubled.permute(0, 2, 3, 1).view(count, height, 2, width, 2, after)
        for kind in range(4):
            row, column = divmod(kind, 2)
            channels = slice(kind * after, (kind + 1) * after)
            places[:, :, row, :, column] = kinds[:, row : row + height, column : column + width, channels]
        return doubled

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, weight = context.saved_tensors
        into_values, into_weight, into_bias = torch.ops.aten.convolution_backward(
            gradients[0], values, weight, [weight.shape[1]], [2, 2], [1, 1], [1, 1], True, [0, 0], 1, [True, True, True]
        )
        return into_values, into_weight, into_bias


def selu(values: Tensor) -> Tensor:
    """Compute SELU in place: its gradient can be computed from its result, and memory limits the speed."""
    if values.device.type != "cpu":
        return functional.selu_(values)
    result: Tensor = _Selu.apply(values)  # type: ignore[no-untyped-call]
    return result


def linear(values: Tensor, layer: torch.nn.Linear) -> Tensor:
    """Apply a linear layer so that the bits of a row do not depend on its position among the others.

    Matrix products of some sizes sum the last rows of a block in another order. Of layers from 1 to 300 inputs and 1 to 129 outputs,
    every seventh did so, but none whose number of outputs is a multiple of 16. So zeros are added.
    """
    missing = -layer.out_features % _EVEN
    if not missing or values.device.type != "cpu":
        result: Tensor = layer(values)
        return result
    weight, bias = functional.pad(layer.weight, (0, 0, 0, missing)), functional.pad(layer.bias, (0, missing))
    return functional.linear(values, weight, bias)[:, : layer.out_features].contiguous()


def double(values: Tensor, layer: torch.nn.ConvTranspose2d) -> Tensor:
    """Apply a transposed convolution of kernel 4, stride 2 and padding 1."""
    if values.device.type != "cpu":
        doubled: Tensor = layer(values)
    else:
        doubled = _Doubling.apply(values, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
    return doubled
