"""Autoencoders that one can choose or bring: variational ones, pairs of modules, factories."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from observed_tasks import Pictures, Vectors, learned, rollouts_of
from torch import nn

import own_autoencoders
import stax
from stax.errors import InvalidInputError
from stax.own_code import name_of, names_code, names_object
from stax.representation.adam import Adam
from stax.representation.autoencoder import ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.choice import chosen
from stax.representation.layers import linear
from stax.representation.making import make_autoencoder
from stax.representation.space import UndescribedError
from stax.representation.training import train_episode
from stax.representation.variational import VariationalConvolutionalAutoencoder, VariationalDenseAutoencoder


class Points(Vectors):
    """Vectors of a usual size."""

    name = "points"

    def observe(self, rollouts):
        return np.tanh(super().observe(rollouts) / 10).astype(np.float32)


KINDS = [
    (Pictures(), "variational"),
    (Points(), "variational"),
    (Points(), "own_autoencoders:plain"),
    (Points(), "own_autoencoders:normalised"),
    (Points(), "own_autoencoders:Shifted"),
    (Pictures(), "own_autoencoders:pictures"),
]
IDS = [f"{task.name} {kind}" for task, kind in KINDS]


def space_of(task, kind, **options):
    return learned(task, **{"autoencoder": kind, "max_images_per_episode": 60, "batch_size": 16} | options)


# Choosing


def made(shape, code_size, autoencoder="auto"):
    return make_autoencoder(shape, code_size, autoencoder=autoencoder, hidden_sizes=(9, 8, 6), kl_weight=0.01)


def test_autoencoders_by_name():
    assert type(made((16, 16, 3), 5)) is ConvolutionalAutoencoder
    assert type(made((16, 16, 3), 5, "convolutional")) is ConvolutionalAutoencoder
    assert type(made((7,), 5)) is DenseAutoencoder
    assert type(made((7,), 5, "variational")) is VariationalDenseAutoencoder
    assert type(made((16, 16, 3), 5, "variational")) is VariationalConvolutionalAutoencoder
    assert [layer.out_features for layer in made((7,), 5).encoder_layers] == [9, 8, 6, 5]


@pytest.mark.parametrize(
    ("name", "shape", "sentence"),
    [
        (
            "dense",
            (16, 16, 3),
            "Parameter autoencoder is 'dense', which takes vectors (d,), not observations of shape (16, 16, 3).",
        ),
        ("convolutional", (4,), "which takes pictures (height, width, channels), not observations of shape (4,)."),
        (
            "variational",
            (4, 4),
            "which takes vectors (d,) or pictures (height, width, channels), not observations of shape (4, 4).",
        ),
        ("auto", (4, 4), "not observations of shape (4, 4)."),
        (
            "deep",
            (4,),
            "There is no autoencoder 'deep'; there are 'auto', 'auto-principal', 'convolutional', 'dense', 'variational', 'triplet', 'temporal', 'spatial', 'principal', and your own",
        ),
        ("given:pair", (4,), "Autoencoder 'given:pair' was given as an object, which its name cannot bring back"),
        ("no_such_module:make", (4,), "names the module 'no_such_module', which cannot be found."),
        ("own_autoencoders:lost", (4,), "names 'lost', which is not in the module 'own_autoencoders'."),
        ("own_broken_module:make", (4,), "Autoencoder 'own_broken_module:make' cannot be imported: "),
    ],
)
def test_what_a_name_cannot_mean(name, shape, sentence):
    with pytest.raises(InvalidInputError, match=re.escape(sentence)):
        made(shape, 3, name)


def test_what_autoencoders_are_called():
    assert name_of(own_autoencoders.plain) == "own_autoencoders:plain"
    assert name_of(own_autoencoders.Shifted) == "own_autoencoders:Shifted"
    assert name_of((nn.Identity(), nn.Identity())) == "given:pair"
    here = "test_what_autoencoders_are_called.<locals>"
    assert name_of(lambda shape, size: None) == f"given:{here}.<lambda>"
    assert name_of(DenseAutoencoder((4,), 2, hidden_sizes=())) == "given:DenseAutoencoder"

    def inner(observation_shape, code_size):
        return own_autoencoders.plain(observation_shape, code_size)

    assert name_of(inner) == f"given:{here}.inner"


@given(st.text(max_size=12))
def test_names_are_of_one_kind_at_most(name):
    assert not (names_code(name) and names_object(name))
    if names_code(name):
        assert chosen(name, (4,)) == name


# Laws that hold for all


@pytest.mark.parametrize(("task", "kind"), KINDS, ids=IDS)
def test_training_lowers_the_error(task, kind):
    rollouts = rollouts_of(task, 40)
    options = {"autoencoder": kind, "batch_size": 16, "kl_weight": 1e-3, "patience": 99}
    # Both have the same normalisation, by which errors of vectors are measured.
    untrained, trained = (
        learned(task, **options, learning_rate=rate, max_epochs=8).train(rollouts).validation_error for rate in (1e-12, 5e-3)
    )
    assert trained < 0.8 * untrained


@pytest.mark.parametrize(("task", "kind"), KINDS, ids=IDS)
def test_a_row_does_not_depend_on_its_neighbours(task, kind):
    rollouts = rollouts_of(task, 100)
    space = space_of(task, kind)
    space.train(rollouts)
    descriptors, surprise = space.describe_with_surprise(rollouts)
    assert np.array_equal(space.describe(rollouts), descriptors)
    for rows in (slice(0, 1), slice(7, 30), slice(3, 100)):
        some, some_surprise = space.describe_with_surprise(rollouts.take(rows))
        # Matrix products of odd sizes, as these of one's own have them, round by a row's place.
        rounding = 1e-5 if names_code(kind) else 0
        np.testing.assert_allclose(some, descriptors[rows], rtol=rounding, atol=rounding)
        np.testing.assert_allclose(some_surprise, surprise[rows], rtol=rounding)


@pytest.mark.parametrize(("task", "kind"), KINDS, ids=IDS)
def test_bits_do_not_depend_on_the_number_of_threads(task, kind):
    before, outcomes = torch.get_num_threads(), set()
    state = torch.random.get_rng_state()
    rollouts = rollouts_of(task, 50)
    try:
        for threads in (1, 2, 3, 2):
            torch.set_num_threads(threads)
            space = space_of(task, kind, batch_size=64, max_images_per_episode=None)
            episodes = [space.train(rollouts) for _ in range(2)]
            errors = [(episode.training_error, episode.validation_error) for episode in episodes]
            outcomes.add((str(errors), space.describe(rollouts).tobytes(), json.dumps(space.numbers())))
    finally:
        torch.set_num_threads(before)
    assert len(outcomes) == 1
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize(("task", "kind"), KINDS, ids=IDS)
def test_restored_training_goes_on_bit_by_bit(task, kind, reset):
    newest, archived = rollouts_of(task), rollouts_of(task, 20, seed=1)
    space = space_of(task, kind, reset=reset)
    space.train(newest, archived)
    arrays, numbers = space.arrays(), json.loads(json.dumps(space.numbers()))
    expected = space.train(newest, archived)

    restored = space_of(task, kind, reset=reset, seed=np.random.SeedSequence(99))
    restored.restore(arrays, numbers)
    assert restored.train(newest, archived) == expected
    ours, theirs = restored.arrays(), space.arrays()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) and ours[name].dtype == theirs[name].dtype for name in ours)
    assert restored.numbers() == space.numbers()

    loaded = space_of(task, kind, seed=np.random.SeedSequence(98))
    loaded.restore_weights(*space.weights())
    assert np.array_equal(loaded.describe(archived), space.describe(archived))


# Variational


def test_the_bound_by_hand():
    network = VariationalDenseAutoencoder((2,), 1, kl_weight=0.5, hidden_sizes=(3,))
    inputs, noise = torch.tensor([[1.0, -1.0], [0.5, 2.0]]), torch.tensor([[0.7], [-1.2]])
    features = network.features(inputs)
    mean, log_variance = network.encoder_layers[-1](features), network.encoder_spread(features)
    codes = mean + torch.exp(log_variance) ** 0.5 * noise
    squared = (network.decode(codes) - inputs).square().sum()
    # Of N(mean, variance) and N(0, 1), as everybody knows it
    normal = torch.distributions.Normal(mean, torch.exp(log_variance) ** 0.5)
    divergence = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum()
    loss, error = network.loss(inputs, noise)
    assert torch.allclose(error, squared / 4)
    assert torch.allclose(loss, (squared + 0.5 * divergence) / 4)
    assert torch.allclose(network.encode(inputs), mean)


def test_noise_differs_from_epoch_to_epoch_and_codes_have_none():
    rollouts = rollouts_of(Pictures(), 20)
    space = learned(autoencoder="variational", learning_rate=1e-12, max_epochs=1)
    first, second = (space.train(rollouts) for _ in range(2))
    assert first.training_error != second.training_error
    assert np.array_equal(space.describe(rollouts), space.describe(rollouts))
    # An untrained network's codes spread by about 1, so what training sees is worse than what descriptors are made of.
    assert first.training_error > first.validation_error


def test_a_high_price_draws_codes_to_the_origin():
    rollouts = rollouts_of(Points(), 60)
    spread = []
    for kl_weight in (0.0, 100.0):
        space = learned(
            Points(),
            autoencoder="variational",
            kl_weight=kl_weight,
            max_epochs=40,
            learning_rate=1e-2,
            patience=99,
            kept_weights="last",
        )
        space.train(rollouts)
        spread.append(space.describe(rollouts).std(0).mean())
    assert spread[1] < 0.1 * spread[0]


# One's own


def test_a_pair_is_copied_and_reset_goes_back_to_its_weights():
    pair = own_autoencoders.plain((4,), 10)
    before = [weight.detach().clone() for half in pair for weight in half.parameters()]
    rollouts = rollouts_of(Points(), 20)
    kept, reset = (learned(Points(), autoencoder=pair, reset=reset, learning_rate=0.05) for reset in (False, True))
    at_first = kept.describe(rollouts)
    for space in (kept, reset):
        assert np.array_equal(space.describe(rollouts), at_first)
        space.train(rollouts)
    assert all(
        torch.equal(weight, old) for weight, old in zip((w for half in pair for w in half.parameters()), before, strict=True)
    )
    assert kept.autoencoder.encoder is not pair[0]
    for space in (kept, reset):
        space._max_epochs, space.network.learning_rate = 1, 1e-12
    reset.train(rollouts)
    weights = [weight for half in (reset.autoencoder.encoder, reset.autoencoder.decoder) for weight in half.parameters()]
    assert all(torch.allclose(weight, old, atol=1e-6) for weight, old in zip(weights, before, strict=True))


def test_the_weights_of_a_factory_come_from_the_seed():
    rollouts = rollouts_of(Points())
    make = own_autoencoders.plain
    first, again, other = (
        learned(Points(), autoencoder=make, seed=np.random.SeedSequence(seed)).describe(rollouts) for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_an_autoencoder_of_ones_own_decides_about_its_inputs():
    network = own_autoencoders.Shifted((4,), 10)
    space = learned(Points(), autoencoder=network)
    rollouts = rollouts_of(Points())
    space.train(rollouts)
    space.train(rollouts)
    assert int(space.autoencoder.fitted) == 2
    assert int(network.fitted) == 0
    expected = space.autoencoder.first(torch.from_numpy(Points().observe(rollouts)) - 1).detach().numpy()
    assert np.allclose(space.describe(rollouts), expected.reshape(len(rollouts), -1), atol=1e-5)


def test_pictures_reach_a_pair_in_0_to_1_and_channels_first():
    seen = []

    class Looking(nn.Module):
        def forward(self, values):
            seen.append(values)
            return values

    encoder, decoder = own_autoencoders.pictures((16, 16, 3), 4)
    space = learned(autoencoder=lambda shape, size: (nn.Sequential(Looking(), encoder), decoder), code_size=4)
    seen.clear()
    space.describe(rollouts_of(Pictures(), 3))
    values = torch.cat(seen)
    assert values.shape[1:] == (3, 16, 16)
    assert {round(float(value) * 255) for value in values.unique()} == {60, 250}


def test_vectors_reach_a_pair_standardised():
    space = learned(Vectors(), autoencoder=own_autoencoders.plain)
    rollouts = rollouts_of(Vectors(), 60)
    space.train(rollouts)
    inputs = space.autoencoder.inputs(torch.from_numpy(Vectors().observe(rollouts).reshape(-1, 4)))
    assert torch.allclose(inputs.mean(0)[:3], torch.zeros(3), atol=0.3)
    assert torch.allclose(inputs.std(0)[:3], torch.ones(3), atol=0.3)
    assert space.reconstruct(rollouts).shape == (60, 3, 4)


def test_who_is_trained_in_whole_batches():
    whole = {kind: made((4,), 3, f"own_autoencoders:{kind}").whole_batches for kind in ("plain", "normalised", "Shifted")}
    assert whole == {"plain": False, "normalised": True, "Shifted": False}


def test_batch_normalisation_sees_whole_batches():
    """Its running mean after one epoch of one batch is a tenth of that batch's mean, by its momentum."""
    encoder = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2))
    space = learned(Points(), autoencoder=(encoder, nn.Linear(2, 4)), code_size=2, max_epochs=1, batch_size=10_000)
    rollouts = rollouts_of(Points(), 100)
    space.train(rollouts)
    normalisation = space.autoencoder.encoder[0]
    assert int(normalisation.num_batches_tracked) == 1
    # The training set is standardised, so its mean is 0 and its variance 1: that of a constant number is 0.
    assert torch.allclose(normalisation.running_mean, torch.zeros(4), atol=1e-5)
    assert torch.allclose(normalisation.running_var, torch.tensor([1.0, 1.0, 1.0, 0.9]), atol=1e-2)


