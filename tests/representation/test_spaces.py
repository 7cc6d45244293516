"""Other learned spaces: losses that see rewards or time, positions, whitened codes, moments, sequences."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from observed_tasks import Pictures, Vectors, learned, rollouts_of
from torch import nn
from torch.nn import functional

import stax
from stax.errors import InvalidInputError
from stax.representation.contrastive import (
    TemporalDenseAutoencoder,
    TripletDenseAutoencoder,
    row_of_another_group,
    triplet_loss,
    triplets_by_reward,
    triplets_by_time,
)
from stax.representation.moments import changing_moments
from stax.representation.own import make_own
from stax.representation.provenance import Provenance
from stax.representation.sequences import SequenceAutoencoder
from stax.representation.spatial import SpatialAutoencoder, soft_arg_max
from stax.representation.whitening import LEAST_VARIANCE, Whitening
from toy_tasks import SquareTask

SPACES = {
    "triplet": {"autoencoder": "triplet"},
    "temporal": {"autoencoder": "temporal"},
    "spatial": {"autoencoder": "spatial"},
    "principal": {"autoencoder": "principal"},
    "whitened": {"whiten_codes": True},
    "changing": {"descriptor_moments": "changing", "samples": 2},
    "sequence": {"sequence_size": 6},
    "all": {
        "autoencoder": "temporal",
        "whiten_codes": True,
        "sequence_size": 4,
        "descriptor_moments": "changing",
        "samples": 2,
    },
}


class RewardedPictures(Pictures):
    """Policies that go far are rewarded."""

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward[:] = np.maximum(rollouts.snapshots[:, -1].sum(1) - 8, 0)
        return rollouts


def as_lists(triplets):
    return [rows.tolist() for rows in triplets]


# Provenance


def test_provenance_follows_the_observations():
    known = Provenance.of(np.array([0.5, 0.0]), 3)
    assert known.reward.tolist() == [0.5, 0.5, 0.5, 0, 0, 0]
    assert known.policy.tolist() == [0, 0, 0, 1, 1, 1]
    assert known.moment.tolist() == [0, 1, 2, 0, 1, 2]
    rows = torch.tensor([4, 1, 3, 0])
    assert known.take(rows).moment.tolist() == [1, 1, 0, 0]
    assert known.grouped(rows).tolist() == [4, 3, 1, 0]


def test_a_loss_gets_the_rewards_of_its_observations():
    seen = []

    class Watching(stax.Autoencoder):
        uses_provenance = True

        def __init__(self, observation_shape, code_size):
            super().__init__(observation_shape, code_size)
            self.first, self.second = nn.Linear(4, code_size), nn.Linear(code_size, 4)

        inputs = observations = staticmethod(lambda values: values)

        def encode(self, inputs):
            return self.first(inputs)

        def decode(self, codes):
            return self.second(codes)

        def fit_to(self, observations, rows):
            pass

        def loss(self, inputs, noise, provenance):
            seen.append((inputs.clone(), provenance))
            error = functional.mse_loss(self(inputs), inputs)
            return error, error

    task = SquareTask()
    rollouts = rollouts_of(task, 20)
    assert (rollouts.reward > 0).any()
    space = learned(task, autoencoder=Watching, max_epochs=1)
    space.train(rollouts)
    flat, rewards = task.observe(rollouts).reshape(-1, 4), np.repeat(rollouts.reward, 3)
    for inputs, known in seen:
        for row, reward, policy, moment in zip(inputs, known.reward, known.policy, known.moment, strict=True):
            place = 3 * int(policy) + int(moment)
            assert np.array_equal(row.numpy(), flat[place])
            assert float(reward) == rewards[place]
    # All of a batch at once, since it may compare observations.
    assert len(seen) == 1
    assert len(seen[0][0]) == 48


def test_losses_of_two_arguments_stay_and_others_are_refused():
    class Two(TripletDenseAutoencoder):
        uses_provenance = False

        def __init__(self, shape, size):
            super().__init__(shape, size, contrast_weight=1.0, contrast_margin=1.0, hidden_sizes=(3,))

        def loss(self, inputs, noise):
            error = functional.mse_loss(self(inputs), inputs)
            return error, error

    class Three(Two):
        def loss(self, inputs, noise, provenance):
            return super().loss(inputs, noise)

    class Flagged(Two):
        uses_provenance = True

    learned(SquareTask(), autoencoder=Two, max_epochs=1).train(rollouts_of(SquareTask(), 5))
    with pytest.raises(InvalidInputError, match=r"takes \(inputs, noise, provenance\), but it will be given \(inputs, noise\)"):
        make_own(Three, "Autoencoder 'Three'", (4,), 2)
    with pytest.raises(InvalidInputError, match="uses_provenance = False"):
        make_own(Flagged, "Autoencoder 'Flagged'", (4,), 2)


# Triplets


def test_the_triplet_loss_by_hand():
    codes = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], requires_grad=True)
    rows = [torch.tensor([place]) for place in (0, 1, 2)]
    assert triplet_loss(codes, tuple(rows), 0.5).item() == pytest.approx(5 - 1 + 0.5)
    assert triplet_loss(codes, (rows[0], rows[2], rows[1]), 0.5).item() == 0
    both = tuple(torch.cat([one, other]) for one, other in zip(rows, (rows[0], rows[2], rows[1]), strict=True))
    assert triplet_loss(codes, both, 0.5).item() == pytest.approx(4.5 / 2)
    empty = torch.empty(0, dtype=torch.int64)
    assert triplet_loss(codes, (empty, empty, empty), 0.5).item() == 0
    triplet_loss(torch.zeros(3, 2, requires_grad=True), tuple(rows), 0.5).backward()


def test_a_row_of_another_group():
    groups = torch.tensor([5, 7, 5, 6])
    # Ordered by group: rows 0 and 2 (5), row 3 (6), row 1 (7).
    rows, exists = row_of_another_group(groups, torch.tensor([5, 5, 6, 6, 6, 7]), torch.tensor([0.0, 0.9, 0.0, 0.5, 1.0, 0.99]))
    assert rows.tolist() == [3, 1, 0, 2, 1, 3]
    assert exists.all()
    _, exists = row_of_another_group(torch.zeros(3), torch.zeros(2), torch.rand(2))
    assert not exists.any()


def test_triplets_by_reward_by_hand():
    rewards = torch.tensor([0.0, 0.2, 1.0], dtype=torch.float64)
    # Row 0 draws row 1, and of rows 0 and 2 the second; row 1 draws row 0 and then row 2; row 2 draws row 0 and then row 1.
    numbers = torch.tensor([[0.4, 0.9], [0.0, 0.9], [0.0, 0.0]])
    assert as_lists(triplets_by_reward(rewards, numbers)) == [[0, 1, 2], [1, 0, 1], [2, 2, 0]]
    # A row that draws itself has no triplet.
    assert as_lists(triplets_by_reward(rewards, torch.zeros(3, 2))) == [[2], [1], [0]]


@pytest.mark.parametrize("rewards", [[0.0, 0.0, 0.0], [0.5]])
def test_without_different_rewards_there_are_no_triplets(rewards):
    assert as_lists(triplets_by_reward(torch.tensor(rewards), torch.rand(len(rewards), 2))) == [[], [], []]


def test_triplets_obey_their_definition():
    generator = torch.Generator().manual_seed(0)
    rewards = (torch.rand(60, generator=generator) * 4).floor().clamp(min=1) - 1
    anchors, positives, negatives = triplets_by_reward(rewards, torch.rand(60, 2, generator=generator))
    assert len(anchors) > 20
    assert ((rewards[positives] - rewards[anchors]).abs() < (rewards[negatives] - rewards[anchors]).abs()).all()
    policies, moments = torch.randint(0, 9, (60,), generator=generator), torch.randperm(60, generator=generator)
    anchors, positives, negatives = triplets_by_time(policies, moments, torch.rand(60, generator=generator))
    assert len(anchors) == 60 - len(policies.unique())
    assert (policies[anchors] == policies[positives]).all()
    assert (policies[anchors] != policies[negatives]).all()
    for anchor, positive in zip(anchors.tolist(), positives.tolist(), strict=True):
        later = [int(moments[row]) for row in range(60) if policies[row] == policies[anchor] and moments[row] > moments[anchor]]
        assert moments[positive] == min(later)


def test_triplets_by_time_by_hand():
    policies, moments = torch.tensor([3, 3, 8, 3]), torch.tensor([2, 0, 0, 1])
    anchors, positives, negatives = triplets_by_time(policies, moments, torch.zeros(4))
    assert as_lists((anchors, positives, negatives)) == [[1, 3], [3, 0], [2, 2]]
    assert as_lists(triplets_by_time(torch.zeros(3), torch.arange(3), torch.zeros(3))) == [[], [], []]


def test_the_loss_is_reconstruction_and_triplets():
    torch.manual_seed(0)
    network = TripletDenseAutoencoder((4,), 2, contrast_weight=6.0, contrast_margin=0.5, hidden_sizes=(3,))
    inputs, noise = torch.randn(5, 4), torch.randn(5, 2)
    known = Provenance.of(np.array([0.0, 0.0, 1.0, 0.3, 2.0]), 1)
    loss, error = network.loss(inputs, noise, known)
    assert error.item() == pytest.approx(functional.mse_loss(network(inputs), inputs).item())
    numbers = torch.tensor([[0.5 * (1 + math.erf(number / math.sqrt(2))) for number in row] for row in noise.tolist()])
    triplets = triplets_by_reward(known.reward, numbers)
    assert len(triplets[0])
    expected = error + 6.0 / 4 * triplet_loss(network.encode(inputs), triplets, 0.5)
    assert loss.item() == pytest.approx(expected.item())
    unrewarded, error = network.loss(inputs, noise, Provenance.of(np.zeros(5), 1))
    assert unrewarded.item() == error.item()


def test_time_is_learned():
    """The codes of a rollout's observations come nearer to each other than those of different rollouts."""
    rollouts = rollouts_of(Vectors(), 40)

    def spread(weight):
        options = {"contrast_weight": weight, "contrast_margin": 5.0, "max_epochs": 30, "patience": 30, "hidden_sizes": (16,)}
        space = learned(Vectors(), autoencoder="temporal", code_size=3, learning_rate=1e-2, **options)
        space.train(rollouts)
        codes = space.describe(rollouts).reshape(40, 3, 3)
        steps = np.linalg.norm(np.diff(codes, axis=1), axis=2).mean()
        return steps / np.linalg.norm(codes - codes.mean((0, 1)), axis=2).mean()

    assert spread(100.0) < 0.8 * spread(0.0)
    assert TemporalDenseAutoencoder.groups_policies


