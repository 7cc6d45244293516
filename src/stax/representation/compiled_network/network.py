"""A convolutional autoencoder computed by compiled code: its codes, errors and training on the CPU.

The PyTorch module keeps the weights; they are copied from it and, after training, back to it. Bits depend neither on the number of
threads, nor on what else is computed at the same time, nor on the type of processor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from weakref import WeakKeyDictionary, ref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stax.compiling import announcing
from stax.representation.adam import Adam
from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder
from stax.representation.compiled_network import kernels
from stax.representation.compiled_network.plan import (
    BIAS,
    COARSE,
    CODES,
    DECODED,
    DECODER_DENSE,
    DECODER_DENSE_BIAS,
    ENCODER_DENSE,
    ENCODER_DENSE_BIAS,
    FINE,
    FLAT,
    LAST,
    LEVELS,
    LINE,
    PACKED_OFFSETS,
    PACKED_SHIFT,
    WEIGHTS,
    Plan,
    make_plan,
)
from stax.representation.compiled_network.vectors import HAS_FUSED_MULTIPLY_ADD, LINEAR, SELU
from stax.representation.repeated_pictures import PICTURES_FOR_MEDIAN, median_picture
from stax.representation.sharing import Cores
from stax.representation.variational import VariationalConvolutionalAutoencoder

Floats = NDArray[np.float32]
Pictures = NDArray[np.uint8]

_PICTURES_PER_SHARE = 8
"""Smallest number of pictures for which another thread is used."""


class _Workspace:
    """Memory of one thread."""

    def __init__(self, plan: Plan) -> None:
        height, width, _ = plan.shape
        self.work = np.zeros(plan.work_size, np.float32)
        self.changed = np.zeros((LEVELS + 1, height, width + 2), np.bool_)
        self.rows = np.zeros((LEVELS, height), np.bool_)
        self.spans = np.zeros((height * width // 4, 3), np.int64)
        self.last_bias = np.zeros(plan.places[LINE], np.float32)


@dataclass(frozen=True)
class _Reference:
    """A picture and its activations, with which others are compared."""

    picture: Pictures
    known: Floats
    chosen_from: int
    """Number of pictures of which it is the median."""


class CompiledNetwork:
    """Compiled computation of a network, and its training.

    Args:
        network: the network, to which only a weak reference is kept.
    """

    def __init__(self, network: ConvolutionalAutoencoder) -> None:
        self._network = ref(network)
        height, width, channels = network.observation_shape
        self.plan = make_plan((height, width, channels), network.code_size)
        self._parameters = np.zeros(self.plan.parameter_count, np.float32)
        self._packed = np.zeros(self.plan.packed_size, np.float32)
        self._copied: list[Tensor] = []
        """The network's weights and constants when they were packed."""
        self._factor, self._scale = np.float32(0), np.float32(1)
        self._reference: _Reference | None = None
        self._idle: list[_Workspace] = []

    @property
    def network(self) -> ConvolutionalAutoencoder:
        network = self._network()
        assert network is not None, "the network is gone"
        return network

    def infer(self, pictures: Pictures, cores: Cores, *, with_errors: bool) -> tuple[Floats, Floats]:
        """Return the codes (n, code_size) of pictures (n, height, width, channels), and their errors.

        An error is the squared reconstruction error of a picture, summed over its numbers. Without errors, that array is empty.
        """
        codes = np.empty((len(pictures), self.plan.code_size), np.float32)
        errors = np.empty(len(pictures) if with_errors else 0, np.float32)
        if not len(pictures):
            return codes, errors
        with announcing("the autoencoder"):
            self._take_weights()
            reference = self._choose_reference(pictures)
        flat = np.ascontiguousarray(pictures).reshape(len(pictures), -1)
        code_mode = SELU if type(self.network) is ConvolutionalAutoencoder else LINEAR

        def infer(share: slice) -> None:
            with self._workspace() as space:
                some_errors = errors[share] if with_errors else None
                self._run_inference(space, flat[share], reference, code_mode, codes[share], some_errors)

        count = max(1, min(cores.count, len(pictures) // _PICTURES_PER_SHARE))
        bounds = [len(pictures) * number // count for number in range(count + 1)]
        cores.map(infer, [slice(first, end) for first, end in pairwise(bounds)])
        return codes, errors

    @contextmanager
    def _workspace(self) -> Iterator[_Workspace]:
        """Lend memory to one thread."""
        try:
            space = self._idle.pop()
        except IndexError:
            space = _Workspace(self.plan)
        yield space
        self._idle.append(space)

    def _run_inference(
        self,
        space: _Workspace,
        pictures: Pictures,
        reference: _Reference | None,
        code_mode: np.int64,
        codes: Floats,
        errors: Floats | None,
    ) -> None:
        """Fill in codes and errors; without a reference, all of each picture is computed."""
        picture = pictures[0] if reference is None else reference.picture
        known = space.work if reference is None else reference.known
        no_errors = np.empty(0, np.float32)
        kernels.infer(
            *(pictures, picture, known, reference is None, errors is not None, space.work, self._packed, *self._plan_arrays()),
            *(self._factor, self._scale, code_mode, space.changed, space.rows, space.spans),
            *(codes, no_errors if errors is None else errors),
        )

    def _plan_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        return self.plan.layers, self.plan.places, self.plan.arrays

    def _choose_reference(self, pictures: Pictures) -> _Reference:
        """Keep the reference as long as the weights do not change, unless there are many more pictures to choose it from."""
        kept = self._reference
        if kept is None or (kept.chosen_from < PICTURES_FOR_MEDIAN and len(pictures) > 2 * kept.chosen_from):
            kept = self._reference = self._make_reference(median_picture(pictures).reshape(-1), len(pictures))
        return kept

    def _make_reference(self, picture: Pictures, chosen_from: int) -> _Reference:
        with self._workspace() as space:
            self._run_inference(space, picture[None], None, SELU, np.empty((1, self.plan.code_size), np.float32), None)
            return _Reference(picture, space.work[: self.plan.arrays[DECODED + 1]].copy(), chosen_from)

    def _take_weights(self) -> None:
        """Pack the network's weights and constants, unless they are unchanged."""
        network = self.network
        tensors = [*network.parameters(), network.mean, network.scale]
        if len(tensors) == len(self._copied) and all(map(torch.equal, tensors, self._copied)):
            return
        self._copied = [tensor.detach().clone() for tensor in tensors]
        views = parameter_views(self.plan, self._parameters)
        weights = dict(network.named_parameters())
        for name, view in views.items():
            view[...] = weights[name].detach().numpy().reshape(view.shape)
        self._pack()

    def _pack(self) -> None:
        kernels.pack_parameters(self._parameters, self._packed, self.plan.layers, self.plan.places)
        self._pack_normalisation()
        self._reference = None

    def _pack_normalisation(self) -> None:
        """Pack what is added to pixels and to reconstructions, computed in 64 bits and then rounded."""
        network = self.network
        height, width, channels = self.plan.shape
        size = height * width * channels
        scale = float(network.scale) if network.scale_observations else 1.0
        mean = np.zeros((height, width, channels))
        if network.center_observations:
            mean += network.mean.permute(1, 2, 0).numpy()
        last = self.plan.layers[LAST]
        bias = self._parameters[last[BIAS] : last[BIAS] + channels]
        shift, offsets = self.plan.places[PACKED_SHIFT], self.plan.places[PACKED_OFFSETS]
        self._packed[shift : shift + size] = (-mean / scale).ravel()
        self._packed[offsets : offsets + size] = (mean + bias.astype(np.float64) * scale).ravel()
        self._factor, self._scale = np.float32(1 / (255 * scale)), np.float32(scale)

    def train_epoch(
        self,
        optimizer: Adam,
        pictures: Pictures,
        rows: NDArray[np.int64],
        batch_size: int,
        cores: Cores,
    ) -> float:
        """Train on these rows of pictures, batch by batch, and return the mean squared error during the epoch.

        The gradients of shares of a batch, always of the same size, are computed on several cores and added in order.
        """
        height, width, channels = self.plan.shape
        flat = np.ascontiguousarray(pictures).reshape(len(pictures), -1)
        errors = np.empty(len(rows), np.float32)
        state = _AdamSteps(self.network, optimizer, self.plan)
        share_size = self.network.rows_at_once
        shares = -(-min(batch_size, len(rows)) // share_size)
        gradients = np.empty((shares, self.plan.parameter_count), np.float32)
        ground = median_picture(pictures).reshape(-1)
        with announcing("the training of the autoencoder"):
            self._take_weights()
            self._add_share(flat, rows[:0], self._make_reference(ground, 1), np.float32(0), gradients[0], errors[:0])
        for first in range(0, len(rows), batch_size):
            end = min(first + batch_size, len(rows))
            reference = self._make_reference(ground, 1)
            factor = np.float32(1 / ((end - first) * height * width * channels))
            parts = [slice(start, min(start + share_size, end)) for start in range(first, end, share_size)]
            work = [
                partial(self._add_share, flat, rows[part], reference, factor, gradients[number], errors[part])
                for number, part in enumerate(parts)
            ]
            cores.map(partial.__call__, work)
            state.step(self._parameters, gradients[: len(parts)])
            self._pack()
        state.put_back(self._parameters)
        self._copied = []
        return math.fsum(errors.tolist()) / (len(rows) * height * width * channels)

    def _add_share(
        self,
        pictures: Pictures,
        rows: NDArray[np.int64],
        reference: _Reference,
        factor: np.float32,
        gradients: Floats,
        errors: Floats,
    ) -> None:
        """Compute the gradients of the mean squared error over these rows, summed, and their errors."""
        with self._workspace() as space:
            kernels.add_share(
                *(pictures, rows, reference.picture, reference.known, space.work, self._packed, *self._plan_arrays()),
                *(
                    self._factor,
                    self._scale,
                    factor,
                    space.changed,
                    space.rows,
                    space.spans,
                    space.last_bias,
                    gradients,
                    errors,
                ),
            )


class _AdamSteps:
    """Steps of Adam for all parameters at once. Its moments are taken from the optimiser's memory and written back to it.

    A step is computed here, because PyTorch's differs between processors in its last bits.
    """

    def __init__(self, network: ConvolutionalAutoencoder, optimizer: Adam, plan: Plan) -> None:
        self._plan = plan
        self._weights = dict(network.named_parameters())
        self._optimizer, self._memory = optimizer, optimizer.memory
        self._moments = {name: np.zeros(plan.parameter_count, np.float32) for name in ("exp_avg", "exp_avg_sq")}
        self._steps = 0
        for moment, array in self._moments.items():
            for name, view in parameter_views(plan, array).items():
                kept = self._memory[self._weights[name]]
                if kept:
                    view[...] = kept[moment].numpy().reshape(view.shape)
                    self._steps = int(kept["step"])

    def step(self, parameters: Floats, gradients: Floats) -> None:
        """Move the parameters by the gradients of a batch, given as shares (n, parameters)."""
        self._steps += 1
        adam = self._optimizer
        first, second = (1 - _power(beta, self._steps) for beta in adam.betas)
        numbers = adam.learning_rate / first, math.sqrt(second), *adam.betas, adam.epsilon
        kernels.adam_step(parameters, *self._moments.values(), gradients, *map(np.float32, numbers))

    def put_back(self, parameters: Floats) -> None:
        """Write parameters and moments to the network and the optimiser."""
        arrays = {"": parameters} | self._moments
        with torch.no_grad():
            for moment, array in arrays.items():
                for name, view in parameter_views(self._plan, array).items():
                    weight = self._weights[name]
                    values = torch.from_numpy(np.ascontiguousarray(view)).view(weight.shape)
                    if moment:
                        kept = self._memory[weight]
                        kept.setdefault(moment, torch.zeros_like(weight, memory_format=torch.preserve_format)).copy_(values)
                        kept["step"] = torch.tensor(float(self._steps))
                    else:
                        weight.copy_(values)


def _power(base: float, exponent: int) -> float:
    """Compute a power by multiplications alone: the system's library need not give the same bits everywhere."""
    result = 1.0
    while exponent:
        if exponent % 2:
            result *= base
        base *= base
        exponent //= 2
    return result


def parameter_views(plan: Plan, array: Floats) -> dict[str, Floats]:
    """Return views of an array of parameters by their names in PyTorch, in PyTorch's order but not always of its shape."""
    height, width, _ = plan.shape
    rows, columns = (height >> LEVELS) + 2, (width >> LEVELS) + 2
    code_size, places = plan.code_size, plan.places
    views: dict[str, Floats] = {}
    for number, layer in enumerate(plan.layers):
        half, index = ("encoder", number) if number < LEVELS else ("decoder", number - LEVELS)
        fine, coarse = layer[FINE], layer[COARSE]
        matrix = array[layer[WEIGHTS] : layer[WEIGHTS] + 16 * fine * coarse]
        biases = coarse if number < LEVELS else fine
        views[f"{half}_convolutions.{index}.weight"] = matrix.reshape(4, 4, fine, coarse).transpose(3, 2, 0, 1)
        views[f"{half}_convolutions.{index}.bias"] = array[layer[BIAS] : layer[BIAS] + biases]
    codes, flat = places[CODES], places[FLAT]
    depth = flat // (rows * columns)
    inside = slice(1, -1)
    matrix = array[places[ENCODER_DENSE] :][: flat * codes].reshape(rows, columns, depth, codes)
    views["encoder_linear.weight"] = matrix[inside, inside, :, :code_size].transpose(3, 2, 0, 1)
    views["encoder_linear.bias"] = array[places[ENCODER_DENSE_BIAS] :][:code_size]
    matrix = array[places[DECODER_DENSE] :][: flat * codes].reshape(codes, rows, columns, depth)
    views["decoder_linear.weight"] = matrix[:code_size, inside, inside].transpose(3, 1, 2, 0)
    biases = array[places[DECODER_DENSE_BIAS] :][:flat].reshape(rows, columns, depth)
    views["decoder_linear.bias"] = biases[inside, inside].transpose(2, 0, 1)
    return views


_made: WeakKeyDictionary[ConvolutionalAutoencoder, CompiledNetwork] = WeakKeyDictionary()


def compiled(network: Autoencoder) -> CompiledNetwork | None:
    """Return the compiled computation of a network, or None if PyTorch has to compute it.

    There is compiled code for the convolutional autoencoder and its variational version on the CPU, if the processor has fused
    multiply-adds, as all x86-64 processors with AVX2 and all 64-bit ARM processors do. Classes derived from these may compute
    something else.
    """
    if type(network) not in (ConvolutionalAutoencoder, VariationalConvolutionalAutoencoder) or not HAS_FUSED_MULTIPLY_ADD:
        return None
    assert isinstance(network, ConvolutionalAutoencoder)
    if any(weight.device.type != "cpu" or weight.dtype != torch.float32 for weight in network.parameters()):
        return None
    if network not in _made:
        _made[network] = CompiledNetwork(network)
    return _made[network]


def compiled_training(network: Autoencoder) -> CompiledNetwork | None:
    """Return the compiled training of a network, or None if PyTorch has to train it.

    PyTorch trains the variational autoencoder, and networks some of whose weights are fixed.
    """
    if type(network) is not ConvolutionalAutoencoder or not all(weight.requires_grad for weight in network.parameters()):
        return None
    return compiled(network)
