"""Which records a page is made of: those of the paper's methods and tasks, of one preset, compared after one number of evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stax.analysis.comparison import MeasuredGroup
from stax.analysis.grouping import RunGroup, changed_parameters, check_seeds, in_words, unusual_options
from stax.analysis.records.record import Record
from stax.errors import InvalidInputError, printable
from stax.reproduction.plan import MINIMUM_SEEDS, QUICK_BUDGET, TASKS, VARIANTS, Item, Variant, needed
from stax.reproduction.results import PaperRuns, title
from stax.run_settings import RunSettings
from stax.runs.options import as_text
from stax.search.parameters import Parameters
from stax.tasks import make_task
from stax.wording import counted

Place = tuple[str, str]
"""A task, and the key of a method."""


@dataclass(frozen=True, eq=False)
class _Found:
    """Records that differ in their seed alone."""

    task: str
    variant: Variant | None
    """None for a method, a task or options that are not the paper's."""
    changed: dict[str, Any]
    """Parameters that are neither the preset's nor the variant's."""
    records: list[Record]

    @property
    def preset(self) -> str:
        return self.records[0].config.preset

    @property
    def evaluations(self) -> int:
        return self.records[0].evaluations

    def words(self) -> str:
        """Return the text for a list of records."""
        config = self.records[0].config
        name = self.variant.name if self.variant else config.algo
        changes = f", {in_words(self.changed)}" if self.changed else ""
        count = counted(len(self.records), "seed")
        where = TASKS.get(self.task, self.task)
        return printable(f"{name} on {where}, {self.evaluations:,} evaluations, preset {self.preset}{changes}: {count}", 300)


def paper_runs(
    records: Sequence[Record],
    items: Sequence[Item],
    *,
    budget: int | None = None,
    preset: str = "default",
    changed: Mapping[str, Any] | None = None,
    quick: bool = False,
    longest: bool = False,
) -> PaperRuns:
    """Choose the records that these items are made of.

    Of every method and task, records of one budget are used: of those with enough evaluations the most seeds, and of as many seeds the
    fewest evaluations. Their courses are cut after the same number of evaluations.

    Args:
        records: all there are.
        items: what is to be made.
        budget: evaluations to compare after; methods with fewer are left out. If None, the most that every method with records has,
            where a budget counts if it has enough seeds for verdicts, or as many as any budget of the method.
        preset: that of the runs.
        changed: parameters of all runs that are not the preset's. If None, those that all records of the preset have in common, or else
            none; records with others are left out.
        quick: whether the runs are a quick look whatever their budget is.
        longest: use the longest runs of every method instead, with their whole courses unless a budget is given. Who compares some of
            them chooses how many evaluations they have in common.
    """
    found = _grouped(records)
    places = {(task, variant.key) for task, variant in needed(items)}
    fitting = [group for group in found if group.variant and (group.task, group.variant.key) in places]
    settings = {as_text((group.preset, group.changed)): (group.preset, group.changed) for group in fitting}
    fitting = _with_changes([group for group in fitting if group.preset == preset], changed)
    by_place: dict[Place, list[_Found]] = {}
    for group in fitting:
        assert group.variant
        by_place.setdefault((group.task, group.variant.key), []).append(group)
    if not by_place:
        raise InvalidInputError(_why_nothing(found, items, preset, changed))
    compared_at = budget or min(_longest(groups).evaluations for groups in by_place.values())
    chosen = {}
    for task, variant in needed(items):
        enough = [group for group in by_place.get((task, variant.key), []) if group.evaluations >= compared_at]
        if enough:
            fewest = min(enough, key=lambda group: (-len(group.records), group.evaluations))
            chosen[task, variant.key] = _longest(enough) if longest else fewest
    if not chosen:
        raise InvalidInputError(f"No record of the runs that are needed has {compared_at:,} evaluations.")
    own = {as_text((preset, group.changed)) for group in chosen.values()}
    return PaperRuns(
        budget=compared_at,
        seeds=min(len(group.records) for group in chosen.values()),
        preset=preset,
        quick=quick or compared_at <= QUICK_BUDGET,
        changed=dict(sorted((dict(changed) if changed else next(iter(chosen.values())).changed).items())),
        groups={place: _measured(group, budget if longest else compared_at) for place, group in chosen.items()},
        unused=sorted(group.words() for group in found if not any(group is used for used in chosen.values())),
        other_settings=tuple(settings[name] for name in sorted(settings.keys() - own)),
    )