# Positions


def test_the_soft_arg_max_by_hand():
    maps = torch.zeros(1, 2, 3, 3)
    maps[0, 0, 2, 0] = 100.0
    maps[0, 1, 0, 0] = maps[0, 1, 0, 2] = math.log(3)
    places = torch.linspace(-1, 1, 3)
    # The second map: weights 3, 1, 3 in the first row, and 1 in all other places, 13 in all.
    expected = [-1, 0, 1, (-7 + 0 + 3) / 13]
    np.testing.assert_allclose(soft_arg_max(maps, places, places)[0], expected, atol=1e-6)


def test_the_code_moves_with_what_is_seen():
    """A network whose only feature is brightness finds where a bright square is."""
    network = SpatialAutoencoder((32, 32, 3), 2)
    with torch.no_grad():
        for convolution in network.encoder_convolutions:
            convolution.weight.zero_()
            convolution.bias.zero_()
            convolution.weight[0, 0, 2, 2] = 10.0
    pictures = torch.zeros(3, 32, 32, 3, dtype=torch.uint8)
    for picture, (row, column) in zip(pictures, [(4, 4), (4, 24), (24, 24)], strict=True):
        picture[row : row + 4, column : column + 4] = 255
    codes = network.encode(network.inputs(pictures)).detach().numpy()
    # Every second pixel is seen: pixels 4 to 7 are the columns 2 and 3 of 16.
    left, right = -1 + 2 * 2.5 / 15, -1 + 2 * 12.5 / 15
    np.testing.assert_allclose(codes, [[left, left], [right, left], [right, right]], atol=1e-3)


