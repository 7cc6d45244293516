"""Adam, the optimiser of all autoencoders. PyTorch's optimiser is made only where PyTorch computes the steps."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor, nn


class Adam:
    """Adam's settings, and what it remembers of every trainable weight of a network.

    Compiled training reads and writes the memory itself. Making PyTorch's optimiser imports PyTorch's compiler, which takes more than
    a second, so that `step` makes it when it is first called.

    Args:
        network: network whose weights are moved.
        learning_rate: size of a step.
    """

    betas = 0.9, 0.999
    """Decay of the first and of the second moment."""
    epsilon = 1e-8
    """Number added to the denominator of a step."""

    def __init__(self, network: nn.Module, learning_rate: float = 1e-3) -> None:
        self.weights = [weight for weight in network.parameters() if weight.requires_grad]
        self.learning_rate = learning_rate
        self.memory: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)
        """Moments (`exp_avg`, `exp_avg_sq`) and number of steps (`step`) of each weight, in the form that PyTorch gives them."""
        self._optimizer: torch.optim.Adam | None = None

    def step(self) -> None:
        """Move the weights by their gradients."""
        if self._optimizer is None:
            fused = self.weights[0].device.type in ("cpu", "cuda")
            self._optimizer = torch.optim.Adam(
                self.weights, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=fused
            )
            self._optimizer.state = self.memory
        self._optimizer.step()
