"""The learned behaviour space of STAX: an autoencoder's codes of the observations of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stax.constraints import check_choice
from stax.errors import InvalidInputError, exits_as_failures
from stax.own_code import name_of, names_code
from stax.representation.adam import Adam
from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder
from stax.representation.choice import MOMENTS, descriptor_size
from stax.representation.compiled_network.network import compiled
from stax.representation.making import make_autoencoder
from stax.representation.moments import changing_moments
from stax.representation.provenance import Provenance
from stax.representation.repeated_pictures import distinct
from stax.representation.sequences import SequenceAutoencoder
from stax.representation.sharing import Arrays
from stax.representation.space import (
    Descriptors,
    DescriptorSpace,
    Surprises,
    UndescribedError,
    finite_rows,
    of_the_task,
    used_samples,
)
from stax.representation.trained_network import TrainedNetwork
from stax.representation.training import Keep, TrainingEpisode
from stax.representation.weights import network_arrays, put_back_network
from stax.representation.whitening import Whitening
from stax.run_settings import DEVICES
from stax.tasks import is_built_in
from stax.tasks.task import Rollouts, Task

_DRAWN_AT_ONCE = 256
"""Number of rollouts whose observations are in memory at the same time."""
_ROLES = ("weights", "sampling", "splits", "shuffles", "noise", "sequence")
"""Roles of random numbers. Add new ones at the end: otherwise all seeds would give other results."""
_WHITENED = 1000
"""Number of rollouts that whitening is fitted to at most."""
_SEQUENCE = "descriptor.sequence."
"""Beginning of the names of a sequence encoder's arrays."""