def test_spatial_needs_pictures_and_an_even_code():
    with pytest.raises(InvalidInputError, match="code_size must be even"):
        SpatialAutoencoder((16, 16, 3), 5)
    with pytest.raises(InvalidInputError, match="code_size must be even"):
        stax.make_search("stax", Pictures(), budget=100, autoencoder="spatial", code_size=5)
    with pytest.raises(InvalidInputError, match=r"takes pictures \(height, width, channels\)"):
        stax.make_search("stax", Vectors(), budget=100, autoencoder="spatial")


# Whitening


def test_whitening_by_hand():
    whitening = Whitening(2)
    codes = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 10.0], [0.0, -10.0]]) + [5, 7]
    assert np.array_equal(whitening.whiten(codes), codes)
    whitening.fit(codes)
    # Variances 0.5 and 50, so standard deviations 0.707 and 7.07; the order and the signs of components do not matter.
    white = whitening.whiten(codes)
    np.testing.assert_allclose(
        np.abs(white), [[math.sqrt(2), 0], [math.sqrt(2), 0], [0, math.sqrt(2)], [0, math.sqrt(2)]], atol=1e-12
    )
    np.testing.assert_allclose(whitening.restore(white), codes)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(2), atol=1e-12)


def test_whitening_of_any_codes():
    generator = np.random.default_rng(0)
    codes = generator.standard_normal((50, 4)) @ generator.standard_normal((4, 4))
    whitening = Whitening(4)
    whitening.fit(codes)
    np.testing.assert_allclose(np.cov(whitening.whiten(codes).T, bias=True), np.eye(4), atol=1e-9)
    one_by_one = np.concatenate([whitening.whiten(row[None]) for row in codes])
    assert np.array_equal(one_by_one, whitening.whiten(codes))


