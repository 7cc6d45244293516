"""Making an autoencoder from its name, or from what a user gave instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stax.own_code import find_code, name_of, names_code, names_object
from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.choice import chosen
from stax.representation.contrastive import (
    TemporalConvolutionalAutoencoder,
    TemporalDenseAutoencoder,
    TripletConvolutionalAutoencoder,
    TripletDenseAutoencoder,
)
from stax.representation.own import make_own
from stax.representation.principal import PrincipalAutoencoder
from stax.representation.spatial import SpatialAutoencoder
from stax.representation.variational import VariationalConvolutionalAutoencoder, VariationalDenseAutoencoder

_CLASSES: dict[tuple[str, bool], type[Autoencoder]] = {
    ("convolutional", True): ConvolutionalAutoencoder,
    ("dense", False): DenseAutoencoder,
    ("variational", True): VariationalConvolutionalAutoencoder,
    ("variational", False): VariationalDenseAutoencoder,
    ("triplet", True): TripletConvolutionalAutoencoder,
    ("triplet", False): TripletDenseAutoencoder,
    ("temporal", True): TemporalConvolutionalAutoencoder,
    ("temporal", False): TemporalDenseAutoencoder,
    ("spatial", True): SpatialAutoencoder,
    ("principal", True): PrincipalAutoencoder,
}
"""Built-in autoencoders by their names, and whether they are for pictures."""


def network_bytes(observation_shape: Sequence[int], code_size: int, autoencoder: str, hidden_sizes: Sequence[int]) -> int:
    """Return how many bytes the weights of a built-in autoencoder take, without making it."""
    options: dict[str, Any] = {"autoencoder": autoencoder, "hidden_sizes": hidden_sizes, "kl_weight": 0.0}
    try:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            network = make_autoencoder(observation_shape, code_size, **options)
        return sum(tensor.numel() * tensor.element_size() for tensor in network.state_dict().values())
    except RuntimeError:  # more numbers than can be counted
        return 2**63 - 1


def make_autoencoder(
    observation_shape: Sequence[int],
    code_size: int,
    *,
    autoencoder: Any,
    hidden_sizes: Sequence[int],
    kl_weight: float,
    contrast_weight: float = 0.0,
    contrast_margin: float = 0.0,
    smoothing: float = 0.0,
    center_observations: bool = False,
    scale_observations: bool = False,
) -> Autoencoder:
    """Return a new autoencoder for observations of this shape; torch's random numbers make its weights unless it brings its own.

    Args:
        observation_shape: of one observation: (height, width, channels) of a picture, (d,) of a vector.
        code_size: numbers of the code.
        autoencoder: a name of `AUTOENCODERS`, or a user's own: `module:name`, or an object that `make_own` takes.
        hidden_sizes: sizes of the hidden layers of an autoencoder for vectors.
        kl_weight: of a variational one.
        contrast_weight: of a triplet or a temporal one.
        contrast_margin: of a triplet or a temporal one.
        smoothing: of principal components.
        center_observations: of a built-in one for pictures; vectors are always centred.
        scale_observations: of a built-in one for pictures; vectors are always scaled.
    """
    if not isinstance(autoencoder, str) or names_code(autoencoder) or names_object(autoencoder):
        who = f"Autoencoder {autoencoder if isinstance(autoencoder, str) else name_of(autoencoder)!r}"
        return make_own(find_code(autoencoder, who), who, observation_shape, code_size)
    pictures = len(observation_shape) == 3
    name = chosen(autoencoder, observation_shape)
    of_kind: dict[str, Any] = {"hidden_sizes": hidden_sizes}
    if name == "principal":
        of_kind = {"smoothing": smoothing}
    elif pictures:
        of_kind = {"center_observations": center_observations, "scale_observations": scale_observations}
    contrast = {"contrast_weight": contrast_weight, "contrast_margin": contrast_margin}
    of_name: dict[str, dict[str, Any]] = {"variational": {"kl_weight": kl_weight}, "triplet": contrast, "temporal": contrast}
    return _CLASSES[name, pictures](observation_shape, code_size, **of_kind, **of_name.get(name, {}))
