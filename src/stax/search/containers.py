"""The containers of a search, as the paper calls them: population, offspring, archives, emitter candidates, emitters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError
from stax.representation.space import DescriptorSpace, UndescribedError
from stax.search.distance_container import DistanceContainer
from stax.search.emitters.buffer import EmitterBuffer
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.emitters.emitter_state import (
    capture_emitters,
    check_described,
    check_spreads,
    checked_policies,
    restore_emitters,
)
from stax.search.grid import Elites
from stax.search.methods import Method
from stax.search.novelty import CandidateBuffer, References
from stax.search.parameters import Parameters
from stax.search.policy_set import GrowingSet, PolicySet
from stax.search.record import Record
from stax.search.state_checks import Arrays
from stax.tasks.task import Task

_SETS = ("population", "offspring", "novelty_archive", "reward_archive", "candidates")


class Containers:
    """All policies and emitters that a search holds. The sets of policies are made when the first rollouts show their shapes."""

    population: PolicySet
    """Gamma_g"""
    offspring: PolicySet
    """Gamma_g^m, those of the last generation."""
    around: PolicySet
    """Population and offspring, each policy once."""
    novelty_archive: GrowingSet | Elites | DistanceContainer
    """A_Nov; the grid of elites for MAP-Elites, the container for AURORA."""
    reward_archive: GrowingSet
    """A_Rew"""
    candidates: CandidateBuffer
    """Q_Cand_Em"""
    references: References
    """What novelty is measured against: both archives, the population and the last offspring."""
    reward_references: References
    """The reward archive alone."""

    def __init__(
        self,
        task: Task,
        method: Method,
        parameters: Parameters,
        space: DescriptorSpace,
        kinds: Mapping[str, EmitterKind],
        record: Record,
    ) -> None:
        self._task, self._method, self._parameters, self._space, self._record = task, method, parameters, space, record
        self.emitters: EmitterBuffer = EmitterBuffer(kinds, parameters)
        """Q_Em"""
        self.are_made = False
        """Whether the sets of policies are made."""

    def make(self, like: PolicySet) -> None:
        """Make all sets, empty, for policies with columns like these."""
        self.novelty_archive = self._method.explorer.make_archive(self._parameters, self._record.grid, like)
        self.reward_archive = GrowingSet(like)
        self.candidates = CandidateBuffer(like, self._parameters.novelty_neighbors)
        self.population = self.offspring = like.take(slice(0, 0))
        self.index()
        self.are_made = True

    def index(self) -> None:
        """Make the references anew, from the archives, the population and the offspring as they are."""
        self.references = References(self._parameters.novelty_neighbors, self._space.size)
        self.references.archive(self.novelty_archive.policies)
        self.references.archive(self.reward_archive.policies)
        self.reward_references = References(self._parameters.novelty_neighbors, self._space.size)
        self.reward_references.archive(self.reward_archive.policies)
        self.surround()

    def surround(self) -> None:
        """Take account of a new population or new offspring."""
        self.around = PolicySet.union([self.population, self.offspring])
        self.references.surround(self.around)

    # Storing policies

    def store_candidates(self, policies: PolicySet) -> None:
        """Store the rewarding ones of the policies as emitter candidates."""
        if self._method.emitters:
            self.candidates.append(policies.take(policies.reward > 0), self.reward_archive.policies)

    def store_novel(self, policies: PolicySet) -> None:
        """Store policies in the novelty archive."""
        self.novelty_archive.append(policies)
        self.references.archive(policies)

    def replace_novel(self, policies: PolicySet) -> None:
        """Replace all policies of the novelty archive, in a method that keeps its population there."""
        self.novelty_archive = GrowingSet(policies)
        self.novelty_archive.append(policies)
        self.index()

    def store_rewarding(self, policies: PolicySet) -> None:
        """Store policies in the reward archive."""
        self.reward_archive.append(policies)
        self.references.archive(policies)
        self.reward_references.archive(policies)
        self.candidates.rewarded(policies)

    # Descriptors and novelty

    def describe(self, policies: PolicySet, *, surprise: bool = False) -> None:
        """Fill in the descriptors, and the surprise where asked for, of policies whose rollouts were told before."""
        if not len(policies):
            return
        with self._record.stopwatch.time("encoding"):
            try:
                if surprise:
                    policies.descriptor[:], policies.surprise[:] = self._space.describe_with_surprise(policies.rollouts())
                else:
                    policies.descriptor[:] = self._space.describe(policies.rollouts())
            except UndescribedError as error:
                # The rollouts were told before, so telling them again as failed is no remedy.
                raise RuntimeError(str(error)) from error

    def measure_novelty(self, policies: PolicySet) -> None:
        """Fill in the novelty eta of policies."""
        policies.novelty[:] = self.references.novelty(policies.id, policies.descriptor)

    def relative_novelty(self) -> float:
        """Return the mean novelty of the last offspring, as a multiple of how widely population and offspring are spread."""
        known = self.around.descriptor
        spread = float(np.sqrt(((known - known.mean(axis=0)) ** 2).sum(axis=1).mean()))
        return float(self.offspring.novelty.mean()) / spread if len(self.offspring) and spread > 0 else 0.0

    def dataset(self) -> tuple[PolicySet, PolicySet]:
        """Return what the autoencoder is trained on: population and offspring, and the archived policies that are not among them."""
        archived = PolicySet.union([self.novelty_archive.policies, self.reward_archive.policies])
        newest = PolicySet.union([self.population, self.offspring])
        return newest, archived.take(~np.isin(archived.id, newest.id))

    def update_descriptors(self, *, surprise: bool) -> None:
        """Describe every policy again whose descriptor is held, once however many containers hold it."""
        near = PolicySet.union([self.population, self.offspring])
        self.describe(near, surprise=surprise)
        held = self.held()
        far = PolicySet.union(held)
        far = far.take(~np.isin(far.id, near.id))
        self.describe(far)
        known = PolicySet.concat([near, far])
        known = known.take(np.argsort(known.id))
        for policies in held:
            policies.descriptor[:] = known.descriptor[np.searchsorted(known.id, policies.id)]
        for policies in (self.population, self.offspring):
            policies.surprise[:] = known.surprise[np.searchsorted(known.id, policies.id)]

        self.index()
        self.candidates.remeasure(self.reward_archive.policies)
        for emitter in self.emitters:
            self.measure_novelty(emitter.ancestor)
            self.measure_novelty(emitter.most_novel)
            if self.emitters.kind_of(emitter).uses_novelty:
                self.measure_novelty(emitter.population)

    def held(self) -> list[PolicySet]:
        """Return every set that holds descriptors, as views."""
        held = [self.population, self.offspring, self.novelty_archive.policies, self.reward_archive.policies]
        held.append(self.candidates.policies)
        for emitter in self.emitters:
            held += [emitter.ancestor, emitter.most_novel, emitter.novelty_candidates.policies]
            held += [emitter.population] if self.emitters.kind_of(emitter).uses_novelty else []
        return held

    # To be saved and restored

    def capture(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the arrays and numbers to save. Arrays may be views."""
        arrays: Arrays = {}
        for name in _SETS:
            held = getattr(self, name)
            policies = held if isinstance(held, PolicySet) else held.policies
            arrays |= {f"{name}.{column}": values for column, values in policies.columns().items()}
        emitters, numbers = capture_emitters(self.emitters, like=self.population)
        if isinstance(self.novelty_archive, DistanceContainer):
            numbers = {**numbers, "container": self.novelty_archive.numbers()}
        return {**arrays, **emitters}, numbers

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any], evaluations: int) -> None:
        """Restore what was saved, after so many evaluations."""
        task, size = self._task, self._space.size
        check_spreads(arrays, _SETS, reevaluates=self._parameters.reevaluations > 0)
        sets = {name: checked_policies(arrays, name, task, size, evaluations) for name in _SETS}
        for name, policies in sets.items():
            check_described(policies, name)
        if not len(sets["population"]):
            raise InvalidInputError("The state has no population.")
        self.make(sets["population"])
        self.population, self.offspring = sets["population"], sets["offspring"]
        self.novelty_archive.append(sets["novelty_archive"])
        if isinstance(self.novelty_archive, Elites | DistanceContainer) and not len(self.novelty_archive):
            raise InvalidInputError("The state's novelty archive is empty, but parents are drawn from it.")
        if isinstance(self.novelty_archive, DistanceContainer):
            self.novelty_archive.restore(numbers["container"], evaluations)
        self.reward_archive.append(sets["reward_archive"])
        if not self._method.emitters and (len(sets["candidates"]) or numbers["emitter_kinds"]):
            raise InvalidInputError(f"The state has emitters or their candidates, but {self._method.name} has no emitters.")
        self.candidates.append(sets["candidates"], self.reward_archive.policies)
        restore_emitters(self.emitters, arrays, numbers, task, size, evaluations)
        self.index()
