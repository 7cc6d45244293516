"""What a run leaves: both archives, the autoencoder, the course of the search."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.representation.space import DescriptorSpace
from stax.search.emitter import EmitterRecord
from stax.search.parameters import Parameters
from stax.search.policy_set import PolicySet
from stax.search.search import Search
from stax.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of a run."""

    task: Task
    algo: str
    preset: str
    parameters: Parameters
    """All of them, as they were used."""
    seed: int
    budget: int
    workers: int
    evaluations: int
    coverage: float | None
    """Share (0 to 1) of the cells of a grid over the ground-truth bounds that any evaluated policy ended in."""
    max_reward: list[float]
    """The highest reward per reward area; 0 where none was found."""
    novelty_archive: PolicySet
    """Policies of diverse behaviour; the elites of MAP-Elites."""
    reward_archive: PolicySet
    """The best policies of the emitters, and those they began with; empty for methods without emitters."""
    space: DescriptorSpace
    """Where behaviours were compared; `describe` takes rollouts of any policy."""
    training_episodes: int
    metrics: list[dict[str, Any]]
    """A row per chunk of the budget."""
    ledger: dict[str, NDArray[Any]]
    """A row per evaluation, by column."""
    emitters: list[EmitterRecord]
    """What became of every emitter."""
    seconds: dict[str, float]
    """total, and what of it was evaluation, training, encoding, selection and storage."""
    status: str
    """finished, or what happened instead."""

    @property
    def autoencoder(self) -> Any:
        """The trained autoencoder, a `torch.nn.Module`; None for methods that learn nothing."""
        return getattr(self.space, "autoencoder", None)

    @staticmethod
    def of(search: Search, *, preset: str, workers: int, total_seconds: float, status: str) -> Result:
        return Result(
            task=search.task,
            algo=search.method.name,
            preset=preset,
            parameters=search.parameters,
            seed=search.seed,
            budget=search.budget,
            workers=workers,
            evaluations=search.evaluations,
            coverage=search.coverage,
            max_reward=list(search.max_reward),
            novelty_archive=search.novelty_archive.policies,
            reward_archive=search.reward_archive.policies,
            space=search.space,
            training_episodes=search.training_episodes,
            metrics=search.metrics,
            ledger=search.ledger.columns(),
            emitters=search.emitter_records(),
            seconds={"total": total_seconds, **search.stopwatch.seconds},
            status=status,
        )

    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        return {
            "task": self.task.name,
            "algo": self.algo,
            "preset": self.preset,
            "seed": self.seed,
            "budget": self.budget,
            "evaluations": self.evaluations,
            "coverage": self.coverage,
            "max_reward": self.max_reward,
            "novelty_archive_size": len(self.novelty_archive),
            "reward_archive_size": len(self.reward_archive),
            "training_episodes": self.training_episodes,
            "status": self.status,
            "seconds": {activity: round(seconds, 3) for activity, seconds in self.seconds.items()},
            "workers": self.workers,
            "parameters": asdict(self.parameters),
        }

    def save(self, folder: Path) -> None:
        """Writes `metrics.csv` and the two archives into an existing folder."""
        archives = folder / "archives"
        archives.mkdir()
        for name, policies in (("novelty", self.novelty_archive), ("reward", self.reward_archive)):
            columns: dict[str, Any] = policies.columns()
            np.savez_compressed(archives / f"{name}.npz", **columns)
        with (folder / "metrics.csv").open("w", newline="") as file:
            rows = csv.DictWriter(file, fieldnames=list(self.metrics[0]))
            rows.writeheader()
            rows.writerows(self.metrics)

    def save_summary(self, folder: Path) -> None:
        """Writes `summary.json`, which comes last: where it is, the rest is too."""
        unfinished = folder / "summary.json.part"
        unfinished.write_text(json.dumps(self.summary(), indent=2) + "\n")
        unfinished.replace(folder / "summary.json")
