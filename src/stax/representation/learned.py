"""The learned behaviour space of STAX: an autoencoder's codes of the observations of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stax.constraints import check_choice
from stax.errors import InvalidInputError, exits_as_failures
from stax.own_code import name_of, names_code
from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder
from stax.representation.compiled_network.network import compiled, compiled_training
from stax.representation.making import make_autoencoder
from stax.representation.repeated_pictures import distinct
from stax.representation.sharing import Arrays, in_shares, own_cores
from stax.representation.space import (
    Descriptors,
    DescriptorSpace,
    Surprises,
    UndescribedError,
    finite_rows,
    of_the_task,
    used_samples,
)
from stax.representation.training import Keep, TrainingEpisode, train_episode
from stax.representation.weights import network_arrays, put_back, put_back_network, training_arrays
from stax.run_settings import DEVICES
from stax.tasks import is_built_in
from stax.tasks.task import Rollouts, Task

_DRAWN_AT_ONCE = 256
"""Number of rollouts whose observations are in memory at the same time."""
_ROLES = ("weights", "sampling", "splits", "shuffles", "noise")


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
        code_size: number of values in the code of one observation.
        autoencoder: its name, or a user's own: see `stax.representation.making`.
        hidden_sizes: see `DenseAutoencoder`.
        kl_weight: see `VariationalConvolutionalAutoencoder`.
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
        code_size: int,
        autoencoder: Any,
        hidden_sizes: Sequence[int],
        kl_weight: float,
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
        self._learning_rate = learning_rate
        self._batch_size, self._max_epochs, self._patience = batch_size, max_epochs, patience
        self._max_images = max_images_per_episode
        self._training_set_size = max_images_per_episode if training_set_size is None else training_set_size
        self._validation_share = validation_share
        self._keep = kept_weights
        self._reset = reset
        self.device = choose_device(device)
        self._generators = _generators(seed)
        self._code_size = code_size
        self._options: dict[str, Any] = {
            "autoencoder": autoencoder,
            "hidden_sizes": hidden_sizes,
            "kl_weight": kl_weight,
            "center_observations": center_observations,
            "scale_observations": scale_observations,
        }
        self._renew()
        self.size = len(self._samples) * self.autoencoder.code_size
        self.episodes = 0
        """Number of training episodes done."""
        self.last_episode: TrainingEpisode | None = None

    def _renew(self) -> None:
        """Make a new network, and forget the optimiser; a network that was given with its weights starts from these again."""
        seed = int(self._generators["weights"].integers(2**63))
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            network = make_autoencoder(self._task.observation_shape, self._code_size, **self._options)
        self.autoencoder: Autoencoder = network.to(self.device)
        self._optimizer: torch.optim.Optimizer | None = None

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of the network, made when it is first needed: it imports PyTorch's compiler, which takes seconds, and
        describing does without."""
        if self._optimizer is None:
            weights = [weight for weight in self.autoencoder.parameters() if weight.requires_grad]
            self._optimizer = torch.optim.Adam(weights, lr=self._learning_rate, fused=self.device.type in ("cpu", "cuda"))
        return self._optimizer

    @property
    def uses_torch(self) -> bool:  # type: ignore[override]
        """Whether PyTorch, and not compiled code, computes or trains the network."""
        return compiled_training(self.autoencoder, self.optimizer) is None

    @property
    def own_autoencoder(self) -> Any:
        """The autoencoder as it was given, if it is a user's own: an object, or `module:name`; otherwise None."""
        given = self._options["autoencoder"]
        return given if not isinstance(given, str) or names_code(given) else None

    @property
    def deferrable(self) -> bool:
        """Whether a built-in task draws the pictures, and a built-in autoencoder encodes them by compiled code. Every rollout then has a
        descriptor, unless training has diverged."""
        return is_built_in(self._task) and self.own_autoencoder is None and compiled(self.autoencoder) is not None

    def describe(self, rollouts: Rollouts) -> Descriptors:
        codes = [codes for (codes,) in self._passes(rollouts, lambda observations: (self.codes(observations),))]
        return np.concatenate([np.empty((0, self.autoencoder.code_size)), *codes]).reshape(len(rollouts), self.size)

    def describe_with_surprise(self, rollouts: Rollouts) -> tuple[Descriptors, Surprises]:
        passes = list(self._passes(rollouts, self.codes_and_errors))
        codes = np.concatenate([np.empty((0, self.autoencoder.code_size)), *(codes for codes, _ in passes)])
        errors = np.concatenate([np.empty(0), *(errors for _, errors in passes)])
        surprise = errors.reshape(len(rollouts), len(self._samples)).sum(1)
        return codes.reshape(len(rollouts), self.size), surprise

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
        self.autoencoder.eval()
        with torch.inference_mode():
            for observations in self._drawn(rollouts):
                for rows, codes in self._blocks(torch.from_numpy(self.codes(observations))):
                    reconstructions = self.autoencoder.observations(self.autoencoder.decode(codes))
                    pictures.append(reconstructions[:rows].cpu().numpy())
        return np.concatenate(pictures).reshape(len(rollouts), len(self._samples), *shape)

    def place_of(self, observation: NDArray[Any]) -> NDArray[np.float64]:
        """Return the place of one observation (*observation_shape): the numbers that it would have in a descriptor."""
        return self.codes(torch.from_numpy(np.array(observation)[None]))[0].astype(np.float64)

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
            return self._infer(observations, with_errors=with_errors)
        chosen, number = distinct(observations.numpy())
        codes, errors = self._infer(observations.index_select(0, torch.from_numpy(chosen)), with_errors=with_errors)
        return codes[number], errors[number] if with_errors else errors

    def _infer(self, observations: Tensor, *, with_errors: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return codes, and errors or none, of raw observations."""
        network = self.autoencoder
        with self._running_network():
            network.eval()
            fast = compiled(network)
            if fast is not None:
                with own_cores() as cores:
                    codes, errors = fast.infer(observations.numpy(), cores, with_errors=with_errors)
            elif self.device.type == "cpu":
                codes, errors = in_shares(partial(self._work, with_errors), observations, block=network.rows_at_once)
            else:
                with torch.inference_mode():
                    codes, errors = self._work(with_errors, observations)
        return codes, errors

    def _running_network(self) -> AbstractContextManager[None]:
        """Return a context for running the network, in which a user's own autoencoder cannot end the program."""
        own = self.own_autoencoder
        if own is None:
            return nullcontext()
        return exits_as_failures(f"Autoencoder {own if isinstance(own, str) else name_of(own)!r}")

    def _work(self, with_errors: bool, observations: Tensor) -> Arrays:
        """Compute codes and errors by PyTorch."""
        codes, errors = [torch.empty(0, self.autoencoder.code_size)], [torch.empty(0)]
        for rows, block in self._blocks(observations):
            inputs = self.autoencoder.inputs(block)
            some = self.autoencoder.encode(inputs)
            codes.append(some[:rows].cpu())
            if with_errors:
                error = self.autoencoder.decode(some).sub_(inputs).square_().flatten(1).sum(1)
                errors.append(error[:rows].cpu())
        return torch.cat(codes).numpy(), torch.cat(errors).numpy()

    def _blocks(self, values: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield blocks of one size on the network's device, each with the number of its rows that are no padding.

        Matrix products sum in another order for another number of rows, so the last bits of a code depend on how many observations go
        through the network together. Here this is always the same number: the last block is padded.
        """
        size = self.autoencoder.rows_at_once
        for first in range(0, len(values), size):
            block = values[first : first + size]
            rows = len(block)
            if rows < size:
                block = torch.cat([block, block[:1].expand(size - rows, *block.shape[1:])])
            yield rows, block.to(self.device)

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
            observations = observations[:, self._samples]
        if observations.dtype.kind == "f":
            self._check_finite(observations)
        observations = observations.reshape(-1, *self._task.observation_shape)
        return torch.from_numpy(np.require(observations, self._task.observation_dtype, ["C", "W"]))

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
            self._renew()
        observations = self._training_set(newest, archived)
        with self._running_network():
            self.last_episode = train_episode(
                self.autoencoder,
                self.optimizer,
                observations,
                batch_size=self._batch_size,
                validation_share=self._validation_share,
                patience=self._patience,
                max_epochs=self._max_epochs,
                max_images=self._max_images,
                keep=self._keep,
                splits=self._generators["splits"],
                shuffles=self._generators["shuffles"],
                noise=self._generators["noise"],
            )
        self.episodes += 1
        return self.last_episode

    def _training_set(self, newest: Rollouts, archived: Rollouts | None) -> Tensor:
        parts = [newest] if archived is None else [newest, archived]
        if self._training_set_size is not None:
            room = max(self._training_set_size // len(self._samples), 1)
            for number, part in enumerate(parts):
                if len(part) > room:
                    chosen = self._generators["sampling"].choice(len(part), room, replace=False, shuffle=False)
                    parts[number] = part.take(np.sort(chosen))
                room -= len(parts[number])
        return torch.cat([observations for part in parts for observations in self._drawn(part)])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return weights, constants and the optimiser's state, as copies: with `numbers`, all that `restore` needs."""
        return training_arrays(self.autoencoder, self._optimizer)

    def numbers(self) -> dict[str, Any]:
        """Return the rest of the state as JSON values. Seconds are left out, since they are no part of the outcome."""
        episode = None if self.last_episode is None else asdict(self.last_episode)
        if episode is not None:
            del episode["seconds"]
        generators = {role: generator.bit_generator.state for role, generator in self._generators.items()}
        return {"episodes": self.episodes, "last_episode": episode, "generators": generators}

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> None:
        """Take over the state of another space with the same options; training then continues as it would have there."""
        self._optimizer = None
        memory = put_back(self.autoencoder, arrays)
        if memory:
            self.optimizer.state.update(memory)
        for role in _ROLES:
            self._generators[role].bit_generator.state = numbers["generators"][role]
        self.episodes = int(numbers["episodes"])
        self.last_episode = None if numbers["last_episode"] is None else TrainingEpisode(**numbers["last_episode"])

    def weights(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the network's weights and constants, which describing needs, and text about them."""
        shape = ",".join(str(side) for side in self._task.observation_shape)
        words = {"observation_shape": shape, "code_size": str(self._code_size)}
        return network_arrays(self.autoencoder), words

    def restore_weights(self, arrays: Mapping[str, NDArray[Any]], words: Mapping[str, str]) -> None:
        """Take over weights, to describe as their space did; its training cannot be continued."""
        self._optimizer = None
        put_back_network(self.autoencoder, arrays)


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


def _generators(seed: np.random.SeedSequence) -> dict[str, np.random.Generator]:
    """Make a random generator for each role. The seed is not spawned from, so that it can make the same space again."""
    return {
        role: np.random.default_rng(
            np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number), pool_size=seed.pool_size)
        )
        for number, role in enumerate(_ROLES)
    }
