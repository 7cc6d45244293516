"""Between Gymnasium's spaces and the numbers of a policy: observations to inputs, outputs to actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.tasks.picture_scaling import squeezed
from stax.tasks.task import Picture

MOST_INPUTS = 4096
"""Numbers of an observation that a policy can be given: its first layer has a weight for each."""
_UNBOUNDED_FROM = 1e30
"""Bounds from here on, such as the largest number of 32 bits, are none."""
_READABLE_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)
_READABLE_WORDS = "Box, Discrete, MultiBinary and MultiDiscrete, and Dict and Tuple of these"
_SMALLEST_PICTURE = 16
"""Pixels of a side of a picture at least."""
_MOST_CHANNELS = 12
"""Channels of a picture: several frames in one observation are common."""
_COLOR_CHANNELS = 3

Path = tuple[str | int, ...]
"""Where in an observation a part of it is: keys of Dict spaces and places in Tuple spaces, from the outside in."""


def leaves(space: spaces.Space[Any], path: Path = ()) -> Iterator[tuple[Path, spaces.Space[Any]]]:
    """Yield the parts of a space that are neither Dict nor Tuple, in the order in which Gymnasium flattens them."""
    if isinstance(space, spaces.Dict):
        for name, inner in space.spaces.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(space, spaces.Tuple):
        for number, inner in enumerate(space.spaces):
            yield from leaves(inner, (*path, number))
    else:
        yield path, space


class ObservationReader:
    """Turns observations of an environment into vectors.

    A Box is flattened, a Discrete number becomes a vector with a single 1 in it, and the parts of a Dict or a Tuple, also of nested ones,
    are joined as `gymnasium.spaces.flatten` does it.

    Args:
        environment: the environment's id, for messages.
        space: of its observations.
        keys: which entries of a Dict, in this order; empty for the whole observation.
        picture_side: side in pixels of the picture that a policy is given of an observation that is one; None for a vector.
    """

    def __init__(
        self, environment: str, space: spaces.Space[Any], keys: Sequence[str] = (), *, picture_side: int | None = None
    ) -> None:
        self._environment, self.keys = environment, tuple(keys)
        self._leaves = [leaf for path, part in self._chosen_parts(space) for leaf in leaves(part, path)]
        for path, leaf in self._leaves:
            if not isinstance(leaf, _READABLE_SPACES):
                where = f"entry {_path_words(path)} of its observations" if path else "its observation"
                raise InvalidInputError(
                    f"Environment {environment!r}: {where} is a {type(leaf).__name__}; a policy can be given {_READABLE_WORDS}"
                    f"{_choose_entries(space) if path else ''}."
                )
        _, only = self._leaves[0]
        single = len(self._leaves) == 1
        self.picture_shape = picture_shape(only) if single else None
        """(height, width, channels) of an observation that is a picture; None for any other."""
        self.side = picture_side
        """Side of the picture that a policy is given; None for a vector."""
        if picture_side is None:
            self.size = sum(int(spaces.flatdim(leaf)) for _, leaf in self._leaves)
            """Numbers of a vector."""
            flat = [_flat_bounds(leaf) for _, leaf in self._leaves]
            self.low = np.concatenate([low for low, _ in flat])
            """(size,) the space's lowest values, -inf where there is none."""
            self.high = np.concatenate([high for _, high in flat])
        else:
            if self.picture_shape is None:
                raise InvalidInputError(
                    f"Environment {environment!r} observes no picture, which a convolutional policy needs: a Box of uint8 with at"
                    f" least {_SMALLEST_PICTURE} pixels a side and at most {_MOST_CHANNELS} channels."
                )
            self.size = picture_side * picture_side * self.picture_shape[2]
            self.low, self.high = np.full(self.size, -1.0), np.ones(self.size)
        self._single_array_shape = only.shape if single and isinstance(only, spaces.Box) else None
        """Shape of an observation that is a single array, which most are and which is read the quick way; None for any other."""

    def check_size(self) -> None:
        """Refuse observations that are too large for the first layer of a policy."""
        if not 1 <= self.size <= MOST_INPUTS:
            raise InvalidInputError(
                f"Environment {self._environment!r}: its observation has {self.size:,} numbers, but a policy takes from 1 to"
                f" {MOST_INPUTS:,}, unless it is a picture (uint8); a wrapper of the environment's own must make them fewer."
            )

    def _chosen_parts(self, space: spaces.Space[Any]) -> list[tuple[Path, spaces.Space[Any]]]:
        """Return the parts of the observation that the policy is given."""
        if not self.keys:
            return [((), space)]
        if not isinstance(space, spaces.Dict):
            raise InvalidInputError(
                f"observation_key is for environments that observe a Dict; {self._environment!r} observes a {type(space).__name__}, so"
                f" {self.keys[0]!r} cannot be chosen."
            )
        for key in self.keys:
            if key not in space.spaces:
                names = ", ".join(repr(name) for name in space.spaces)
                raise InvalidInputError(f"Environment {self._environment!r} observes no {key!r}; there are {names}.")
        return [((key,), space.spaces[key]) for key in self.keys]

    def bounded(self, index: int) -> bool:
        """Return whether the space has a lowest and a highest value for this number."""
        return bool(np.isfinite(self.low[index]) and np.isfinite(self.high[index]))

    def read(self, observation: Any, into: NDArray[np.float64]) -> None:
        """Write an observation into a vector; raise `InvalidInputError` if it does not fit its space."""
        if self._single_array_shape is not None:
            array = np.asarray(self._value(observation, self._leaves[0][0]))
            if array.shape != self._single_array_shape:
                self._refuse_shape(array.shape, self._single_array_shape)
            if self.side is not None:
                array = _scaled_to_square(_channels_last(array), self.side) / 127.5 - 1
            into[:] = array if array.ndim == 1 else array.reshape(-1)
            return
        start = 0
        for path, leaf in self._leaves:
            flat = self._flattened(leaf, self._value(observation, path))
            into[start : start + len(flat)] = flat
            start += len(flat)

    def picture(self, vector: NDArray[np.float64]) -> Picture:
        """Return the picture that a policy is given as this vector, in colours."""
        assert self.side is not None
        pixels = np.rint((vector.reshape(self.side, self.side, -1) + 1) * 127.5).astype(np.uint8)
        return pixels if pixels.shape[2] == _COLOR_CHANNELS else np.repeat(pixels[:, :, -1:], _COLOR_CHANNELS, axis=2)

    def _value(self, observation: Any, path: Path) -> Any:
        try:
            for step in path:
                observation = observation[step]
        except (KeyError, TypeError, IndexError):
            raise InvalidInputError(
                f"Environment {self._environment!r} broke its contract: it observed {type(observation).__name__} without the entry"
                f" {_path_words(path)} that its observation space has."
            ) from None
        return observation

    def _flattened(self, part: spaces.Space[Any], value: Any) -> NDArray[Any]:
        if isinstance(part, spaces.Box):
            array = np.asarray(value)
            if array.shape != part.shape:
                self._refuse_shape(array.shape, part.shape)
            return array.reshape(-1)
        if not part.contains(value):
            raise InvalidInputError(
                f"Environment {self._environment!r} broke its contract: it observed {value!r:.60}, which is not in {part}."
            )
        return np.asarray(spaces.flatten(part, value))

    def _refuse_shape(self, given: tuple[int, ...], expected: tuple[int, ...]) -> None:
        raise InvalidInputError(
            f"Environment {self._environment!r} broke its contract: it observed an array of shape {given}, but its observation space"
            f" says {expected}."
        )


