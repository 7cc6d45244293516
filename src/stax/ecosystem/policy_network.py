"""The built-in policy as a module of PyTorch, to be used, trained on or looked at there."""

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
    """The network of `stax.policies`: each layer, the output included, is followed by 2 sigmoid(x) - 1 and has one bias for all of it.

    Observations (..., inputs) become actions (..., outputs) in [-1, 1]. Weights are 64-bit, as the search's are; `.float()` makes them
    32-bit. `genome` gives the weights back as the search knows them, after training for instance.

    Args:
        sizes: of the layers, inputs first.
        genome: the weights, as a search keeps them.
    """

    def __init__(self, sizes: Sequence[int], genome: NDArray[np.float64]) -> None:
        super().__init__()
        self.sizes = tuple(sizes)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for weight, bias in layers(self.sizes, genome):
            self.weights.append(nn.Parameter(torch.from_numpy(weight.copy())))
            self.biases.append(nn.Parameter(torch.tensor(bias, dtype=torch.float64)))

    def forward(self, observation: Tensor) -> Tensor:
        """The actions of observations (..., inputs), as numbers of the weights' own precision."""
        values = observation.to(self.weights[0].dtype)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            values = 2.0 * torch.sigmoid(values @ weight + bias) - 1.0
        return values

    def genome(self) -> Genomes:
        """The weights as a genome (genome_size,)."""
        parts = [part.detach().reshape(-1) for pair in zip(self.weights, self.biases, strict=True) for part in pair]
        return cast(Genomes, torch.cat(parts).cpu().numpy().astype(np.float64))


def policy_module(task: Task | Sequence[int], genome: ArrayLike) -> PolicyNetwork:
    """A policy as a `torch.nn.Module`.

    Args:
        task: one whose policies are networks, as those of the built-in tasks are; or the sizes of the network's layers, inputs first.
        genome: the policy's, (genome_size,).
    """
    return PolicyNetwork(*checked_policy(task, genome))