def test_what_hardly_varies_is_not_blown_up():
    whitening = Whitening(2)
    codes = np.array([[1.0, 1e-9], [-1.0, -1e-9], [1.0, -1e-9], [-1.0, 1e-9]])
    whitening.fit(codes)
    assert np.abs(whitening.whiten(codes)).min(axis=1).max() == pytest.approx(1e-9 / math.sqrt(LEAST_VARIANCE))
    whitening.fit(np.full((3, 2), 4.0))
    np.testing.assert_array_equal(whitening.whiten(np.array([[5.0, 4.0]])), [[1, 0]])


def test_descriptors_are_whitened_after_training():
    rollouts = rollouts_of(Pictures(), 30)
    plain, white = learned(code_size=3), learned(code_size=3, whiten_codes=True)
    assert np.array_equal(plain.describe(rollouts), white.describe(rollouts))
    plain.train(rollouts)
    white.train(rollouts)
    codes, parts = plain.describe(rollouts).reshape(-1, 3), white.describe(rollouts).reshape(-1, 3)
    np.testing.assert_array_equal(white.whitening.whiten(codes), parts)
    np.testing.assert_allclose(parts.mean(0), 0, atol=1e-9)
    assert np.diag(np.cov(parts.T, bias=True)).max() == pytest.approx(1)
    np.testing.assert_allclose(white.imagine(white.describe(rollouts)), plain.reconstruct(rollouts), atol=1e-5)
    assert np.array_equal(white.place_of(Pictures().observe(rollouts)[4, -1]), white.describe(rollouts)[4, -3:])


# Moments


