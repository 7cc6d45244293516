"""Autoencoders with a contrastive loss beside reconstruction: some codes attract each other, others repel each other.

A triplet of observations is an anchor, a positive, whose code should be near the anchor's, and a negative, whose code should be farther
by a margin. Two ways to choose them from a batch:

- By reward (`triplet`, AURORA-XCon: Coiffard et al., 2025). Two policies with different rewards are drawn for each anchor. The one whose
  reward is nearer to the anchor's is the positive.
- By time (`temporal`, after time-contrastive networks: Sermanet et al., 2018). The positive is the next observation of the same rollout,
  and the negative an observation of another rollout.

Where a batch holds no triplet, as while nothing is rewarded, the loss is that of reconstruction alone. The random numbers are the noise of
each observation, drawn before a batch is made, so that runs repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.provenance import Provenance

Triplets = tuple[Tensor, Tensor, Tensor]
"""Rows of anchors, positives and negatives in a batch, (t,) each."""
_LEAST_SQUARE = 1e-12
"""Added to squared distances, so that the gradient of a distance of 0 is finite."""


def triplet_loss(codes: Tensor, triplets: Triplets, margin: float) -> Tensor:
    """Return the mean of max(0, d(anchor, positive) - d(anchor, negative) + margin) over the triplets; 0 if there are none.

    Args:
        codes: codes of a batch (n, code_size).
        triplets: rows of the batch.
        margin: by how much a negative should be farther than a positive.
    """
    anchors, positives, negatives = (codes[rows] for rows in triplets)
    if not len(anchors):
        return codes.new_zeros(())
    return functional.relu(_distance(anchors, positives) - _distance(anchors, negatives) + margin).mean()


def _distance(codes: Tensor, others: Tensor) -> Tensor:
    return ((codes - others).square().sum(1) + _LEAST_SQUARE).sqrt()


def triplets_by_reward(rewards: Tensor, numbers: Tensor) -> Triplets:
    """Return a triplet for each row of a batch that has one: of two rows with different rewards, the nearer in reward is the positive.

    Rows for which both are equally near, or that were drawn themselves, are left out.

    Args:
        rewards: reward of each row's policy, (n,).
        numbers: random numbers from [0, 1] that decide what is drawn, (n, 2).
    """
    first = _place(numbers[:, 0], torch.full_like(rewards, len(rewards), dtype=torch.int64))
    second, exists = row_of_another_group(rewards, rewards[first], numbers[:, 1])
    anchors = torch.arange(len(rewards), device=rewards.device)
    to_first, to_second = (rewards[first] - rewards).abs(), (rewards[second] - rewards).abs()
    second_is_nearer = to_second < to_first
    positives, negatives = torch.where(second_is_nearer, second, first), torch.where(second_is_nearer, first, second)
    kept = exists & (to_first != to_second) & (positives != anchors) & (negatives != anchors)
    return anchors[kept], positives[kept], negatives[kept]


def triplets_by_time(policies: Tensor, moments: Tensor, numbers: Tensor) -> Triplets:
    """Return a triplet for each row of a batch whose rollout has a later row in it: the next one is the positive.

    The negative is drawn from the rows of other rollouts.

    Args:
        policies: number of each row's policy, (n,).
        moments: number of each row's observation among those of its rollout, (n,).
        numbers: random numbers from [0, 1] that decide which negatives are drawn, (n,).
    """
    by_moment = torch.argsort(moments, stable=True)
    order = by_moment[torch.argsort(policies[by_moment], stable=True)]
    same = policies[order[1:]] == policies[order[:-1]]
    anchors, positives = order[:-1][same], order[1:][same]
    negatives, exists = row_of_another_group(policies, policies[anchors], numbers[anchors])
    return anchors[exists], positives[exists], negatives[exists]


def row_of_another_group(groups: Tensor, groups_not: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Return for each of m groups a row that belongs to any other one, and whether there is such a row.

    Args:
        groups: group of each row, (n,).
        groups_not: the groups, (m,).
        numbers: random numbers from [0, 1] that decide which of the rows it is, (m,).
    """
    ordered, rows = torch.sort(groups, stable=True)
    start = torch.searchsorted(ordered, groups_not)
    size = torch.searchsorted(ordered, groups_not, right=True) - start
    others = len(groups) - size
    # Counted among the rows before and after the group's own, which stand together.
    place = _place(numbers, others)
    place = torch.where(place < start, place, place + size)
    return rows[place.clamp(max=len(groups) - 1)], others > 0


def _place(numbers: Tensor, counts: Tensor) -> Tensor:
    """Return a place below each count for a number from [0, 1]; 0 if the count is 0."""
    return torch.minimum((numbers.double() * counts).long(), counts - 1).clamp(min=0)


class _Contrastive(Autoencoder):
    """What both losses share; the other base class of a network says how it encodes and decodes.

    Args:
        observation_shape: shape of one observation.
        code_size: number of values in the code.
        contrast_weight: cost of a unit of the triplet loss, in squared errors summed over an observation as the network sees it: a picture
            in [0, 1], or a standardised vector.
        contrast_margin: by how much the code of a negative should be farther than that of a positive.
        options: options of the other base class.
    """

    uses_provenance = True
    whole_batches = True

    def __init__(
        self,
        observation_shape: Sequence[int],
        code_size: int,
        *,
        contrast_weight: float,
        contrast_margin: float,
        **options: Any,
    ) -> None:
        super().__init__(observation_shape, code_size, **options)
        self.contrast_weight = contrast_weight
        self.contrast_margin = contrast_margin

    def triplets(self, provenance: Provenance, numbers: Tensor) -> Triplets:
        """Return the triplets of a batch, chosen by random numbers (n, noise_size) from [0, 1]."""
        raise NotImplementedError

    def loss(self, inputs: Tensor, noise: Tensor, provenance: Provenance | None = None) -> tuple[Tensor, Tensor]:
        assert provenance is not None
        codes = self.encode(inputs)
        error = functional.mse_loss(self.decode(codes), inputs)
        triplets = self.triplets(provenance, torch.special.ndtr(noise.double()))
        contrast = triplet_loss(codes, triplets, self.contrast_margin)
        return error + self.contrast_weight * contrast / inputs[0].numel(), error


class _ByReward(_Contrastive):
    noise_size = 2

    def triplets(self, provenance: Provenance, numbers: Tensor) -> Triplets:
        return triplets_by_reward(provenance.reward, numbers)


class _ByTime(_Contrastive):
    noise_size = 1
    groups_policies = True

    def triplets(self, provenance: Provenance, numbers: Tensor) -> Triplets:
        return triplets_by_time(provenance.policy, provenance.moment, numbers[:, 0])


class TripletConvolutionalAutoencoder(_ByReward, ConvolutionalAutoencoder):
    """Autoencoder for pictures whose codes are near for near rewards."""


class TripletDenseAutoencoder(_ByReward, DenseAutoencoder):
    """Autoencoder for vectors whose codes are near for near rewards."""


class TemporalConvolutionalAutoencoder(_ByTime, ConvolutionalAutoencoder):
    """Autoencoder for pictures whose codes are near for pictures of one rollout that follow each other."""


class TemporalDenseAutoencoder(_ByTime, DenseAutoencoder):
    """Autoencoder for vectors whose codes are near for vectors of one rollout that follow each other."""
