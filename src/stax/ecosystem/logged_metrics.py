"""Names of metrics and pictures of the autoencoder, as tools that show the course of a run want them."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from stax.search.search import Search

_PICTURES = 8
"""Observations that are shown beside their reconstructions."""
_MAX_REWARD = re.compile(r"max_reward_(\d+)", re.ASCII)


def metric_tag(name: str, search: Search) -> str:
    """Return the name of a column of the metrics, with its group before a slash if it has one.

    Args:
        name: the column.
        search: the run's search.
    """
    area = _MAX_REWARD.fullmatch(name)
    if area:
        return f"max_reward/{search.task.reward_areas[int(area[1])].name}"
    for words, group in (("seconds_", "seconds"), ("training_", "autoencoder"), ("validation_", "autoencoder")):
        if name.startswith(words):
            return f"{group}/{name.removeprefix('seconds_')}"
    return name


def seen_and_reconstructed(search: Search) -> NDArray[np.uint8] | None:
    """Return the last observations of some policies above their reconstructions as one picture; None if they are no pictures.

    Args:
        search: a search whose autoencoder has been trained.
    """
    shape = search.task.observation_shape
    reconstruct = getattr(search.space, "reconstruct", None)
    if len(shape) != 3 or shape[-1] not in (1, 3) or reconstruct is None:
        return None
    count = min(_PICTURES, len(search.containers.population))
    rows = np.linspace(0, len(search.containers.population) - 1, count).round().astype(np.int64)
    rollouts = search.containers.population.take(rows).rollouts()
    seen = np.asarray(search.task.observe(rollouts))[:, -1]
    made = np.round(255 * np.clip(reconstruct(rollouts)[:, -1], 0, 1)).astype(np.uint8)
    pictures = np.stack([seen, made])
    # (2, n, height, width, channels) to rows of pictures side by side
    side_by_side = pictures.transpose(0, 2, 1, 3, 4).reshape(2 * shape[0], count * shape[1], shape[2])
    return np.ascontiguousarray(np.broadcast_to(side_by_side, (*side_by_side.shape[:2], 3)))