def test_changing_moments_by_hand():
    seen = np.array([[0, 0, 9, 9, 9, 8], [0, 5, 5, 5, 6, 6]], np.uint8)[..., None]
    # The changes are 0 9 0 0 1 and 5 0 0 1 0; the last observation is always used.
    assert changing_moments(seen, 1).tolist() == [[5], [5]]
    assert changing_moments(seen, 2).tolist() == [[2, 5], [1, 5]]
    assert changing_moments(seen, 3).tolist() == [[2, 4, 5], [1, 4, 5]]
    assert changing_moments(seen, 6).tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    # Bytes do not overflow: from 250 to 0 is more than from 0 to 200.
    assert changing_moments(np.array([[0, 200, 250, 0, 0]], np.uint8)[..., None], 2).tolist() == [[3, 4]]
    assert changing_moments(seen.astype(np.float32), 2).tolist() == [[2, 5], [1, 5]]


def test_the_changing_moments_make_the_descriptor():
    class Jumping(Pictures):
        observation_samples = 4

        def evaluate(self, genomes):
            rollouts = super().evaluate(genomes)
            rollouts.snapshots[:, :3] = [[0, 0], [9, 9], [9, 9]]
            rollouts.snapshots[:, 3] = [9, 10]
            return rollouts

    rollouts = rollouts_of(Jumping(), 3)
    space = learned(Jumping(), samples=2, descriptor_moments="changing")
    assert space.used_moments(rollouts).tolist() == [[1, 3]] * 3
    assert learned(Jumping(), samples=2).used_moments(rollouts).tolist() == [[1, 3]] * 3
    three = learned(Jumping(), samples=3, descriptor_moments="changing")
    assert three.used_moments(rollouts).tolist() == [[1, 2, 3]] * 3
    pictures = Jumping().observe(rollouts)
    np.testing.assert_array_equal(space.describe(rollouts)[:, :10], [space.place_of(picture) for picture in pictures[:, 1]])
    assert space.reconstruct(rollouts).shape == (3, 2, 16, 16, 3)


# Sequences


def test_the_gated_recurrent_unit_by_hand():
    network = SequenceAutoencoder(2, 1, 1)
    with torch.no_grad():
        for layer, weights, biases in (
            (network.gates_of_input, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]),
            (network.gates_of_state, [0.5, -1.0, 2.0], [0.0, 0.1, -0.2]),
        ):
            layer.weight.copy_(torch.tensor(weights)[:, None])
            layer.bias.copy_(torch.tensor(biases))

    def step(x, h):
        sigmoid = lambda value: 1 / (1 + math.exp(-value))  # noqa: E731
        r = sigmoid(x + 0.1 + 0.5 * h)
        z = sigmoid(2 * x + 0.2 - h + 0.1)
        m = math.tanh(3 * x + 0.3 + r * (2 * h - 0.2))
        return (1 - z) * m + z * h

    inputs = torch.tensor([[0.4, -0.7]])
    assert network.encode(inputs).item() == pytest.approx(step(-0.7, step(0.4, 0.0)), rel=1e-5)


def test_the_recurrent_unit_is_that_of_pytorch():
    torch.manual_seed(3)
    network, theirs = SequenceAutoencoder(5, 4, 6), nn.GRU(4, 6, batch_first=True)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(network.gates_of_input.weight)
        theirs.bias_ih_l0.copy_(network.gates_of_input.bias)
        theirs.weight_hh_l0.copy_(network.gates_of_state.weight)
        theirs.bias_hh_l0.copy_(network.gates_of_state.bias)
        inputs = torch.randn(7, 20)
        assert torch.allclose(network.encode(inputs), theirs(inputs.view(7, 5, 4))[1][0], atol=1e-6)


