"""Facts of a page in words and numbers: what was run, how it went, what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from stax.analysis.grouping import entries
from stax.analysis.measures import SHARES, Measured, budget_by_origin, evaluations_to, highest_reward
from stax.analysis.picture import area_color
from stax.analysis.report.wording import value_words
from stax.run_settings import RunSettings
from stax.runs.config import RunConfig
from stax.runs.result import Result, time_parts
from stax.runs.validation import fresh_words
from stax.search.grid import PROFILE_LEVELS
from stax.search.methods import find_method
from stax.search.parameters import Parameters
from stax.search.vocabulary import Origin
from stax.tasks.task import Task
from stax.wording import counted, duration, percent, setting_text

_ABOUT_ORIGINS = {
    Origin.INITIAL.word: "the first population, drawn at random or seeded",
    Origin.EXPLORATION.word: "offspring of the population",
    Origin.BOOTSTRAP.word: "the first generations of new emitters",
    Origin.EMITTER.word: "emitters that were kept, climbing the reward",
    Origin.REEVALUATION.word: "policies that would enter an archive, evaluated again with other seeds",
}


@dataclass(frozen=True)
class Fact:
    """A name with its value and an explanation."""

    key: str
    name: str
    value: str
    about: str = ""


@dataclass(frozen=True)
class Part:
    """A part of a whole."""

    name: str
    amount: str
    share: float
    about: str = ""


@dataclass(frozen=True)
class Setting:
    """A parameter's value, and its value unless changed."""

    name: str
    value: str
    otherwise: str
    about: str

    @property
    def changed(self) -> bool:
        return self.value != self.otherwise


@dataclass(frozen=True)
class AreaFacts:
    """Findings about one reward area."""

    name: str
    color: str
    best: float
    """Best reward of all evaluations."""
    archived: float
    """Best reward among the policies of the final archives."""
    rewarded: int
    """Evaluations that ended in the area."""
    reached: list[int | None]
    """Evaluations until `SHARES` of the highest reward."""
    fresh: str
    """What the best policies are worth on fresh seeds, in words; empty if that was not measured."""


# What was run


def run_facts(config: RunConfig) -> list[Fact]:
    """Return the choices that make the run, beside its parameters."""
    return [
        Fact("task", "task", config.task),
        Fact("algo", "method", config.algo, find_method(config.algo).about),
        Fact("preset", "preset", config.preset),
        Fact("seed", "seed", str(config.seed)),
        Fact("budget", "budget", counted(config.budget, "evaluation")),
        Fact("workers", "workers", f"{config.workers:,}", "" if config.backend == "local" else f"on {config.backend}"),
    ]


def settings(config: RunConfig, task: Task) -> list[Setting]:
    """Return every parameter of the search, the run and the task, with the value that preset and method give it otherwise."""
    method = find_method(config.algo)
    # What stands for none is written into the configuration when the run begins.
    filled = {
        "descriptor_samples": task.observation_samples,
        "genome_bounds": task.genome_bounds,
        "emitters": method.emitters,
    }
    known = {**Parameters.described(), **RunSettings.described()}
    used = {**asdict(config.parameters), **asdict(config.settings)}
    usual = asdict(method.resolve(config.preset))
    usual |= {entry.name: entry.default for entry in fields(RunSettings)}
    found = []
    for name, about in known.items():
        value, otherwise = (filled.get(name) if given[name] is None else given[name] for given in (used, usual))
        found.append(Setting(name, value_words(value), value_words(otherwise), about.about))
    options = [
        Setting(f"task.{name}", setting_text(value), "", "the task's own") for name, value in entries(config.task_options)
    ]
    return options + found


def machine_facts(table: Mapping[str, Any]) -> list[Fact]:
    """Return the versions and the machine of `config.toml`."""
    found = []
    for key, name in (("made_with", "versions"), ("machine", "machine")):
        known = table.get(key)
        words = (
            [f"{part.replace('_', ' ')} {value_words(value)}" for part, value in known.items()]
            if isinstance(known, dict)
            else []
        )
        found.append(Fact(key, name, ", ".join(words) or "not known"))
    return found


