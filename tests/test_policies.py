"""The policy network, by hand and against NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stax.policies import act, network_genome_size


def by_numpy(genome, sizes, inputs):
    values, start = np.asarray(inputs, float), 0
    for a, b in pairwise(sizes):
        weights = genome[start : start + a * b].reshape(a, b)
        values = np.tanh((values @ weights + genome[start + a * b]) / 2)
        start += a * b + 1
    return values


def test_genome_sizes_of_the_paper():
    assert network_genome_size((6, 5, 5, 5, 2)) == 94
    assert network_genome_size((5, 5, 5, 2)) == 63
    assert network_genome_size((20, 5, 5, 20)) == 228


def test_one_layer_by_hand():
    # Two inputs, one output: weights 1 and -2, bias 0.5. 2 sigmoid(1 * 3 - 2 * 1 + 0.5) - 1 = tanh(0.75).
    np.testing.assert_allclose(act(np.array([1.0, -2.0, 0.5]), (2, 1), np.array([3.0, 1.0])), [np.tanh(0.75)], rtol=1e-14)


def test_bias_is_shared_by_the_layer():
    genome = np.array([0.0, 0.0, 0.0, 0.0, 0.7])
    np.testing.assert_allclose(act(genome, (2, 2), np.array([5.0, -5.0])), [np.tanh(0.35)] * 2, rtol=1e-14)


def test_weights_are_inputs_by_outputs_row_major():
    genome = np.array([1.0, 2.0, 10.0, 20.0, 0.0])
    np.testing.assert_allclose(act(genome, (2, 2), np.array([0.1, 0.0])), np.tanh([0.05, 0.1]), rtol=1e-14)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 5.0]))
def test_agrees_with_numpy(seed, scale):
    sizes = (6, 5, 5, 5, 2)
    rng = np.random.default_rng(seed)
    genome, inputs = rng.normal(scale=scale, size=94), rng.normal(size=6)
    np.testing.assert_allclose(act(genome, sizes, inputs), by_numpy(genome, sizes, inputs), atol=1e-12)


def test_huge_weights_saturate_without_trouble():
    assert act(np.array([1e300, 0.0]), (1, 1), np.array([1e5]))[0] == 1.0
    assert act(np.array([1e300, 0.0]), (1, 1), np.array([-1e5]))[0] == -1.0
