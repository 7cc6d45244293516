"""A search as a conversation with whoever evaluates its policies."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError
from stax.representation.space import Descriptors, DescriptorSpace, Surprises, UndescribedError
from stax.search.containers import Containers
from stax.search.distance_container import DistanceContainer
from stax.search.emitters.emitter import EmitterRecord
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.grid import MOST_DIMENSIONS, Elites, Grid
from stax.search.meta_scheduler import schedule
from stax.search.methods import Method
from stax.search.metrics import measure_metrics
from stax.search.parameters import Parameters
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.random_numbers import RandomNumbers
from stax.search.record import Ledger, Record
from stax.search.repeated_rewards import sum_up_rewards
from stax.search.schedulers.scheduler import Scheduler, chosen_phase
from stax.search.seeds import Seeds
from stax.search.state import State, capture, restore
from stax.search.vocabulary import Origin, Phase
from stax.tasks.rollout_checks import check_rollouts
from stax.tasks.task import Genomes, Rollouts, Task


@dataclass(frozen=True)
class Batch:
    """Genomes that a search asks to have evaluated, and what it needs to know of their behaviour."""

    genomes: Genomes
    described: bool
    """Whether their descriptors are computed when their rollouts are told, rather than later."""
    surprise: bool
    """Whether their surprise is needed, too."""
    repetitions: NDArray[np.int64]
    """(n,) which evaluation of its policy each one is: 0 for the first, with the task's own seed, k for the k-th further one."""


@dataclass(frozen=True)
class Answer:
    """The rollouts of a batch, with their descriptors (n, size) and surprises (n,); nan where there are none."""

    rollouts: Rollouts
    descriptors: Descriptors
    surprises: Surprises


