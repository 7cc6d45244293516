"""The built-in policy as a PyTorch module.

The module keeps the shared bias of each layer, so that it is still a genome after training in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from stax.ecosystem.policy_layers import checked_policy, layers
from stax.tasks.task import Genomes, Task


class PolicyNetwork(nn.Module):
    """Network of `stax.policies`: each layer has one shared bias and is followed by 2 sigmoid(x) - 1.

    It maps observations (..., inputs) to actions (..., outputs) in [-1, 1]. Weights have 64 bits, as in the search; `.float()` converts
    them to 32 bits. `genome` returns the weights as a genome, for instance after training.

    Args:
        sizes: sizes of the layers, inputs first.
        genome: the weights as a genome.
    """

    def __init__(self, sizes: Sequence[int], genome: NDArray[np.float64]) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for weight, bias in layers(self.sizes, genome):
            self.weights.append(nn.Parameter(torch.from_numpy(weight.copy())))
            self.biases.append(nn.Parameter(torch.tensor(bias, dtype=torch.float64)))

    def forward(self, observation: Tensor) -> Tensor:
        """Compute the actions for observations (..., inputs), in the precision of the weights."""
        values = observation.to(self.weights[0].dtype)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            values = 2.0 * torch.sigmoid(values @ weight + bias) - 1.0
        return values

    def genome(self) -> Genomes:
        """Return the weights as a genome (genome_size,)."""
        parts = [part.detach().reshape(-1) for pair in zip(self.weights, self.biases, strict=True) for part in pair]
        return cast(Genomes, torch.cat(parts).cpu().numpy().astype(np.float64))


def policy_module(task: Task | Sequence[int], genome: ArrayLike) -> PolicyNetwork:
    """Return a policy as a `torch.nn.Module`.

    Args:
        task: a task whose policies are networks, such as the built-in ones; or the sizes of the network's layers, inputs first.
        genome: the policy's genome, (genome_size,).
    """
    return PolicyNetwork(*checked_policy(task, genome))
