"""Helpers for tests of the search: short searches, their steps, states and outcomes, and plain definitions to compare with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import stax
from stax import Rollouts, Task
from stax.search.explorers.population import PopulationExplorer
from stax.search.policy_set import PolicySet
from stax.search.state import State
from toy_tasks import SquareTask

LEARNED = (
    "stax",
    "stax-single",
    "stax-alt-multi",
    "stax-alt-single",
    "stax-nt",
    "stax-reset",
    "taxons",
    "dns-learned",
    "aurora",
    "stax-plus",
)
GIVEN = ("serene", "ns", "map-elites", "moo-nr", "dns", "random")
METHODS = LEARNED + GIVEN
DOMINATED_NOVELTY = ("dns", "dns-learned")
WITH_EMITTERS = ("stax", "stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset", "stax-plus", "serene")


QUICK: dict[str, Any] = {
    "population_size": 12,
    "parents_per_generation": None,
    "max_epochs": 2,
    "code_size": 3,
    "archive_additions": 3,
    "novelty_neighbors": 4,
}
"""Parameters that make a run short."""


def quick_search(algo: str, task: Task | None = None, *, budget: int = 300, seed: int = 0, **parameters):
    task = task or SquareTask()
    return stax.make_search(algo, task, budget=budget, seed=seed, device="cpu", **{**QUICK, **parameters})


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Networks as small as these lose time by threads, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def finish(search, at_rest=lambda search: None) -> None:
    """Run a search to its end, and call `at_rest` with it whenever it is at rest, the last time when it is done."""
    with one_torch_thread():
        while not search.done:
            search.tell(search.task.evaluate(search.ask()))
            if search.at_rest:
                at_rest(search)


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


def dominated_novelty_by_definition(of: PolicySet, neighbors: int) -> np.ndarray:
    """Each policy's mean distance to its nearest among the others with at least its reward; one by one."""
    scores = []
    for row in range(len(of)):
        better = [other for other in range(len(of)) if other != row and of.reward[other] >= of.reward[row]]
        distances = sorted(float(np.sqrt(((of.descriptor[row] - of.descriptor[other]) ** 2).sum())) for other in better)
        nearest = distances[:neighbors]
        scores.append(sum(nearest) / len(nearest) if nearest else np.inf)
    return np.array(scores)


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
        "population": copied(search.containers.population),
        "offspring": copied(search.containers.offspring),
        "novelty_archive": copied(search.novelty_archive.policies),
        "reward_archive": copied(search.reward_archive.policies),
    }


@one_torch_thread()
def watch(search, at_rest=lambda search: None) -> list[Step]:
    """Run a search to its end, remember every step, and call `at_rest` with it whenever it is at rest."""
    steps = []
    while not search.done:
        genomes = search.ask()
        before = (
            sets(search)
            if search.evaluations
            else dict.fromkeys(("population", "offspring", "novelty_archive", "reward_archive"))
        )
        chunk, trainings = len(search.metrics), search.training_episodes
        step = Step(search.phase, chunk, genomes, search.evaluations, **before, trainings=trainings)
        step.alive = [emitter.id for emitter in search.containers.emitters]
        search.tell(search.task.evaluate(step.genomes))
        step.after, step.trainings_after = sets(search), search.training_episodes
        step.alive_after = [emitter.id for emitter in search.containers.emitters]
        steps.append(step)
        if search.at_rest:
            at_rest(search)
    return steps


def outcome(search) -> dict[str, np.ndarray]:
    """Everything a run leaves but seconds."""
    arrays = {f"ledger {name}": column for name, column in search.ledger.columns().items()}
    for name in ("novelty_archive", "reward_archive"):
        arrays |= {f"{name} {column}": values for column, values in getattr(search, name).policies.columns().items()}
    for name in search.metrics[0]:
        if not name.startswith("seconds"):
            arrays[f"metrics {name}"] = np.array([row[name] for row in search.metrics])
    arrays["emitters"] = np.array([str(record) for record in search.emitter_records()])
    return arrays


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype, name
        np.testing.assert_array_equal(array, second[name], err_msg=name)


def reloaded(state: State) -> State:
    """As it would come back from files."""
    arrays = {name: np.array(array) for name, array in state.arrays.items()}
    return State(arrays, json.loads(json.dumps(state.numbers)))


def states_of(algo: str, **options) -> tuple[list[State], dict[str, np.ndarray]]:
    """Return every state a search was in at rest, the last one when it was done, and its outcome."""
    states = []
    search = quick_search(algo, **options)
    finish(search, lambda search: states.append(reloaded(search.state())))
    return states, outcome(search)


def ends_the_same_from_any(states: list[State], expected: dict[str, np.ndarray], algo: str, **options) -> None:
    """Restores some of the states, the last among them, and goes on from each to the end."""
    for state in states[:: max(1, len(states) // 6)] + states[-1:]:
        search = quick_search(algo, **options)
        search.restore(state)
        assert search.evaluations == state.numbers["evaluations"]
        again = reloaded(search.state()) if search.done else None
        finish(search)
        same(outcome(search), expected)
        if again:
            assert {**again.numbers, "seconds": None} == {**state.numbers, "seconds": None}
            same(again.arrays, state.arrays)


def spoilt(state: State, name: str, array: np.ndarray) -> State:
    return State({**state.arrays, name: array}, state.numbers)


def stale(search) -> list[str]:
    """Which of the sets that hold descriptors hold old ones."""
    held = {
        "population": search.containers.population,
        "offspring": search.containers.offspring,
        "novelty archive": search.novelty_archive.policies,
        "reward archive": search.reward_archive.policies,
        "candidates": search.containers.candidates.policies,
        "around": search.containers.around,
    }
    for emitter in search.containers.emitters:
        held[f"ancestor of {emitter.id}"] = emitter.ancestor
        held[f"most novel of {emitter.id}"] = emitter.most_novel
        held[f"novelty candidates of {emitter.id}"] = emitter.novelty_candidates.policies
    old = [
        name
        for name, part in held.items()
        if len(part) and not np.array_equal(part.descriptor, search.space.describe(part.rollouts()))
    ]
    if search.uses_surprise:
        for name in ("population", "offspring"):
            surprise = search.space.describe_with_surprise(held[name].rollouts())[1]
            old += [] if np.array_equal(held[name].surprise, surprise) else [f"surprise of the {name}"]
    if not isinstance(search.method.explorer, PopulationExplorer) or not len(search.containers.offspring):
        return old
    references = [held[name] for name in ("population", "offspring", "novelty archive", "reward archive")]
    everyone = PolicySet.union(list(held.values()))
    expected = novelty_by_definition(everyone, references, search.parameters.novelty_neighbors)
    if not np.allclose(search.containers.references.novelty(everyone.id, everyone.descriptor), expected, rtol=1e-9):
        old.append("references")
    if search.phase == "training":
        for name, part in held.items():
            if name.startswith(("ancestor", "most novel")):
                expected = novelty_by_definition(part, references, search.parameters.novelty_neighbors)
                old += [] if np.allclose(part.novelty, expected, rtol=1e-9) else [f"novelty of the {name}"]
    waiting = held["candidates"]
    expected = novelty_by_definition(waiting, [held["reward archive"]], search.parameters.novelty_neighbors)
    if not np.allclose(search.containers.candidates.novelty(), expected, rtol=1e-9):
        old.append("novelty of the candidates")
    return old
