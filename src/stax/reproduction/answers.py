"""The ways in which a claim of the paper is judged: as an order, as sameness, by a threshold.

Every judgement gives one part per task and, for rewards, per area. A claim agrees if all of its parts do and differs if one does;
otherwise it cannot be told. `docs/reproduce.md` explains the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from stax.analysis.statistics import (
    EQUIVALENCE_CONFIDENCE,
    SIGNIFICANCE,
    holm,
    mann_whitney_p,
    shift,
    shift_interval,
    sign_test_p,
    superiority,
)
from stax.reproduction.evidence import Evidence, Measure, Panel, panels
from stax.reproduction.plan import MINIMUM_SEEDS
from stax.reproduction.results import name_of, title

Verdict = Literal["agrees", "differs", "cannot be told", "by construction"]
AGREES: Verdict = "agrees"
DIFFERS: Verdict = "differs"
CANNOT: Verdict = "cannot be told"
BY_CONSTRUCTION: Verdict = "by construction"
Side = Literal["above", "below"]
_SHOWN_PAIRS = 2
"""Differences shown one by one; of more pairs, only the largest difference is shown."""


@dataclass(frozen=True)
class Part:
    """The answer of our runs on one task, in one area."""

    words: str
    verdict: Verdict


@dataclass(frozen=True)
class Answer:
    """The answer of our runs to a claim."""

    parts: tuple[Part, ...]

    @property
    def verdict(self) -> Verdict:
        return together([part.verdict for part in self.parts])


class Judgement(Protocol):
    """A way to judge a claim."""

    @property
    def measure(self) -> Measure | None: ...

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]: ...


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim by the verdicts on its parts."""
    if DIFFERS in verdicts:
        return DIFFERS
    return verdicts[0] if len(set(verdicts)) == 1 else CANNOT


def _judged(right: bool, wrong: bool) -> Verdict:
    return AGREES if right else DIFFERS if wrong else CANNOT


def _part(panel: Panel, details: Sequence[str], verdict: Verdict) -> Part:
    return Part(f"{panel.head}: {', '.join(details)}; {panel.seeds}", verdict)


def _without_verdict(panel: Panel) -> Part:
    shown = [panel.value(key) for key in panel.keys]
    return Part(f"{panel.head}: {', '.join(shown)} ({panel.problem})" if shown else panel.problem, CANNOT)


def _difference(panel: Panel, first: str, second: str) -> str:
    """Return how far the first method lies above the second, with the 90 % interval."""
    one, other = panel.samples[first], panel.samples[second]
    middle, low, high = (panel.measure.difference(value) for value in (shift(one, other), *_interval(one, other)))
    return f"{name_of(first)} - {name_of(second)} {middle} [{low}, {high}]"


# Orders


@dataclass(frozen=True)
class Ordering:
    """Some methods above, or below, another one: two-sided Mann-Whitney tests against it, corrected after Holm.

    The family of tests is all methods of `family` against the reference on one task, in one area, or the tests on all tasks. A
    method of the family without runs counts as a test with p = 1.
    """

    measure: Measure
    tasks: tuple[str, ...]
    others: tuple[str, ...]
    side: Side
    reference: str
    family: tuple[str, ...] = ()
    over_tasks: bool = False

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        keys = (self.reference, *self.others)
        found = list(panels(evidence, self.measure, self.tasks, keys, published, also=self.family))
        tests = [self._tests(panel) for panel in found]
        if self.over_tasks:
            corrected = iter(holm([p for family in tests for p in family.values()]))
            tests = [{key: next(corrected) for key in family} for family in tests]
        else:
            tests = [dict(zip(family, holm(list(family.values())), strict=True)) for family in tests]
        return [self._judge(panel, p) for panel, p in zip(found, tests, strict=True)]

    def _tests(self, panel: Panel) -> dict[str, float]:
        """Return the uncorrected p of every method of the family against the reference."""
        reference = panel.samples.get(self.reference)
        keys = [key for key in dict.fromkeys((*self.others, *self.family)) if key != self.reference]
        return {
            key: mann_whitney_p(panel.samples[key], reference) if reference and panel.samples.get(key) else 1.0 for key in keys
        }

    def _judge(self, panel: Panel, p: dict[str, float]) -> Part:
        if panel.problem:
            return _without_verdict(panel)
        words, verdicts = [panel.value(self.reference)], []
        for key in self.others:
            ahead = superiority(panel.samples[key], panel.samples[self.reference])
            words.append(f"{panel.value(key)} (p = {p[key]:.2g}, A = {ahead:.2f})")
            verdicts.append(_by_test(p[key], ahead, self.side))
        return _part(panel, words, together(verdicts))