def _longest(groups: Sequence[_Found]) -> _Found:
    """Return the group with the most evaluations, of those with enough seeds for verdicts, or with as many as any."""
    enough = min(MINIMUM_SEEDS, max(len(group.records) for group in groups))
    return max((group for group in groups if len(group.records) >= enough), key=lambda group: group.evaluations)


def _measured(group: _Found, evaluations: int | None) -> MeasuredGroup:
    """Return the runs of a group with their courses, up to a number of evaluations if one is given."""
    variant, records = group.variant, group.records
    assert variant
    check_seeds(records)
    _check_task(group.task, records)
    number = 1 if variant.key == "stax-ef" else 0
    of_method = RunGroup(label=variant.name, algo=variant.algo, number=number, learned=variant.learned, runs=list(records))
    courses = [record.measured() for record in records]
    return MeasuredGroup(of_method, courses if evaluations is None else [course.until(evaluations) for course in courses])


def _check_task(name: str, records: Iterable[Record]) -> None:
    """Refuse a record of a task that is not what its name says: figures rely on its areas and its ground truth."""
    task = make_task(name)
    for record in records:
        for what in ("ground_truth_bounds", "reward_areas"):
            if getattr(record.task, what) != getattr(task, what):
                raise InvalidInputError(f"The record {str(record.path)!r} is damaged: its {what} are not those of {name!r}.")


# Which records are alike


def _grouped(records: Sequence[Record]) -> list[_Found]:
    """Return the records by task, method, preset, parameters and evaluations, each by seed."""
    alike: dict[str, _Found] = {}
    for record in records:
        variant, changed = _variant(record)
        name = variant.key if variant else record.config.algo
        key = as_text((record.config.task, name, record.config.preset, record.evaluations, in_words(changed)))
        alike.setdefault(key, _Found(record.config.task, variant, changed, [])).records.append(record)
    for group in alike.values():
        group.records.sort(key=lambda record: (record.config.seed, str(record.path)))
    return [alike[key] for key in sorted(alike)]


def _variant(record: Record) -> tuple[Variant | None, dict[str, Any]]:
    """Return which of the paper's methods a record is of, and what of its parameters is neither the preset's nor the method's."""
    config = record.config
    options = {f"task.{name}": value for name, value in unusual_options(config).items()}
    changed = {name: value for name, value in changed_parameters(record).items() if name != "preset"} | options
    variants = [
        variant
        for variant in VARIANTS.values()
        if variant.algo == config.algo
        and config.task in variant.tasks
        and all(changed.get(name) == value for name, value in variant.parameters.items())
    ]
    if not variants:
        return None, changed
    best = max(variants, key=lambda variant: len(variant.parameters))
    return best, {name: value for name, value in changed.items() if name not in best.parameters}


def _with_changes(found: Sequence[_Found], changed: Mapping[str, Any] | None) -> list[_Found]:
    if changed:
        return [group for group in found if _has(group, changed)]
    kinds = {in_words(group.changed) for group in found}
    if len(kinds) > 1 and "" not in kinds:
        raise InvalidInputError(
            f"The records are of runs with different parameters, {' and '.join(sorted(kinds))}; choose some of them with --set."
        )
    return [group for group in found if len(kinds) == 1 or not group.changed]


def _has(group: _Found, changed: Mapping[str, Any]) -> bool:
    """Return whether the runs have these parameters, and otherwise those of their preset and method."""
    config = group.records[0].config
    known, settings = Parameters.described(), RunSettings.described()
    for name, value in changed.items():
        if name in settings:  # they decide nothing
            continue
        if name.startswith("task."):
            given, own = value, config.task_options.get(name.removeprefix("task."))
        else:
            given, own = known[name].constraint.check(f"Parameter {name}", value), getattr(config.parameters, name)
        if as_text(given) != as_text(own):
            return False
    return group.changed.keys() <= changed.keys()


def _why_nothing(found: Sequence[_Found], items: Sequence[Item], preset: str, changed: Mapping[str, Any] | None) -> str:
    names = ", ".join(item.name for item in items) if len(items) < 3 else "these items"
    wanted = f"preset {preset}" + (f" and {in_words(dict(changed))}" if changed else "")
    there = "; ".join(group.words() for group in found[:3]) + ("; ..." if len(found) > 3 else "")
    return f"No record is of a run that {names} could be made of, with {wanted}. There are: {there}."


def describe_groups(runs: PaperRuns) -> list[tuple[str, str, int, int]]:
    """Return task, method, seeds and evaluations of all runs that are used, in the paper's order."""
    return [
        (title(task), VARIANTS[key].name, len(group.measured), group.group.runs[0].evaluations)
        for task in TASKS
        for key in VARIANTS
        if (group := runs.groups.get((task, key)))
    ]
