"""The state of a search at rest, as arrays and numbers that can be written and read back.

`capture` and `restore` are opposites: a restored search continues with the same bits. What can be computed from the rest (indices of
neighbours, coverage, distances of candidates) is not part of the state. A state may come from anywhere, so restoring it checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stax.errors import InvalidInputError, shortened, shown
from stax.search.metrics import checked_metrics
from stax.search.state_checks import Arrays, count, integer, within

if TYPE_CHECKING:
    from stax.search.search import Search


@dataclass(frozen=True)
class State:
    """All that a search needs to continue."""

    arrays: Arrays
    numbers: dict[str, Any]
    """Everything else, fit for JSON."""


def capture(search: Search) -> State:
    """Return the state of a search at rest. Arrays may be views of the search's own: write them before it continues."""
    if not search.at_rest:
        raise InvalidInputError(
            "The state of a search can be taken only at rest (Search.at_rest), between two passes of Algorithm 1's loop."
        )
    held, held_numbers = search.containers.capture()
    recorded, recorded_numbers = search.record.capture()
    numbers = {
        **recorded_numbers,
        **held_numbers,
        "training_interval": search.training_interval,
        "chunks_since_training": search.chunks_since_training,
        "random": {role: generator.bit_generator.state for role, generator in vars(search.random).items()},
        "space": search.space.numbers(),
    }
    space = {f"space.{name}": array for name, array in search.space.arrays().items()}
    return State({**held, **recorded, **space}, numbers)


def restore(search: Search, state: State) -> None:
    """Put a newly made search, of the same task, method, parameters, budget and seed, into the state."""
    try:
        _restore(search, state.arrays, state.numbers)
    except InvalidInputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = shortened(f"{type(error).__name__}: {error}")
        raise InvalidInputError(f"This is not the state of such a search ({words}).") from None


def _restore(search: Search, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> None:
    evaluations = integer(numbers, "evaluations")
    if not 0 < evaluations <= search.budget:
        raise InvalidInputError(f"The state has {shown(evaluations)} evaluations of a budget of {search.budget}.")
    search.space.restore(within(arrays, "space"), numbers["space"])
    search.containers.restore(arrays, numbers, evaluations)
    metrics = checked_metrics(numbers["metrics"], len(search.max_reward))
    search.record.restore(within(arrays, "ledger"), numbers, metrics)
    search.training_interval = _training_interval(numbers, evaluations, search.parameters.training_growth)
    search.chunks_since_training = count(numbers, "chunks_since_training", evaluations)
    for role, generator in vars(search.random).items():
        generator.bit_generator.state = numbers["random"][role]


def _training_interval(numbers: Mapping[str, Any], evaluations: int, growth: int) -> int:
    """Return the training interval of a saved state, which grows once in a chunk at most."""
    value, most = integer(numbers, "training_interval"), (evaluations + 1) * growth
    if not 0 <= value <= most:
        raise InvalidInputError(f"The state's training_interval must be from 0 to {most}, not {shown(value)}.")
    return value
