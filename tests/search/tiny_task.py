"""What the tests of the search share: a task that costs nothing, runs that remember every step, and plain definitions to compare
with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import stax
from stax import RewardArea, Rollouts, Task
from stax.search.policy_set import PolicySet
from stax.tasks.task import check_genomes

LEARNED = ("stax", "stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset", "taxons")
GIVEN = ("serene", "ns", "map-elites", "moo-nr", "random")
METHODS = LEARNED + GIVEN
WITH_EMITTERS = ("stax", "stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset", "serene")


class TinyTask(Task):
    """A point in a square, moved by six numbers; two areas of reward that are easy to find."""

    name = "tiny"
    genome_size = 6
    observation_samples = 3
    observation_shape = (4,)
    observation_dtype = "float32"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("near", (0.3, 0.3), 0.5), RewardArea("far", (-0.6, -0.2), 0.4))

    def __init__(self, levels: int | None = None) -> None:
        self.levels = levels
        """Rewards are cut to so many levels, so that emitters come to a standstill."""

    def evaluate(self, genomes):
        g = check_genomes(genomes, self.genome_size)
        # Sums written out: a matrix product rounds differently for another number of rows.
        x = np.tanh(0.5 * g[:, 0] - 0.3 * g[:, 1] + 0.2 * g[:, 2])
        y = np.tanh(0.4 * g[:, 3] + 0.3 * g[:, 4] * g[:, 5])
        truth = np.stack([x, y], axis=1)
        reward, area = np.zeros(len(g)), np.full(len(g), -1)
        for number, place in enumerate(self.reward_areas):
            distance = np.sqrt((x - place.center[0]) ** 2 + (y - place.center[1]) ** 2)
            value = 1 - distance / place.radius
            if self.levels:
                value = np.ceil(value * self.levels) / self.levels
            inside = (value > 0) & (area < 0)
            reward[inside], area[inside] = value[inside], number
        times = np.arange(1, 4) / 3
        seen = np.stack([np.sin(x[:, None] * times), y[:, None] * times, (x * y)[:, None] * times, g[:, :3]], axis=2)
        return Rollouts(reward, area, np.full(len(g), 9), seen.astype(np.float32), truth)


class NoTruthTask(TinyTask):
    """The same without a ground-truth descriptor."""

    name = "no-truth"
    ground_truth_bounds = None

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        return Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, rollouts.snapshots)


QUICK: dict[str, Any] = {"population_size": 12, "max_epochs": 2, "code_size": 3, "archive_additions": 3, "novelty_neighbors": 4}
"""Parameters that make a run short."""


def quick_search(algo: str, task: Task | None = None, *, budget: int = 300, seed: int = 0, observer=None, **parameters):
    task = task or TinyTask()
    return stax.make_search(algo, task, budget=budget, seed=seed, device="cpu", observer=observer, **{**QUICK, **parameters})


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Networks as small as these lose time by threads, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def finish(search) -> None:
    with one_torch_thread():
        while not search.done:
            search.tell(search.task.evaluate(search.ask()))


def policies(ids, *, descriptor=None, reward=None, genome=None, ground_truth=None) -> PolicySet:
    """A set of policies of which only what matters to a test is given."""
    ids = np.asarray(ids, np.int64)
    count = len(ids)

    def column(values, width):
        values = np.zeros((count, width)) if values is None else np.asarray(values, float)
        assert values.ndim == 2
        return values

    rollouts = Rollouts(
        reward=np.zeros(count) if reward is None else np.asarray(reward, float),
        reward_area=np.full(count, -1),
        steps=np.ones(count, int),
        snapshots=np.arange(count * 2.0).reshape(count, 2),
        ground_truth=column(ground_truth, 2),
    )
    made = PolicySet.newborn(
        rollouts,
        first_id=0,
        genome=column(genome, 1),
        parent=np.full(count, -1),
        born=0,
        origin=0,
        emitter=-1,
        descriptor_size=column(descriptor, 1).shape[1],
    )
    made.id[:] = ids
    made.descriptor[:] = column(descriptor, 1)
    return made


def novelty_by_definition(of: PolicySet, references: list[PolicySet], neighbors: int) -> np.ndarray:
    """Each policy's mean distance to its nearest among the references, each of these once, itself left out; one by one."""
    known = {number: where for part in references for number, where in zip(part.id.tolist(), part.descriptor, strict=True)}
    ids, where = np.array(list(known), np.int64), np.array(list(known.values())).reshape(len(known), of.descriptor.shape[1])
    novelty = []
    for number, here in zip(of.id.tolist(), of.descriptor, strict=True):
        distances = np.sort(np.sqrt(((where - here) ** 2).sum(axis=1))[ids != number])[:neighbors]
        novelty.append(distances.mean() if len(distances) else np.inf)
    return np.array(novelty)


def copied(part: PolicySet) -> PolicySet:
    return part.take(np.arange(len(part)))


@dataclass(repr=False)
class Step:
    """One batch of a run: what was asked for, and the search before and after its rollouts were told."""

    phase: str
    chunk: int
    genomes: np.ndarray
    first_id: int
    population: PolicySet | None
    """Before, as the sets below."""
    offspring: PolicySet | None
    novelty_archive: PolicySet | None
    reward_archive: PolicySet | None
    trainings: int
    alive: list[int] = field(default_factory=list)
    """Ids of the emitters before."""
    after: dict[str, PolicySet] = field(default_factory=dict)
    trainings_after: int = 0
    alive_after: list[int] = field(default_factory=list)

    @property
    def ids(self) -> np.ndarray:
        return np.arange(self.first_id, self.first_id + len(self.genomes))


def sets(search) -> dict[str, PolicySet]:
    return {
        "population": copied(search.population),
        "offspring": copied(search.offspring),
        "novelty_archive": copied(search.novelty_archive.policies),
        "reward_archive": copied(search.reward_archive.policies),
    }


@one_torch_thread()
def watch(search) -> list[Step]:
    """Runs a search to its end and remembers every step."""
    steps = []
    while not search.done:
        before = (
            sets(search)
            if search.evaluations
            else dict.fromkeys(("population", "offspring", "novelty_archive", "reward_archive"))
        )
        step = Step(search.phase, search.chunks, search.ask(), search.evaluations, **before, trainings=search.training_episodes)
        step.alive = [emitter.id for emitter in search.emitters]
        search.tell(search.task.evaluate(step.genomes))
        step.after, step.trainings_after = sets(search), search.training_episodes
        step.alive_after = [emitter.id for emitter in search.emitters]
        steps.append(step)
    return steps
