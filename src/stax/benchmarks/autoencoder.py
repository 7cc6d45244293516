"""Measure how fast the autoencoder trains and encodes, against a plain PyTorch loop with the same network.

Both are measured by turns in one process on the same pictures. The speed of a machine changes from one minute to the next, so only
the ratios can be compared between runs. The speed of encoding depends on how much of a picture changes. It is therefore measured on
all three tasks, and everything else on HardMaze. Vectors are random and have 20 numbers.

Encoder, decoder and training are also compared with the rate of a matrix product on one core. For this, encoder and decoder get
pictures of noise, of which no part can be skipped. Multiplications are counted as the layers define them, so code that needs fewer
can have a share above 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from stax.representation.learned import LearnedSpace
from stax.representation.training import train_epoch
from stax.search.making import learning_options
from stax.search.parameters import Parameters
from stax.tasks import make_task
from stax.tasks.task import RewardArea, Rollouts, Task

_TASKS = ("hard-maze", "redundant-arm", "curling")
_PICTURES = 1280
_VECTORS, _VECTOR_SIZE = 25_600, 20
_BATCH = 128
_MATRIX = 768
_HALF = 2 * 12_189_696
"""Floating-point operations of the encoder, and also of the decoder, for a picture (64, 64, 3)."""


class _PlainAutoencoder(nn.Module):
    """The same network, written in plain PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            *(nn.Conv2d(3, 32, 4, 2, 1), nn.SELU()),
            *(nn.Conv2d(32, 64, 4, 2, 1), nn.SELU()),
            *(nn.Conv2d(64, 32, 4, 2, 1), nn.SELU()),
            *(nn.Conv2d(32, 16, 4, 2, 1), nn.SELU()),
            *(nn.Flatten(), nn.Linear(256, 10), nn.SELU()),
        )
        self.decoder = nn.Sequential(
            *(nn.Linear(10, 256), nn.SELU(), nn.Unflatten(1, (16, 4, 4))),
            *(nn.ConvTranspose2d(16, 32, 4, 2, 1), nn.SELU()),
            *(nn.ConvTranspose2d(32, 64, 4, 2, 1), nn.SELU()),
            *(nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.SELU()),
            *(nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.ReLU()),
        )

    def forward(self, pictures: Tensor) -> Tensor:
        reconstructions: Tensor = self.decoder(self.encoder(pictures))
        return reconstructions


def _space(task: Task) -> LearnedSpace:
    options = learning_options(Parameters(center_observations=False, scale_observations=False))
    return LearnedSpace(task=task, samples=5, seed=np.random.SeedSequence(0), device="cpu", **options)


