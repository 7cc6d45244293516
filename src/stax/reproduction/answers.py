"""What claims are answered with: tests of our runs, each of which says what was found and whether a claim holds.

A claim that two methods differ or do not is tested as in the paper: two-sided Mann-Whitney U over seeds, Holm-Bonferroni
within the family of all baselines, ablations or training regimes on the task. Claims without a test in the paper compare
medians. With too few seeds for a test, the medians are shown and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stax.analysis.measures import archive_ends, coverage_grid
from stax.analysis.recorded import AnyRun
from stax.analysis.splits import Split
from stax.analysis.statistics import Comparison, compare_with
from stax.reproduction.learned_figures import SimilarityValues
from stax.reproduction.plan import ABLATIONS, BASELINES, REGIMES, TASKS
from stax.reproduction.results import PaperRuns, name_of, title

Verdict = Literal["agrees", "differs", "cannot be told"]
Expected = Literal["same", "higher", "lower"]
HIGH_REWARD = 0.8
CURLING, MAZE, ARM = TASKS
Sample = list[float]


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that claims are tested by."""

    runs: PaperRuns
    similarities: dict[str, SimilarityValues]
    splits: list[Split]
    reconstruction_error: float
    """Of the arm's observations, mean squared."""
    mean_picture_error: float
    """The same if the mean picture were the reconstruction."""


@dataclass(frozen=True)
class Answer:
    """What our runs say."""

    ours: str
    holds: bool | None
    """None if there are too few seeds for the test."""

    @property
    def verdict(self) -> Verdict:
        return "cannot be told" if self.holds is None else "agrees" if self.holds else "differs"


# What claims are tested with


def _family(runs: PaperRuns, measure: str, task: str, reference: str, keys: tuple[str, ...]) -> dict[str, Comparison]:
    """All methods of a family against one of them, by one measure."""
    samples = {key: _sample(runs, measure, task, key) for key in keys if key != reference}
    return compare_with(_sample(runs, measure, task, reference), samples)


def _sample(runs: PaperRuns, measure: str, task: str, key: str) -> Sample:
    """By seed: coverage, early coverage, reward (mean over areas), reward over time, or reward N (of one area)."""
    if measure == "coverage":
        return runs.coverage(task, key)
    if measure == "early coverage":
        return runs.coverage_at(task, key, 0.2)
    if measure == "reward":
        return runs.mean_reward(task, key)
    if measure == "reward over time":
        return runs.mean_reward_over_time(task, key)
    return runs.reward(task, key, int(measure.removeprefix("reward ")))


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _said(runs: PaperRuns, measure: str, task: str, *keys: str) -> str:
    form = ".1f" if "coverage" in measure else ".2f"
    unit = " %" if "coverage" in measure else ""
    return ", ".join(f"{name_of(key)} {_median(_sample(runs, measure, task, key)):{form}}{unit}" for key in keys)


def _p(comparison: Comparison) -> str:
    if comparison.p_holm is None:
        return f"too few seeds for p < {comparison.smallest_p_holm:.2g}"
    return f"p = {comparison.p_holm:.2g}, A = {comparison.superiority:.2f}"


@dataclass(frozen=True)
class Pair:
    """One method against another of its family."""

    measure: str
    tasks: tuple[str, ...]
    key: str
    reference: str
    family: tuple[str, ...]
    expected: Expected

    def __call__(self, evidence: Evidence) -> Answer:
        words, outcomes = [], []
        for task in self.tasks:
            family = self.family if self.key in self.family else (*self.family, self.key)
            comparison = _family(evidence.runs, self.measure, task, self.reference, family)[self.key]
            words.append(
                f"{title(task)}: {_said(evidence.runs, self.measure, task, self.key, self.reference)} ({_p(comparison)})"
            )
            outcomes.append(self._holds(comparison))
        return Answer("; ".join(words), _all(outcomes))

    def _holds(self, comparison: Comparison) -> bool | None:
        return _as_expected(comparison, self.expected)


