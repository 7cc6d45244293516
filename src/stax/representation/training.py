"""One training episode of an autoencoder: epochs over a set of observations until the validation error has risen.

Noise is drawn before a batch is cut into shares, from a generator of its own, so that the bits of a variational autoencoder do
not depend on threads either. The validation error is that of reconstructions alone: patience, the best epoch and surprise then
mean the same for all autoencoders.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from stax.representation.adam import Adam
from stax.representation.autoencoder import Autoencoder
from stax.representation.compiled_network.network import compiled, compiled_training
from stax.representation.provenance import Provenance
from stax.representation.sharing import own_cores

EndedBy = Literal["patience", "max_epochs", "max_images", "fitted"]
Keep = Literal["best", "last"]


@dataclass(frozen=True)
class TrainingEpisode:
    """Outcome of one training episode."""

    images: int
    """Number of observations in the set, validation included."""
    images_seen: int
    """Number of observations trained on, counted once an epoch."""
    epochs: int
    training_error: float
    """Mean squared error per number of an observation in the epoch whose weights were kept, measured during training, and so with the
    noise of a variational autoencoder or of dropout."""
    validation_error: float
    """Mean squared error on the validation set, with the kept weights and without noise."""
    ended_by: EndedBy
    seconds: float = field(default=0.0, compare=False)
    """Seconds the episode took; episodes are compared without them."""


class StoppingRule:
    """Rule that decides after every epoch whether an episode ends.

    Args:
        patience: number of epochs in a row with a rising validation error that ends the episode.
        max_epochs: largest number of epochs.
        images_per_epoch: number of observations trained on in an epoch.
        max_images: largest number of observations trained on in all epochs.
    """

    def __init__(self, *, patience: int, max_epochs: int, images_per_epoch: int = 0, max_images: int | None = None) -> None:
        self._patience = patience
        self._max_epochs = max_epochs
        self._images_per_epoch = images_per_epoch
        self._max_images = max_images
        self._previous = float("inf")
        self._rises = 0
        self._lowest = float("inf")
        self.epochs = 0
        self.is_best = False
        """Whether the last epoch had the lowest validation error so far."""

    def after_epoch(self, validation_error: float) -> EndedBy | None:
        """Return what ends the episode after an epoch with this validation error, or None to continue."""
        self.epochs += 1
        self.is_best = self.epochs == 1 or validation_error < self._lowest
        if self.is_best:
            self._lowest = validation_error
        # Not "higher than": nan counts as an error that has risen.
        self._rises = 0 if self.epochs == 1 or validation_error <= self._previous else self._rises + 1
        self._previous = validation_error
        if self._rises >= self._patience:
            return "patience"
        if self.epochs >= self._max_epochs:
            return "max_epochs"
        if self._max_images is not None and (self.epochs + 1) * self._images_per_epoch > self._max_images:
            return "max_images"
        return None


def train_episode(
    autoencoder: Autoencoder,
    optimizer: Adam | None,
    observations: Tensor,
    *,
    provenance: Provenance | None = None,
    batch_size: int,
    validation_share: float,
    patience: int,
    max_epochs: int,
    max_images: int | None,
    keep: Keep,
    splits: np.random.Generator,
    shuffles: np.random.Generator,
    noise: np.random.Generator,
) -> TrainingEpisode:
    """Train the autoencoder on raw observations (n, *observation_shape), continuing with the optimiser's state.

    The validation error decides when the episode ends and which weights are kept. It is the error of reconstructions alone, whatever
    else the autoencoder's loss contains. A set of a single observation is its own validation set. An autoencoder that uses the provenance
    of observations needs it. Only an autoencoder that is fitted at once needs no optimiser.
    """
    start = time.perf_counter()
    order = torch.from_numpy(splits.permutation(len(observations)))
    held_out = min(max(round(validation_share * len(order)), 1), len(order) - 1)
    validation, training = (order[:held_out], order[held_out:]) if held_out else (order, order)
    autoencoder.fit_to(observations, training)
    if optimizer is None:
        fitted = [mean_error(autoencoder, observations, rows, batch_size) for rows in (training, validation)]
        spent = time.perf_counter() - start
        return TrainingEpisode(len(observations), len(training), 1, fitted[0], fitted[1], "fitted", spent)
    rule = StoppingRule(patience=patience, max_epochs=max_epochs, images_per_epoch=len(training), max_images=max_images)
    kept: dict[str, Tensor] = {}
    errors = float("nan"), float("nan")
    ended_by: EndedBy | None = None
    while ended_by is None:
        shuffled = training[torch.from_numpy(shuffles.permutation(len(training)))]
        if autoencoder.groups_policies and provenance is not None:
            shuffled = provenance.grouped(shuffled)
        training_error = train_epoch(autoencoder, optimizer, observations, shuffled, batch_size, noise, provenance)
        validation_error = mean_error(autoencoder, observations, validation, batch_size)
        ended_by = rule.after_epoch(validation_error)
        if rule.is_best or keep == "last":
            errors = training_error, validation_error
        if rule.is_best and keep == "best" and ended_by is None:
            kept = {name: tensor.detach().clone() for name, tensor in autoencoder.state_dict().items()}
        elif rule.is_best:
            kept = {}
    with torch.no_grad():
        for name, tensor in autoencoder.state_dict().items():
            if name in kept:
                tensor.copy_(kept[name])
    return TrainingEpisode(
        images=len(observations),
        images_seen=rule.epochs * len(training),
        epochs=rule.epochs,
        training_error=errors[0],
        validation_error=errors[1],
        ended_by=ended_by,
        seconds=time.perf_counter() - start,
    )


def train_epoch(
    autoencoder: Autoencoder,
    optimizer: Adam,
    observations: Tensor,
    rows: Tensor,
    batch_size: int,
    noise: np.random.Generator,
    provenance: Provenance | None = None,
) -> float:
    """Do one epoch over these rows of raw observations; return the mean squared error during it.

    Noise is drawn before a batch is cut into shares; otherwise the bits would depend on the number of cores.
    """
    autoencoder.train()
    fast = compiled_training(autoencoder)
    if fast is not None:
        with own_cores() as cores:
            return fast.train_epoch(optimizer, observations.numpy(), rows.numpy(), batch_size, cores)
    weights = optimizer.weights
    device = weights[0].device
    drawn = torch.from_numpy(noise.standard_normal((len(rows), autoencoder.noise_size), np.float32))

    def error_and_gradients(share: Tensor) -> tuple[float, Sequence[Tensor]]:
        """Return mean squared error and gradients of the loss of these positions, weighted by their share of the batch."""
        inputs = autoencoder.inputs(observations[rows[share]].to(device))
        known = () if provenance is None or not autoencoder.uses_provenance else (provenance.take(rows[share]).to(device),)
        loss, error = autoencoder.loss(inputs, drawn[share].to(device), *known)
        part = len(share) / len(batch)
        return (error * part).item(), torch.autograd.grad(loss * part, weights, materialize_grads=True)

    total = 0.0
    with own_cores() as cores, _random_numbers(autoencoder, noise, device):
        for batch in _batches(len(rows), batch_size, autoencoder):
            errors, gradients = zip(*cores.map(error_and_gradients, _shares(batch, autoencoder, device)), strict=True)
            for weight, parts in zip(weights, zip(*gradients, strict=True), strict=True):
                weight.grad = sum(parts[1:], parts[0])
            optimizer.step()
            total += sum(errors) * len(batch)
    return total / len(rows)


def mean_error(autoencoder: Autoencoder, observations: Tensor, rows: Tensor, batch_size: int) -> float:
    """Return the mean squared reconstruction error per number of an observation, over these rows."""
    autoencoder.eval()
    device = next(autoencoder.parameters()).device
    fast = compiled(autoencoder)
    if fast is not None:
        with own_cores() as cores:
            _, errors = fast.infer(observations[rows].numpy(), cores, with_errors=True)
        return math.fsum(errors.tolist()) / (len(rows) * observations[0].numel())

    def error(share: Tensor) -> float:
        with torch.inference_mode():
            inputs = autoencoder.inputs(observations[share].to(device))
            return functional.mse_loss(autoencoder(inputs), inputs).item() * len(share)

    with own_cores() as cores:
        batches = [torch.split(batch, _rows_at_once(autoencoder, device)) for batch in torch.split(rows, batch_size)]
        return sum(sum(cores.map(error, shares)) for shares in batches) / len(rows)


def _batches(count: int, batch_size: int, autoencoder: Autoencoder) -> Sequence[Tensor]:
    """Return the positions in an epoch that make each training step."""
    batches = list(torch.split(torch.arange(count), batch_size))
    if autoencoder.whole_batches and len(batches) > 1 and len(batches[-1]) == 1:
        # Batch normalisation needs more than one observation.
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _shares(batch: Tensor, autoencoder: Autoencoder, device: torch.device) -> Sequence[Tensor]:
    """Return the parts of a batch that go through the network together."""
    return [batch] if autoencoder.whole_batches else torch.split(batch, _rows_at_once(autoencoder, device))


def _rows_at_once(autoencoder: Autoencoder, device: torch.device) -> int:
    """Return how many rows are computed at once: on a CPU a few, on several cores; elsewhere all."""
    return autoencoder.rows_at_once if device.type == "cpu" else 2**31


@contextmanager
def _random_numbers(autoencoder: Autoencoder, noise: np.random.Generator, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers, which dropout uses, from our generator while inside, and restore them afterwards."""
    if not autoencoder.whole_batches:
        yield
        return
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(int(noise.integers(2**63)))
        yield
