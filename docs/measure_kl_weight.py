"""Print how well autoencoders with several values of kl_weight reconstruct HardMaze, for docs/autoencoders.md."""

from __future__ import annotations

import sys

import numpy as np

import stax
from stax.representation.learned import LearnedSpace
from stax.search.making import learning_options
from stax.search.parameters import Parameters

POLICIES, EPOCHS, SEED = 400, 12, 0
CHOICES = (("convolutional", 0.0), ("variational", 1.0), ("variational", 0.1), ("variational", 0.01))


def main() -> int:
    task = stax.make_task("hard-maze")
    genomes = np.random.default_rng(SEED).uniform(*task.genome_bounds, (POLICIES, task.genome_size))
    rollouts = task.evaluate(genomes)
    pictures = task.observe(rollouts).reshape(-1, *task.observation_shape) / 255
    error_of_mean = float(np.square(pictures - pictures.mean(axis=0)).mean())
    for autoencoder, kl_weight in CHOICES:
        parameters = Parameters(
            autoencoder=autoencoder,
            kl_weight=kl_weight,
            max_epochs=EPOCHS,
            patience=EPOCHS,
            max_images_per_episode=None,
        )
        space = LearnedSpace(
            task=task,
            samples=task.observation_samples,
            **learning_options(parameters),
            seed=np.random.SeedSequence(SEED),
            device="cpu",
        )
        share = space.train(rollouts).validation_error / error_of_mean
        weight = f" with kl_weight={kl_weight:g}" if autoencoder == "variational" else ""
        print(f"{autoencoder}{weight}: {share:.0%} of the error of the mean picture", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