def test_sequences_are_learned_and_imagined():
    rollouts = rollouts_of(Vectors(), 60)
    space = learned(Vectors(), code_size=2, sequence_size=4, max_epochs=60, patience=60, learning_rate=1e-2)
    assert (space.size, space.describe(rollouts).shape) == (4, (60, 4))
    space.train(rollouts)
    codes = space.codes(torch.from_numpy(Vectors().observe(rollouts).reshape(-1, 4))).reshape(60, 6)
    made = space.sequences.decode(space.describe(rollouts))
    assert np.square(made - codes).mean() < 0.3 * codes.var(0).mean()
    assert space.imagine(space.describe(rollouts)).shape == (60, 3, 4)
    with pytest.raises(InvalidInputError, match="sequence_size 4"):
        space.place_of(np.zeros(4, np.float32))


# All of them


@pytest.mark.parametrize("name", SPACES)
def test_descriptors_depend_neither_on_threads_nor_on_other_rows(name):
    rollouts = rollouts_of(RewardedPictures(), 70)

    def described(threads):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            space = learned(RewardedPictures(), **{"max_epochs": 1, "code_size": 4, **SPACES[name]})
            space.train(rollouts.take(slice(0, 40)), rollouts.take(slice(40, 70)))
            return space, space.describe(rollouts)
        finally:
            torch.set_num_threads(before)

    space, one = described(1)
    _, three = described(3)
    assert np.array_equal(one, three)
    assert np.array_equal(space.describe(rollouts.take([5, 60])), one[[5, 60]])
    assert np.array_equal(space.describe_with_surprise(rollouts)[0], one)


@pytest.mark.parametrize("name", SPACES)
def test_state_is_restored_to_the_bit(name):
    rollouts = rollouts_of(RewardedPictures(), 30)
    options = {"max_epochs": 1, "code_size": 4, **SPACES[name]}
    space, other, third = (learned(RewardedPictures(), **options) for _ in range(3))
    space.train(rollouts.take(slice(0, 20)))
    other.restore(space.arrays(), space.numbers())
    third.restore_weights(*space.weights())
    assert np.array_equal(third.describe(rollouts), space.describe(rollouts))
    for one in (space, other):
        one.train(rollouts)
    assert np.array_equal(space.describe(rollouts), other.describe(rollouts))
    for name_of, array in space.arrays().items():
        assert np.array_equal(array, other.arrays()[name_of]), name_of


@pytest.mark.parametrize("name", ["whitened", "sequence"])
def test_forged_states_are_refused(name):
    space = learned(code_size=4, **SPACES[name])
    space.train(rollouts_of(Pictures()))
    arrays, numbers = space.arrays(), space.numbers()
    names = [key for key in arrays if key.startswith("descriptor.")]
    assert names
    forged = [{key: array for key, array in arrays.items() if key != names[0]}, {**arrays, names[0]: arrays[names[0]][..., :1]}]
    forged.append({**arrays, names[0]: arrays[names[0]].astype(np.float16)})
    if name == "whitened":
        forged += [{**arrays, names[0]: np.full(4, np.nan)}, {**arrays, names[2]: np.zeros(4)}]
    for state in forged:
        with pytest.raises(InvalidInputError, match="are not the state"):
            learned(code_size=4, **SPACES[name]).restore(state, numbers)
        with pytest.raises(InvalidInputError, match="are not the state"):
            learned(code_size=4).restore(arrays, numbers)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"whiten_codes": True, "algo": "stax-nt"},
            "whiten_codes is fitted when the autoencoder is trained, which stax-nt never does",
        ),
        ({"sequence_size": 5, "algo": "stax-nt"}, "sequence_size is fitted"),
        ({"sequence_size": 0}, "sequence_size must be"),
        ({"sequence_size": 9000}, "sequence_size 9000"),
        ({"whiten_codes": "maybe"}, "whiten_codes must be"),
        ({"descriptor_moments": "odd"}, "descriptor_moments must be"),
        ({"contrast_weight": -1}, "contrast_weight must be"),
        ({"contrast_margin": float("nan")}, "contrast_margin must be"),
        ({"autoencoder": "triplets"}, "'triplets'"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(InvalidInputError, match=words):
        stax.make_search(**{"algo": "stax", "budget": 200, **parameters}, task=Pictures())
