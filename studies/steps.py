"""How many steps of training a new autoencoder needs: its error and its similarity to the ground truth, from no step to hundreds.

    python studies/steps.py

The pictures are those of the novelty archive of `ns` after 30,000 evaluations with seed 1, on each task. The table is printed and
written to studies/results/steps.csv.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

import stax
from stax.analysis.measures import correlation_matrix_distance
from stax.representation.learned import LearnedSpace
from stax.search.making import learning_options
from stax.search.parameters import Parameters

TABLE = Path(__file__).parent / "results" / "steps.csv"
IMAGES = (0, 2_000, 4_000, 8_000, 20_000, 40_000)
"""Values of max_images_per_episode; 0 for no training at all."""
BATCH_SIZE = 128


def measured(task: str) -> list[dict[str, Any]]:
    """Return a row for each amount of training on the task's pictures."""
    found = stax.run(task, algo="ns", budget=30_000, seed=1)
    archive, rows = found.novelty_archive, []
    for images in IMAGES:
        parameters = Parameters(batch_size=BATCH_SIZE, max_epochs=1000, max_images_per_episode=images or None)
        space = LearnedSpace(
            task=found.task,
            samples=found.task.observation_samples,
            **learning_options(parameters),
            seed=np.random.SeedSequence(3),
            device="cpu",
        )
        episode = space.train(archive.rollouts()) if images else None
        distance = correlation_matrix_distance(space.describe(archive.rollouts()), archive.ground_truth)
        row = {"task": task, "max_images_per_episode": images}
        row["steps"] = -(-episode.images_seen // BATCH_SIZE) if episode else 0
        row["validation_error"] = round(episode.validation_error, 5) if episode else None
        row["similarity"] = round(1 - (distance or 0.0), 3)
        rows.append(row)
    return rows


def main() -> None:
    rows = [row for task in ("curling", "hard-maze", "redundant-arm") for row in measured(task)]
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(TABLE.read_text())


if __name__ == "__main__":
    main()
