"""The base class of all schedulers, which choose between exploration and exploitation for the next chunk of the budget.

A scheduler decides by the course of the run alone and has no state of its own, so every run resumes exactly. A scheduler is a subclass
of `Scheduler` with the method `choose`; docs/emitters.md shows how to write your own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from stax.errors import InvalidInputError, in_one_line
from stax.search.vocabulary import Phase

if TYPE_CHECKING:
    from stax.search.parameters import Parameters


@dataclass(frozen=True)
class Chunk:
    """A chunk of the budget: its phase, and what it yielded."""

    phase: Phase
    """initial population (the first chunk alone), exploration or exploitation."""
    evaluations: int
    """Evaluations the chunk took."""
    novelty: float = 0.0
    """Yield of exploration: mean novelty of the last offspring, divided by the root mean square distance of population and offspring
    from their centre. The division makes it comparable between descriptor spaces, and before and after training."""
    gain: float = 0.0
    """Yield of exploitation: the sum of what emitters raised their best rewards by."""


class Scheduler(ABC):
    """The choice of the phase that gets the next chunk of the budget."""

    name: str = ""
    """Value of the parameter `scheduler`; only built-in schedulers need one."""
    about: str = ""
    """Description in `stax algos`; only built-in schedulers need one."""

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        """Make a built-in scheduler with the parameters of the search."""
        return cls()

    @abstractmethod
    def choose(self, course: Sequence[Chunk], rng: np.random.Generator) -> str:
        """Return exploration or exploitation; called only when there are candidates or emitters to exploit.

        Args:
            course: all chunks so far, the initial population first.
            rng: for random decisions, if there are any.
        """


def chosen_phase(name: str, scheduler: Scheduler, course: Sequence[Chunk], rng: np.random.Generator) -> Phase:
    """Ask a scheduler, which may be a user's own code, and check its answer."""
    try:
        phase = scheduler.choose(course, rng)
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"The scheduler {name!r} failed in choose: {in_one_line(error)}.") from error
    if phase not in (Phase.EXPLORATION, Phase.EXPLOITATION):
        raise InvalidInputError(f"The scheduler {name!r} must choose 'exploration' or 'exploitation', not {phase!r}.")
    return Phase(phase)
