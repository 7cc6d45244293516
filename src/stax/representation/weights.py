"""What a network has learned and what its optimiser remembers, as arrays that can be written and read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stax.errors import InvalidInputError
from stax.representation.autoencoder import Autoencoder

_NETWORK, _OPTIMIZER = "autoencoder.", "optimizer."


def network_arrays(network: Autoencoder) -> dict[str, NDArray[Any]]:
    """Weights and constants by name. They may be the network's own: write or copy them before it is trained."""
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in network.state_dict().items()}


def training_arrays(network: Autoencoder, optimizer: torch.optim.Optimizer) -> dict[str, NDArray[Any]]:
    """Weights, constants and the optimiser's memory, as copies."""
    tensors = {f"{_NETWORK}{name}": tensor for name, tensor in network.state_dict().items()}
    for name, weight in network.named_parameters():
        for moment, tensor in optimizer.state.get(weight, {}).items():
            tensors[f"{_OPTIMIZER}{moment}.{name}"] = tensor
    return {name: tensor.detach().to("cpu", copy=True).contiguous().numpy() for name, tensor in tensors.items()}


def put_back(network: Autoencoder, optimizer: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Takes over what `training_arrays` gave for a network like this one; without any moments, the optimiser starts anew."""
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
    optimizer.state.clear()
    with torch.no_grad():
        for name, target in expected.items():
            if name.startswith(_NETWORK):
                target.copy_(tensors[name])
            else:
                moment, of_weight = name.removeprefix(_OPTIMIZER).split(".", 1)
                optimizer.state[weights[of_weight]][moment] = torch.zeros_like(target).copy_(tensors[name])


def put_back_network(network: Autoencoder, optimizer: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Takes over what `network_arrays` gave for a network like this one; the optimiser starts anew."""
    put_back(network, optimizer, {f"{_NETWORK}{name}": array for name, array in arrays.items()})


def _type_name(tensor: Tensor) -> str:
    """As NumPy calls it."""
    return str(tensor.dtype).removeprefix("torch.")