def test_a_last_batch_of_one_joins_the_one_before():
    rollouts = rollouts_of(Points(), 27)  # 81 observations, 65 of them to train on
    space = learned(Points(), autoencoder="own_autoencoders:normalised", batch_size=64, max_epochs=1)
    assert space.train(rollouts).images_seen == 65


def test_the_best_epoch_has_its_running_statistics_too():
    rollouts = rollouts_of(Points(), 30)
    options = {"autoencoder": "own_autoencoders:normalised", "learning_rate": 0.5, "batch_size": 16, "patience": 99}
    ended = [learned(Points(), **options, max_epochs=epochs, kept_weights="last") for epochs in range(1, 7)]
    errors = [space.train(rollouts).validation_error for space in ended]
    assert np.argmin(errors) < 5
    best = learned(Points(), **options, max_epochs=6, kept_weights="best")
    best.train(rollouts)
    ours, theirs = best.autoencoder.state_dict(), ended[np.argmin(errors)].autoencoder.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_tied_frozen_unused_and_lazy_weights():
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.LazyLinear(3), nn.Linear(2, 2)
            self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, values):
            return self.used(values) * self.frozen

    def make(shape, size):
        encoder, decoder = Odd(), nn.Linear(3, 4)
        decoder.bias_again = decoder.bias
        return encoder, decoder

    spaces = [learned(Points(), autoencoder=make, code_size=3) for _ in range(2)]
    rollouts = rollouts_of(Points(), 20)
    spaces[0].train(rollouts)
    assert torch.equal(spaces[0].autoencoder.encoder.frozen, torch.ones(3))
    spaces[1].restore(spaces[0].arrays(), spaces[0].numbers())
    assert spaces[1].train(rollouts) == spaces[0].train(rollouts)
    assert np.array_equal(spaces[1].describe(rollouts), spaces[0].describe(rollouts))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            "narrow",
            "gives (256, 9) for 256 observations of shape (4,), which reach it as (256, 4); it must give (256, 10) (or give the parameter code_size=9).",
        ),
        (
            "bent",
            "The decoder of Autoencoder 'own_autoencoders:bent' gives (256, 5) for 256 observations of shape (4,); it must give (256, 4), as the encoder got.",
        ),
        ("broken", "cannot be used for observations of shape (4,): RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
        (
            "nothing",
            "Autoencoder 'own_autoencoders:nothing' makes str; it must make a stax.Autoencoder or a pair (encoder, decoder)",
        ),
        (
            "failing",
            "Autoencoder 'own_autoencoders:failing' cannot be made: RuntimeError: the weights are lost (own_autoencoders.py, line",
        ),
        ("mixing", "depend on the other observations of a batch in evaluation mode"),
        ("noisy", "draws random numbers in evaluation mode"),
        ("meddling", "changes the numbers that its encoder or decoder is given; use inplace=False there."),
        ("weightless", "The encoder of Autoencoder 'own_autoencoders:weightless' gives (256, 4)"),
        ("brief", "keeps 'encoder.seen' as torch.bfloat16, which a run folder cannot hold; use float32."),
        ("endless", "The encoder of Autoencoder 'own_autoencoders:endless' gives numbers that are not finite"),
    ],
)
def test_what_does_not_fit_is_told_at_once(given, sentence):
    with pytest.raises(InvalidInputError, match=re.escape(sentence)):
        learned(Vectors(), autoencoder=f"own_autoencoders:{given}")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            nn.Linear(4, 10),
            "Autoencoder 'given:Linear' must be a pair (encoder, decoder) of torch.nn.Module, a stax.Autoencoder, or a function",
        ),
        ((nn.Linear(4, 10),), "Autoencoder 'given:pair' must be a pair"),
        (7, "not 7."),
        (
            DenseAutoencoder((4,), 3, hidden_sizes=()),
            "Autoencoder 'given:DenseAutoencoder' has the code_size 3; this search needs 10.",
        ),
        (
            DenseAutoencoder((5,), 10, hidden_sizes=()),
            "Autoencoder 'given:DenseAutoencoder' has the observation_shape (5,); this search needs (4,).",
        ),
        ((nn.Identity(), nn.Identity()), "The encoder of Autoencoder 'given:pair' gives (256, 4)"),
        (stax.Autoencoder, "its method inputs gives a NoneType"),
    ],
)
def test_objects_that_do_not_fit(given, sentence):
    with pytest.raises(InvalidInputError, match=re.escape(sentence)):
        learned(Vectors(), autoencoder=given)


