"""The choice of an autoencoder by its name. `making.py` makes it; nothing here needs torch, which takes seconds to import."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from stax.errors import InvalidInputError
from stax.own_code import names_code, names_object

AUTOENCODERS = ("auto", "convolutional", "dense", "variational")
"""Names of the built-in autoencoders."""
_VECTORS, _PICTURES = 1, 3
"""Numbers of dimensions of an observation."""
_SIDES = {"convolutional": (_PICTURES,), "dense": (_VECTORS,), "variational": (_VECTORS, _PICTURES)}
_TAKES = {_VECTORS: "vectors (d,)", _PICTURES: "pictures (height, width, channels)"}


def count_weights(
    autoencoder: str, observation_shape: Sequence[int], code_size: int, hidden_sizes: Sequence[int]
) -> int | None:
    """Return about how many weights a built-in autoencoder has; None for a user's own."""
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
    """Return the name of the autoencoder for such observations: the one that `auto` stands for, or the name given.

    A name that does not exist is refused, and so is a built-in autoencoder that takes no observations of this shape.
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