class Search:
    """One run of a method on a task, as a conversation: `ask` for genomes, evaluate them, `tell` the rollouts.

    Make it with `stax.make_search`. At rest, between two passes of Algorithm 1's loop, its attributes are all there is to it: save its
    `state` then, or stop.

    ```python
    while not search.done:
        search.tell(evaluate(search.ask()))
        if search.at_rest:
            stax.save_search(search, "search.npz")
    ```
    """

    def __init__(
        self,
        task: Task,
        method: Method,
        parameters: Parameters,
        *,
        budget: int,
        seed: int,
        space: DescriptorSpace,
        kinds: dict[str, EmitterKind],
        scheduler: Scheduler,
    ) -> None:
        self.task, self.method, self.parameters, self.space = task, method, parameters, space
        self.budget, self.seed = budget, seed
        self.bounds = parameters.genome_bounds or task.genome_bounds
        self.random = RandomNumbers.of(seed)
        self.scheduler = scheduler
        truth, grid = task.ground_truth_bounds, None
        # A grid of more dimensions is refused, so it is made only for an explorer that needs one.
        if truth is not None and (method.explorer.needs_grid or len(truth) <= MOST_DIMENSIONS):
            grid = Grid(truth, parameters.grid_cells)
        self.record: Record = Record(budget, len(truth or ()), len(task.reward_areas), grid)
        self.containers: Containers = Containers(task, method, parameters, space, kinds if method.emitters else {}, self.record)
        self.seeds: Seeds | None = None
        """The policies that the search starts from, if it does not start from random ones alone."""
        self.phase = Phase.INITIAL_POPULATION
        self.training_interval = 1
        """TI: chunks of exploration from one training episode to the next."""
        self.chunks_since_training = 0
        """TI_C"""
        self.at_rest = False
        """Whether the search is between two passes of Algorithm 1's loop, or done: `state` can be called then, and all results are
        complete. The next `ask` continues."""
        self._batch: Batch | None = None
        self._asking = schedule(self)

    def __repr__(self) -> str:
        from stax.ecosystem.notebook import search_text

        return search_text(self)

    def _repr_html_(self) -> str:
        from stax.ecosystem.notebook import search_html

        return search_html(self)

    def save(self, folder: str | Path) -> Path:
        """Write the finished search as a run folder, which `stax show`, `report`, `compare` and `stax.load` read.

        Args:
            folder: a new or an empty folder.

        Returns:
            The folder.
        """
        from stax.runs.saved_search import save_as_run

        return save_as_run(self, folder)

    # The conversation

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.at_rest and not self.budget_left

    def ask(self) -> Genomes:
        """Return the next genomes to evaluate, (n, genome_size); the same ones until their rollouts are told."""
        return self._next_batch().genomes.copy()

    @property
    def asked_repetitions(self) -> NDArray[np.int64]:
        """For each of the genomes that `ask` returns, 0 for the task's own seed, or k for its k-th further seed (n,).

        All are 0 without the parameter `reevaluations`. `stax.tasks.variants.repeated` makes the task with a further seed.
        """
        return self._next_batch().repetitions.copy()

    def tell(self, rollouts: Rollouts) -> None:
        """Take the rollouts of the genomes asked for, in the same order.

        A policy without a finite descriptor raises `UndescribedError`, and nothing has changed then: the rollouts can be told
        again with that policy marked in `Rollouts.failed`.

        Where every policy has a descriptor, those of an emitter's offspring are computed together at the end of its turn. Until
        then the archives lack these offspring; at rest, and when the search is done, they are complete.
        """
        batch = self._next_batch()
        check_rollouts(rollouts, len(batch.genomes), self.task)
        self._check_snapshots(rollouts)
        self._advance(self._answer(batch, rollouts))

    def _next_batch(self) -> Batch:
        if self.done:
            raise InvalidInputError(f"The search is done: its budget of {self.budget} evaluations is spent.")
        while self._batch is None:
            self._advance(None)
        return self._batch

    def _advance(self, answer: Answer | None) -> None:
        """Continue until the next genomes to evaluate, or until the search is at rest."""
        self.at_rest = False
        with self.record.stopwatch.time("selection"):
            try:
                self._batch = self._asking.send(answer)
            except StopIteration:
                if self.budget_left:
                    raise RuntimeError("The search broke off with an error in an earlier call and cannot continue.") from None
                self._batch = None
        self.at_rest = self._batch is None

    def _check_snapshots(self, rollouts: Rollouts) -> None:
        """Refuse snapshots that would not fit those already kept."""
        if not self.containers.are_made or rollouts.failures().all():
            return
        known, given = self.containers.population.snapshots.shape[1:], np.asarray(rollouts.snapshots).shape[1:]
        if given != known:
            raise InvalidInputError(
                f"Task {self.task.name!r} returned snapshots of shape {given} a policy, but {known} before."
            )

    def _answer(self, batch: Batch, rollouts: Rollouts) -> Answer:
        """Describe all rollouts that did not fail, unless that is left to later."""
        count, places = len(rollouts), np.flatnonzero(~rollouts.failures())
        answer = Answer(rollouts, np.full((count, self.space.size), np.nan), np.full(count, np.nan))
        if not len(places) or not batch.described:
            return answer
        ground_truth = None if rollouts.ground_truth is None else np.asarray(rollouts.ground_truth, np.float64)
        told = Rollouts(
            reward=np.asarray(rollouts.reward, np.float64),
            reward_area=np.asarray(rollouts.reward_area, np.int64),
            steps=np.asarray(rollouts.steps, np.int64),
            snapshots=np.asarray(rollouts.snapshots),
            ground_truth=ground_truth,
        )
        if len(places) < count:
            told = told.take(places)
        with self.record.stopwatch.time("encoding"):
            try:
                if batch.surprise:
                    answer.descriptors[places], answer.surprises[places] = self.space.describe_with_surprise(told)
                else:
                    answer.descriptors[places] = self.space.describe(told)
            except UndescribedError as error:
                raise error.among(places, count) from error.__cause__
        return answer

    def state(self) -> State:
        """Return all that is needed to continue later; only at rest. Arrays may be views: write or copy them before the next `ask`."""
        return capture(self)

    def restore(self, state: State) -> None:
        """Continue from this state of a search with the same task, method, parameters, budget and seed, with the same bits."""
        restore(self, state)
        self._asking, self._batch, self.at_rest = schedule(self), None, True

    # Results

    @property
    def evaluations(self) -> int:
        """Evaluations so far."""
        return len(self.record.ledger)

    @property
    def novelty_archive(self) -> GrowingSet | Elites | DistanceContainer:
        """A_Nov: policies of diverse behaviour, in its attribute `policies`."""
        return self.containers.novelty_archive

    @property
    def reward_archive(self) -> GrowingSet:
        """A_Rew: policies with high rewards, in its attribute `policies`."""
        return self.containers.reward_archive

    @property
    def coverage(self) -> float | None:
        """Share of the cells of the ground-truth space that a policy ended in; None for a task without ground truth."""
        return self.record.coverage

    @property
    def qd_score(self) -> float | None:
        """Sum over the cells of the ground-truth space of the best reward that ended there; None for a task without ground truth."""
        return self.record.qd_score

    @property
    def max_reward(self) -> list[float]:
        """Highest reward found in each reward area."""
        return self.record.max_reward

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """A row for each chunk of the budget, see docs/file-formats.md."""
        return self.record.metrics

    @property
    def ledger(self) -> Ledger:
        """A row for each evaluation."""
        return self.record.ledger

    @property
    def training_episodes(self) -> int:
        """Training episodes of the autoencoder so far."""
        return getattr(self.space, "episodes", 0)

    def emitter_records(self) -> list[EmitterRecord]:
        """Return what became of every emitter ever made, in that order."""
        return self.containers.emitters.records()

    # What the algorithms are written with

    @property
    def budget_left(self) -> int:
        """Evaluations that may still be done."""
        return self.budget - self.evaluations

    @property
    def trains(self) -> bool:
        """Whether the autoencoder is trained."""
        return self.space.learned and self.method.training != "never"

    @property
    def uses_surprise(self) -> bool:
        """Whether selection needs the surprise of policies."""
        by_objectives = self.parameters.selection == "pareto" and self.parameters.population_update == "selection"
        return "surprise" in self.method.explorer.objectives and by_objectives

    @property
    def chunk_phase(self) -> Phase:
        """Phase that the current chunk of the budget belongs to; the initial population counts as exploration."""
        return Phase.EXPLOITATION if self.phase in (Phase.BOOTSTRAP, Phase.EMITTERS) else Phase.EXPLORATION

    def evaluate(
        self, genomes: Genomes, parents: NDArray[np.int64], origin: Origin, emitter: int = -1, *, described: bool = True
    ) -> Generator[Batch | None, Answer | None, PolicySet]:
        """Have the genomes evaluated, as many as the budget allows; return those that did not fail.

        They have their descriptors if `described`. Leave that to later only in a space that is `deferrable`.
        """
        genomes = genomes[: self.budget_left]
        first_ones = np.zeros(len(genomes), np.int64)
        answer = yield Batch(genomes, described, self.uses_surprise and emitter < 0, first_ones)
        assert answer
        policies = self._newborn(answer.rollouts, genomes, parents[: len(genomes)], origin, emitter)
        policies.descriptor[:], policies.surprise[:] = answer.descriptors, answer.surprises
        if not self.containers.are_made:
            self.containers.make(policies)
        failed = answer.rollouts.failures()
        self.record.append(policies, failed)
        if failed.all():
            # Not a part of these policies: snapshots of failed evaluations may be of any shape.
            return self.containers.population.take(slice(0, 0))
        return policies.take(~failed) if failed.any() else policies

    def reevaluate(self, policies: PolicySet, rows: ArrayLike) -> Generator[Batch | None, Answer | None, NDArray[np.int64]]:
        """Evaluate policies that would enter an archive with further seeds, as often as the parameter `reevaluations` says.

        The mean, the area and the spread of their rewards are filled in. Policies that were reevaluated before stay as they are.

        Args:
            policies: a set of policies.
            rows: indices of those that would enter.

        Returns:
            The rows that may be stored, in the same order. Those are missing for which the budget does not suffice, and those of
            which a further evaluation failed. Without `reevaluations`, all rows at once.
        """
        entering: NDArray[np.int64] = np.asarray(rows, np.int64)
        times = self.parameters.reevaluations
        if not times:
            return entering
        spread = policies.reward_spread
        assert spread is not None
        due = entering[np.isnan(spread[entering])]
        # One policy after the other, so that the budget suffices for as many as possible; then all with the same seed together
        which, number = np.divmod(np.arange(len(due) * times)[: self.budget_left], times)
        which, number = which[np.argsort(number, kind="stable")], np.sort(number)
        if len(which):
            rewards, areas = np.full((1 + times, len(due)), np.nan), np.full((1 + times, len(due)), -1)
            rewards[0], areas[0] = policies.reward[due], policies.reward_area[due]
            again = yield from self._evaluate_again(policies.take(due[which]), number + 1)
            rewards[number + 1, which], areas[number + 1, which] = again
            complete = ~np.isnan(rewards).any(axis=0)
            due, summed_up = due[complete], sum_up_rewards(rewards[:, complete], areas[:, complete])
            policies.reward[due], spread[due], policies.reward_area[due] = summed_up
        return entering[~np.isnan(spread[entering])]

    def _evaluate_again(
        self, policies: PolicySet, repetitions: NDArray[np.int64]
    ) -> Generator[Batch | None, Answer | None, tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Evaluate and record each policy with its further seed of this number; return their rewards, nan if failed, and areas."""
        answer = yield Batch(policies.genome, described=False, surprise=False, repetitions=repetitions)
        assert answer
        again = self._newborn(answer.rollouts, policies.genome, policies.id, Origin.REEVALUATION, -1)
        failed = answer.rollouts.failures()
        self.record.append(again, failed)
        return np.where(failed, np.nan, again.reward), again.reward_area

    def _newborn(
        self, rollouts: Rollouts, genomes: Genomes, parents: NDArray[np.int64], origin: Origin, emitter: int
    ) -> PolicySet:
        """Return policies just evaluated, which are not recorded yet."""
        return PolicySet.newborn(
            rollouts,
            first_id=self.evaluations,
            genome=genomes,
            parent=parents,
            born=len(self.metrics),
            origin=origin,
            emitter=emitter,
            descriptor_size=self.space.size,
            has_spread=self.parameters.reevaluations > 0,
        )

    def next_phase(self) -> Phase:
        """Ask the scheduler what the next chunk is for; exploration follows the initial population, since it selects a population."""
        if self.record.course[-1].phase == Phase.INITIAL_POPULATION:
            return Phase.EXPLORATION
        return chosen_phase(self.parameters.scheduler, self.scheduler, self.record.course, self.random.schedule)

    def train_autoencoder(self) -> None:
        """Train the autoencoder for one episode on the archives, the population and the last offspring."""
        newest, archived = self.method.explorer.training_set(self.containers)
        with self.record.stopwatch.time("training"):
            self.space.train(newest.rollouts(), archived.rollouts() if len(archived) else None)

    def next_training_interval(self) -> int:
        """Return TI after a training episode: the next multiple of its growth, which is 1 in the paper, within its limit."""
        growth, limit = self.parameters.training_growth, self.parameters.training_limit
        interval = (-(-self.training_interval // growth) + 1) * growth
        return interval if limit is None else min(interval, limit)

    def end_chunk(self) -> None:
        """Record that a chunk of the budget is spent."""
        phase = self.chunk_phase if self.metrics else Phase.INITIAL_POPULATION
        # Only schedulers use it, and only methods with emitters have a choice to make.
        measured = phase == Phase.EXPLORATION and self.method.emitters
        self.record.end_chunk(phase, self.containers.relative_novelty() if measured else 0.0, measure_metrics(self))