def test_an_autoencoder_without_weights_is_refused():
    with pytest.raises(InvalidInputError, match="has no weights that could be trained"):
        learned(Vectors(), autoencoder=(nn.Identity(), nn.Identity()), code_size=4)


# Vectors


@settings(max_examples=25)
@given(
    st.floats(-(2.0**100), 2.0**100, width=32),
    st.floats(2.0**-60, 2.0**100, width=32),
    st.integers(0, 3),
)
def test_wild_numbers_stay_finite(constant, scale, outliers):
    """Constant numbers, huge ones, tiny ones, and some that are far from all others after the first training."""
    generator = np.random.default_rng(0)
    values = generator.normal(size=(60, 4)).astype(np.float32)
    values[:, 1] = constant
    values[:, 2] *= np.float32(scale)
    values[:outliers, 0] = 1e20
    observations = torch.from_numpy(values)
    network = DenseAutoencoder((4,), 2, hidden_sizes=(5,))
    optimizer = Adam(network)
    splits, shuffles, noise = (np.random.default_rng(seed) for seed in (1, 2, 3))
    episode = train_episode(
        network, optimizer, observations, batch_size=16, validation_share=0.2, patience=3, max_epochs=2, max_images=None,
        keep="best", splits=splits, shuffles=shuffles, noise=noise,
    )  # fmt: skip
    assert np.isfinite(episode.training_error)
    assert float(network.deviation[1]) == 1
    wild = torch.tensor([[3e38, -3e38, 3e38, 3e38], [0.0, 0.0, 0.0, 0.0]])
    assert network.inputs(wild).isfinite().all()
    codes = network.encode(network.inputs(wild))
    assert codes.isfinite().all()
    assert (network.decode(codes) - network.inputs(wild)).square().sum(1).isfinite().all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_observations_that_are_no_numbers_are_refused(value):
    class Broken(Points):
        def observe(self, rollouts):
            observations = super().observe(rollouts)
            observations[-1, 1, 2] = value
            return observations

    sentence = f"of task 'points' has no descriptor: an observation is not finite in 32 bits ({value}, its number 2)."
    space = learned(Broken())
    for use in (space.describe, space.describe_with_surprise, space.train, space.reconstruct):
        with pytest.raises(UndescribedError, match=f"^Policy 11 of 12 {re.escape(sentence)}$") as told:
            use(rollouts_of(Broken()))
        assert np.flatnonzero(told.value.rows).tolist() == [11]


