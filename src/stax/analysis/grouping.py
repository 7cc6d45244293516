"""Which runs belong together: those of one task, and among them those that differ in nothing but their seed.

Parameters decide which runs form a group, not the places of their folders, whose names mean nothing. The name that a campaign
gives to an override is used only to make a label shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from stax.analysis.recorded import AnyRun
from stax.errors import InvalidInputError, no_such, printable
from stax.representation.choice import chosen
from stax.runs.campaign import TABLE, read_table
from stax.runs.config import RunConfig
from stax.search.methods import METHODS, find_method
from stax.tasks import BUILT_IN, GYMNASIUM, task_maker, task_options
from stax.wording import setting_text

Values = dict[str, Any]
"""Parameters, and options of the task, by name."""
_NAME_LENGTH = 300
"""Characters of a task's name or a label that are shown."""


@dataclass(frozen=True, eq=False)
class RunGroup:
    """Runs of one task that differ in nothing but their seed."""

    label: str
    """The method, and in brackets what distinguishes it from other groups of that method."""
    algo: str
    number: int
    """Which of the method's labels, on all tasks, it has, from 0."""
    learned: bool
    """Whether behaviours were compared in a learned space."""
    runs: list[AnyRun]
    """The runs by seed."""

    @property
    def seeds(self) -> list[int]:
        return [run.config.seed for run in self.runs]


@dataclass(frozen=True, eq=False)
class TaskRuns:
    """The runs of one task."""

    task: str
    """Name of the task, and in brackets its options if they are not the usual ones."""
    evaluations: int
    """Evaluations after which the runs are measured; all runs have done as many."""
    common: str
    """Parameters that all runs share and that differ from those of their methods; empty if there are none."""
    areas: list[str]
    """Names of the reward areas."""
    groups: list[RunGroup]

    def find(self, name: str) -> RunGroup:
        """Return the group with this label, or the only one of this method."""
        labelled = [group for group in self.groups if group.label == name]
        of_method = [group for group in self.groups if group.algo == name]
        if labelled or len(of_method) == 1:
            return (labelled or of_method)[0]
        if of_method:
            labels = ", ".join(repr(group.label) for group in of_method)
            raise InvalidInputError(f"There are several groups of {name!r} on {self.task}: give one of {labels}.")
        raise InvalidInputError(f"On {self.task}: {no_such('method', name, [group.label for group in self.groups])}")


def group_runs(
    runs: Sequence[AnyRun], *, budget: int | None = None, mix_options: bool = False
) -> tuple[list[TaskRuns], list[str]]:
    """Return the runs of every task, and sentences on what a reader should know; refuse runs that cannot be compared.

    Args:
        runs: all finished.
        budget: measure after so many evaluations, which all runs must have done. If None, after all of them, and then runs of a
            task must have the same number.
        mix_options: put runs of a task together though its options differ.
    """
    notes: list[str] = []
    tasks = [
        TaskRuns(name, _evaluations(name, some, budget), *_grouped(some, named=mix_options))
        for name, some in _by_task(runs, mix_options, notes)
    ]
    return _numbered(tasks), [printable(note) for note in notes]


def _numbered(tasks: Sequence[TaskRuns]) -> list[TaskRuns]:
    """Return the groups with their numbers, which are the same on every task."""
    labels: dict[str, list[str]] = {}
    for group in sorted((group for task in tasks for group in task.groups), key=lambda group: group.label):
        known = labels.setdefault(group.algo, [])
        if group.label not in known:
            known.append(group.label)
    return [
        replace(task, groups=[replace(group, number=labels[group.algo].index(group.label)) for group in task.groups])
        for task in tasks
    ]


# By task


