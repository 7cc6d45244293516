"""Runs compared over their seeds: how they spread, whether they differ, and by how much.

Nothing here needs many seeds or values that differ; with too few to tell anything, that is said in words.

Small samples with equal values are tested exactly, by trying all splits. SciPy would use the normal approximation for these:
with four seeds a side it gave p = 0.036, where all splits give 0.057. No p is given where none could be significant: with few
seeds and many comparisons the smallest possible p is above 0.05, and a printed p would only look like evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.analysis.measures import Curve
from stax.errors import InvalidInputError

SIGNIFICANCE = 0.05
CONFIDENCE = 0.95
EQUIVALENCE_CONFIDENCE = 0.9
"""Confidence of an interval that must lie within a margin: that of two one-sided tests at 5 %."""
_MOST_SPLITS = 5000
"""Ways to split values into two samples that are all tried if some values are equal; 7 and 7 seeds have 3432."""
_EFFECTS = ((0.56, "negligible"), (0.64, "small"), (0.71, "medium"))
"""Vargha and Delaney's words for what lies below; all above is large."""
_RESAMPLES = 9999


# One sample


@dataclass(frozen=True)
class Spread:
    """The spread of the values of several runs."""

    count: int
    median: float
    lowest: float
    highest: float
    tenth: float
    """The 10th percentile."""
    ninetieth: float
    """The 90th percentile."""


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value; infinity, for what was never reached, is larger than all others."""
    ordered = np.sort(_sample(values))
    return Spread(
        count=len(ordered),
        median=_quantile(ordered, 0.5),
        lowest=float(ordered[0]),
        highest=float(ordered[-1]),
        tenth=_quantile(ordered, 0.1),
        ninetieth=_quantile(ordered, 0.9),
    )


def _sample(values: ArrayLike) -> NDArray[np.float64]:
    sample = np.asarray(values, np.float64)
    if sample.ndim != 1 or not len(sample):
        raise InvalidInputError(f"At least one value is needed, in one row, not an array of shape {sample.shape}.")
    if np.isnan(sample).any():
        raise InvalidInputError("Values must be numbers, but one is nan.")
    return sample


def _quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Return the quantile as NumPy does, by linear interpolation, but infinite between a number and infinity instead of nan."""
    place = share * (len(ordered) - 1)
    low, high = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
    if low == high or not math.isfinite(high):
        return high
    return low + (high - low) * (place - math.floor(place))


