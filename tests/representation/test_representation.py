"""Descriptor spaces and autoencoders."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from observed_tasks import Pictures, Vectors, learned, rollouts_of
from torch import nn
from torch.nn import functional

from stax.errors import InvalidInputError
from stax.representation import GroundTruthSpace, StatesSpace, repeated_pictures, used_samples
from stax.representation.autoencoder import ConvolutionalAutoencoder, DenseAutoencoder
from stax.representation.layers import double, selu
from stax.representation.making import make_autoencoder
from stax.representation.training import StoppingRule, TrainingEpisode
from stax.tasks import make_task

OPTIONS = {"autoencoder": "auto", "hidden_sizes": (64, 32), "kl_weight": 0.01}


@pytest.mark.parametrize(
    ("available", "wanted", "indices"),
    [(5, 5, [0, 1, 2, 3, 4]), (5, 1, [4]), (5, 3, [0, 2, 4]), (5, 2, [1, 4]), (4, 2, [1, 3]), (1, 1, [0])],
)
def test_used_samples_by_hand(available, wanted, indices):
    assert used_samples(available, wanted).tolist() == indices


@given(st.integers(1, 50).flatmap(lambda available: st.tuples(st.just(available), st.integers(1, available))))
def test_used_samples_are_even_and_end_with_the_last(numbers):
    available, wanted = numbers
    indices = used_samples(available, wanted)
    assert len(indices) == wanted
    assert indices[-1] == available - 1
    gaps = np.diff(indices, prepend=-1)
    assert gaps.min() >= 1
    assert np.ptp(gaps) <= 1


def test_ground_truth_and_states():
    task = Pictures()
    rollouts = rollouts_of(task)
    truth = GroundTruthSpace(task)
    assert truth.size == 2
    assert not truth.learned
    assert np.array_equal(truth.describe(rollouts), rollouts.ground_truth)
    states = StatesSpace(task, 2)
    assert states.size == 4
    assert np.array_equal(states.describe(rollouts), rollouts.snapshots[:, [0, 2]].reshape(12, 4))
    assert states.describe(rollouts).dtype == np.float64
    with pytest.raises(InvalidInputError, match="StatesSpace has no surprise"):
        states.describe_with_surprise(rollouts)
    with pytest.raises(InvalidInputError, match="'vectors' has no ground-truth"):
        GroundTruthSpace(Vectors())


def test_a_task_may_say_which_states_are_compared():
    class Described(Pictures):
        def described_states(self, snapshots):
            return np.concatenate([snapshots, snapshots[..., :1] * 2], axis=-1)

    assert StatesSpace(Described(), 2).size == 6
    rollouts = rollouts_of(Described())
    assert np.array_equal(StatesSpace(Described(), 1).describe(rollouts)[:, 2], rollouts.snapshots[:, 2, 0] * 2)


def test_layers_of_the_paper():
    network = ConvolutionalAutoencoder((64, 64, 3), 10)
    assert [tuple(layer.weight.shape) for layer in network.encoder_convolutions] == [
        (32, 3, 4, 4),
        (64, 32, 4, 4),
        (32, 64, 4, 4),
        (16, 32, 4, 4),
    ]
    assert tuple(network.encoder_linear.weight.shape) == (10, 256)
    assert tuple(network.decoder_linear.weight.shape) == (256, 10)
    assert [tuple(layer.weight.shape) for layer in network.decoder_convolutions] == [
        (16, 32, 4, 4),
        (32, 64, 4, 4),
        (64, 32, 4, 4),
        (32, 3, 4, 4),
    ]
    inputs = network.inputs(torch.full((2, 64, 64, 3), 255, dtype=torch.uint8))
    assert inputs.shape == (2, 3, 64, 64)
    assert torch.allclose(inputs, torch.ones(()))
    codes = network.encode(inputs)
    assert codes.shape == (2, 10)
    assert codes.min() > -1.7581  # SELU's lowest value
    assert network(inputs).shape == inputs.shape
    assert network(inputs).min() >= 0


def test_the_network_computes_what_its_layers_say():
    network = ConvolutionalAutoencoder((32, 16, 3), 4)
    inputs = network.inputs(torch.randint(0, 256, (3, 32, 16, 3), dtype=torch.uint8))
    values = inputs
    for layer in network.encoder_convolutions:
        values = functional.selu(layer(values))
    codes = functional.selu(network.encoder_linear(values.flatten(1)))
    values = functional.selu(network.decoder_linear(codes)).reshape(3, 16, 2, 1)
    for layer in network.decoder_convolutions[:-1]:
        values = functional.selu(layer(values))
    expected = functional.relu(network.decoder_convolutions[-1](values))
    gradients = torch.autograd.grad(functional.mse_loss(expected, inputs), list(network.parameters()))
    reconstructions = network(inputs)
    assert torch.allclose(network.encode(inputs), codes, atol=1e-6)
    assert torch.allclose(reconstructions, expected, atol=1e-6)
    ours = torch.autograd.grad(functional.mse_loss(reconstructions, inputs), list(network.parameters()))
    for gradient, other in zip(ours, gradients, strict=True):
        assert torch.allclose(gradient, other, rtol=1e-3, atol=1e-7)


def test_quick_layers_equal_those_of_pytorch():
    values = torch.tensor([-200.0, -3.0, -1e-3, 0.0, 1e-3, 2.0, 1e6])
    assert torch.allclose(selu(values.clone()), functional.selu(values), atol=3e-7)
    layer = nn.ConvTranspose2d(5, 2, 4, 2, 1)
    pictures = torch.randn(3, 5, 4, 6).contiguous(memory_format=torch.channels_last)
    assert torch.allclose(double(pictures, layer), layer(pictures), atol=1e-5)


def test_centring_adds_the_mean_back():
    network = ConvolutionalAutoencoder((16, 16, 3), 4, center_observations=True, scale_observations=True)
    pictures = torch.randint(0, 256, (6, 16, 16, 3), dtype=torch.uint8)
    rows = torch.tensor([0, 2, 5])
    network.fit_to(pictures, rows)
    values = pictures[rows].double() / 255
    assert torch.allclose(network.mean.permute(1, 2, 0).double(), values.mean(0), atol=1e-6)
    assert math.isclose(network.scale.item(), (values - values.mean(0)).square().mean().sqrt().item(), rel_tol=1e-5)
    with torch.no_grad():
        for weights in network.decoder_convolutions[-1].parameters():
            weights.zero_()
    # A decoder that adds nothing shows the mean, whatever the code.
    reconstructions = network.observations(network(network.inputs(pictures)))
    assert torch.allclose(reconstructions, values.mean(0).float().expand(6, 16, 16, 3), atol=1e-6)
    # The mean itself is nothing to the encoder.
    mean = network.mean[None]
    zeros = ConvolutionalAutoencoder((16, 16, 3), 4)
    zeros.load_state_dict({**network.state_dict(), "mean": zeros.mean, "scale": zeros.scale})
    assert torch.allclose(network.encode(mean), zeros.encode(torch.zeros_like(mean)))


def test_pictures_that_are_all_alike_have_a_scale():
    network = ConvolutionalAutoencoder((16, 16, 1), 4, scale_observations=True)
    network.fit_to(torch.full((4, 16, 16, 1), 9, dtype=torch.uint8), torch.arange(4))
    assert network.scale.item() == 1


def test_surprise_by_hand():
    task = Pictures()
    rollouts = rollouts_of(task)
    space = learned(task, samples=2)
    descriptors, surprise = space.describe_with_surprise(rollouts)
    assert descriptors.shape == (12, 20)
    assert descriptors.dtype == surprise.dtype == np.float64
    assert np.array_equal(descriptors, space.describe(rollouts))
    reconstructions = space.reconstruct(rollouts)
    assert reconstructions.shape == (12, 2, 16, 16, 3)
    pictures = task.observe(rollouts)[:, [0, 2]] / 255
    assert np.allclose(surprise, ((space.reconstruct(rollouts) - pictures) ** 2).sum((1, 2, 3, 4)), rtol=1e-4)


def test_a_row_does_not_depend_on_its_neighbours():
    rollouts = rollouts_of(Pictures(), 30)
    space = learned()
    descriptors, surprise = space.describe_with_surprise(rollouts)
    for rows in (slice(0, 1), slice(7, 30), slice(3, 20)):
        some, some_surprise = space.describe_with_surprise(rollouts.take(rows))
        assert np.array_equal(some, descriptors[rows])
        assert np.array_equal(some_surprise, surprise[rows])


@pytest.mark.parametrize("name", ["hard-maze", "curling"])
def test_neither_training_nor_descriptors_depend_on_the_number_of_threads(name):
    task = make_task(name, threads=1)
    rollouts = rollouts_of(task, 60)
    before, outcomes = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            space = learned(task, samples=5, max_epochs=2, center_observations=True, scale_observations=True)
            episode = space.train(rollouts)
            errors = np.array([episode.training_error, episode.validation_error])
            outcomes.append((errors, space.describe(rollouts), *space.describe_with_surprise(rollouts)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for outcome in outcomes[1:]:
        for one, other in zip(outcomes[0], outcome, strict=True):
            np.testing.assert_array_equal(one, other)


def test_training_on_vectors_does_not_depend_on_the_number_of_threads():
    """Tried again and again, since a product done by more threads than it should be differs only now and then."""
    before, outcomes = torch.get_num_threads(), set()
    try:
        for threads in (1, 2) * 8:
            torch.set_num_threads(threads)
            space = learned(Vectors(), samples=1, max_epochs=2)
            for count in (48, 57, 76, 84):
                space.train(rollouts_of(Vectors(), count))
            outcomes.add(space.describe(rollouts_of(Vectors(), 9)).tobytes())
    finally:
        torch.set_num_threads(before)
    assert len(outcomes) == 1


def test_repeated_pictures_are_encoded_once(monkeypatch):
    generator = np.random.default_rng(4)
    pictures = generator.integers(0, 256, (9, 16, 16, 3), np.uint8)[[0, 1, 2, 1, 0, 3, 3, 4, 5, 6, 7, 8]]
    chosen, number = repeated_pictures.distinct(pictures)
    assert len(chosen) == 9
    assert np.array_equal(pictures[chosen[number]], pictures)
    space = learned()
    codes, errors = space.codes_and_errors(torch.from_numpy(pictures))
    assert np.array_equal(space.codes(torch.from_numpy(pictures)), codes)
    for row in range(len(pictures)):
        alone = space.codes_and_errors(torch.from_numpy(pictures[row : row + 1]))
        assert np.array_equal(alone[0][0], codes[row])
        assert alone[1][0] == errors[row]
    # Pictures that differ are never taken for one, whatever their fingerprints.
    monkeypatch.setattr(repeated_pictures, "_fingerprints", lambda words: np.zeros(len(words), np.int64))
    chosen, number = repeated_pictures.distinct(pictures)
    assert np.array_equal(pictures[chosen[number]], pictures)
    assert len(chosen) == len(pictures)


def test_no_rollouts_have_no_descriptors():
    space = learned()
    none = rollouts_of(Pictures()).take([])
    assert space.describe(none).shape == (0, 30)
    assert space.describe_with_surprise(none)[1].shape == (0,)
    with pytest.raises(InvalidInputError, match="nothing to train on"):
        space.train(none, None)


def ending(errors, **options):
    rule = StoppingRule(**{"patience": 3, "max_epochs": 100} | options)
    for error in errors:
        ended_by = rule.after_epoch(error)
        if ended_by is not None:
            return rule.epochs, ended_by
    return rule.epochs, None


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([5, 4, 3, 4, 5, 6, 7], (6, "patience")),
        ([5, 6, 7, 6, 7, 8, 7, 8, 9, 10], (10, "patience")),  # rises must be in a row
        ([5, 6, 7, 7, 8, 9], (6, None)),  # staying is no rise, and starts the count anew
        ([1, 2, 3, 4], (4, "patience")),  # the first epoch has nothing to rise from
        ([float("nan")] * 5, (4, "patience")),
        ([5, 4, 3, 2], (4, None)),
    ],
)
def test_patience_by_hand(errors, expected):
    assert ending(errors) == expected


def test_other_endings_by_hand():
    assert ending([5, 4, 3, 2], max_epochs=3) == (3, "max_epochs")
    assert ending([5, 4, 3, 2], images_per_epoch=40, max_images=100) == (2, "max_images")
    assert ending([5, 4, 3, 2], images_per_epoch=50, max_images=100) == (2, "max_images")
    assert ending([5, 4], images_per_epoch=500, max_images=100) == (1, "max_images")


def test_the_best_epoch_is_known():
    rule = StoppingRule(patience=9, max_epochs=99)
    best = []
    for error in [5, 4, 6, 4, 3, float("nan"), 2]:
        rule.after_epoch(error)
        best.append(rule.is_best)
    assert best == [True, True, False, False, True, False, True]


def test_training_lowers_the_error():
    rollouts = rollouts_of(Pictures(), 40)
    space = learned(max_epochs=8, batch_size=16, center_observations=True, scale_observations=True)
    before = space.describe_with_surprise(rollouts)[1].mean()
    episode = space.train(rollouts, None)
    assert episode == space.last_episode
    assert space.episodes == 1
    assert (episode.images, episode.images_seen, episode.epochs) == (120, 8 * 96, 8)
    assert episode.ended_by == "max_epochs"
    assert space.describe_with_surprise(rollouts)[1].mean() < 0.5 * before


def test_the_weights_of_the_best_epoch_are_kept():
    """At a learning rate that does harm, the last epoch is not the best one."""
    rollouts = rollouts_of(Vectors(), 20)
    options = {"task": Vectors(), "learning_rate": 0.1, "batch_size": 8, "patience": 99}
    ended = [learned(**options, max_epochs=epochs, kept_weights="last") for epochs in range(1, 9)]
    errors = [space.train(rollouts, None).validation_error for space in ended]
    assert np.argmin(errors) < 7
    best = learned(**options, max_epochs=8, kept_weights="best")
    assert best.train(rollouts, None).validation_error == min(errors)
    assert np.array_equal(best.reconstruct(rollouts), ended[np.argmin(errors)].reconstruct(rollouts))
    assert not np.array_equal(best.reconstruct(rollouts), ended[-1].reconstruct(rollouts))


def test_most_images_are_respected():
    newest, archived = rollouts_of(Pictures(), 10), rollouts_of(Pictures(), 50, seed=1)
    assert learned().train(newest, archived).images == 180
    space = learned(max_images_per_episode=100, max_epochs=9)
    episode = space.train(newest, archived)
    assert episode.images == 99  # 33 policies
    assert episode.images_seen == 79
    assert episode.ended_by == "max_images"
    assert learned(max_images_per_episode=20).train(newest, archived).images == 18
    assert learned(max_images_per_episode=1).train(newest, archived).images_seen >= 1


def test_a_small_set_can_be_trained_on_several_times():
    newest, archived = rollouts_of(Pictures(), 10), rollouts_of(Pictures(), 50, seed=1)
    episode = learned(training_set_size=100, max_images_per_episode=250, patience=9, max_epochs=9).train(newest, archived)
    # 99 observations of 33 policies, 20 of them held back: a fourth epoch over the other 79 would be more than 250.
    assert (episode.images, episode.images_seen, episode.epochs, episode.ended_by) == (99, 237, 3, "max_images")
    assert learned(training_set_size=100, max_epochs=2).train(newest, archived).images_seen == 158


def test_the_newest_are_kept_before_the_archived():
    newest, archived = rollouts_of(Pictures(), 10), rollouts_of(Pictures(), 50, seed=1)
    space = learned(max_images_per_episode=45)
    images = space._training_set(newest, archived)[0].numpy()
    assert np.array_equal(images[:30], Pictures().observe(newest).reshape(-1, 16, 16, 3))
    assert len(images) == 45


def test_same_seed_same_bits():
    newest, archived = rollouts_of(Pictures()), rollouts_of(Pictures(), 20, seed=1)
    state = torch.random.get_rng_state()
    spaces = [learned(max_images_per_episode=60) for _ in range(2)]
    for _ in range(2):
        episodes = [space.train(newest, archived) for space in spaces]
        assert episodes[0] == episodes[1]
    assert np.array_equal(spaces[0].describe(newest), spaces[1].describe(newest))
    assert torch.equal(torch.random.get_rng_state(), state)
    other = learned(seed=np.random.SeedSequence(8))
    assert not np.array_equal(learned().describe(newest), other.describe(newest))


@pytest.mark.parametrize(("task", "reset"), [(Pictures(), False), (Pictures(), True), (Vectors(), False)])
def test_restored_training_goes_on_bit_by_bit(task, reset):
    newest, archived = rollouts_of(task), rollouts_of(task, 20, seed=1)
    options = {"task": task, "reset": reset, "max_images_per_episode": 60, "center_observations": True}
    space = learned(**options)
    space.train(newest, archived)
    arrays, numbers = space.arrays(), json.loads(json.dumps(space.numbers()))
    expected = space.train(newest, archived)

    restored = learned(**options, seed=np.random.SeedSequence(99))
    restored.restore(arrays, numbers)
    assert restored.episodes == 1
    assert restored.train(newest, archived) == expected
    assert np.array_equal(restored.describe(archived), space.describe(archived))
    ours, theirs = restored.arrays(), space.arrays()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert restored.numbers() == space.numbers()


def test_an_untrained_space_can_be_restored():
    space, restored = learned(), learned(seed=np.random.SeedSequence(99))
    restored.train(rollouts_of(Pictures()), None)
    restored.restore(space.arrays(), space.numbers())
    assert restored.last_episode is None
    assert restored.train(rollouts_of(Pictures()), None) == space.train(rollouts_of(Pictures()), None)


def test_reset_starts_anew():
    """Without any learning to speak of, only new weights can change what a space sees."""
    rollouts = rollouts_of(Vectors())
    for reset in (False, True):
        space = learned(Vectors(), reset=reset, learning_rate=1e-12, max_epochs=1)
        space.train(rollouts, None)
        before = space.describe(rollouts)
        space.autoencoder.fit_to = lambda *_: None  # type: ignore[method-assign]
        space.train(rollouts, None)
        assert np.allclose(space.describe(rollouts), before, rtol=1e-2, atol=1e-2) == (not reset)


def test_vectors_are_standardised():
    task = Vectors()
    rollouts = rollouts_of(task, 60)
    space = learned(task, max_epochs=30, batch_size=16, learning_rate=1e-2)
    assert isinstance(space.autoencoder, DenseAutoencoder)
    episode = space.train(rollouts, None)
    assert episode.validation_error < 0.2  # 0.75 if it knew nothing: one of the four numbers never changes
    descriptors, surprise = space.describe_with_surprise(rollouts)
    assert descriptors.shape == (60, 30)
    assert np.isfinite(surprise).all()
    reconstructions = space.reconstruct(rollouts)
    assert reconstructions.shape == (60, 3, 4)
    assert np.corrcoef(reconstructions[..., 1].ravel(), task.observe(rollouts)[..., 1].ravel())[0, 1] > 0.8


def test_autoencoders_by_shape():
    assert isinstance(make_autoencoder((64, 48, 3), 5, **OPTIONS), ConvolutionalAutoencoder)
    assert isinstance(make_autoencoder((7,), 5, **OPTIONS), DenseAutoencoder)
    assert [layer.out_features for layer in DenseAutoencoder((7,), 5, hidden_sizes=(9,)).encoder_layers] == [9, 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_autoencoder((60, 64, 3), 5, **OPTIONS), r"multiples of 16, not \(60, 64, 3\)"),
        (lambda: make_autoencoder((3, 4), 5, **OPTIONS), r"not observations of shape \(3, 4\)"),
        (lambda: used_samples(5, 6), "from 1 to 5, not 6"),
        (lambda: learned(device="tpu"), "device must be one of"),
        (lambda: learned(code_size=0), "code_size must be a whole number"),
    ],
)
def test_bad_input_gets_one_sentence(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has cuda")
def test_a_device_that_is_not_there():
    with pytest.raises(InvalidInputError, match="'cuda' is not available on this machine, which has 'cpu'"):
        learned(device="cuda")


def test_foreign_states_are_refused():
    space, other = learned(), learned(code_size=3)
    with pytest.raises(InvalidInputError, match="names, shapes or types differ"):
        space.restore(other.arrays(), other.numbers())


def test_episodes_are_compared_without_their_seconds():
    episode = TrainingEpisode(10, 8, 1, 0.5, 0.6, "max_epochs", seconds=1.0)
    assert episode == TrainingEpisode(10, 8, 1, 0.5, 0.6, "max_epochs", seconds=2.0)
