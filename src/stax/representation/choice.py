"""Which autoencoder a search uses, by its name. Nothing here needs torch, which takes seconds to import: see `making.py`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from stax.errors import InvalidInputError

AUTOENCODERS = ("auto", "convolutional", "dense", "variational")
"""Those that are built in. Besides there are `module:name`, a user's own, and those given as objects."""
_GIVEN = "given:"
"""How the name of one begins that was given as an object, and cannot be found by its name."""
_VECTORS, _PICTURES = 1, 3
"""How many sides an observation has."""
_SIDES = {"convolutional": (_PICTURES,), "dense": (_VECTORS,), "variational": (_VECTORS, _PICTURES)}
_TAKES = {_VECTORS: "vectors (d,)", _PICTURES: "pictures (height, width, channels)"}


def names_code(autoencoder: str) -> bool:
    """Whether this is the name of a user's own autoencoder that would have to be imported, `module:name`."""
    if autoencoder.startswith(_GIVEN):
        return False
    module, colon, name = autoencoder.partition(":")
    return bool(colon and name) and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


def names_object(autoencoder: str) -> bool:
    """Whether this is the name of an autoencoder that was given as an object."""
    return autoencoder.startswith(_GIVEN) and autoencoder.removeprefix(_GIVEN).isidentifier()


def name_of(autoencoder: Any) -> str:
    """What an autoencoder given as an object is called: `module:name` of a function or a class that can be found by it."""
    if isinstance(autoencoder, (tuple, list)):
        return f"{_GIVEN}pair"
    if not (inspect.isclass(autoencoder) or inspect.isfunction(autoencoder)):
        return f"{_GIVEN}{type(autoencoder).__name__}"
    module, name = autoencoder.__module__, autoencoder.__qualname__
    if module != "__main__" and getattr(sys.modules.get(module), name, None) is autoencoder:
        return f"{module}:{name}"
    plain = autoencoder.__name__
    return f"{_GIVEN}{plain}" if plain.isidentifier() else f"{_GIVEN}function"


def count_weights(
    autoencoder: str, observation_shape: Sequence[int], code_size: int, hidden_sizes: Sequence[int]
) -> int | None:
    """Return about how many weights a built-in autoencoder has; None for one of a user's own."""
    name = chosen(autoencoder, observation_shape)
    if name not in _SIDES:
        return None
    # A variational encoder has two last layers: one for the mean of the codes, one for their variance.
    last_layers = 2 if name == "variational" else 1
    if len(observation_shape) == _PICTURES:
        height, width, channels = observation_shape
        flat = height * width // 16
        return flat * code_size * (last_layers + 1) + 1024 * channels
    sizes = (*observation_shape, *hidden_sizes, code_size)
    layers = [before * after for before, after in pairwise(sizes)]
    return 2 * sum(layers) + (last_layers - 1) * layers[-1]


def chosen(autoencoder: str, observation_shape: Sequence[int]) -> str:
    """The autoencoder that this name means for such observations: what `auto` stands for, any other as it is.

    Refuses one that there is not, and a built-in one that takes no observations of this shape.
    """
    sides = len(observation_shape)
    if autoencoder == "auto":
        automatic = {_VECTORS: "dense", _PICTURES: "convolutional"}
        if sides not in automatic:
            raise InvalidInputError(
                f"An autoencoder takes {_TAKES[_PICTURES]} or {_TAKES[_VECTORS]}, not observations of shape"
                f" {tuple(observation_shape)}."
            )
        return automatic[sides]
    if autoencoder not in _SIDES and not (names_object(autoencoder) or names_code(autoencoder)):
        known = ", ".join(repr(name) for name in AUTOENCODERS)
        raise InvalidInputError(f"There is no autoencoder {autoencoder!r}; there are {known}, and your own as 'module:name'.")
    if autoencoder in _SIDES and sides not in _SIDES[autoencoder]:
        takes = " or ".join(_TAKES[number] for number in _SIDES[autoencoder])
        raise InvalidInputError(
            f"Parameter autoencoder is {autoencoder!r}, which takes {takes}, not observations of shape {tuple(observation_shape)}."
        )
    return autoencoder
