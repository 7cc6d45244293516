"""Autoencoders made of their names, or of what a user gave instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stax.errors import InvalidInputError
from stax.own_code import import_named
from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.choice import chosen, name_of, names_code, names_object
from stax.representation.own import make_own
from stax.representation.variational import VariationalConvolutionalAutoencoder, VariationalDenseAutoencoder


def network_bytes(observation_shape: Sequence[int], code_size: int, autoencoder: str, hidden_sizes: Sequence[int]) -> int:
    """Return how many bytes the weights of a built-in autoencoder take, without making it."""
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            network = make_autoencoder(observation_shape, code_size, autoencoder=autoencoder, hidden_sizes=hidden_sizes)
        return sum(tensor.numel() * tensor.element_size() for tensor in network.state_dict().values())
    except RuntimeError:  # more numbers than can be counted
        return 2**63 - 1


def make_autoencoder(
    observation_shape: Sequence[int],
    code_size: int = 10,
    *,
    autoencoder: Any = "auto",
    hidden_sizes: Sequence[int] = (64, 32),
    kl_weight: float = 0.01,
    center_observations: bool = False,
    scale_observations: bool = False,
) -> Autoencoder:
    """A new autoencoder for observations of this shape, with weights of torch's random numbers unless it brings its own.

    Args:
        observation_shape: of one observation: (height, width, channels) of a picture, (d,) of a vector.
        code_size: numbers of the code.
        autoencoder: a name: auto, convolutional, dense, variational, `module:name` of one's own; or what `own.py` takes.
        hidden_sizes: of one for vectors.
        kl_weight: of a variational one.
        center_observations, scale_observations: of a built-in one for pictures; vectors always get both.
    """
    if not isinstance(autoencoder, str):
        return make_own(autoencoder, f"Autoencoder {name_of(autoencoder)!r}", observation_shape, code_size)
    if names_code(autoencoder):
        who = f"Autoencoder {autoencoder!r}"
        return make_own(import_named(autoencoder, who), who, observation_shape, code_size)
    name = chosen(autoencoder, observation_shape)
    vectors: dict[str, Any] = {"hidden_sizes": hidden_sizes}
    pictures: dict[str, Any] = {"center_observations": center_observations, "scale_observations": scale_observations}
    if name == "variational" and len(observation_shape) == 1:
        return VariationalDenseAutoencoder(observation_shape, code_size, kl_weight=kl_weight, **vectors)
    if name == "variational":
        return VariationalConvolutionalAutoencoder(observation_shape, code_size, kl_weight=kl_weight, **pictures)
    if name == "dense":
        return DenseAutoencoder(observation_shape, code_size, **vectors)
    if names_object(name):
        raise InvalidInputError(
            f"The autoencoder {name!r} was given as an object, which its name cannot bring back; give it again in Python, as"
            " autoencoder=..."
        )
    return ConvolutionalAutoencoder(observation_shape, code_size, **pictures)