def _by_task(runs: Sequence[AnyRun], mix_options: bool, notes: list[str]) -> Iterator[tuple[str, list[AnyRun]]]:
    for name in sorted({run.config.task for run in runs}, key=_built_in_first):
        by_options: dict[str, list[AnyRun]] = {}
        for run in runs:
            if run.config.task == name:
                by_options.setdefault(in_words(unusual_options(run.config)), []).append(run)
        if len(by_options) > 1:
            differing = " and ".join(words or "the usual ones" for words in sorted(by_options))
            how = "they are compared together" if mix_options else "they are compared apart; --mix-options puts them together"
            notes.append(f"The runs of {name} have different options, {differing}: {how}.")
        if mix_options:
            by_options = {"": [run for some in by_options.values() for run in some]}
        for words, some in sorted(by_options.items()):
            check_same_description(_shown(name), some)
            yield _shown(f"{name} ({words})" if words else name), some


def _shown(name: str) -> str:
    """Return a name as all outputs show it, in a terminal, a table or a plot: it may be a stranger's."""
    return printable(name, _NAME_LENGTH)


def _built_in_first(name: str) -> tuple[int, str]:
    known = list(BUILT_IN)
    return known.index(name) if name in known else len(known), name


def unusual_options(config: RunConfig) -> Values:
    """Return the options of the run's task that are not the usual ones.

    Of a user's own task, all that were given are returned, since its code, which knows the usual ones, is not run.
    """
    options = {name: value for name, value in config.task_options.items() if name != "threads"}
    if not options or not (config.task in BUILT_IN or config.task.startswith(GYMNASIUM)):
        return options
    usual = task_options(task_maker(config.task))
    return {name: value for name, value in options.items() if value != usual.get(name)}


def check_same_description(name: str, runs: Sequence[AnyRun]) -> None:
    """Refuse runs of a task that is not the same in all of them."""
    first = runs[0]
    for run in runs:
        for what in ("ground_truth_bounds", "reward_areas"):
            if getattr(run.task, what) != getattr(first.task, what):
                raise InvalidInputError(
                    f"{str(first.path)!r} and {str(run.path)!r} cannot be compared: the {what} of their task {name!r} differ."
                )


def _evaluations(name: str, runs: Sequence[AnyRun], budget: int | None) -> int:
    """Return the number of evaluations after which the runs are measured."""
    least = min(runs, key=lambda run: run.evaluations)
    if budget is not None:
        if budget > least.evaluations:
            raise InvalidInputError(
                f"The budget to compare at is {budget:,} evaluations, but the run in {str(least.path)!r} has {least.evaluations:,};"
                " give at most that."
            )
        return budget
    budgets = {run.evaluations: f"{run.evaluations:,} ({run.config.algo}, seed {run.config.seed})" for run in reversed(runs)}
    if len(budgets) > 1:
        differing = ", ".join(budgets[evaluations] for evaluations in sorted(budgets))
        raise InvalidInputError(
            f"The runs on {name} have different budgets: {differing}; compare them after a number of evaluations that all have, with"
            f" --budget {least.evaluations} or less."
        )
    return least.evaluations


# By method and parameters


@dataclass(frozen=True, eq=False)
class _Draft:
    """A group that has no label yet."""

    runs: list[AnyRun]
    changes: Values
    """Parameters that differ from those of the method."""
    override: str
    """The campaign's name for these changes."""

    def words(self, *, override: bool) -> str:
        return self.override if override and self.override else in_words(self.changes)


def _grouped(runs: Sequence[AnyRun], *, named: bool) -> tuple[str, list[str], list[RunGroup]]:
    """Return what all groups have in common, the areas, and the groups."""
    alike: dict[str, list[AnyRun]] = {}
    for run in runs:
        options = unusual_options(run.config)
        key = repr((run.config.algo, sorted(_resolved(run, run.config.parameters).items()), sorted(options.items())))
        alike.setdefault(key, []).append(run)
    drafts = []
    tables: dict[Path, dict[str, str]] = {}
    for some in alike.values():
        some.sort(key=lambda run: run.config.seed)
        check_seeds(some)
        options = unusual_options(some[0].config) if named else {}
        # The same parameters may have been come by with several presets.
        changes = min((changed_parameters(run) for run in some), key=len) | {
            f"task.{name}": value for name, value in options.items()
        }
        overrides = {_override(run.path, tables) for run in some}
        drafts.append(_Draft(some, changes, overrides.pop() if len(overrides) == 1 else ""))
    common = dict(drafts[0].changes)
    for draft in drafts:
        common = {name: value for name, value in common.items() if name in draft.changes and draft.changes[name] == value}
    drafts = [
        replace(draft, changes={name: value for name, value in draft.changes.items() if name not in common}) for draft in drafts
    ]
    areas = [area.name for area in runs[0].task.reward_areas]
    return _shown(in_words(common)), areas, list(_labelled(drafts))