def _by_test(p: float, ahead: float, side: Side) -> Verdict:
    significant = p <= SIGNIFICANCE
    above, below = significant and ahead > 0.5, significant and ahead < 0.5
    return _judged(above, below) if side == "above" else _judged(below, above)


@dataclass(frozen=True)
class LargerGap:
    """A method is behind another everywhere, and on one task by more than on others.

    Agrees if the 90 % intervals of the gaps, in the measure's unit, lie above 0, and the one of the larger gap above the others.
    The gaps are taken after the number of evaluations that the runs of all tasks have done.
    """

    measure: Measure
    key: str
    reference: str
    larger: str
    smaller: tuple[str, ...]

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        tasks, keys = (self.larger, *self.smaller), (self.key, self.reference)
        common = min(
            (evidence.evaluations(task, [key]) for task in tasks for key in keys if evidence.has(task, key)), default=None
        )
        found = list(panels(evidence, self.measure, tasks, keys, published, at_most=common))
        without_verdict = [_without_verdict(panel) for panel in found if panel.problem]
        return without_verdict or [self._compare(found[0], panel) for panel in found[1:]]

    def _compare(self, larger: Panel, smaller: Panel) -> Part:
        (low, high), (other_low, other_high) = self._gap(larger), self._gap(smaller)
        verdict = _judged(low > other_high and other_low > 0, high < other_low or high < 0 or other_high < 0)
        words = [
            f"{panel.head}: {panel.value(self.key)}, {panel.value(self.reference)},"
            f" difference {_difference(panel, self.reference, self.key)}; {panel.seeds}"
            for panel in (larger, smaller)
        ]
        return Part("; ".join(words), verdict)

    def _gap(self, panel: Panel) -> tuple[float, float]:
        return _interval(panel.samples[self.reference], panel.samples[self.key])


def _interval(
    first: Sequence[float], second: Sequence[float], confidence: float = EQUIVALENCE_CONFIDENCE
) -> tuple[float, float]:
    interval = shift_interval(first, second, confidence=confidence)
    return interval or (float("-inf"), float("inf"))


# Sameness


@dataclass(frozen=True)
class Same:
    """Pairs of methods that differ by less than the measure's margin.

    Agrees if the 90 % interval of every difference lies within the margin. Differs if one lies outside, and does so at a confidence
    that is corrected after Bonferroni for the pairs of one task and area.
    """

    measure: Measure
    tasks: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        keys = tuple(dict.fromkeys(key for pair in self.pairs for key in pair))
        return [self._judge(panel) for panel in panels(evidence, self.measure, self.tasks, keys, published)]

    def _judge(self, panel: Panel) -> Part:
        if panel.problem:
            return _without_verdict(panel)
        verdicts = [self._compare(panel.samples[first], panel.samples[second]) for first, second in self.pairs]
        return _part(panel, [*(panel.value(key) for key in panel.keys), *self._differences(panel)], together(verdicts))

    def _compare(self, first: Sequence[float], second: Sequence[float]) -> Verdict:
        low, high = _interval(first, second)
        corrected = 1 - (1 - EQUIVALENCE_CONFIDENCE) / len(self.pairs)
        surely_low, surely_high = _interval(first, second, corrected)
        margin = self.measure.margin
        return _judged(-margin < low and high < margin, surely_low > margin or surely_high < -margin)

    def _differences(self, panel: Panel) -> list[str]:
        if len(self.pairs) <= _SHOWN_PAIRS:
            return [f"difference {_difference(panel, *pair)}" for pair in self.pairs]
        widest = max(self.pairs, key=lambda pair: max(map(abs, _interval(panel.samples[pair[0]], panel.samples[pair[1]]))))
        return [f"largest difference {_difference(panel, *widest)}"]