def _as_expected(comparison: Comparison, expected: Expected) -> bool | None:
    """None if that cannot be told, for want of seeds."""
    if comparison.p_holm is None:
        return None
    if expected == "same":
        return not comparison.significant
    ahead = comparison.superiority > 0.5
    return comparison.significant and ahead == (expected == "higher")


def _all(outcomes: Sequence[bool | None]) -> bool | None:
    """Whether all hold; None if that cannot be told of some, or if there are none."""
    if any(outcome is False for outcome in outcomes):
        return False
    return None if not outcomes or any(outcome is None for outcome in outcomes) else True


@dataclass(frozen=True)
class Several:
    """A claim of several pairs, all of which must hold."""

    pairs: tuple[Pair, ...]

    def __call__(self, evidence: Evidence) -> Answer:
        answers = [pair(evidence) for pair in self.pairs]
        return Answer("; ".join(answer.ours for answer in answers), _all([answer.holds for answer in answers]))


@dataclass(frozen=True)
class BelowAll:
    """One method below every other of its family, on every task."""

    measure: str
    key: str
    family: tuple[str, ...]

    def __call__(self, evidence: Evidence) -> Answer:
        words, outcomes = [], []
        for task in TASKS:
            others = _family(evidence.runs, self.measure, task, self.key, self.family)
            outcomes += [_as_expected(comparison, "higher") for comparison in others.values()]
            said = [_said(evidence.runs, self.measure, task, self.key)]
            for key, comparison in others.items():
                p = "" if comparison.p_holm is None else f" ({_p(comparison)})"
                said.append(_said(evidence.runs, self.measure, task, key) + p)
            words.append(f"{title(task)}: {', '.join(said)}")
        untold = "; too few seeds for a test" if any(outcome is None for outcome in outcomes) else ""
        return Answer(f"{self.measure}, {'; '.join(words)}{untold}", _all(outcomes))


@dataclass(frozen=True)
class Ordered:
    """One method's median above another's, on every task."""

    measure: str
    above: str
    below: str

    def __call__(self, evidence: Evidence) -> Answer:
        words, holds = [], True
        for task in TASKS:
            above, below = (_median(_sample(evidence.runs, self.measure, task, key)) for key in (self.above, self.below))
            words.append(f"{title(task)}: {_said(evidence.runs, self.measure, task, self.above, self.below)}")
            holds &= above > below
        return Answer(f"{self.measure}, {'; '.join(words)}", holds)


@dataclass(frozen=True)
class Extreme:
    """A method with the highest, or the lowest, median of some, on every task."""

    measure: str
    key: str
    keys: tuple[str, ...]
    highest: bool = True

    def __call__(self, evidence: Evidence) -> Answer:
        words, holds = [], True
        for task in TASKS:
            medians = {other: _median(_sample(evidence.runs, self.measure, task, other)) for other in self.keys}
            holds &= medians[self.key] == (max if self.highest else min)(medians.values())
            words.append(f"{title(task)}: {_said(evidence.runs, self.measure, task, *self.keys)}")
        return Answer("; ".join(words), holds)


@dataclass(frozen=True)
class MoreRewarded:
    """Archives with a larger share of rewarded policies than others, on every task."""

    more: tuple[str, ...]
    fewer: tuple[str, ...]

    def __call__(self, evidence: Evidence) -> Answer:
        words, holds = [], True
        for task in TASKS:
            shares = {key: _rewarded_share(evidence.runs, task, key) for key in (*self.more, *self.fewer)}
            words.append(f"{title(task)}: " + ", ".join(f"{name_of(key)} {100 * share:.0f} %" for key, share in shares.items()))
            holds &= min(shares[key] for key in self.more) > max(shares[key] for key in self.fewer)
        return Answer(f"archived policies in reward areas, {'; '.join(words)}", holds)


# Claims that need a function of their own