def _resolved(run: AnyRun, parameters: Any) -> Values:
    """Return all parameters, with the values that none and auto stand for."""
    values = asdict(parameters)
    standing_for_none = {
        "descriptor_samples": run.task.observation_samples,
        "genome_bounds": run.task.genome_bounds,
        "emitters": find_method(run.config.algo).emitters,
    }
    if values["descriptor"] == "learned":
        values["autoencoder"] = chosen(values["autoencoder"], run.task.observation_shape)
    return {name: standing_for_none.get(name) if value is None else value for name, value in values.items()}


def changed_parameters(run: AnyRun) -> Values:
    """Return the parameters that are not as the method has them by itself, with the preset if it is not `default`."""
    config = run.config
    own = _resolved(run, find_method(config.algo).resolve(config.preset))
    used = _resolved(run, config.parameters)
    preset = {} if config.preset == "default" else {"preset": config.preset}
    return preset | {name: value for name, value in used.items() if value != own[name]}


def check_seeds(runs: Sequence[AnyRun]) -> None:
    """Refuse a group in which two runs have the same seed: they are the same run, which must not count twice."""
    for one, next_one in pairwise(runs):
        if one.config.seed == next_one.config.seed:
            raise InvalidInputError(
                f"{str(one.path)!r} and {str(next_one.path)!r} are the same run, {one.config.algo} on {_shown(one.config.task)} with seed"
                f" {one.config.seed}; leave one of them out."
            )


def _override(folder: Path, tables: dict[Path, dict[str, str]]) -> str:
    """Return what the run's campaign calls its changes to the run; nothing outside of a campaign.

    Args:
        folder: of the run.
        tables: the overrides of campaigns that were read before, by the table of the campaign and the name of the run's folder.
    """
    table = folder.resolve().parent / TABLE
    if table not in tables:
        tables[table] = {row["folder"]: row["override"] for row in read_table(table)} if table.is_file() else {}
    return tables[table].get(folder.resolve().name, "")


def _labelled(drafts: Sequence[_Draft]) -> Iterator[RunGroup]:
    named = len({draft.override for draft in drafts}) > 1
    algos = [draft.runs[0].config.algo for draft in drafts]
    short = [_label(algo, draft.words(override=named)) for algo, draft in zip(algos, drafts, strict=True)]
    labels = [
        label if short.count(label) == 1 else _label(algo, ", ".join(filter(None, (draft.override, in_words(draft.changes)))))
        for algo, label, draft in zip(algos, short, drafts, strict=True)
    ]
    labels = _distinct(_shown(label) for label in labels)
    methods = list(METHODS)
    for label, algo, draft in sorted(
        zip(labels, algos, drafts, strict=True), key=lambda named: (methods.index(named[1]), named[0])
    ):
        learned = draft.runs[0].config.parameters.descriptor == "learned"
        yield RunGroup(label=label, algo=algo, number=0, learned=learned, runs=draft.runs)


def _distinct(labels: Iterable[str]) -> list[str]:
    """Return the labels with a number behind those that became alike when they were shortened."""
    found: list[str] = []
    for label in labels:
        again = sum(other == label or other.startswith(f"{label} #") for other in found)
        found.append(f"{label} #{again + 1}" if again else label)
    return found


def _label(algo: str, words: str) -> str:
    return f"{algo} ({words})" if words else algo


def in_words(values: Values) -> str:
    """Return values as text: name=value, as `--set` takes them."""
    return ", ".join(f"{name}={setting_text(value)}" for name, value in sorted(entries(values)))


def entries(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the entries of a table; no entries for anything else."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", entry) for inner, entry in entries(value))
        else:
            yield name, value