class LearnedSpace(DescriptorSpace):
    """Descriptor space of an autoencoder: the codes of the used observations of a rollout, and their error as surprise.

    All random numbers come from `seed`. The same seed and the same calls give the same bits on the same machine; on a CPU, for any number
    of torch threads. A row's descriptor does not depend on the other rows it is computed with; with a user's own network, its last bit
    may. On a CPU, the convolutional autoencoder is computed by compiled code (`stax.representation.compiled_network`), which gives the
    same bits on all x86-64 processors with AVX2. PyTorch computes the others; `stax.numerics` says when their bits are the same on other
    processors.

    Args:
        task: the task of the rollouts, which draws the observations.
        samples: number of a rollout's observations that make the descriptor, the last always among them.
        descriptor_moments: which observations these are: evenly spread ones, or those where most changes.
        code_size: number of values in the code of one observation.
        autoencoder: its name, or a user's own: see `stax.representation.making`.
        hidden_sizes: see `DenseAutoencoder`.
        kl_weight: see `VariationalConvolutionalAutoencoder`.
        contrast_weight: see `TripletConvolutionalAutoencoder`.
        contrast_margin: see `TripletConvolutionalAutoencoder`.
        smoothing: see `PrincipalAutoencoder`.
        sequence_size: number of values in the descriptor that a sequence encoder makes of the codes; None for the codes side by side.
        whiten_codes: whether the parts of descriptors are whitened, see `Whitening`.
        learning_rate: learning rate of Adam.
        batch_size: number of observations in a training step.
        max_epochs: largest number of epochs of a training episode.
        max_images_per_episode: largest number of observations trained on in all epochs of a training episode together, except that one
            epoch is always done; None for no limit.
        training_set_size: largest number of observations in the set of a training episode; None for `max_images_per_episode`.
        center_observations: see `ConvolutionalAutoencoder`; vectors are always standardised.
        scale_observations: see `ConvolutionalAutoencoder`.
        validation_share: share of a training set that is held out.
        patience: number of epochs in a row with a rising validation error that ends an episode.
        kept_weights: the weights to keep, those of the epoch with the lowest validation error or those of the last.
        reset: whether every training episode starts with new weights and a new optimiser.
        seed: seed of all random numbers.
        device: device of the network; auto takes cuda, then mps, then cpu.
    """

    learned = True

    def __init__(
        self,
        *,
        task: Task,
        samples: int,
        descriptor_moments: str = "even",
        code_size: int,
        autoencoder: Any,
        hidden_sizes: Sequence[int],
        kl_weight: float,
        contrast_weight: float = 0.0,
        contrast_margin: float = 0.0,
        smoothing: float = 0.0,
        sequence_size: int | None = None,
        whiten_codes: bool = False,
        learning_rate: float,
        batch_size: int,
        max_epochs: int,
        max_images_per_episode: int | None,
        training_set_size: int | None,
        center_observations: bool,
        scale_observations: bool,
        validation_share: float,
        patience: int,
        kept_weights: Keep,
        reset: bool = False,
        seed: np.random.SeedSequence,
        device: str = "auto",
    ) -> None:
        if len(task.observation_shape) == 3 and task.observation_dtype != "uint8":
            raise InvalidInputError(f"Pictures of task {task.name!r} must be uint8, not {task.observation_dtype}.")
        self._task = task
        self._samples = used_samples(task.observation_samples, samples)
        self._moments = check_choice("descriptor_moments", descriptor_moments, MOMENTS)
        self._batch_size, self._max_epochs, self._patience = batch_size, max_epochs, patience
        self._max_images = max_images_per_episode
        self._training_set_size = max_images_per_episode if training_set_size is None else training_set_size
        self._validation_share = validation_share
        self._keep = kept_weights
        self._reset = reset
        self.device = choose_device(device)
        roles = _ROLES if sequence_size is not None else _ROLES[:-1]
        self._generators = _generators(seed, roles)
        self._code_size = code_size
        self._options: dict[str, Any] = {
            "autoencoder": autoencoder,
            "hidden_sizes": hidden_sizes,
            "kl_weight": kl_weight,
            "contrast_weight": contrast_weight,
            "contrast_margin": contrast_margin,
            "smoothing": smoothing,
            "center_observations": center_observations,
            "scale_observations": scale_observations,
        }
        self.network = TrainedNetwork(
            lambda: make_autoencoder(task.observation_shape, code_size, **self._options),
            self._generators["weights"],
            self.device,
            learning_rate,
            self._running_network,
        )
        self.sequences: TrainedNetwork | None = None
        """The sequence encoder, if there is one."""
        if sequence_size is not None:
            self.sequences = TrainedNetwork(
                lambda: SequenceAutoencoder(samples, code_size, sequence_size),
                self._generators["sequence"],
                self.device,
                learning_rate,
            )
        self.whitening = Whitening(sequence_size or code_size) if whiten_codes else None
        """The whitening of the parts of descriptors, if they are whitened."""
        self.size = descriptor_size(samples, code_size, sequence_size)
        self.episodes = 0
        """Number of training episodes done."""
        self.last_episode: TrainingEpisode | None = None

    @property
    def autoencoder(self) -> Autoencoder:
        """The network of observations."""
        return self.network.autoencoder

    @property
    def optimizer(self) -> Adam:
        """The optimiser of the network of observations."""
        return self.network.optimizer

    @property
    def uses_torch(self) -> bool:  # type: ignore[override]
        """Whether PyTorch, and not compiled code, computes or trains a network."""
        return self.sequences is not None or self.network.uses_torch

    @property
    def uses_linear_algebra(self) -> bool:  # type: ignore[override]
        """Whether NumPy's eigenvectors whiten the codes, or are the encoder."""
        return self.whitening is not None or self.autoencoder.fitted_at_once

    @property
    def own_autoencoder(self) -> Any:
        """The autoencoder as it was given, if it is a user's own: an object, or `module:name`; otherwise None."""
        given = self._options["autoencoder"]
        return given if not isinstance(given, str) or names_code(given) else None

    @property
    def deferrable(self) -> bool:
        """Whether a built-in task draws the pictures, and a built-in autoencoder encodes them by compiled code. Every rollout then has a
        descriptor, unless training has diverged."""
        if self.sequences is not None or self.own_autoencoder is not None or not is_built_in(self._task):
            return False
        return compiled(self.autoencoder) is not None

    def describe(self, rollouts: Rollouts) -> Descriptors:
        codes = [codes for (codes,) in self._passes(rollouts, lambda observations: (self.codes(observations),))]
        return self._descriptors(np.concatenate([np.empty((0, self.autoencoder.code_size)), *codes]), len(rollouts))

    def describe_with_surprise(self, rollouts: Rollouts) -> tuple[Descriptors, Surprises]:
        passes = list(self._passes(rollouts, self.codes_and_errors))
        codes = np.concatenate([np.empty((0, self.autoencoder.code_size)), *(codes for codes, _ in passes)])
        errors = np.concatenate([np.empty(0), *(errors for _, errors in passes)])
        surprise = errors.reshape(len(rollouts), len(self._samples)).sum(1)
        return self._descriptors(codes, len(rollouts)), surprise

    def _descriptors(self, codes: NDArray[np.float64], count: int) -> Descriptors:
        """Return the descriptors of so many rollouts, from the codes of their observations (count * samples, code_size)."""
        parts = self._parts(codes, count)
        if self.whitening is not None:
            parts = self.whitening.whiten(parts)
        return parts.reshape(count, self.size)

    def _parts(self, codes: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        """Return the parts of descriptors before they are whitened: the codes, or a row for each sequence of them."""
        if self.sequences is None:
            return codes
        stacked = torch.from_numpy(codes.reshape(count, len(self._samples) * self._code_size).astype(np.float32))
        return self.sequences.infer(stacked, with_errors=False)[0].astype(np.float64)

    def _passes(self, rollouts: Rollouts, work: Callable[[Tensor], Arrays]) -> Iterator[Arrays]:
        """Yield the network's results for the observations of the rollouts, part by part; all numbers are finite."""
        first = 0
        for observations in self._drawn(rollouts):
            results = work(observations)
            count = len(observations) // len(self._samples)
            finite = np.all([np.isfinite(result).reshape(count, -1).all(axis=1) for result in results], axis=0)
            if not finite.all():
                detail = f" after {self.episodes} training episodes; a smaller learning_rate may help, or observations of smaller numbers"
                error = UndescribedError(self._task.name, "codes or errors of the autoencoder are not finite", ~finite, detail)
                raise error.among(np.arange(first, first + count), len(rollouts))
            first += count
            yield results

    def reconstruct(self, rollouts: Rollouts) -> NDArray[np.float32]:
        """Return the reconstructions of the used observations, (n, samples, *observation_shape); pictures in [0, 1]."""
        shape = self._task.observation_shape
        pictures = [np.empty((0, *shape), np.float32)]
        pictures += [self.network.decode(self.codes(observations)) for observations in self._drawn(rollouts)]
        return np.concatenate(pictures).reshape(len(rollouts), len(self._samples), *shape)

    def pictured(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return the reconstructions of raw observations (n, *observation_shape); pictures in [0, 1]."""
        return self.network.decode(self.codes(torch.from_numpy(np.array(observations))))

    def imagine(self, descriptors: Descriptors) -> NDArray[np.float32]:
        """Return the observations that the decoder makes of places of this space, (n, samples, *observation_shape)."""
        count = len(descriptors)
        parts = np.asarray(descriptors, np.float64).reshape(
            -1, self.autoencoder.code_size if self.sequences is None else self.size
        )
        if self.whitening is not None:
            parts = self.whitening.restore(parts)
        codes = parts if self.sequences is None else self.sequences.decode(parts).reshape(-1, self._code_size)
        return self.network.decode(codes).reshape(count, len(self._samples), *self._task.observation_shape)

    def place_of(self, observation: NDArray[Any]) -> NDArray[np.float64]:
        """Return the place of one observation (*observation_shape): the numbers that it would have in a descriptor."""
        if self.sequences is not None:
            raise InvalidInputError(
                f"The descriptors of this run are those of sequences (sequence_size {self.size}), in which a single observation has no"
                " place; ask with ground_truth or like."
            )
        code = self.codes(torch.from_numpy(np.array(observation)[None]))
        place: NDArray[np.float64] = (code.astype(np.float64) if self.whitening is None else self.whitening.whiten(code))[0]
        return place

    def observed_places(self, descriptors: Descriptors) -> Descriptors:
        """Return the places of the used observations, (n, samples, numbers), of which these descriptors consist."""
        return descriptors.reshape(len(descriptors), len(self._samples), -1)

    def codes(self, observations: Tensor) -> NDArray[np.float32]:
        """Return the codes (n, code_size) of raw observations (n, *observation_shape), without using the decoder."""
        codes, _ = self._infer_distinct(observations, with_errors=False)
        return codes

    def codes_and_errors(self, observations: Tensor) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the codes of raw observations, and the squared reconstruction error of each, summed over its numbers."""
        return self._infer_distinct(observations, with_errors=True)

    def _infer_distinct(self, observations: Tensor, *, with_errors: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return codes and, if wanted, errors; equal pictures go through the network once. For vectors that is not worth it."""
        if not isinstance(self.autoencoder, ConvolutionalAutoencoder) or not len(observations):
            return self.network.infer(observations, with_errors=with_errors)
        chosen, number = distinct(observations.numpy())
        some = observations.index_select(0, torch.from_numpy(chosen))
        codes, errors = self.network.infer(some, with_errors=with_errors)
        return codes[number], errors[number] if with_errors else errors

    def _running_network(self) -> AbstractContextManager[None]:
        """Return a context for running the network, in which a user's own autoencoder cannot end the program."""
        own = self.own_autoencoder
        if own is None:
            return nullcontext()
        return exits_as_failures(f"Autoencoder {own if isinstance(own, str) else name_of(own)!r}")

    def _drawn(self, rollouts: Rollouts) -> Iterator[Tensor]:
        """Yield the used observations of all rollouts, in parts that do not fill the memory."""
        for first in range(0, len(rollouts), _DRAWN_AT_ONCE):
            some = rollouts.take(slice(first, first + _DRAWN_AT_ONCE))
            try:
                observations = self._observe(some)
            except UndescribedError as error:
                raise error.among(np.arange(first, first + len(some)), len(rollouts)) from error.__cause__
            yield observations

    def _observe(self, rollouts: Rollouts) -> Tensor:
        """Return the used observations as the task draws them: (n * samples, *observation_shape)."""
        observations = of_the_task(self._task.observe, rollouts, self._task.name, "its observations")
        shape = (len(rollouts), self._task.observation_samples, *self._task.observation_shape)
        if observations.shape != shape:
            raise InvalidInputError(
                f"Observations of task {self._task.name!r} must have the shape {shape}, not {observations.shape}."
            )
        if len(self._samples) < shape[1]:
            observations = observations[np.arange(shape[0])[:, None], self._used(observations)]
        if observations.dtype.kind == "f":
            self._check_finite(observations)
        observations = observations.reshape(-1, *self._task.observation_shape)
        return torch.from_numpy(np.require(observations, self._task.observation_dtype, ["C", "W"]))

    def _used(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """Return (n, samples) or (samples,) which observations (n, available, ...) are used."""
        return changing_moments(observations, len(self._samples)) if self._moments == "changing" else self._samples

    def used_moments(self, rollouts: Rollouts) -> NDArray[np.int64]:
        """Return (n, samples) which observations of each rollout are used, from 0."""
        used = self._used(self._task.observe(rollouts)) if self._moments == "changing" else self._samples
        return np.broadcast_to(used, (len(rollouts), len(self._samples)))

    def _check_finite(self, observations: NDArray[Any]) -> None:
        """Raise an error for vectors (n, samples, ...) with numbers that 32 bits cannot hold."""
        finite = finite_rows(observations)
        if not finite.all():
            first = observations[int(np.argmin(finite))]
            sample, *place = np.argwhere(~(np.abs(first) <= np.finfo(np.float32).max))[0].tolist()
            detail = f" ({first[(sample, *place)]}, its number {', '.join(map(str, place))})"
            raise UndescribedError(self._task.name, "an observation is not finite in 32 bits", ~finite, detail)

    def train(self, newest: Rollouts, archived: Rollouts | None = None) -> TrainingEpisode:
        """Do one training episode on the observations of the newest and of the archived rollouts.

        If these are more than `training_set_size`, the newest are kept and a uniform sample of the archived ones fills the set. If even
        the newest are more, the set is a uniform sample of them.
        """
        if len(newest) == 0:
            raise InvalidInputError("There is nothing to train on: the newest rollouts are empty.")
        if self._reset:
            for network in filter(None, (self.network, self.sequences)):
                network.renew()
        observations, provenance = self._training_set(newest, archived)
        options = {
            "batch_size": self._batch_size,
            "validation_share": self._validation_share,
            "patience": self._patience,
            "max_epochs": self._max_epochs,
            "keep": self._keep,
        }
        roles = {role: self._generators[role] for role in ("splits", "shuffles", "noise")}
        self.last_episode = self.network.train(observations, provenance, max_images=self._max_images, **options, **roles)
        if self.sequences is not None:
            # Epochs over some hundred short vectors take no time, so only patience and max_epochs limit them.
            stacked = self.codes(observations).reshape(-1, len(self._samples) * self._code_size)
            drawn = dict.fromkeys(roles, self._generators["sequence"])
            self.sequences.train(torch.from_numpy(stacked), None, max_images=None, **options, **drawn)
        if self.whitening is not None:
            self._fit_whitening(newest if archived is None else Rollouts.concat([newest, archived]))
        self.episodes += 1
        return self.last_episode

    def _fit_whitening(self, known: Rollouts) -> None:
        """Fit the whitening to the policies that novelty is measured against; of many, to some that are evenly spread."""
        assert self.whitening is not None
        some = known.take(np.unique(np.linspace(0, len(known) - 1, min(len(known), _WHITENED)).astype(np.int64)))
        codes = [codes.astype(np.float64) for (codes,) in self._passes(some, lambda observations: (self.codes(observations),))]
        self.whitening.fit(self._parts(np.concatenate(codes), len(some)))

    def _training_set(self, newest: Rollouts, archived: Rollouts | None) -> tuple[Tensor, Provenance]:
        parts = [newest] if archived is None else [newest, archived]
        if self._training_set_size is not None:
            room = max(self._training_set_size // len(self._samples), 1)
            for number, part in enumerate(parts):
                if len(part) > room:
                    chosen = self._generators["sampling"].choice(len(part), room, replace=False, shuffle=False)
                    parts[number] = part.take(np.sort(chosen))
                room -= len(parts[number])
        observations = torch.cat([observations for part in parts for observations in self._drawn(part)])
        return observations, Provenance.of(np.concatenate([part.reward for part in parts]), len(self._samples))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return weights, constants and the optimiser's state, as copies: with `numbers`, all that `restore` needs."""
        sequences = {} if self.sequences is None else self.sequences.arrays()
        whitening = {} if self.whitening is None else self.whitening.arrays()
        return {**self.network.arrays(), **{f"{_SEQUENCE}{name}": array for name, array in sequences.items()}, **whitening}

    def numbers(self) -> dict[str, Any]:
        """Return the rest of the state as JSON values. Seconds are left out, since they are no part of the outcome."""
        episode = None if self.last_episode is None else asdict(self.last_episode)
        if episode is not None:
            del episode["seconds"]
        generators = {role: generator.bit_generator.state for role, generator in self._generators.items()}
        return {"episodes": self.episodes, "last_episode": episode, "generators": generators}

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> None:
        """Take over the state of another space with the same options; training then continues as it would have there."""
        others, sequences = self._divided(arrays)
        self.network.restore(others)
        if self.sequences is not None:
            self.sequences.restore(sequences)
        for role, generator in self._generators.items():
            generator.bit_generator.state = numbers["generators"][role]
        self.episodes = int(numbers["episodes"])
        self.last_episode = None if numbers["last_episode"] is None else TrainingEpisode(**numbers["last_episode"])

    def _divided(self, arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Take over the whitening, and return the arrays of the network and those of the sequence encoder."""
        others = dict(arrays) if self.whitening is None else self.whitening.take(arrays)
        if self.sequences is None:
            return others, {}
        sequences = {name.removeprefix(_SEQUENCE): others.pop(name) for name in list(others) if name.startswith(_SEQUENCE)}
        return others, sequences

    def weights(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the network's weights and constants, which describing needs, and text about them."""
        shape = ",".join(str(side) for side in self._task.observation_shape)
        words = {"observation_shape": shape, "code_size": str(self._code_size)}
        sequences = {} if self.sequences is None else network_arrays(self.sequences.autoencoder)
        whitening = {} if self.whitening is None else self.whitening.arrays()
        named = {f"{_SEQUENCE}{name}": array for name, array in sequences.items()}
        return {**network_arrays(self.autoencoder), **named, **whitening}, words

    def restore_weights(self, arrays: Mapping[str, NDArray[Any]], words: Mapping[str, str]) -> None:
        """Take over weights, to describe as their space did; its training cannot be continued."""
        others, sequences = self._divided(arrays)
        self.network.forget_training()
        put_back_network(self.autoencoder, others)
        if self.sequences is not None:
            self.sequences.forget_training()
            put_back_network(self.sequences.autoencoder, sequences)


def choose_device(device: str) -> torch.device:
    """Return the device of this name if this machine has it; for auto the fastest there is."""
    check_choice("device", device, DEVICES)
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return torch.device(next(name for name, there in available.items() if there))
    if not available[device]:
        has = ", ".join(repr(name) for name, there in available.items() if there)
        raise InvalidInputError(f"device {device!r} is not available on this machine, which has {has}.")
    return torch.device(device)


def _generators(seed: np.random.SeedSequence, roles: Sequence[str]) -> dict[str, np.random.Generator]:
    """Make a random generator for each role. The seed is not spawned from, so that it can make the same space again."""
    return {
        role: np.random.default_rng(
            np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number), pool_size=seed.pool_size)
        )
        for number, role in enumerate(roles)
    }