def small_on_the_maze(evidence: Evidence) -> Answer:
    runs = evidence.runs
    lost = {task: _median(runs.coverage(task, "ns")) - _median(runs.coverage(task, "stax")) for task in (MAZE, ARM)}
    words = ", ".join(f"{title(task)} {points:.1f} points" for task, points in lost.items())
    return Answer(f"STAX covers less than NS by: {words}", lost[MAZE] < lost[ARM])


def emitters_are_soon(evidence: Evidence) -> Answer:
    """Evaluations to a high reward, the median over seeds, for every area of every task."""
    runs = evidence.runs
    words, sooner, compared = [], 0, 0
    for task in TASKS:
        for area in range(len(runs.areas(task))):
            when = {key: _median(runs.evaluations_to(task, key, area, HIGH_REWARD)) for key in BASELINES}
            others = [when[key] for key in BASELINES if key not in ("stax", "serene")]
            if not np.isfinite(min(*others, when["stax"])):
                continue
            compared += 1
            sooner += when["stax"] <= min(others)
            words.append(
                f"{title(task)} area {area + 1}: STAX {_when(when['stax'])}, soonest without emitters {_when(min(others))}"
            )
    if not compared:
        return Answer(f"no method reaches {HIGH_REWARD:g} in any area", None)
    return Answer("; ".join(words), sooner > compared / 2)


def _when(evaluations: float) -> str:
    return f"{evaluations:,.0f}" if np.isfinite(evaluations) else "never"


def moo_nr_finds_one_area(evidence: Evidence) -> Answer:
    runs = evidence.runs
    found = {task: np.mean([max(rewards) > 0 for rewards in zip(*runs.rewards(task, "moo-nr"), strict=True)]) for task in TASKS}
    words = ", ".join(f"{title(task)} {100 * share:.0f} %" for task, share in found.items())
    return Answer(f"runs that found at least one area: {words}", all(share == 1 for share in found.values()))


def moo_nr_leaves_the_hardest(evidence: Evidence) -> Answer:
    runs = evidence.runs
    words, holds = [], True
    for task in TASKS:
        medians = [_median(rewards) for rewards in runs.rewards(task, "moo-nr")]
        words.append(f"{title(task)}: best area {max(medians):.2f}, worst {min(medians):.2f}")
        holds &= max(medians) >= HIGH_REWARD > min(medians)
    return Answer(f"MOO-NR, {'; '.join(words)}", holds)


def taxons_earns_less_on_the_arm(evidence: Evidence) -> Answer:
    runs = evidence.runs
    pairs = [
        (_median(runs.reward(ARM, "taxons", area)), _median(runs.reward(ARM, "stax", area)))
        for area in range(len(runs.areas(ARM)))
    ]
    words = ", ".join(f"area {number}: TAXONS {taxons:.2f}, STAX {stax:.2f}" for number, (taxons, stax) in enumerate(pairs, 1))
    return Answer(words, all(taxons < stax for taxons, stax in pairs))


def _rewarded_share(runs: PaperRuns, task: str, key: str) -> float:
    """Of the archived policies, the median over seeds."""
    shares = []
    for run in runs.group(task, key).group.runs:
        ends = archive_ends(run)
        shares.append(len(ends.rewarded) / max(len(ends.rewarded) + len(ends.exploring), 1))
    return _median(shares)


def me_is_most_uniform(evidence: Evidence) -> Answer:
    """Policies per visited cell, their standard deviation over their mean: 0 if all cells hold equally many."""
    words, holds = [], True
    for task in TASKS:
        values = {key: _median([_unevenness(run) for run in evidence.runs.group(task, key).group.runs]) for key in BASELINES}
        words.append(f"{title(task)}: " + ", ".join(f"{name_of(key)} {value:.2f}" for key, value in values.items()))
        holds &= values["map-elites"] == min(values.values())
    return Answer(f"unevenness over the cells, {'; '.join(words)}", holds)


