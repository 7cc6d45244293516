"""The compiled network against PyTorch's layers, and its bits under all circumstances that must not change them."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from observed_tasks import Pictures, learned, rollouts_of
from torch import nn
from torch.nn import functional

from stax.representation.adam import Adam
from stax.representation.autoencoder import ConvolutionalAutoencoder
from stax.representation.compiled_network import vectors
from stax.representation.compiled_network.network import CompiledNetwork, compiled, compiled_training, parameter_views
from stax.representation.learned import LearnedSpace
from stax.representation.repeated_pictures import median_picture
from stax.representation.sharing import Cores
from stax.representation.training import mean_error, train_epoch
from stax.representation.variational import VariationalConvolutionalAutoencoder
from stax.search.making import learning_options
from stax.search.parameters import Parameters
from stax.tasks import make_task

pytestmark = pytest.mark.skipif(
    not vectors.HAS_FUSED_MULTIPLY_ADD, reason="this processor has no fused multiply-adds; PyTorch computes the network"
)

SHAPES = st.tuples(
    st.integers(1, 6).map(lambda side: 16 * side), st.integers(1, 6).map(lambda side: 16 * side), st.integers(1, 5)
)
NETWORKS = st.fixed_dictionaries(
    {"observation_shape": SHAPES, "code_size": st.integers(1, 40)},
    optional={"center_observations": st.booleans(), "scale_observations": st.booleans()},
)


def network_for(pictures, kind=ConvolutionalAutoencoder, code_size=10, **options):
    """A network of fixed random weights, whose mean and scale are those of the pictures."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        network = kind(pictures.shape[1:], code_size, **options)
    network.fit_to(torch.from_numpy(pictures), torch.arange(len(pictures)))
    return network


def moving_pictures(shape, count, seed=0):
    """A noisy ground with bodies that may be partly outside, some changes at corners, the ground itself and mere noise."""
    generator = np.random.default_rng(seed)
    pictures = np.repeat(generator.integers(0, 256, (1, *shape), np.uint8), count, axis=0)
    for picture in pictures[1:]:
        row, column = generator.integers(-3, shape[0]), generator.integers(-3, shape[1])
        picture[max(row, 0) : row + 5, max(column, 0) : column + 5] = generator.integers(256)
    pictures[1 % count, 0, 0] ^= 255
    pictures[2 % count, -1, -1] ^= 255
    pictures[-1] = generator.integers(0, 256, shape, np.uint8)
    return pictures


