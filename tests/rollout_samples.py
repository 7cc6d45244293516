"""Genomes to try, and rollouts recorded from the original environments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import stax

DATA = Path(__file__).parent / "data"
NAMES = ("curling", "hard-maze", "redundant-arm")


def random_genomes(task: stax.Task, count: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=(count, task.genome_size))


def recorded(name: str) -> dict[str, np.ndarray]:
    """Twenty rollouts recorded from the original environment."""
    with np.load(DATA / f"{name.replace('-', '_')}.npz") as data:
        return {key: data[key] for key in data.files}