def _path_words(path: Path) -> str:
    return repr(".".join(str(step) for step in path))


def _choose_entries(space: spaces.Space[Any]) -> str:
    """Return how to leave an entry out, as the end of a sentence."""
    if not isinstance(space, spaces.Dict):
        return ""
    fit = [
        repr(name) for name, part in space.spaces.items() if all(isinstance(leaf, _READABLE_SPACES) for _, leaf in leaves(part))
    ]
    return f"; choose entries with observation_key, one or a list of {', '.join(fit)}" if fit else ""


def picture_shape(space: spaces.Space[Any]) -> tuple[int, int, int] | None:
    """Return the (height, width, channels) of a space of pictures; None for any other space."""
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) not in (2, 3):
        return None
    height, width, channels = _channels_last(np.empty(space.shape, np.uint8)).shape
    is_picture = min(height, width) >= _SMALLEST_PICTURE and channels <= _MOST_CHANNELS
    return (height, width, channels) if is_picture else None


def _channels_last(array: NDArray[Any]) -> NDArray[Any]:
    """Return a picture as (height, width, channels); some environments have its channels first, or none."""
    if array.ndim == 2:
        return array[:, :, None]
    return array.transpose(1, 2, 0) if array.shape[0] <= _MOST_CHANNELS < array.shape[2] else array


def _scaled_to_square(picture: NDArray[Any], side: int) -> NDArray[np.uint8]:
    """Return the picture on a square, three of its channels at a time."""
    channels = picture.shape[2]
    padded = np.pad(picture, ((0, 0), (0, 0), (0, -channels % _COLOR_CHANNELS)))
    parts = [squeezed(padded[:, :, first : first + _COLOR_CHANNELS], side) for first in range(0, channels, _COLOR_CHANNELS)]
    return np.concatenate(parts, axis=2)[:, :, :channels]


