"""State of a network and its optimiser, as arrays that can be written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stax.errors import InvalidInputError
from stax.representation.autoencoder import Autoencoder

Memory = Mapping[Tensor, dict[str, Tensor]]
"""What an optimiser remembers of every weight, by name."""
_NETWORK, _OPTIMIZER = "autoencoder.", "optimizer."


def network_arrays(network: Autoencoder) -> dict[str, NDArray[Any]]:
    """Return weights and constants by name. They may be the network's own: write or copy them before it is trained."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in network.state_dict().items()}


def training_arrays(network: Autoencoder, memory: Memory) -> dict[str, NDArray[Any]]:
    """Return weights, constants and the optimiser's memory, as copies."""
    tensors = {f"{_NETWORK}{name}": tensor for name, tensor in network.state_dict().items()}
    for name, weight in network.named_parameters():
        for moment, tensor in memory.get(weight, {}).items():
            tensors[f"{_OPTIMIZER}{moment}.{name}"] = tensor
    return {name: tensor.detach().to("cpu", copy=True).contiguous().numpy() for name, tensor in tensors.items()}


def put_back(network: Autoencoder, arrays: Mapping[str, NDArray[Any]]) -> Memory:
    """Give a network the weights and constants that `training_arrays` returned for one like it, and return the optimiser's memory.

    The memory is empty if the arrays hold none. Arrays that are not the state of such a network are refused.
    """
    weights = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
    expected = {f"{_NETWORK}{name}": tensor for name, tensor in network.state_dict().items()}
    if any(name.startswith(_OPTIMIZER) for name in arrays):
        for name, weight in weights.items():
            expected |= {f"{_OPTIMIZER}{moment}.{name}": weight for moment in ("exp_avg", "exp_avg_sq")}
            expected[f"{_OPTIMIZER}step.{name}"] = torch.zeros(())
    given = {name: (array.shape, array.dtype.name) for name, array in arrays.items()}
    if given != {name: (tuple(tensor.shape), _type_name(tensor)) for name, tensor in expected.items()}:
        raise InvalidInputError("These arrays are not the state of this autoencoder: their names, shapes or types differ.")
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    memory: dict[Tensor, dict[str, Tensor]] = {}
    with torch.no_grad():
        for name, target in expected.items():
            if name.startswith(_NETWORK):
                target.copy_(tensors[name])
            else:
                moment, of_weight = name.removeprefix(_OPTIMIZER).split(".", 1)
                memory.setdefault(weights[of_weight], {})[moment] = torch.zeros_like(target).copy_(tensors[name])
    return memory


def put_back_network(network: Autoencoder, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give a network the weights and constants that `network_arrays` returned for one like it."""
    put_back(network, {f"{_NETWORK}{name}": array for name, array in arrays.items()})


def _type_name(tensor: Tensor) -> str:
    """Return NumPy's name of the dtype."""
    return str(tensor.dtype).removeprefix("torch.")
