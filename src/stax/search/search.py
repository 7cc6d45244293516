"""A search: its state, and the conversation with whoever evaluates its policies."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.representation.space import Descriptors, DescriptorSpace, Surprises, UndescribedError
from stax.search.emitters.choice import KindChoice
from stax.search.emitters.emitter import Emitter, EmitterRecord
from stax.search.grid import MOST_DIMENSIONS, Coverage, Elites, Grid
from stax.search.meta_scheduler import schedule
from stax.search.methods import Method
from stax.search.novelty import CandidateBuffer, References
from stax.search.parameters import Parameters
from stax.search.parts import Parts
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.random_numbers import RandomNumbers
from stax.search.record import Ledger, Stopwatch
from stax.search.schedulers.scheduler import Chunk, chosen_phase
from stax.search.state import State, capture, restore
from stax.search.vocabulary import Origin, Phase
from stax.tasks.rollout_checks import check_rollouts
from stax.tasks.task import Genomes, Rollouts, Task

Observer = Callable[["Search", str], None]
"""Called with "phase" when a phase begins, "training" after a training episode, "chunk" after a chunk of the budget, and
"rest" between two passes of Algorithm 1's loop, when `Search.state` can be taken."""


class Search:
    """One run of a method on a task, as a conversation: `ask` for genomes, evaluate them, `tell` the rollouts.

    Make it with `stax.make_search`. At rest, between two passes of Algorithm 1's loop, all that matters is in its attributes.
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
        parts: Parts,
        observer: Observer | None = None,
    ) -> None:
        self.task, self.method, self.parameters, self.space = task, method, parameters, space
        self.budget, self.seed = budget, seed
        self.bounds = parameters.genome_bounds or task.genome_bounds
        self.random = RandomNumbers.of(seed)
        self.stopwatch = Stopwatch("evaluation", "training", "encoding", "selection", "storage")
        self._observer = observer
        bounds = task.ground_truth_bounds
        self.grid: Grid | None = None
        # A grid of more dimensions is refused, so it is made only for an explorer that needs one.
        if bounds is not None and (method.explorer.needs_grid or len(bounds) <= MOST_DIMENSIONS):
            self.grid = Grid(bounds, parameters.grid_cells)
        self._coverage = Coverage(self.grid) if self.grid else None
        self.ledger = Ledger(budget, len(bounds or ()))
        self.metrics: list[dict[str, Any]] = []
        self.max_reward = [0.0] * len(task.reward_areas)
        self.evaluations = 0
        self.chunks = 0
        self.phase = Phase.INITIAL_POPULATION

        self.training_interval = 1
        """TI: chunks of exploration from one training episode to the next."""
        self.chunks_since_training = 0
        """TI_C"""
        self.emitters: list[Emitter] = []
        """Q_Em"""
        self.emitters_made = 0
        self.retired: list[EmitterRecord] = []
        self.kinds, self.scheduler = parts.kinds, parts.scheduler
        self.bootstrap_choice = KindChoice.of(parameters)
        """Choice of the kind of the next new emitter."""
        self.emitter_choice = KindChoice.of(parameters)
        """Choice of the kind of the emitter that runs next."""
        self.course: list[Chunk] = []
        """What the scheduler decides by."""
        self.gain = 0.0
        """How much emitters have raised their best rewards in this chunk."""
        self._ready = False

        self._batch: Genomes | None = None
        self._measures_surprise = False
        """Whether the surprise of the batch asked for is needed."""
        self._describes_told = True
        """Whether the descriptors of the batch asked for are computed when its rollouts are told."""
        self._described: tuple[Descriptors, Surprises]
        """Descriptors (n, size) and surprises (n,) of the batch told last; nan where there are none."""
        self._asking = schedule(self)
        self._advance(None)

    # Made when the first rollouts arrive, which show the shapes of their arrays.
    population: PolicySet
    """Gamma_g"""
    offspring: PolicySet
    """Gamma_g^m: of the last generation."""
    novelty_archive: GrowingSet | Elites
    """A_Nov; the grid of elites of MAP-Elites."""
    reward_archive: GrowingSet
    """A_Rew"""
    candidates: CandidateBuffer
    """Q_Cand_Em"""
    references: References
    """What novelty is measured against: both archives, the population and the last offspring."""
    reward_references: References
    """The reward archive alone."""
    around: PolicySet
    """Population and offspring, each policy once."""

    # The conversation

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self._batch is None

    def ask(self) -> Genomes:
        """The next genomes to evaluate, (n, genome_size); the same ones until their rollouts are told."""
        if self._batch is None:
            raise InvalidInputError(f"The search is done: its budget of {self.budget} evaluations is spent.")
        return self._batch.copy()

    def tell(self, rollouts: Rollouts) -> None:
        """The rollouts of the genomes asked for, in the same order.

        A policy without a finite descriptor raises `UndescribedError`, and nothing has changed then: the rollouts can be told
        again with that policy marked in `Rollouts.failed`.

        Where every policy has a descriptor, those of an emitter's offspring are computed together at the end of its turn. Until
        then the archives lack these offspring; at rest, and when the search is done, they are complete.
        """
        if self._batch is None:
            raise InvalidInputError(f"The search is done: its budget of {self.budget} evaluations is spent.")
        check_rollouts(rollouts, len(self._batch), self.task)
        self._check_snapshots(rollouts)
        self._described = self._descriptions(rollouts)
        self._advance(rollouts)

    def _advance(self, rollouts: Rollouts | None) -> None:
        with self.stopwatch.time("selection"):
            try:
                self._batch = next(self._asking) if rollouts is None else self._asking.send(rollouts)
            except StopIteration:
                if self.budget_left:
                    raise RuntimeError("The search broke off with an error in an earlier tell and cannot go on.") from None
                self._batch = None

    def _check_snapshots(self, rollouts: Rollouts) -> None:
        """Refuses snapshots that would not fit those already kept."""
        known, given = (self.population if self._ready else None), np.asarray(rollouts.snapshots)
        if known is not None and given.shape[1:] != known.snapshots.shape[1:] and not rollouts.failures().all():
            raise InvalidInputError(
                f"Task {self.task.name!r} returned snapshots of shape {given.shape[1:]} a policy,"
                f" but {known.snapshots.shape[1:]} before."
            )

    def _descriptions(self, rollouts: Rollouts) -> tuple[Descriptors, Surprises]:
        """Descriptors and, where they are needed, surprises of all rollouts that did not fail; nan if they are computed later."""
        count, places = len(rollouts), np.flatnonzero(~rollouts.failures())
        descriptors, surprises = np.full((count, self.space.size), np.nan), np.full(count, np.nan)
        if not len(places) or not self._describes_told:
            return descriptors, surprises
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
        with self.stopwatch.time("encoding"):
            try:
                if self._measures_surprise:
                    descriptors[places], surprises[places] = self.space.describe_with_surprise(told)
                else:
                    descriptors[places] = self.space.describe(told)
            except UndescribedError as error:
                raise error.among(places, count) from error.__cause__
        return descriptors, surprises

    # What the algorithms are written with

    @property
    def budget_left(self) -> int:
        return self.budget - self.evaluations

    @property
    def uses_surprise(self) -> bool:
        """Whether the surprise of policies is measured: selection needs it."""
        return "surprise" in self.method.explorer.objectives and self.parameters.population_update == "selection"

    @property
    def trains(self) -> bool:
        return self.space.learned and self.method.training != "never"

    def evaluate(
        self, genomes: Genomes, parents: NDArray[np.int64], origin: Origin, emitter: int = -1, *, described: bool = True
    ) -> Generator[Genomes, Rollouts, PolicySet]:
        """Have the genomes evaluated, as many as the budget allows; return those that did not fail.

        They have their descriptors if `described`. Leave that to later only in a space that is `deferrable`.
        """
        genomes = genomes[: self.budget_left]
        self._describes_told = described
        self._measures_surprise = self.uses_surprise and emitter < 0
        rollouts = yield genomes
        policies = PolicySet.newborn(
            rollouts,
            first_id=self.evaluations,
            genome=genomes,
            parent=parents[: len(genomes)],
            born=self.chunks,
            origin=origin,
            emitter=emitter,
            descriptor_size=self.space.size,
        )
        policies.descriptor[:], policies.surprise[:] = self._described
        if not self._ready:
            self.make_collections(policies)
        self.evaluations += len(policies)
        failed = rollouts.failures()
        self.ledger.append(policies, failed)
        if failed.all():
            # Not a part of these policies: snapshots of failed evaluations may be of any shape.
            policies = self.population.take(slice(0, 0))
        elif failed.any():
            policies = policies.take(~failed)
        if self._coverage:
            self._coverage.add(policies.ground_truth)
        for area in range(len(self.max_reward)):
            rewards = policies.reward[policies.reward_area == area]
            self.max_reward[area] = max(self.max_reward[area], *rewards.tolist(), 0.0)
        return policies

    def make_collections(self, like: PolicySet) -> None:
        neighbors = self.parameters.novelty_neighbors
        self.novelty_archive = self.method.explorer.make_archive(self, like)
        self.reward_archive = GrowingSet(like)
        self.candidates = CandidateBuffer(like, neighbors)
        self.references = References(neighbors, self.space.size)
        self.reward_references = References(neighbors, self.space.size)
        self.population = self.offspring = self.around = like.take(slice(0, 0))
        self._ready = True

    def describe(self, policies: PolicySet, *, surprise: bool) -> None:
        """Fill in the descriptors, and the surprise where asked for: the space has changed, or they were left to later."""
        if not len(policies):
            return
        with self.stopwatch.time("encoding"):
            try:
                if surprise:
                    policies.descriptor[:], policies.surprise[:] = self.space.describe_with_surprise(policies.rollouts())
                else:
                    policies.descriptor[:] = self.space.describe(policies.rollouts())
            except UndescribedError as error:
                # The rollouts were told before, so telling them again as failed is no remedy.
                raise RuntimeError(str(error)) from error

    def measure_novelty(self, policies: PolicySet) -> None:
        policies.novelty[:] = self.references.novelty(policies.id, policies.descriptor)

    def surround(self) -> None:
        """The population or the offspring have changed."""
        self.around = PolicySet.union([self.population, self.offspring])
        self.references.surround(self.around)

    def found_rewards(self, policies: PolicySet) -> None:
        """Rewarding policies become emitter candidates."""
        if self.method.emitters:
            self.candidates.append(policies.take(policies.reward > 0), self.reward_archive.policies)

    def add_to_novelty_archive(self, policies: PolicySet) -> None:
        self.novelty_archive.append(policies)
        self.references.archive(policies)

    def add_to_reward_archive(self, policies: PolicySet) -> None:
        self.reward_archive.append(policies)
        self.references.archive(policies)
        self.reward_references.archive(policies)
        self.candidates.rewarded(policies)

    def next_phase(self) -> Phase:
        """Ask the scheduler what the next chunk is for; exploration follows the initial population, since it selects a population."""
        if self.course[-1].phase == Phase.INITIAL_POPULATION:
            return Phase.EXPLORATION
        return chosen_phase(self.parameters.scheduler, self.scheduler, self.course, self.random.schedule)

    def retire(self, emitter: Emitter, ended_by: str) -> None:
        """The emitter is discarded; what became of it stays known."""
        self.retired.append(EmitterRecord.of(emitter, ended_by))

    # The autoencoder

    def train_autoencoder(self) -> None:
        """One training episode on the archives, the population and the last offspring."""
        newest = PolicySet.union([self.population, self.offspring])
        archived = PolicySet.union([self.novelty_archive.policies, self.reward_archive.policies])
        archived = archived.take(~np.isin(archived.id, newest.id))
        with self.stopwatch.time("training"):
            self.space.train(newest.rollouts(), archived.rollouts() if len(archived) else None)
        self._notify("training")

    def update_descriptors(self) -> None:
        """Every descriptor that anyone holds, anew; a policy held by several is encoded once."""
        near = PolicySet.union([self.population, self.offspring])
        self.describe(near, surprise=self.uses_surprise)
        held = self.held()
        far = PolicySet.union(held)
        far = far.take(~np.isin(far.id, near.id))
        self.describe(far, surprise=False)
        known = PolicySet.concat([near, far])
        known = known.take(np.argsort(known.id))
        for policies in held:
            policies.descriptor[:] = known.descriptor[np.searchsorted(known.id, policies.id)]
        for policies in (self.population, self.offspring):
            policies.surprise[:] = known.surprise[np.searchsorted(known.id, policies.id)]

        self.index_archives()
        self.candidates.remeasure(self.reward_archive.policies)
        for emitter in self.emitters:
            self.measure_novelty(emitter.ancestor)
            self.measure_novelty(emitter.most_novel)
            if self.kinds[emitter.kind].uses_novelty:
                self.measure_novelty(emitter.population)

    def index_archives(self) -> None:
        """References anew, from the archives, the population and the offspring as they are."""
        self.references = References(self.parameters.novelty_neighbors, self.space.size)
        self.references.archive(self.novelty_archive.policies)
        self.references.archive(self.reward_archive.policies)
        self.reward_references = References(self.parameters.novelty_neighbors, self.space.size)
        self.reward_references.archive(self.reward_archive.policies)
        self.surround()

    def held(self) -> list[PolicySet]:
        """Every set that holds descriptors, as views."""
        held = [self.population, self.offspring, self.novelty_archive.policies, self.reward_archive.policies]
        held.append(self.candidates.policies)
        for emitter in self.emitters:
            held += [emitter.ancestor, emitter.most_novel, emitter.novelty_candidates.policies]
            held += [emitter.population] if self.kinds[emitter.kind].uses_novelty else []
        return held

    # To be kept and taken up again

    def state(self) -> State:
        """All that is needed to go on later, as it is now; an observer may ask for it at "rest", anyone when the search is done.

        Arrays may be views: write or copy them before the search goes on.
        """
        return capture(self)

    def restore(self, state: State) -> None:
        """Goes on from this state of a search with the same task, method, parameters, budget and seed, with the same bits."""
        restore(self, state)

    def count_coverage(self) -> None:
        """Counts the cells that were visited, by the ledger."""
        if self.grid:
            ledger = self.ledger.columns()
            self._coverage = Coverage(self.grid)
            self._coverage.add(ledger["ground_truth"][~ledger["failed"]])

    def restart(self) -> None:
        """Takes up the conversation where Algorithm 1's loop begins."""
        self._asking = schedule(self)
        self._advance(None)

    # What others may know

    def rest(self) -> None:
        """Nothing is going on: the state can be taken."""
        self._notify("rest")

    def enter_phase(self, phase: Phase) -> None:
        self.phase = phase
        self._notify("phase")

    def end_chunk(self) -> None:
        """A chunk of the budget is done: one row of metrics."""
        self._remember_chunk()
        self.metrics.append(self._metrics_row())
        self.chunks += 1
        self._notify("chunk")

    @property
    def metrics_columns(self) -> list[str]:
        """Names of the columns of `metrics`, in order."""
        return list(self._metrics_row())

    def _metrics_row(self) -> dict[str, Any]:
        episode = getattr(self.space, "last_episode", None)
        return {
            "evaluations": self.evaluations,
            "phase": self._chunk_phase.value,
            "coverage": self.coverage,
            "novelty_archive_size": len(self.novelty_archive),
            "reward_archive_size": len(self.reward_archive),
            "emitter_candidates": len(self.candidates),
            "emitters": len(self.emitters),
            **{f"max_reward_{area}": reward for area, reward in enumerate(self.max_reward)},
            "training_episodes": self.training_episodes,
            "training_error": episode.training_error if episode else None,
            "validation_error": episode.validation_error if episode else None,
            **{f"seconds_{activity}": seconds for activity, seconds in self.stopwatch.seconds.items()},
        }

    @property
    def _chunk_phase(self) -> Phase:
        """Phase that the current chunk of the budget belongs to; the initial population counts as exploration."""
        return Phase.EXPLOITATION if self.phase in (Phase.BOOTSTRAP, Phase.EMITTERS) else Phase.EXPLORATION

    def _remember_chunk(self) -> None:
        phase = self._chunk_phase if self.course else Phase.INITIAL_POPULATION
        evaluations = self.evaluations - (self.metrics[-1]["evaluations"] if self.metrics else 0)
        novelty = self._relative_novelty() if phase == Phase.EXPLORATION and self.method.emitters else 0.0
        self.course.append(Chunk(phase, evaluations, novelty=novelty, gain=self.gain))
        self.gain = 0.0

    def _relative_novelty(self) -> float:
        """Mean novelty of the last offspring, as a multiple of how widely population and offspring are spread."""
        known = self.around.descriptor
        spread = float(np.sqrt(((known - known.mean(axis=0)) ** 2).sum(axis=1).mean()))
        return float(self.offspring.novelty.mean()) / spread if len(self.offspring) and spread > 0 else 0.0

    def _notify(self, event: str) -> None:
        if self._observer:
            self._observer(self, event)

    @property
    def coverage(self) -> float | None:
        """The share of the grid's cells that a policy ended in; None for a task without a ground-truth descriptor."""
        return self._coverage.share if self._coverage else None

    @property
    def training_episodes(self) -> int:
        return getattr(self.space, "episodes", 0)

    def emitter_records(self) -> list[EmitterRecord]:
        """What became of every emitter ever made, in that order."""
        records = self.retired + [EmitterRecord.of(emitter) for emitter in self.emitters]
        return sorted(records, key=lambda record: record.id)