def _unevenness(run: AnyRun) -> float:
    ends = archive_ends(run)
    grid = coverage_grid(run.task, run.config.parameters.grid_cells)
    assert grid is not None
    counts = np.unique(grid.cell(np.concatenate([ends.exploring, ends.rewarded])), return_counts=True)[1]
    return float(counts.std() / counts.mean())


def earlier_with_five(evidence: Evidence) -> Answer:
    words, holds = [], True
    for task in TASKS:
        medians = {key: _median(_sample(evidence.runs, "early coverage", task, key)) for key in ABLATIONS}
        words.append(f"{title(task)}: {_said(evidence.runs, 'early coverage', task, *ABLATIONS)}")
        holds &= min(medians["stax"], medians["stax-alt-multi"]) > max(medians["stax-single"], medians["stax-alt-single"])
    return Answer(f"after a fifth of the budget, {'; '.join(words)}", holds)


def untrained_is_worst_on_curling(evidence: Evidence) -> Answer:
    runs = evidence.runs
    lost = {task: 1 - _median(runs.coverage(task, "stax-nt")) / _median(runs.coverage(task, "stax")) for task in TASKS}
    words = ", ".join(f"{title(task)} {100 * share:.0f} %" for task, share in lost.items())
    return Answer(f"coverage lost without training: {words}", lost[CURLING] == max(lost.values()))


def untrained_earns_nothing_on_curling(evidence: Evidence) -> Answer:
    medians = [_median(rewards) for rewards in evidence.runs.rewards(CURLING, "stax-nt")]
    return Answer(f"STAX-NT on Curling: {', '.join(f'{reward:.2f}' for reward in medians)}", max(medians) == 0)


def untrained_finds_easy_areas(evidence: Evidence) -> Answer:
    best = {task: max(_median(rewards) for rewards in evidence.runs.rewards(task, "stax-nt")) for task in (MAZE, ARM)}
    words = ", ".join(f"{title(task)} {reward:.2f}" for task, reward in best.items())
    return Answer(f"best area of STAX-NT: {words}", min(best.values()) >= HIGH_REWARD)


def hardest_maze_area(evidence: Evidence) -> Answer:
    runs = evidence.runs
    medians = [_median(rewards) for rewards in runs.rewards(MAZE, "stax")]
    hardest = int(np.argmin(medians))
    return Pair(f"reward {hardest}", (MAZE,), "stax", "stax-reset", REGIMES, "higher")(evidence)


def reconstructs(evidence: Evidence) -> Answer:
    evidence.runs.group(ARM, "stax")
    error, otherwise = evidence.reconstruction_error, evidence.mean_picture_error
    words = f"mean squared error {error:.4f}, {otherwise:.4f} for the mean picture"
    return Answer(words, 0 < error < 0.75 * otherwise)


def similar_to_the_truth(evidence: Evidence) -> Answer:
    for task in TASKS:
        evidence.runs.group(task, "stax")
    compared = {
        task: compare_with(values.random, {"trained": values.trained})["trained"]
        for task, values in evidence.similarities.items()
        if values.trained and values.random
    }
    words = []
    for task, comparison in compared.items():
        values = evidence.similarities[task]
        medians = f"trained {_median(values.trained):.2f}, random {_median(values.random):.2f}"
        words.append(f"{title(task)}: {medians} ({_p(comparison)})")
    outcomes = [None if c.p_holm is None else c.significant and c.superiority > 0.5 for c in compared.values()]
    return Answer("; ".join(words), _all(outcomes))


def areas_are_split(evidence: Evidence) -> Answer:
    for task in TASKS:
        evidence.runs.group(task, "stax")
    counted = [split for split in evidence.splits if split.enough]
    if not counted:
        return Answer("no run found enough rewarding policies of one area", None)
    words = "; ".join(
        f"{title(split.task)} area {split.area + 1}: {split.parts_ground_truth} in the ground truth, {split.parts_learned} learned"
        for split in counted
    )
    return Answer(f"parts, {words}", any(split.parts_learned > split.parts_ground_truth == 1 for split in counted))
