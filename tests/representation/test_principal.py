"""The principal components of smoothed pictures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from observed_tasks import Pictures, Vectors, learned, rollouts_of

import stax
from stax.errors import InvalidInputError
from stax.representation.autoencoder import DenseAutoencoder
from stax.representation.principal import PrincipalAutoencoder, cosines, principal_components


def test_principal_components_by_hand():
    values = np.array([[3.0, 4.0, 0.0], [-3.0, -4.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]) + [1, 2, 3]
    mean, components = principal_components(values, 4)
    np.testing.assert_allclose(mean, [1, 2, 3])
    # Variances 50 and 2 along these; nothing varies along the third, and there is no fourth.
    expected = [[0.6, 0, 0, 0], [0.8, 0, 0, 0], [0, 1, 0, 0]]
    np.testing.assert_allclose(components, expected, atol=1e-12)
    # Fewer rows than numbers: the other product is taken apart, with the same outcome.
    mean, components = principal_components(values[:2], 2)
    np.testing.assert_allclose(components, [[0.6, 0], [0.8, 0], [0, 0]], atol=1e-12)
    assert not principal_components(np.full((5, 3), 7.0), 2)[1].any()


def test_the_components_are_those_of_a_singular_value_decomposition():
    generator = np.random.default_rng(0)
    for rows, size in ((60, 8), (8, 60)):
        values = generator.standard_normal((rows, size)) * np.arange(1, size + 1)
        _, components = principal_components(values, 5)
        _, _, expected = np.linalg.svd(values - values.mean(0), full_matrices=False)
        np.testing.assert_allclose(np.abs(np.sum(components.T * expected[:5], axis=1)), 1, rtol=1e-9)
        np.testing.assert_allclose(components.T @ components, np.eye(5), atol=1e-9)
        assert (components[np.abs(components).argmax(0), np.arange(5)] > 0).all()


def bright_squares(columns, shape=(32, 32, 3)):
    pictures = torch.zeros(len(columns), *shape, dtype=torch.uint8)
    for picture, column in zip(pictures, columns, strict=True):
        picture[14:18, column : column + 4] = 255
    return pictures


def test_distances_grow_with_displacement():
    """In pixels, squares that do not overlap are equally far apart; after smoothing, the distance grows like a square root."""
    columns = [2, 6, 10, 14, 18, 22, 26]
    pictures = bright_squares(columns)

    def distances(smoothing):
        inputs = PrincipalAutoencoder((32, 32, 3), 4, smoothing=smoothing).inputs(pictures)
        return torch.linalg.vector_norm(inputs[1:] - inputs[0], dim=1).numpy()

    assert distances(0.0)[1:].std() < 0.15 * distances(0.0).mean()
    smoothed = distances(1.5)
    assert (np.diff(smoothed) > 0).all()
    slope = np.polyfit(np.log(np.diff(columns).cumsum()), np.log(smoothed), 1)[0]
    assert slope == pytest.approx(0.5, abs=0.25)


def test_amplitudes_are_those_of_cosines():
    basis = cosines(16)
    np.testing.assert_allclose(basis @ basis.T, np.eye(8), atol=1e-6)
    network = PrincipalAutoencoder((16, 16, 1), 2, smoothing=2.0)
    wave = 0.5 + 0.25 * torch.outer(basis[0], basis[3])
    amplitudes = network.inputs((wave * 255).round().to(torch.uint8)[None, :, :, None]).view(8, 8)
    # The constant part is 0.5 * 16; the wave has the frequency 3 and so a ninth of its amplitude.
    assert amplitudes[0, 0].item() == pytest.approx(8, abs=1e-2)
    assert amplitudes[0, 3].item() == pytest.approx(0.25 / 9, abs=2e-3)
    amplitudes[0, 0] = amplitudes[0, 3] = 0
    assert amplitudes.abs().max() < 5e-3


def test_pictures_that_are_not_square_are_smoothed_alike_in_both_directions():
    network = PrincipalAutoencoder((10, 40, 3), 2, smoothing=1.0)
    assert network.weights.shape == (8, 8)
    assert network.weights[1, 0].item() == pytest.approx(1 / 4)
    assert network.weights[0, 1].item() == pytest.approx(1)
    picture = torch.full((2, 10, 40, 3), 128, dtype=torch.uint8)
    seen = network.observations(network.inputs(picture))
    np.testing.assert_allclose(seen, np.full((2, 10, 40, 3), 128 / 255), atol=1e-5)


def test_what_never_moves_is_not_blurred():
    pictures = bright_squares([4, 8, 20, 24])
    pictures[:, 29, ::2] = 200
    network = PrincipalAutoencoder((32, 32, 3), 3, smoothing=1.5)
    network.fit_to(pictures, torch.arange(4))
    seen = network.observations(network.decode(network.encode(network.inputs(pictures))))
    np.testing.assert_allclose(seen[:, 29, ::2], 200 / 255, atol=0.05)
    np.testing.assert_allclose(seen[:, 29, 1::2], 0, atol=0.05)
    # With as many components as pictures can have, a square is brightest where it is, though blurred.
    assert seen[0, 15, 4:8].mean() > seen[0, 15, 20:24].mean() + 0.1
    assert seen[2, 15, 20:24].mean() > seen[2, 15, 4:8].mean() + 0.1


def test_principal_components_are_fitted_at_once():
    rollouts = rollouts_of(Pictures(), 40)
    space = learned(autoencoder="principal", code_size=6, smoothing=1.5)
    episode = space.train(rollouts)
    assert (episode.epochs, episode.ended_by, episode.images_seen) == (1, "fitted", 96)
    network = space.autoencoder
    observations = torch.from_numpy(Pictures().observe(rollouts).reshape(-1, 16, 16, 3))
    inputs = network.inputs(observations)
    np.testing.assert_allclose(network.components.T @ network.components, np.eye(6), atol=1e-5)
    # Nothing else with six numbers has a smaller error on the training set, and little of the variance is left.
    assert episode.training_error < 0.1 * inputs.var(0, unbiased=False).mean().item()
    assert episode.validation_error < 0.1 * inputs.var(0, unbiased=False).mean().item()
    first = space.describe(rollouts)
    space.train(rollouts_of(Pictures(), 40, seed=1))
    assert not np.array_equal(first, space.describe(rollouts))


def test_an_automatic_choice_with_principal_components():
    assert isinstance(learned(autoencoder="auto-principal").autoencoder, PrincipalAutoencoder)
    assert isinstance(learned(Vectors(), autoencoder="auto-principal").autoencoder, DenseAutoencoder)
    with pytest.raises(InvalidInputError, match=r"'principal', which takes pictures \(height, width, channels\)"):
        stax.make_search("stax", Vectors(), budget=100, autoencoder="principal")