def median_interval(values: Sequence[float], *, confidence: float = CONFIDENCE, seed: int = 0) -> tuple[float, float] | None:
    """Return a confidence interval of the median, by bootstrap (percentiles); None of a single value, or if some are infinite."""
    from scipy.stats import bootstrap

    sample = _sample(values)
    if len(sample) < 2 or not np.isfinite(sample).all():
        return None
    if (sample == sample[0]).all():
        return float(sample[0]), float(sample[0])
    interval = bootstrap(
        (sample,),
        np.median,
        confidence_level=confidence,
        n_resamples=_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def sign_test_p(successes: int, count: int) -> float:
    """Return the probability of at least so many successes if each of `count` runs succeeds or fails with equal probability.

    A small one says that more than half of all runs succeed, or that the median lies on the side where they do.
    """
    return float(sum(math.comb(count, k) for k in range(successes, count + 1)) / 2**count)


# Two samples


def mann_whitney_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p of the Mann-Whitney U test that one tends to be larger than the other.

    Exact for small samples, with equal values too: the usual approximation then gives p that the data cannot have.
    """
    from scipy.stats import PermutationMethod, mannwhitneyu

    one, other = _sample(first), _sample(second)
    both = np.concatenate([one, other])
    distinct = len(np.unique(both))
    if distinct == 1:
        return 1.0
    if min(len(one), len(other)) == 1:
        # SciPy does not permute a single value; each of all values could have been it.
        value = one[0] if len(one) == 1 else other[0]
        return min(2 * float(min(np.mean(both <= value), np.mean(both >= value))), 1.0)
    exact = distinct < len(both) and math.comb(len(both), len(one)) <= _MOST_SPLITS
    method = PermutationMethod(n_resamples=_MOST_SPLITS) if exact else "auto"
    return min(float(mannwhitneyu(one, other, alternative="two-sided", method=method).pvalue), 1.0)


def smallest_p(first: int, second: int) -> float:
    """Return the smallest p that the exact test can give for samples of these sizes: when all of one are above all of the other."""
    return min(1.0, 2 / math.comb(first + second, first))


def superiority(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Vargha and Delaney's A: how often a value of the first is above one of the second, equal ones counting half."""
    one, other = _sample(first), np.sort(_sample(second))
    below, not_above = np.searchsorted(other, one, side="left"), np.searchsorted(other, one, side="right")
    return float((below + not_above).sum() / (2 * len(one) * len(other)))


def shift_interval(
    first: Sequence[float], second: Sequence[float], *, confidence: float = EQUIVALENCE_CONFIDENCE
) -> tuple[float, float] | None:
    """Return a confidence interval of how far the first sample lies above the second, after Hodges and Lehmann.

    The interval holds every shift that the exact Mann-Whitney test does not reject. Its ends are two of the differences between a
    value of the first and a value of the second sample. With equal values it is wider than it need be, never narrower. That the
    interval of 90 % lies within a margin is the same as two one-sided tests at 5 %. None if the samples are too small.
    """
    one, other = _sample(first), _sample(second)
    differences = np.sort(np.subtract.outer(one, other).ravel())
    outside = _differences_outside(len(one), len(other), (1 - confidence) / 2)
    return None if outside == 0 else (float(differences[outside - 1]), float(differences[-outside]))


def shift(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how far the first sample lies above the second: the median difference between a value of each."""
    return float(np.median(np.subtract.outer(_sample(first), _sample(second))))


def _differences_outside(first: int, second: int, tail: float) -> int:
    """Return how many values U = 0, 1, ... have a probability of at most `tail` together, if both samples are alike."""
    orders, limit = math.comb(first + second, first), tail * (1 + 1e-12)
    below = 0
    for number, count in enumerate(_orders_by_u(first, second)):
        below += count
        if below / orders > limit:
            return number
    raise AssertionError("all values of U together have probability 1")


def _orders_by_u(first: int, second: int) -> list[int]:
    """Return how many orders of two samples of these sizes have U = 0, 1, ..., all values being different.

    These are the coefficients of the product of (1 - q^(second + i)) / (1 - q^i) over i = 1, ..., first.
    """
    counts = [1] + [0] * (first * second)
    for i in range(1, first + 1):
        for u in range(len(counts) - 1, second + i - 1, -1):
            counts[u] -= counts[u - second - i]
        for u in range(i, len(counts)):
            counts[u] += counts[u - i]
    return counts


def effect_size(superiority: float) -> str:
    """Return negligible, small, medium or large, whichever side is ahead."""
    away = max(superiority, 1 - superiority)
    return next((word for below, word in _EFFECTS if away < below), "large")


# A family of comparisons


def holm(p: Sequence[float]) -> list[float]:
    """Correct the p of a family of tests after Holm and Bonferroni so that they can be read one by one.

    The smallest p is multiplied by the number of tests, the next by one less, and so on; none becomes smaller than one before it.
    """
    corrected, highest = [0.0] * len(p), 0.0
    for place, number in enumerate(sorted(range(len(p)), key=lambda number: p[number])):
        highest = max(highest, min(1.0, (len(p) - place) * p[number]))
        corrected[number] = highest
    return corrected


@dataclass(frozen=True)
class Comparison:
    """One sample against another, as a member of a family of such comparisons."""

    p: float | None
    """Uncorrected, two-sided; None with too few seeds to tell anything."""
    p_holm: float | None
    """Corrected for the family."""
    smallest_p_holm: float
    """Smallest possible corrected p for samples of these sizes, if all comparisons of the family were as clear."""
    superiority: float
    """A: how often the sample's values are above the other's."""
    effect: str
    """negligible, small, medium or large."""
    seeds: tuple[int, int]

    @property
    def significant(self) -> bool:
        return self.p_holm is not None and self.p_holm <= SIGNIFICANCE

    def verdict(self, above: str = "higher", below: str = "lower") -> str:
        """Return the effect in words."""
        if self.p_holm is None:
            return f"too few seeds ({self.seeds[0]} and {self.seeds[1]}; p at best {self.smallest_p_holm:.2g})"
        if not self.significant:
            return "not significant"
        return f"{above if self.superiority > 0.5 else below}, {self.effect} effect"


def compare_with(reference: Sequence[float], samples: Mapping[str, Sequence[float]]) -> dict[str, Comparison]:
    """Compare each sample with the reference, as one family of comparisons.

    There is no p if even the clearest difference between so few seeds would not be significant after the correction. The exception
    is a difference that is significant nevertheless: beside comparisons with more seeds, p may be corrected by less.
    """
    p = [mann_whitney_p(sample, reference) for sample in samples.values()]
    compared = {}
    for (name, sample), one, corrected in zip(samples.items(), p, holm(p), strict=True):
        ahead = superiority(sample, reference)
        best = min(len(samples) * smallest_p(len(sample), len(reference)), 1.0)
        enough = min(best, corrected) <= SIGNIFICANCE
        compared[name] = Comparison(
            p=one if enough else None,
            p_holm=corrected if enough else None,
            smallest_p_holm=best,
            superiority=ahead,
            effect=effect_size(ahead),
            seeds=(len(sample), len(reference)),
        )
    return compared


# Many curves


def evaluation_grid(evaluations: int, points: int = 200) -> NDArray[np.int64]:
    """Return numbers of evaluations, evenly spread from 0 to the last, at which curves are read."""
    return np.unique(np.linspace(0, evaluations, points + 1).round().astype(np.int64))


def aligned(curves: Sequence[Curve], evaluations: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values (curves, evaluations) of each when so many evaluations are done. They hold until the next step."""
    return np.stack([curve.at(evaluations) for curve in curves])


@dataclass(frozen=True, eq=False)
class Band:
    """Median and percentiles of several runs over their evaluations."""

    evaluations: NDArray[np.int64]
    median: NDArray[np.float64]
    tenth: NDArray[np.float64]
    ninetieth: NDArray[np.float64]


def band(curves: Sequence[Curve], evaluations: NDArray[np.int64]) -> Band:
    """Return the median of the curves, and the 10th and 90th percentile."""
    tenth, median, ninetieth = np.percentile(aligned(curves, evaluations), (10, 50, 90), axis=0)
    return Band(evaluations, median, tenth, ninetieth)
