"""Where the observations of a training set come from, for losses that use it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Provenance:
    """Policy, reward and moment of each observation, (n,) each."""

    reward: Tensor
    """Reward of its policy, float64."""
    policy: Tensor
    """Number of its policy within the training set, int64."""
    moment: Tensor
    """Number of the observation among those of its rollout, from 0, int64."""

    @staticmethod
    def of(rewards: NDArray[np.float64], samples: int) -> Provenance:
        """Return the provenance of the observations of policies with these rewards, `samples` of each, in order."""
        count = len(rewards)
        return Provenance(
            torch.from_numpy(np.repeat(np.array(rewards, np.float64), samples)),
            torch.arange(count).repeat_interleave(samples),
            torch.arange(samples).repeat(count),
        )

    def take(self, rows: Tensor) -> Provenance:
        """Return the provenance of these rows."""
        return Provenance(self.reward[rows], self.policy[rows], self.moment[rows])

    def to(self, device: torch.device) -> Provenance:
        """Return the same on a device, with rewards in 32 bits if it has no others."""
        reward = self.reward.float() if device.type == "mps" else self.reward
        return Provenance(reward.to(device), self.policy.to(device), self.moment.to(device))

    def grouped(self, rows: Tensor) -> Tensor:
        """Return these rows in an order in which those of a policy stand together; policies are in the order of their first rows."""
        _, first, policy = np.unique(self.policy[rows].numpy(), return_index=True, return_inverse=True)
        return rows[torch.from_numpy(np.argsort(first[policy], kind="stable"))]
