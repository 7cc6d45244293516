"""The layers of the network that a genome describes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError
from stax.policies import network_genome_size
from stax.tasks.task import Genomes, Task, check_genomes


def checked_policy(task: Task | Sequence[int], genome: ArrayLike) -> tuple[tuple[int, ...], Genomes]:
    """Return the sizes of the policy's layers and its genome (genome_size,), or raise an error that says what is wrong.

    Args:
        task: a task whose policies are networks, or the sizes of the layers, inputs first.
        genome: the policy's genome.
    """
    given = task.policy_sizes if isinstance(task, Task) else task
    if isinstance(task, Task) and given is None:
        raise InvalidInputError(
            f"Policies of task {task.name!r} are not known to be networks: the task has no policy_sizes. Give the sizes of the"
            " layers instead, if they are."
        )
    sizes = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    if len(sizes) < 2 or any(not isinstance(size, Integral) or size < 1 for size in sizes):
        raise InvalidInputError(
            f"A policy's network must be a task or the sizes of at least two layers, inputs first, not {given!r}."
        )
    array = np.asarray(genome)
    if array.ndim != 1:
        raise InvalidInputError(
            f"genome must be one row of {network_genome_size(sizes)} numbers, the weights of layers {sizes}, not of shape {array.shape}."
        )
    return sizes, check_genomes(array[None], network_genome_size(sizes))[0]


def layers(sizes: Sequence[int], genome: Genomes) -> list[tuple[NDArray[np.float64], float]]:
    """Return the weights (inputs, outputs) and the shared bias of each layer."""
    found, start = [], 0
    for inputs, outputs in pairwise(sizes):
        end = start + inputs * outputs
        found.append((genome[start:end].reshape(inputs, outputs), float(genome[end])))
        start = end + 1
    return found
