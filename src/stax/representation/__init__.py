"""Descriptor spaces: where behaviours are compared, learned by an autoencoder or given by the task."""

from __future__ import annotations

from stax.representation.autoencoder import Autoencoder, ConvolutionalAutoencoder, DenseAutoencoder, make_autoencoder
from stax.representation.learned import LearnedSpace
from stax.representation.space import DescriptorSpace, GroundTruthSpace, StatesSpace, used_samples
from stax.representation.training import StoppingRule, TrainingEpisode

__all__ = [
    "Autoencoder",
    "ConvolutionalAutoencoder",
    "DenseAutoencoder",
    "DescriptorSpace",
    "GroundTruthSpace",
    "LearnedSpace",
    "StatesSpace",
    "StoppingRule",
    "TrainingEpisode",
    "make_autoencoder",
    "used_samples",
]