def measure_autoencoder(share: float = 1.0) -> dict[str, float]:
    """Measure pictures a second of training, encoding, and encoding with surprise: ours, the plain loop's, and the ratio.

    Args:
        share: share of the full amount of work; 0.1 for a quick look.
    """
    count = max(_BATCH, int(_PICTURES * share) // _BATCH * _BATCH)
    drawn = {name: _pictures(make_task(name), count) for name in _TASKS}
    pictures = drawn["hard-maze"]
    space = _space(make_task("hard-maze"))
    observations = torch.from_numpy(pictures)
    plain = _PlainAutoencoder()
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-3)
    shuffles = np.random.default_rng(0)

    def train() -> None:
        rows = torch.from_numpy(shuffles.permutation(count))
        train_epoch(space.autoencoder, space.optimizer, observations, rows, _BATCH, shuffles)

    def train_plainly() -> None:
        inputs = _plain_inputs(pictures)
        for rows in torch.split(torch.from_numpy(shuffles.permutation(count)), _BATCH):
            batch = inputs[rows]
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(plain(batch), batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    def encode(name: str) -> None:
        space.codes(torch.from_numpy(drawn[name]))

    def encode_plainly(name: str) -> None:
        with torch.no_grad():
            for batch in torch.split(_plain_inputs(drawn[name]), _BATCH):
                plain.encoder(batch).numpy()

    def surprise_plainly() -> None:
        with torch.no_grad():
            for batch in torch.split(_plain_inputs(pictures), _BATCH):
                codes = plain.encoder(batch)
                ((plain.decoder(codes) - batch) ** 2).sum((1, 2, 3)).numpy()

    rounds = max(2, round(5 * share))
    rates = _rates("training", count, rounds, ours=train, plain=train_plainly)
    for name in _TASKS:
        what = f"encoding_{name.replace('-', '_')}"
        rates |= _rates(what, count, rounds, ours=partial(encode, name), plain=partial(encode_plainly, name))
    rates |= _rates("surprise", count, rounds, ours=lambda: space.codes_and_errors(observations), plain=surprise_plainly)
    return rates | _matrix_shares(space, observations, rounds) | _measure_vectors(share, rounds)


def _matrix_shares(space: LearnedSpace, observations: Tensor, rounds: int) -> dict[str, float]:
    """Measure the rates of encoder, decoder and training on one core, as shares of the rate of a matrix product."""
    count = len(observations)
    noise = torch.from_numpy(np.random.default_rng(0).integers(0, 256, observations.shape, np.uint8))
    matrix = torch.ones(_MATRIX, _MATRIX)
    generator = np.random.default_rng(0)
    works: dict[str, Callable[[], object]] = {
        "matrix": lambda: matrix @ matrix,
        "encoder": lambda: space.codes(noise),
        "both": lambda: space.codes_and_errors(noise),
        "training": lambda: train_epoch(
            space.autoencoder, space.optimizer, observations, torch.arange(count), _BATCH, generator
        ),
    }
    best = dict.fromkeys(works, float("inf"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(rounds + 1):
            for name, work in works.items():
                start = time.thread_time()
                work()
                best[name] = min(best[name], time.thread_time() - start)
    finally:
        torch.set_num_threads(threads)
    rate = 2 * _MATRIX**3 / best["matrix"]
    # Training computes every layer three times: forward, the gradient of its input, and the gradient of its weights.
    return {
        "encoder_share_of_matrix_rate": count * _HALF / best["encoder"] / rate,
        "decoder_share_of_matrix_rate": count * _HALF / (best["both"] - best["encoder"]) / rate,
        "training_share_of_matrix_rate": count * 6 * _HALF / best["training"] / rate,
    }


class _Vectors(Task):
    """Task of which only the shape of observations is used: the vectors are random."""

    name = "vectors"
    genome_size = 1
    observation_shape = (_VECTOR_SIZE,)
    observation_dtype = "float32"
    reward_areas = (RewardArea("none"),)

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        raise NotImplementedError


def _measure_vectors(share: float, rounds: int) -> dict[str, float]:
    """Measure vectors a second of training and encoding by the dense autoencoder: ours, a plain loop's, and the ratio."""
    count = max(_BATCH, int(_VECTORS * share) // _BATCH * _BATCH)
    vectors = torch.from_numpy(np.random.default_rng(0).standard_normal((count, _VECTOR_SIZE), np.float32))
    space = _space(_Vectors())
    encoder = nn.Sequential(nn.Linear(_VECTOR_SIZE, 64), nn.SELU(), nn.Linear(64, 32), nn.SELU(), nn.Linear(32, 10), nn.SELU())
    decoder = nn.Sequential(nn.Linear(10, 32), nn.SELU(), nn.Linear(32, 64), nn.SELU(), nn.Linear(64, _VECTOR_SIZE))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    shuffles = np.random.default_rng(0)

    def train() -> None:
        rows = torch.from_numpy(shuffles.permutation(count))
        train_epoch(space.autoencoder, space.optimizer, vectors, rows, _BATCH, shuffles)

    def train_plainly() -> None:
        for rows in torch.split(torch.from_numpy(shuffles.permutation(count)), _BATCH):
            batch = vectors[rows]
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(decoder(encoder(batch)), batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    def encode_plainly() -> None:
        with torch.no_grad():
            for batch in torch.split(vectors, _BATCH):
                encoder(batch).numpy()

    rates = _rates("training_vectors", count, rounds, unit="", ours=train, plain=train_plainly)
    return rates | _rates("encoding_vectors", count, rounds, unit="", ours=lambda: space.codes(vectors), plain=encode_plainly)


def _pictures(task: Task, count: int) -> NDArray[np.uint8]:
    """Return pictures of the rollouts of random policies."""
    genomes = np.random.default_rng(0).uniform(*task.genome_bounds, (-(-count // task.observation_samples), task.genome_size))
    pictures = task.observe(task.evaluate(genomes)).reshape(-1, *task.observation_shape)[:count]
    return np.ascontiguousarray(pictures, np.uint8)


def _plain_inputs(pictures: NDArray[np.uint8]) -> Tensor:
    return torch.tensor(pictures).permute(0, 3, 1, 2).contiguous().float() / 255


def _rates(
    what: str, amount: int, rounds: int, *, unit: str = "_images", ours: Callable[[], object], plain: Callable[[], object]
) -> dict[str, float]:
    """Return the best rates of several rounds. Both run by turns, to see the same load; the first round only warms up."""
    best = {"ours": 0.0, "plain": 0.0}
    for number in range(rounds + 1):
        for name, work in (("ours", ours), ("plain", plain)):
            start = time.perf_counter()
            work()
            if number:
                best[name] = max(best[name], amount / (time.perf_counter() - start))
    return {
        f"{what}{unit}_per_second": best["ours"],
        f"{what}{unit}_per_second_plain": best["plain"],
        f"{what}_ratio": best["ours"] / best["plain"],
    }