@dataclass(frozen=True)
class NotAbove:
    """Methods that are not above another by the measure's margin or more, by the 90 % interval of the difference."""

    measure: Measure
    tasks: tuple[str, ...]
    others: tuple[str, ...]
    reference: str

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        found = panels(evidence, self.measure, self.tasks, (self.reference, *self.others), published)
        return [_without_verdict(panel) if panel.problem else self._judge(panel) for panel in found]

    def _judge(self, panel: Panel) -> Part:
        words, verdicts = [panel.value(self.reference)], []
        corrected = 1 - (1 - EQUIVALENCE_CONFIDENCE) / len(self.others)
        for key in self.others:
            _, high = _interval(panel.samples[key], panel.samples[self.reference])
            surely_low, _ = _interval(panel.samples[key], panel.samples[self.reference], corrected)
            verdicts.append(_judged(high < self.measure.margin, surely_low > self.measure.margin))
            words += [panel.value(key), f"difference {_difference(panel, key, self.reference)}"]
        return _part(panel, words, together(verdicts))


# Thresholds


@dataclass(frozen=True)
class Threshold:
    """Runs that reach a value, or stay below it: a one-sided sign test of the median, or all runs if `every`.

    A measure with a horizon never falls. In shorter runs, what is not reached yet may still be reached: then there is no verdict.
    """

    measure: Measure
    tasks: tuple[str, ...]
    key: str
    side: Side
    limit: float
    every: bool = False

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        found = panels(evidence, self.measure, self.tasks, (self.key,), published)
        return [_without_verdict(panel) if panel.problem else self._judge(panel) for panel in found]

    def _judge(self, panel: Panel) -> Part:
        sample = panel.samples[self.key]
        reached = sum(value >= self.limit for value in sample)
        words = f"{reached} of {len(sample)} runs reach {self.measure.words(self.limit)}"
        if self.every:
            above, below = reached == len(sample), reached < len(sample)
        else:
            p = {"above": sign_test_p(reached, len(sample)), "below": sign_test_p(len(sample) - reached, len(sample))}
            above, below = p["above"] <= SIGNIFICANCE, p["below"] <= SIGNIFICANCE
            words += f" (p = {min(p.values()):.2g})"
        if below and self.measure.horizon and panel.evaluations < self.measure.horizon:
            words, below = f"{words}, which may change until {self.measure.horizon:,} evaluations", False
        verdict = _judged(above, below) if self.side == "above" else _judged(below, above)
        return _part(panel, [panel.value(self.key), words], verdict)


@dataclass(frozen=True)
class ShareOf:
    """A method above, or below, a share of what another one has: a two-sided Mann-Whitney test against that share."""

    measure: Measure
    tasks: tuple[str, ...]
    key: str
    side: Side
    share: float
    reference: str

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        found = panels(evidence, self.measure, self.tasks, (self.key, self.reference), published)
        return [_without_verdict(panel) if panel.problem else self._judge(panel) for panel in found]

    def _judge(self, panel: Panel) -> Part:
        sample, bar = panel.samples[self.key], [self.share * value for value in panel.samples[self.reference]]
        p, ahead = mann_whitney_p(sample, bar), superiority(sample, bar)
        test = f"against {100 * self.share:.0f} % of that: p = {p:.2g}, A = {ahead:.2f}"
        return _part(panel, [panel.value(self.key), panel.value(self.reference), test], _by_test(p, ahead, self.side))


# Others


@dataclass(frozen=True)
class SplitAreas:
    """One reward area is several zones in the learned space and one in the ground truth: an example of it among our runs."""

    tasks: tuple[str, ...]
    measure: None = None

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        words, example, enough = [], False, False
        for task in self.tasks:
            counted = [split for split in evidence.splits.get(task, []) if split.enough]
            examples = [split for split in counted if split.parts_learned > split.parts_ground_truth == 1]
            words.append(f"{title(task)}: {len(examples)} of {len(counted)} runs")
            if len(counted) >= MINIMUM_SEEDS:
                enough, example = True, example or bool(examples)
        if not enough:
            words.append(f"{MINIMUM_SEEDS} runs of one task with enough policies in one area are needed")
        return [Part("; ".join(words), _judged(enough and example, enough and not example))]


@dataclass(frozen=True)
class ByConstruction:
    """A sentence that any run shows, whatever it finds."""

    reason: str
    measure: None = None

    def __call__(self, evidence: Evidence, published: bool) -> list[Part]:
        return [Part(self.reason, BY_CONSTRUCTION)]
