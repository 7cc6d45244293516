"""The choice of an autoencoder by its name. `making.py` makes it; nothing here needs torch, which takes seconds to import."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from stax.errors import InvalidInputError
from stax.own_code import names_code, names_object

AUTOENCODERS = (
    *("auto", "auto-principal", "convolutional", "dense", "variational", "triplet", "temporal", "spatial", "principal"),
)
"""Names of the built-in autoencoders."""
MOMENTS = ("even", "changing")
"""Ways to choose the observations of a rollout that make its descriptor."""
_VECTORS, _PICTURES = 1, 3
"""Numbers of dimensions of an observation."""
_SIDES = {
    "convolutional": (_PICTURES,),
    "dense": (_VECTORS,),
    "variational": (_VECTORS, _PICTURES),
    "triplet": (_VECTORS, _PICTURES),
    "temporal": (_VECTORS, _PICTURES),
    "spatial": (_PICTURES,),
    "principal": (_PICTURES,),
}
_AUTOMATIC = {
    "auto": {_VECTORS: "dense", _PICTURES: "convolutional"},
    "auto-principal": {_VECTORS: "dense", _PICTURES: "principal"},
}
"""Names that stand for another one, which depends on the observations."""
_TAKES = {_VECTORS: "vectors (d,)", _PICTURES: "pictures (height, width, channels)"}


def descriptor_size(samples: int, code_size: int, sequence_size: int | None) -> int:
    """Return the number of values in a descriptor: the codes of so many observations side by side, or what is made of the sequence."""
    return samples * code_size if sequence_size is None else sequence_size


def check_code_size(autoencoder: str, code_size: int) -> None:
    """Refuse a size of codes that a built-in autoencoder cannot have."""
    if autoencoder == "spatial" and code_size % 2:
        raise InvalidInputError(
            f"Parameter code_size must be even for autoencoder='spatial', which finds two numbers a feature, not {code_size}."
        )


def count_added_weights(samples: int, code_size: int, sequence_size: int | None, *, whiten_codes: bool) -> int:
    """Return how many numbers a sequence encoder and the whitening of descriptors have, beside the autoencoder."""
    size = sequence_size or code_size
    added = size**2 + 2 * size if whiten_codes else 0
    if sequence_size is not None:
        # Two layers of three gates, and a decoder with a layer of four times the size.
        added += 3 * size * (code_size + size + 2) + 4 * size * (size + samples * code_size + 1) + 3 * samples * code_size
    return added


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
    """Return the name of the autoencoder for such observations: the one that an automatic choice stands for, or the name given.

    A name that does not exist is refused, and so is a built-in autoencoder that takes no observations of this shape.
    """
    sides = len(observation_shape)
    if autoencoder in _AUTOMATIC:
        automatic = _AUTOMATIC[autoencoder]
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