def test_a_network_that_went_astray_is_told():
    space = learned(Points(), learning_rate=1e30, max_epochs=3)
    rollouts = rollouts_of(Points(), 40)
    space.train(rollouts)
    with pytest.raises(RuntimeError, match="not finite after 1 training episodes; a smaller learning_rate may help"):
        space.describe(rollouts)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.lists(st.integers(1, 70), min_size=1, max_size=3), st.integers(1, 20), st.integers(1, 255))
def test_bits_of_a_row_do_not_depend_on_its_place(size, hidden_sizes, code_size, shift):
    network = DenseAutoencoder((size,), code_size, hidden_sizes=hidden_sizes)
    values = torch.from_numpy(np.random.default_rng(size).standard_normal((network.rows_at_once, size), np.float32))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            straight, moved = (
                torch.cat([network.encode(rows), network(rows)], dim=1) for rows in (values, values.roll(shift, 0))
            )
    finally:
        torch.set_num_threads(before)
    assert torch.equal(moved.roll(-shift, 0), straight)


def test_even_rounding_changes_nothing_else():
    layer, values = nn.Linear(10, 7), torch.randn(9, 10)
    assert torch.allclose(linear(values, layer), layer(values), atol=1e-6)
    ours, theirs = (
        torch.autograd.grad(made.square().sum(), list(layer.parameters())) for made in (linear(values, layer), layer(values))
    )
    assert all(torch.allclose(one, other, rtol=1e-4, atol=1e-5) for one, other in zip(ours, theirs, strict=True))
