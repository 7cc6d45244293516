"""A learned space as a run folder describes it, without running any code of the run's maker."""

from __future__ import annotations

from typing import Any, NoReturn

from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.representation.choice import descriptor_size
from stax.representation.space import DescriptorSpace
from stax.runs.config import RunConfig
from stax.tasks.task import Rollouts, Task


class DescribedSpace(DescriptorSpace):
    """A space whose autoencoder is a user's own and not at hand: it has a size, and describes nothing.

    Args:
        config: the run's configuration.
        task: the run's task.
        why: why there is no autoencoder, as the end of a sentence about it.
    """

    learned = True

    def __init__(self, config: RunConfig, task: Task, why: str) -> None:
        samples = config.parameters.descriptor_samples or task.observation_samples
        self.size = descriptor_size(samples, config.parameters.code_size, config.parameters.sequence_size)
        self.why = f"Autoencoder {config.parameters.autoencoder!r} {why}"

    def describe(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    def describe_with_surprise(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    def reconstruct(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    def place_of(self, observation: NDArray[Any]) -> NoReturn:
        self._refuse()

    @property
    def autoencoder(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidInputError(self.why)
