"""A learned space of which a run folder alone tells: what can be known of it without running anybody's code."""

from __future__ import annotations

from typing import NoReturn

from stax.errors import InvalidInputError
from stax.representation.space import DescriptorSpace
from stax.runs.config import RunConfig
from stax.tasks.task import Rollouts, Task


class DescribedSpace(DescriptorSpace):
    """A space whose autoencoder is somebody's own: it has a size, and describes nothing.

    Args:
        config: of the run.
        task: of the run.
        why: there is no autoencoder, as the end of a sentence about it.
    """

    learned = True

    def __init__(self, config: RunConfig, task: Task, why: str) -> None:
        samples = config.parameters.descriptor_samples or task.observation_samples
        self.size = samples * config.parameters.code_size
        self.why = f"Autoencoder {config.parameters.autoencoder!r} {why}"

    def describe(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    def describe_with_surprise(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    def reconstruct(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    @property
    def autoencoder(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidInputError(self.why)
