"""A user's own autoencoders: an `Autoencoder`, a pair of modules, or a factory that makes either.

A pair (encoder, decoder) of `torch.nn.Module` becomes an `Autoencoder`: the encoder receives pictures in [0, 1] with their channels
first, or standardised vectors, and the decoder must return the same. The given object is copied before it is trained. Every network is
tested on random observations before it is used, so that an error is reported at once and in one sentence.

Whether a batch can be cut into shares during training is found by what the network does in training mode: it cannot if the
network draws random numbers, changes buffers or mixes rows. Such a network gets complete batches on one thread, with torch's
random numbers seeded from those of the search. Batch normalisation and dropout then work as they should, and runs repeat.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stax.errors import InvalidInputError, in_one_line
from stax.representation.autoencoder import Autoencoder, PictureAutoencoder, VectorAutoencoder

ALLOWED = (
    "a pair (encoder, decoder) of torch.nn.Module, a stax.Autoencoder, or a function or class that makes one of these of"
    " (observation_shape, code_size)"
)
_KEPT_KINDS = "biuf"
"""Kinds of dtype that a run folder can hold: integers, floating-point numbers and truth values."""
_MOST_ROWS = 100_000
"""Largest number of rows of a tensor in a run folder."""


class _Pair(Autoencoder):
    """The two halves of a network, as a user's modules."""

    def __init__(self, observation_shape: Sequence[int], code_size: int, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__(observation_shape, code_size)
        self.encoder, self.decoder = encoder, decoder

    def encode(self, inputs: Tensor) -> Tensor:
        codes: Tensor = self.encoder(inputs)
        return codes

    def decode(self, codes: Tensor) -> Tensor:
        reconstructions: Tensor = self.decoder(codes)
        return reconstructions


class PicturePair(_Pair, PictureAutoencoder):
    """Pair for pictures (height, width, channels): the encoder receives (n, channels, height, width) in [0, 1]."""


class VectorPair(_Pair, VectorAutoencoder):
    """Pair for vectors (d,): the encoder receives (n, d), each number standardised over the training set."""


def make_own(given: Any, who: str, observation_shape: Sequence[int], code_size: int) -> Autoencoder:
    """Make and test a new network from a user's object; random weights come from torch's current random numbers.

    Args:
        given: the user's object, see `ALLOWED`.
        who: its name in messages.
    """
    made = given
    if _is_factory(given):
        try:
            made = given(tuple(observation_shape), code_size)
        except (InvalidInputError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise InvalidInputError(f"{who} cannot be made: {in_one_line(error)}.") from error
    elif not _is_network(given):
        raise InvalidInputError(f"{who} must be {ALLOWED}, not {given!r}.")
    if not _is_network(made):
        raise InvalidInputError(
            f"{who} makes {type(made).__name__}; it must make a stax.Autoencoder or a pair (encoder, decoder) of torch.nn.Module."
        )
    network = _as_autoencoder(made, who, observation_shape, code_size)
    _check_outputs(network, who)
    _check_weights(network, who)
    _check_loss(network, who)
    # A loss that sees rewards compares observations, so it must see all of a batch.
    network.whole_batches = network.whole_batches or network.uses_provenance or _needs_whole_batches(network, who)
    return network


def _is_network(given: Any) -> bool:
    pair = isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(half, nn.Module) for half in given)
    return pair or isinstance(given, Autoencoder)


def _is_factory(given: Any) -> bool:
    """Return whether this makes autoencoders. Modules can be called as well, but do not make any."""
    return callable(given) and not isinstance(given, nn.Module)


def _as_autoencoder(given: Any, who: str, observation_shape: Sequence[int], code_size: int) -> Autoencoder:
    """Return a copy as an `Autoencoder` for these observations, so that the user's own object is not trained."""
    try:
        copied = copy.deepcopy(given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidInputError(f"{who} cannot be copied: {in_one_line(error)}.") from error
    if not isinstance(copied, Autoencoder):
        pairs: dict[int, Callable[..., Autoencoder]] = {1: VectorPair, 3: PicturePair}
        if len(observation_shape) not in pairs:
            raise InvalidInputError(
                f"A pair (encoder, decoder) takes pictures (height, width, channels) or vectors (d,), not observations of shape"
                f" {tuple(observation_shape)}; make it a stax.Autoencoder."
            )
        return pairs[len(observation_shape)](observation_shape, code_size, *copied)
    expected = {"observation_shape": tuple(observation_shape), "code_size": code_size}
    for name, value in expected.items():
        if getattr(copied, name, None) != value:
            raise InvalidInputError(f"{who} has the {name} {getattr(copied, name, None)!r}; this search needs {value!r}.")
    return copied


# Tests of a network


def _check_outputs(network: Autoencoder, who: str) -> None:
    """Raise an error for a network whose codes or reconstructions are wrong."""
    network.eval()
    observations = _random_observations(network, 0)
    inputs, codes, reconstructions = _passed(network, observations, who)
    seen = f"for {len(observations)} observations of shape {network.observation_shape}"
    if not isinstance(codes, Tensor) or codes.shape != (len(observations), network.code_size):
        hint = ""
        if isinstance(codes, Tensor) and codes.ndim == 2 and len(codes) == len(observations):
            hint = f" (or give the parameter code_size={codes.shape[1]})"
        raise InvalidInputError(
            f"The encoder of {who} gives {_shape_of(codes)} {seen}, which reach it as {tuple(inputs.shape)};"
            f" it must give ({len(observations)}, {network.code_size}){hint}."
        )
    if not isinstance(reconstructions, Tensor) or reconstructions.shape != inputs.shape:
        raise InvalidInputError(
            f"The decoder of {who} gives {_shape_of(reconstructions)} {seen}; it must give {tuple(inputs.shape)}, as the encoder got."
        )
    for half, values in (("encoder", codes), ("decoder", reconstructions)):
        if not values.is_floating_point() or not bool(values.isfinite().all()):
            raise InvalidInputError(f"The {half} of {who} gives numbers that are not finite {seen}.")
    _check_certainty(network, who, observations)


def _check_certainty(network: Autoencoder, who: str, observations: Tensor) -> None:
    """Raise an error for codes that depend on chance, on other observations or on earlier calls."""
    before = torch.random.get_rng_state()
    inputs, codes, _ = _passed(network, observations, who)
    if not torch.equal(torch.random.get_rng_state(), before):
        raise InvalidInputError(f"{who} draws random numbers in evaluation mode (module.eval()), where a code must be certain.")
    with torch.no_grad():
        untouched = network.inputs(observations)
        if not (torch.equal(inputs, untouched) and torch.equal(codes, network.encode(untouched))):
            raise InvalidInputError(f"{who} changes the numbers that its encoder or decoder is given; use inplace=False there.")
    _, others, _ = _passed(network, _mixed(network), who)
    same = len(observations) // 2
    if not _alike(codes[:same], others[:same]):
        raise InvalidInputError(
            f"The codes of {who} depend on the other observations of a batch in evaluation mode (module.eval()); a code must"
            " depend on its own observation alone, so batch normalisation must keep running statistics."
        )


def _check_weights(network: Autoencoder, who: str) -> None:
    """Raise an error for weights that cannot be trained, or not be stored in a run folder."""
    if not any(weight.requires_grad for weight in network.parameters()):
        raise InvalidInputError(f"{who} has no weights that could be trained.")
    for name, tensor in network.state_dict().items():
        if not isinstance(tensor, Tensor):
            raise InvalidInputError(
                f"{who} keeps {name!r}, a {type(tensor).__name__}; only tensors can be kept in a run folder."
            )
        try:
            kept = tensor.detach().cpu().numpy().dtype.kind in _KEPT_KINDS
        except (TypeError, RuntimeError):  # NumPy has no such numbers
            kept = False
        if tensor.ndim and len(tensor) > _MOST_ROWS:
            raise InvalidInputError(
                f"{who} keeps {name!r} with {len(tensor):,} rows; a run folder holds {_MOST_ROWS:,} at most."
            )
        if not kept:
            raise InvalidInputError(f"{who} keeps {name!r} as {tensor.dtype}, which a run folder cannot hold; use float32.")


def _check_loss(network: Autoencoder, who: str) -> None:
    """Raise an error for a loss that does not take the arguments that it will be given."""
    given = ["inputs", "noise", *(["provenance"] if network.uses_provenance else [])]
    try:
        signature = inspect.signature(network.loss)
    except (TypeError, ValueError):  # a method without one, such as compiled code
        return
    try:
        signature.bind(*given)
    except TypeError:
        remedy = (
            "uses_provenance = False"
            if network.uses_provenance
            else "uses_provenance = True if it wants rewards as a third argument"
        )
        raise InvalidInputError(
            f"The method loss of {who} takes {signature}, but it will be given ({', '.join(given)}); change it, or set {remedy}."
        ) from None


def _needs_whole_batches(network: Autoencoder, who: str) -> bool:
    """Return whether in training mode it draws random numbers, changes its state, or mixes the observations of a batch."""
    trial = copy.deepcopy(network).train()
    with torch.random.fork_rng(devices=[]):
        before = torch.random.get_rng_state()
        state = {name: tensor.clone() for name, tensor in trial.state_dict().items()}
        _, _, first = _passed(trial, _random_observations(network, 0), who)
        chance = not torch.equal(torch.random.get_rng_state(), before)
        changed = any(not torch.equal(tensor, state[name]) for name, tensor in trial.state_dict().items())
        _, _, second = _passed(trial, _mixed(network), who)
    same = len(first) // 2
    return chance or changed or not _alike(first[:same], second[:same])


def _passed(network: Autoencoder, observations: Tensor, who: str) -> tuple[Tensor, Any, Any]:
    """Return inputs, codes and reconstructions of these observations, of any type, since they come from a user's code."""
    try:
        with torch.no_grad():
            inputs = network.inputs(observations)
            if not isinstance(inputs, Tensor):
                raise TypeError(f"its method inputs gives a {type(inputs).__name__}")
            codes = network.encode(inputs)
            if not isinstance(codes, Tensor) or codes.shape != (len(observations), network.code_size):
                return inputs, codes, None
            return inputs, codes, network.decode(codes)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidInputError(
            f"{who} cannot be used for observations of shape {network.observation_shape}: {in_one_line(error)}."
        ) from error


def _random_observations(network: Autoencoder, seed: int) -> Tensor:
    """Return as many random observations as go through the network together, always the same."""
    generator, shape = np.random.default_rng(seed), (network.rows_at_once, *network.observation_shape)
    if len(network.observation_shape) == 3:
        return torch.from_numpy(generator.integers(0, 256, shape, np.uint8))
    return torch.from_numpy(generator.standard_normal(shape, np.float32))


def _mixed(network: Autoencoder) -> Tensor:
    """Return the first half of the random observations with others beside them."""
    half = network.rows_at_once // 2
    return torch.cat([_random_observations(network, 0)[:half], _random_observations(network, 1)[half:]])


def _alike(values: Tensor, others: Tensor) -> bool:
    """Return whether they differ by rounding at most."""
    return torch.allclose(values, others, rtol=1e-4, atol=1e-5)


def _shape_of(values: Any) -> str:
    return str(tuple(values.shape)) if isinstance(values, Tensor) else f"a {type(values).__name__}"