def _flat_bounds(space: spaces.Space[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if isinstance(space, spaces.Box):
        low, high = (np.asarray(bound, np.float64).reshape(-1) for bound in (space.low, space.high))
        return np.where(low > -_UNBOUNDED_FROM, low, -np.inf), np.where(high < _UNBOUNDED_FROM, high, np.inf)
    size = int(spaces.flatdim(space))
    return np.zeros(size), np.ones(size)


class ActionWriter:
    """Turns outputs of policies, each from -1 to 1, into actions of an environment.

    A Box's numbers are spread evenly over its bounds. Of a Discrete space the action with the highest output is taken, the first
    of equal ones; MultiDiscrete is several of these, and MultiBinary is 1 where an output is above 0. The parts of a Dict or a Tuple,
    also of nested ones, have their outputs one after the other.

    Args:
        environment: the environment's id, for messages.
        space: of its actions.
    """

    def __init__(self, environment: str, space: spaces.Space[Any]) -> None:
        self._space = space
        self.size: int
        """Outputs that an action takes."""
        self._part_writers: list[tuple[str | int, ActionWriter]] = []
        """Writers for the entries of a Dict or a Tuple."""
        if isinstance(space, spaces.Dict | spaces.Tuple):
            named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
            self._part_writers = [(name, ActionWriter(environment, part)) for name, part in named]
            self.size = sum(writer.size for _, writer in self._part_writers)
        elif isinstance(space, spaces.Box):
            self._middle, self._half_range = _middle_and_half_range(environment, space)
            self.size = int(np.prod(space.shape))
        elif isinstance(space, spaces.Discrete):
            self.size = int(space.n)
        elif isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
            self.size = int(space.nvec.sum())
            self._choice_ends = np.cumsum(space.nvec)
        elif isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
            self.size = int(space.shape[0])
        else:
            raise InvalidInputError(
                f"Environment {environment!r} takes actions of a {type(space).__name__}; a policy can act in a bounded Box, a Discrete,"
                " a MultiDiscrete or MultiBinary of one dimension, and a Dict or Tuple of these."
            )
        if not 1 <= self.size <= MOST_INPUTS:
            raise InvalidInputError(
                f"Environment {environment!r} takes actions that need {self.size:,} outputs of a policy, which has from 1 to"
                f" {MOST_INPUTS:,}."
            )

    def actions(self, outputs: NDArray[np.float64]) -> Any:
        """Return an action for each row of outputs (n, size). An environment may keep its action, which is never written to again."""
        space = self._space
        if isinstance(space, spaces.Dict | spaces.Tuple):
            return self._joined(outputs)
        if isinstance(space, spaces.Box):
            flat = outputs * self._half_range + self._middle
            if space.dtype is not None and space.dtype.kind != "f":
                np.rint(flat, out=flat)
            actions = flat.astype(space.dtype).reshape(len(outputs), *space.shape)
            # Rounding may have led a bit beyond a bound.
            return np.minimum(np.maximum(actions, space.low), space.high)
        if isinstance(space, spaces.Discrete):
            # As the space itself samples them; environments check Python's own whole numbers more slowly.
            return outputs.argmax(axis=1).astype(space.dtype, copy=False) + space.start
        if isinstance(space, spaces.MultiDiscrete):
            parts = np.split(outputs, self._choice_ends[:-1], axis=1)
            choices = np.stack([np.argmax(part, axis=1) for part in parts], axis=1) + space.start
            return choices.astype(space.dtype)
        return (outputs > 0).astype(space.dtype)

    def _joined(self, outputs: NDArray[np.float64]) -> list[Any]:
        """Return actions of a Dict or a Tuple space, one for each row of outputs."""
        ends = np.cumsum([writer.size for _, writer in self._part_writers])
        parts = np.split(outputs, ends[:-1], axis=1)
        columns = [writer.actions(part) for (_, writer), part in zip(self._part_writers, parts, strict=True)]
        rows = zip(*columns, strict=True)
        if isinstance(self._space, spaces.Tuple):
            return [tuple(row) for row in rows]
        names = [name for name, _ in self._part_writers]
        return [dict(zip(names, row, strict=True)) for row in rows]


def _middle_and_half_range(environment: str, space: spaces.Box) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = _flat_bounds(space)
    unbounded = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if len(unbounded):
        raise InvalidInputError(
            f"Environment {environment!r}: number {unbounded[0]} of its actions has the bounds {low[unbounded[0]]:g} and"
            f" {high[unbounded[0]]:g}; a policy's outputs can only be spread over finite bounds, so a version of"
            " the environment with bounds is needed."
        )
    return (low + high) / 2, (high - low) / 2
