"""Measure the cost of portable numerics: training of dense autoencoders with and without the limits of the `stax` command.

    python benchmarks/numerics_cost.py

Both ways run by turns in separate processes, on one core; the best of several epochs counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from stax_command import NUMPY_LIMITS, TORCH_LIMITS

SIZES = ((29, (64, 32)), (100, (64, 32)), (100, (512, 256)))
"""Size of an observation, and hidden_sizes."""
OBSERVATIONS, EPOCHS, ROUNDS = 4096, 12, 3


def measure() -> None:
    """Print the observations trained on per core-second for each of the sizes."""
    import numpy as np
    import torch

    from stax.representation.adam import Adam
    from stax.representation.autoencoder import DenseAutoencoder
    from stax.representation.training import train_epoch

    torch.set_num_threads(1)
    for numbers, hidden in SIZES:
        torch.manual_seed(0)
        network = DenseAutoencoder((numbers,), 10, hidden_sizes=hidden)
        optimizer = Adam(network)
        observations, rows = torch.randn(OBSERVATIONS, numbers), torch.arange(OBSERVATIONS)
        network.fit_to(observations, rows)
        best = float("inf")
        for _ in range(EPOCHS):
            began = time.process_time()
            train_epoch(network, optimizer, observations, rows, 128, np.random.default_rng(0))
            best = min(best, time.process_time() - began)
        print(OBSERVATIONS / best)


def measured(limits: dict[str, str]) -> list[float]:
    """Measure in a process with these limits."""
    environment = {name: value for name, value in os.environ.items() if name not in {**TORCH_LIMITS, **NUMPY_LIMITS}}
    done = subprocess.run(
        [sys.executable, __file__, "--measure"], env=environment | limits, capture_output=True, text=True, check=True
    )
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    rounds = [(measured({}), measured({**TORCH_LIMITS, **NUMPY_LIMITS})) for _ in range(ROUNDS)]
    for number, (numbers, hidden) in enumerate(SIZES):
        native, portable = (max(one[way][number] for one in rounds) for way in (0, 1))
        print(
            f"{numbers:3} numbers, hidden_sizes {hidden}: native {native:,.0f} observations per core-second, portable"
            f" {portable:,.0f}, ratio {portable / native:.2f}"
        )


if __name__ == "__main__":
    measure() if "--measure" in sys.argv else main()
