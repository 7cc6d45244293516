"""Between Gymnasium's spaces and the numbers of a policy: observations to inputs, outputs to actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stax.errors import InvalidInputError

MOST_INPUTS = 4096
"""Numbers of an observation that a policy can be given: its first layer has a weight for each."""
_UNBOUNDED = 1e30
"""Bounds from here on, such as the largest number of 32 bits, are none."""
_READABLE = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)


class ObservationReader:
    """Turns observations of an environment into vectors.

    A Box is flattened, a Discrete number becomes a vector with a single 1 in it, and of a Dict the entries named are joined.

    Args:
        environment: the environment's id, for messages.
        space: of its observations.
        keys: which entries of a Dict, in this order; empty for any other space.
    """

    def __init__(self, environment: str, space: spaces.Space[Any], keys: Sequence[str] = ()) -> None:
        self._environment, self.keys = environment, tuple(keys)
        parts = self._parts(space)
        for key, part in zip(self.keys or ("",), parts, strict=True):
            if not isinstance(part, _READABLE):
                raise InvalidInputError(
                    f"Environment {environment!r}: {f'entry {key!r} of its observations' if key else 'its observation'} is a"
                    f" {type(part).__name__}; a policy can be given Box, Discrete, MultiBinary and MultiDiscrete."
                )
        self._spaces = parts
        self.size = sum(int(spaces.flatdim(part)) for part in parts)
        """Numbers of a vector."""
        if not 1 <= self.size <= MOST_INPUTS:
            raise InvalidInputError(
                f"Environment {environment!r}: its observation has {self.size:,} numbers, but a policy takes from 1 to {MOST_INPUTS:,};"
                " a wrapper of the environment's own must make them fewer."
            )
        flat = [_flat_bounds(part) for part in parts]
        self.low = np.concatenate([low for low, _ in flat])
        """(size,) the space's lowest values, -inf where there is none."""
        self.high = np.concatenate([high for _, high in flat])
        only = parts[0]
        self._plain_shape = only.shape if len(parts) == 1 and isinstance(only, spaces.Box) else None
        """Of a single array, which most observations are and which is read the quick way."""

    def _parts(self, space: spaces.Space[Any]) -> list[spaces.Space[Any]]:
        if isinstance(space, spaces.Dict):
            names = ", ".join(repr(name) for name in space.spaces)
            if not self.keys:
                raise InvalidInputError(
                    f"Environment {self._environment!r} observes a Dict; say which of its entries the policy is given with"
                    f" observation_key, one or a list of {names}."
                )
            for key in self.keys:
                if key not in space.spaces:
                    raise InvalidInputError(f"Environment {self._environment!r} observes no {key!r}; there are {names}.")
            return [space.spaces[key] for key in self.keys]
        if self.keys:
            raise InvalidInputError(
                f"observation_key is for environments that observe a Dict; {self._environment!r} observes a {type(space).__name__}, so"
                f" {self.keys[0]!r} cannot be chosen."
            )
        return [space]

    def bounded(self, index: int) -> bool:
        """Whether the space has a lowest and a highest value for this number."""
        return bool(np.isfinite(self.low[index]) and np.isfinite(self.high[index]))

    def read(self, observation: Any, into: NDArray[np.float64]) -> None:
        """Writes the observation into a vector; one sentence if it is not of its space's shape."""
        if self._plain_shape is not None:
            array = np.asarray(self._values(observation)[0] if self.keys else observation)
            if array.shape != self._plain_shape:
                self._refuse(array.shape, self._plain_shape)
            into[:] = array if array.ndim == 1 else array.reshape(-1)
            return
        start = 0
        for part, value in zip(self._spaces, self._values(observation), strict=True):
            flat = self._flat(part, value)
            into[start : start + len(flat)] = flat
            start += len(flat)

    def _values(self, observation: Any) -> list[Any]:
        if not self.keys:
            return [observation]
        try:
            return [observation[key] for key in self.keys]
        except (KeyError, TypeError, IndexError):
            raise InvalidInputError(
                f"Environment {self._environment!r} broke its contract: it observed {type(observation).__name__} without the entries"
                f" {', '.join(repr(key) for key in self.keys)} that its observation space has."
            ) from None

    def _flat(self, part: spaces.Space[Any], value: Any) -> NDArray[Any]:
        if isinstance(part, spaces.Box):
            array = np.asarray(value)
            if array.shape != part.shape:
                self._refuse(array.shape, part.shape)
            return array.reshape(-1)
        if not part.contains(value):
            raise InvalidInputError(
                f"Environment {self._environment!r} broke its contract: it observed {value!r:.60}, which is not in {part}."
            )
        return np.asarray(spaces.flatten(part, value))

    def _refuse(self, given: tuple[int, ...], expected: tuple[int, ...]) -> None:
        raise InvalidInputError(
            f"Environment {self._environment!r} broke its contract: it observed an array of shape {given}, but its observation space"
            f" says {expected}."
        )


