"""Autoencoders as users write them, sound and unsound, for vectors of four numbers and for small pictures."""

from __future__ import annotations

import torch
from torch import nn

import stax


def halves(size: int, code_size: int, *between: nn.Module) -> tuple[nn.Module, nn.Module]:
    encoder = nn.Sequential(nn.Linear(size, 8), *between, nn.Tanh(), nn.Linear(8, code_size))
    decoder = nn.Sequential(nn.Linear(code_size, 8), nn.Tanh(), nn.Linear(8, size))
    return encoder, decoder


def plain(observation_shape, code_size):
    return halves(observation_shape[0], code_size)


def normalised(observation_shape, code_size):
    return halves(observation_shape[0], code_size, nn.BatchNorm1d(8), nn.Dropout(0.2))


def pictures(observation_shape, code_size):
    height, width, channels = observation_shape
    size = height * width * channels
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(size, code_size))
    decoder = nn.Sequential(nn.Linear(code_size, size), nn.Sigmoid(), nn.Unflatten(1, (channels, height, width)))
    return encoder, decoder


class Shifted(stax.Autoencoder):
    """Encodes differences to a constant, and counts how often it was fitted."""

    def __init__(self, observation_shape, code_size) -> None:
        super().__init__(observation_shape, code_size)
        self.first = nn.Linear(observation_shape[0], code_size)
        self.second = nn.Linear(code_size, observation_shape[0])
        self.register_buffer("fitted", torch.zeros((), dtype=torch.int64))

    def inputs(self, observations):
        return observations - 1

    def observations(self, reconstructions):
        return reconstructions + 1

    def encode(self, inputs):
        return self.first(inputs)

    def decode(self, codes):
        return self.second(codes)

    def fit_to(self, observations, rows):
        self.fitted += 1


def narrow(observation_shape, code_size):
    return halves(observation_shape[0], code_size - 1)


def bent(observation_shape, code_size):
    return halves(observation_shape[0], code_size)[0], nn.Linear(code_size, 5)


def broken(observation_shape, code_size):
    return nn.Linear(7, code_size), nn.Linear(code_size, 4)


def nothing(observation_shape, code_size):
    return "weights"


def failing(observation_shape, code_size):
    raise RuntimeError("the weights are lost")


class Mixing(nn.Module):
    """Looks at the whole batch."""

    def forward(self, values):
        return values - values.mean(0)


def mixing(observation_shape, code_size):
    encoder, decoder = halves(observation_shape[0], code_size, Mixing())
    return encoder, decoder


class Noisy(nn.Module):
    def forward(self, values):
        return values + torch.randn_like(values)


def noisy(observation_shape, code_size):
    return halves(observation_shape[0], code_size, Noisy())


def meddling(observation_shape, code_size):
    encoder, decoder = halves(observation_shape[0], code_size)
    return nn.Sequential(nn.ReLU(inplace=True), encoder), decoder


def weightless(observation_shape, code_size):
    return nn.Identity(), nn.Identity()


def brief(observation_shape, code_size):
    encoder, decoder = halves(observation_shape[0], code_size)
    encoder.register_buffer("seen", torch.zeros(3, dtype=torch.bfloat16))
    return encoder, decoder


def endless(observation_shape, code_size):
    encoder, decoder = halves(observation_shape[0], code_size)
    nn.init.constant_(encoder[0].weight, float("inf"))
    return encoder, decoder