# How it went


def time_spent(seconds: Mapping[str, float]) -> list[Part]:
    """Return how the time was spent."""
    return [Part(activity, duration(spent), share) for activity, (spent, share) in time_parts(seconds).items()]


def budget_parts(result: Result) -> list[Part]:
    """Return how the budget was spent."""
    found = []
    for spent in budget_by_origin(result.ledger["origin"], result.ledger["failed"]):
        failed = f"; {spent.failed:,} failed" if spent.failed else ""
        found.append(Part(spent.origin, f"{spent.evaluations:,}", spent.share, _ABOUT_ORIGINS[spent.origin] + failed))
    return found


# What was found


def headline(result: Result, measured: Measured) -> list[Fact]:
    """Return the numbers to look at first."""
    method = find_method(result.algo)
    novelty = method.explorer.archive_about
    if result.coverage is None:
        coverage = Fact("coverage", "coverage", "none", "the task has no ground truth to count it on")
    else:
        cells = f"of a grid of {result.parameters.grid_cells} cells along each dimension"
        if result.config.has_emitters and measured.exploration_coverage is not None:
            cells += f"; {percent(measured.exploration_coverage.last)} by exploration alone"
        coverage = Fact("coverage", "coverage", percent(result.coverage), cells)
    return [
        Fact("evaluations", "evaluations", f"{result.evaluations:,}", f"of a budget of {result.budget:,}"),
        coverage,
        *_quality(measured),
        Fact("novelty_archive_size", "novelty archive", f"{len(result.novelty_archive):,}", f"policies, {novelty}"),
        _reward_archive(result),
        _trainings(result),
        _failures(result.failures),
    ]


def _quality(measured: Measured) -> list[Fact]:
    """Return the QD-score with the archive profile, if there is a grid to measure them on."""
    if measured.qd_score is None:
        return []
    shares = zip(measured.profile, PROFILE_LEVELS, strict=True)
    profile = ", ".join(f"{percent(curve.last)} reach {level:g}" for curve, level in shares)
    about = f"sum of the best rewards of the cells; of the cells, {profile}"
    return [Fact("qd_score", "QD-score", f"{measured.qd_score.last:.2f}", about)]


def _reward_archive(result: Result) -> Fact:
    key, name = "reward_archive_size", "reward archive"
    if not result.config.has_emitters:
        return Fact(key, name, "none", f"{result.algo} keeps none: it has no emitters")
    about = f"policies, by {counted(len(result.emitters), 'emitter')}"
    return Fact(key, name, f"{len(result.reward_archive):,}", about)


def _trainings(result: Result) -> Fact:
    key, name = "training_episodes", "trainings"
    if not result.space.learned:
        return Fact(key, name, "none", f"{result.algo} learns nothing")
    return Fact(key, name, f"{result.training_episodes:,}", "of the autoencoder")


def _failures(failures: Mapping[str, int]) -> Fact:
    reasons = "; ".join(f"{count:,} x {why}" for why, count in failures.items())
    return Fact("failed", "failed evaluations", f"{sum(failures.values()):,}", reasons or "all could be evaluated")


def area_facts(result: Result, measured: Measured) -> list[AreaFacts]:
    """Return a row per reward area."""
    reward, area = result.ledger["reward"], result.ledger["reward_area"]
    return [
        AreaFacts(
            name=known.name,
            color=area_color(number),
            best=best,
            archived=measured.archived_reward[number].last,
            rewarded=int(np.count_nonzero((area == number) & (reward > 0))),
            reached=list(evaluations_to(curve, SHARES, highest_reward(result.config.task, [best])).values()),
            fresh=fresh_words(result.validation, number) if result.validation else "",
        )
        for number, (known, best, curve) in enumerate(
            zip(result.task.reward_areas, result.max_reward, measured.max_reward, strict=True)
        )
    ]