def _flat_bounds(space: spaces.Space[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if isinstance(space, spaces.Box):
        low, high = (np.asarray(bound, np.float64).reshape(-1) for bound in (space.low, space.high))
        return np.where(low > -_UNBOUNDED, low, -np.inf), np.where(high < _UNBOUNDED, high, np.inf)
    size = int(spaces.flatdim(space))
    return np.zeros(size), np.ones(size)


class ActionWriter:
    """Turns outputs of policies, each from -1 to 1, into actions of an environment.

    A Box's numbers are spread evenly over its bounds. Of a Discrete space the action with the highest output is taken, the first
    of equal ones; MultiDiscrete is several of these, and MultiBinary is 1 where an output is above 0.

    Args:
        environment: the environment's id, for messages.
        space: of its actions.
    """

    def __init__(self, environment: str, space: spaces.Space[Any]) -> None:
        self._space = space
        if isinstance(space, spaces.Box):
            self._middle, self._reach = _middle_and_reach(environment, space)
            self.size = int(np.prod(space.shape))
            """Outputs that an action takes."""
        elif isinstance(space, spaces.Discrete):
            self.size = int(space.n)
        elif isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
            self.size = int(space.nvec.sum())
            self._ends = np.cumsum(space.nvec)
        elif isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
            self.size = int(space.shape[0])
        else:
            raise InvalidInputError(
                f"Environment {environment!r} takes actions of a {type(space).__name__}; a policy can act in a bounded Box, a Discrete,"
                " and a MultiDiscrete or MultiBinary of one dimension."
            )
        if not 1 <= self.size <= MOST_INPUTS:
            raise InvalidInputError(
                f"Environment {environment!r} takes actions that need {self.size:,} outputs of a policy, which has from 1 to"
                f" {MOST_INPUTS:,}."
            )

    def actions(self, outputs: NDArray[np.float64]) -> Any:
        """Actions, one for each row of outputs (n, size). An environment may keep its own; nothing is written there again."""
        space = self._space
        if isinstance(space, spaces.Box):
            flat = outputs * self._reach + self._middle
            if space.dtype is not None and space.dtype.kind != "f":
                np.rint(flat, out=flat)
            actions = flat.astype(space.dtype).reshape(len(outputs), *space.shape)
            # Rounding may have led a bit beyond a bound.
            return np.minimum(np.maximum(actions, space.low), space.high)
        if isinstance(space, spaces.Discrete):
            # As the space itself samples them; environments check Python's own whole numbers more slowly.
            return outputs.argmax(axis=1).astype(space.dtype, copy=False) + space.start
        if isinstance(space, spaces.MultiDiscrete):
            parts = np.split(outputs, self._ends[:-1], axis=1)
            choices = np.stack([np.argmax(part, axis=1) for part in parts], axis=1) + space.start
            return choices.astype(space.dtype)
        return (outputs > 0).astype(space.dtype)


def _middle_and_reach(environment: str, space: spaces.Box) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = _flat_bounds(space)
    unbounded = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if len(unbounded):
        raise InvalidInputError(
            f"Environment {environment!r}: number {unbounded[0]} of its actions has the bounds {low[unbounded[0]]:g} and"
            f" {high[unbounded[0]]:g}; a policy's outputs can only be spread over finite bounds, so a version of"
            " the environment with bounds is needed."
        )
    return (low + high) / 2, (high - low) / 2
