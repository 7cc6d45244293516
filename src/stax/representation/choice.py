"""Which autoencoder a search uses, by its name. Nothing here needs torch, which takes seconds to import: see `making.py`."""

from __future__ import annotations

from collections.abc import Sequence

from stax.errors import InvalidInputError

AUTOENCODERS = ("auto", "convolutional", "dense", "variational")
"""Those that are built in. Besides there are `module:name`, a user's own, and `GIVEN`."""
GIVEN = "given"
"""The name of an autoencoder that was given to a run as an object."""
_VECTORS, _PICTURES = 1, 3
"""How many sides an observation has."""
_SIDES = {"convolutional": (_PICTURES,), "dense": (_VECTORS,), "variational": (_VECTORS, _PICTURES)}
_TAKES = {_VECTORS: "vectors (d,)", _PICTURES: "pictures (height, width, channels)"}


def names_code(autoencoder: str) -> bool:
    """Whether this is the name of a user's own autoencoder, `module:name`."""
    module, colon, name = autoencoder.partition(":")
    return bool(colon and name) and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))


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
    if autoencoder not in _SIDES and autoencoder != GIVEN and not names_code(autoencoder):
        known = ", ".join(repr(name) for name in AUTOENCODERS)
        raise InvalidInputError(f"There is no autoencoder {autoencoder!r}; there are {known}, and your own as 'module:name'.")
    if autoencoder in _SIDES and sides not in _SIDES[autoencoder]:
        takes = " or ".join(_TAKES[number] for number in _SIDES[autoencoder])
        raise InvalidInputError(
            f"Parameter autoencoder is {autoencoder!r}, which takes {takes}, not observations of shape {tuple(observation_shape)}."
        )
    return autoencoder
