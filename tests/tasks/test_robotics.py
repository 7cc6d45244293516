"""One environment of each family of Gymnasium-Robotics is made, stepped and observed as a task."""

from __future__ import annotations

import numpy as np
import pytest

import stax
from optional_packages import need

DICT = {"observation_key": "observation"}
FAMILIES = {
    "Fetch": ("FetchReach-v4", DICT),
    "Shadow Hand": ("HandReach-v3", DICT),
    "Adroit Hand": ("AdroitHandDoor-v1", {}),
    "Franka Kitchen": ("FrankaKitchen-v1", DICT),
    "Point Maze": ("PointMaze_UMaze-v3", DICT),
    "Ant Maze": ("AntMaze_UMaze-v5", DICT),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_environment_of_each_family_is_a_task(family):
    need("gymnasium_robotics")
    environment, options = FAMILIES[family]
    task = stax.make_task(f"gym:gymnasium_robotics:{environment}", horizon=5, **options)
    genomes = np.random.default_rng(0).normal(size=(2, task.genome_size))
    rollouts = task.evaluate(genomes)
    assert rollouts.steps.tolist() == [5, 5]
    observations = task.observe(rollouts)
    assert observations.shape == (2, task.observation_samples, *task.observation_shape)
    assert np.isfinite(observations).all()
