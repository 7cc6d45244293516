"""A network of a learned space with its optimiser: made from a seed, computed in blocks, trained, saved and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from stax.representation.adam import Adam
from stax.representation.autoencoder import Autoencoder
from stax.representation.compiled_network.network import compiled, compiled_training
from stax.representation.provenance import Provenance
from stax.representation.sharing import Arrays, in_shares, own_cores
from stax.representation.training import TrainingEpisode, train_episode
from stax.representation.weights import put_back, training_arrays


class TrainedNetwork:
    """An autoencoder with its optimiser.

    Args:
        make: makes the autoencoder, with weights of torch's random numbers.
        seeds: generator of the seeds of these.
        device: device of the network.
        learning_rate: learning rate of Adam.
        running: makes a context in which the network is run.
    """

    def __init__(
        self,
        make: Callable[[], Autoencoder],
        seeds: np.random.Generator,
        device: torch.device,
        learning_rate: float,
        running: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._make, self._seeds, self._running = make, seeds, running
        self.device, self.learning_rate = device, learning_rate
        self.renew()

    def renew(self) -> None:
        """Make a new network, and forget the optimiser; a network that was given with its weights starts from these again."""
        seed = int(self._seeds.integers(2**63))
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            network = self._make()
        self.autoencoder: Autoencoder = network.to(self.device)
        self.forget_training()

    @property
    def uses_torch(self) -> bool:
        """Whether PyTorch, and not compiled code, computes or trains the network."""
        return self.autoencoder.fitted_at_once or compiled_training(self.autoencoder) is None

    def train(self, observations: Tensor, provenance: Provenance | None, **options: Any) -> TrainingEpisode:
        """Do one training episode on raw observations; `options` are those of `train_episode`."""
        with self._running():
            optimizer = None if self.autoencoder.fitted_at_once else self.optimizer
            return train_episode(self.autoencoder, optimizer, observations, provenance=provenance, **options)

    # Computing

    def infer(self, observations: Tensor, *, with_errors: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the codes (n, code_size) of raw observations, and their errors (n,), summed over the numbers of each, or none."""
        network = self.autoencoder
        with self._running():
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

    def decode(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """Return what the decoder makes of codes (n, code_size): observations, pictures in [0, 1]."""
        made = [np.empty((0, *self.autoencoder.observation_shape), np.float32)]
        self.autoencoder.eval()
        with torch.inference_mode():
            for rows, block in self._blocks(torch.from_numpy(np.array(codes, np.float32))):
                made.append(self.autoencoder.observations(self.autoencoder.decode(block))[:rows].cpu().numpy())
        return np.concatenate(made)

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

    # To be saved and restored

    def forget_training(self) -> None:
        """Forget what the optimiser remembers, before weights of another network are taken over."""
        self.optimizer = Adam(self.autoencoder, self.learning_rate)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return weights, constants and the optimiser's state, as copies."""
        return training_arrays(self.autoencoder, self.optimizer.memory)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `arrays` returned for a network like this one."""
        self.forget_training()
        self.optimizer.memory.update(put_back(self.autoencoder, arrays))