def by_layers(network, pictures):
    """Codes and reconstructions as PyTorch's own layers compute them."""
    values = inputs = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255
    values = (values - network.mean) / network.scale
    for layer in network.encoder_convolutions:
        values = functional.selu(layer(values))
    codes = network.encoder_linear(values.flatten(1))
    if type(network) is ConvolutionalAutoencoder:
        codes = functional.selu(codes)
    height, width, _ = network.observation_shape
    values = functional.selu(network.decoder_linear(codes)).view(-1, 16, height // 16, width // 16)
    for layer in network.decoder_convolutions[:-1]:
        values = functional.selu(layer(values))
    values = network.decoder_convolutions[-1](values)
    return codes, functional.relu(values * network.scale + network.mean), inputs


def infer(network, pictures, threads=1):
    return compiled(network).infer(pictures, Cores(threads), with_errors=True)


@settings(max_examples=25, deadline=None)
@given(options=NETWORKS, count=st.integers(1, 12), kind=st.booleans())
def test_codes_and_errors_are_those_of_pytorch(options, count, kind):
    pictures = moving_pictures(options.pop("observation_shape"), count)
    network = (
        network_for(pictures, VariationalConvolutionalAutoencoder, kl_weight=0.1, **options)
        if kind
        else network_for(pictures, **options)
    )
    codes, errors = infer(network, pictures)
    with torch.no_grad():
        expected, reconstructions, inputs = by_layers(network, pictures)
    np.testing.assert_allclose(codes, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(errors, (reconstructions - inputs).square().flatten(1).sum(1), rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(options=NETWORKS, count=st.integers(1, 5))
def test_gradients_are_those_of_pytorch(options, count):
    pictures = moving_pictures(options.pop("observation_shape"), count)
    network = network_for(pictures, **options)
    _, reconstructions, inputs = by_layers(network, pictures)
    loss = functional.mse_loss(reconstructions, inputs)
    expected = dict(zip(dict(network.named_parameters()), torch.autograd.grad(loss, list(network.parameters())), strict=True))
    # After one step from nothing, the first moment is a tenth of the gradient.
    optimizer = Adam(network, 1e-9)
    rows = torch.arange(count)
    assert compiled_training(network)
    error = train_epoch(network, optimizer, torch.from_numpy(pictures), rows, count, np.random.default_rng(0))
    assert error == pytest.approx(loss.item(), rel=1e-5)
    for name, weight in network.named_parameters():
        gradient, wanted = 10 * optimizer.memory[weight]["exp_avg"].numpy(), expected[name].numpy()
        difference = np.abs(gradient - wanted)
        # The derivatives of SELU and ReLU jump at zero: a number there, of either sign by rounding, changes the gradients of all
        # layers before it, by up to one part in the 512 pixels of the smallest picture.
        assert np.quantile(difference, 0.9) <= 2e-3 * np.abs(wanted).max() + 1e-10, name
        assert np.linalg.norm(difference) <= 0.01 * np.linalg.norm(wanted) + 1e-10, name


def test_adam_is_that_of_pytorch():
    pictures = moving_pictures((16, 32, 3), 40)
    ours, theirs = (network_for(pictures, center_observations=True, scale_observations=True) for _ in range(2))
    our_adam, their_adam = Adam(ours, 1e-3), torch.optim.Adam(theirs.parameters(), lr=1e-3)
    for _ in range(2):
        rows = torch.arange(40)
        train_epoch(ours, our_adam, torch.from_numpy(pictures), rows, 16, np.random.default_rng(0))
        for batch in torch.split(rows, 16):
            _, reconstructions, inputs = by_layers(theirs, pictures[batch])
            their_adam.zero_grad()
            functional.mse_loss(reconstructions, inputs).backward()
            their_adam.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert float(our_adam.memory[one]["step"]) == float(their_adam.state[other]["step"]) == 6
        np.testing.assert_allclose(one.detach(), other.detach(), atol=2e-5)
    assert mean_error(ours, torch.from_numpy(pictures), rows, 16) == pytest.approx(
        mean_error(theirs, torch.from_numpy(pictures), rows, 16), rel=1e-3
    )


def test_a_fixed_weight_is_left_to_pytorch():
    network = network_for(moving_pictures((16, 16, 1), 3))
    assert compiled_training(network)
    network.encoder_linear.bias.requires_grad_(False)
    assert not compiled_training(network)


class Reversed(ConvolutionalAutoencoder):
    def code(self, features):
        return -super().code(features)


def test_what_the_compiled_code_does_not_know_is_left_to_pytorch():
    pictures = moving_pictures((16, 16, 3), 4)
    assert compiled(network_for(pictures))
    assert compiled(network_for(pictures, VariationalConvolutionalAutoencoder, kl_weight=0.1))
    assert not compiled(network_for(pictures, Reversed))
    assert not compiled(network_for(pictures).double())
    assert not compiled(nn.Linear(2, 2))


@pytest.mark.parametrize("shape", [(16, 16, 1), (16, 48, 3), (64, 64, 3)])
def test_bits_depend_neither_on_other_pictures_nor_on_threads(shape):
    pictures = moving_pictures(shape, 60)
    network = network_for(pictures, center_observations=True, scale_observations=True)
    codes, errors = infer(network, pictures)
    for rows in (slice(58, 60), slice(1, 3), slice(30, 59), slice(50, None, -3)):
        # Another network of the same weights chooses its reference among these pictures alone.
        other = network_for(pictures, center_observations=True, scale_observations=True)
        for some, threads in ((other, 1), (network, 3)):
            some_codes, some_errors = infer(some, pictures[rows], threads)
            np.testing.assert_array_equal(some_codes, codes[rows])
            np.testing.assert_array_equal(some_errors, errors[rows])


def test_changed_weights_are_noticed():
    pictures = moving_pictures((16, 16, 3), 5)
    network = network_for(pictures, center_observations=True)
    before, _ = infer(network, pictures)
    with torch.no_grad():
        network.encoder_linear.bias += 1
    changed, _ = infer(network, pictures)
    assert np.abs(changed - before).min() > 0.1
    network.encoder_linear.bias.data -= 1
    np.testing.assert_allclose(infer(network, pictures)[0], before, atol=1e-6)
    network.mean.zero_()
    assert not np.allclose(infer(network, pictures)[0], before, atol=1e-3)


def test_weights_that_are_no_numbers_show():
    pictures = moving_pictures((32, 32, 3), 3)
    for name in ("encoder_convolutions.1", "decoder_linear", "decoder_convolutions.3"):
        network = network_for(pictures)
        with torch.no_grad():
            network.get_submodule(name).bias[0] = float("nan")
        codes, errors = infer(network, pictures)
        assert np.isnan(errors).all()
        assert np.isnan(codes).all() == name.startswith("encoder")


def test_a_network_is_not_kept_alive():
    network = network_for(moving_pictures((16, 16, 1), 3))
    gone = weakref.ref(network), weakref.ref(compiled(network))
    del network
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_views_show_every_parameter_once():
    network = network_for(moving_pictures((32, 16, 2), 1), code_size=7)
    plan = CompiledNetwork(network).plan
    array = np.zeros(plan.parameter_count, np.float32)
    views = parameter_views(plan, array)
    assert {name: view.size for name, view in views.items()} == {n: weight.numel() for n, weight in network.named_parameters()}
    for view in views.values():
        view += 1
    assert array.max() == 1
    assert array.sum() == sum(weight.numel() for weight in network.parameters())


def test_the_median_is_the_ground():
    pictures = moving_pictures((32, 16, 3), 40)
    assert np.array_equal(median_picture(pictures), pictures[0])
    assert np.array_equal(median_picture(pictures[:1]), pictures[0])


def digest():
    """What describing and training make of rollouts of a task, as one word."""
    task = make_task("redundant-arm")
    genomes = np.random.default_rng(1).uniform(*task.genome_bounds, (30, task.genome_size))
    rollouts = task.evaluate(genomes)
    options = learning_options(Parameters(max_epochs=1, max_images_per_episode=None))
    space = LearnedSpace(task=task, samples=5, seed=np.random.SeedSequence(7), device="cpu", **options)
    network = network_for(task.observe(rollouts).reshape(-1, *task.observation_shape))
    space.autoencoder.load_state_dict(network.state_dict())
    result = hashlib.sha256()
    for _ in range(2):
        episode = space.train(rollouts)
        result.update(np.array([episode.training_error, episode.validation_error]).tobytes())
        for array in (*space.describe_with_surprise(rollouts), *space.arrays().values()):
            result.update(array.tobytes())
    return result.hexdigest()


def test_bits_do_not_depend_on_the_kind_of_processor(tmp_path):
    """With compiled code and kernels of PyTorch for a processor without AVX-512."""
    environment = os.environ | {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "ATEN_CPU_CAPABILITY": "avx2",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    code = "import test_compiled_network as t; print(t.vectors.LANES, t.digest())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["8", digest()]


def test_a_learned_space_uses_it(monkeypatch):
    space = learned()
    descriptors = space.describe(rollouts_of(Pictures()))
    monkeypatch.setattr(CompiledNetwork, "infer", lambda *_, **__: pytest.fail("compiled"))
    with pytest.raises(pytest.fail.Exception):
        space.describe(rollouts_of(Pictures()))
    monkeypatch.setattr("stax.representation.trained_network.compiled", lambda network: None)
    np.testing.assert_allclose(space.describe(rollouts_of(Pictures())), descriptors, atol=1e-5)
