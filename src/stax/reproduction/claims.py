"""What the paper says in its Section 5, sentence by sentence as far as it can be tested, and what our runs say to it.

A claim that two methods differ or do not is tested as in the paper: two-sided Mann-Whitney U over seeds, Holm-Bonferroni
within the family of all baselines, ablations or training regimes on the task. Claims without a test in the paper compare
medians. With too few seeds for a test, the medians are shown and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from stax.analysis.measures import archive_ends, coverage_grid
from stax.analysis.statistics import Comparison, compare_with
from stax.reproduction.learned_figures import SimilarityValues, Split
from stax.reproduction.plan import ABLATIONS, BASELINES, REGIMES, TASKS
from stax.reproduction.results import PaperRuns, name_of, title

Verdict = Literal["agrees", "differs", "cannot be told"]
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


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    section: str
    words: str
    paper: str
    """The paper's figures."""
    test: Callable[[Evidence], Answer]


@dataclass(frozen=True)
class AnsweredClaim:
    """A claim with our answer."""

    claim: Claim
    answer: Answer


def answered_claims(evidence: Evidence) -> list[AnsweredClaim]:
    return [AnsweredClaim(claim, claim.test(evidence)) for claim in CLAIMS]


# What claims are tested with


@cache
def _family(runs: PaperRuns, measure: str, task: str, reference: str, keys: tuple[str, ...]) -> dict[str, Comparison]:
    """All methods of a family against one of them, by one measure."""
    samples = {key: _sample(runs, measure, task, key) for key in keys if key != reference}
    return compare_with(_sample(runs, measure, task, reference), samples)


def _sample(runs: PaperRuns, measure: str, task: str, key: str) -> Sample:
    """coverage, reward (mean over areas), reward N (of one area), early coverage, reward over time, or evaluations to a high
    reward (mean over areas)."""
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
class _Pair:
    """One method against another of its family."""

    measure: str
    tasks: tuple[str, ...]
    key: str
    reference: str
    family: tuple[str, ...]
    expected: Literal["same", "higher", "lower"]

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
        if comparison.p_holm is None:
            return None
        if self.expected == "same":
            return not comparison.significant
        ahead = comparison.superiority > 0.5
        return comparison.significant and ahead == (self.expected == "higher")


def _all(outcomes: Sequence[bool | None]) -> bool | None:
    if any(outcome is False for outcome in outcomes):
        return False
    return None if any(outcome is None for outcome in outcomes) else True


@dataclass(frozen=True)
class _Several:
    """A claim of several pairs, all of which must hold."""

    pairs: tuple[_Pair, ...]

    def __call__(self, evidence: Evidence) -> Answer:
        answers = [pair(evidence) for pair in self.pairs]
        return Answer("; ".join(answer.ours for answer in answers), _all([answer.holds for answer in answers]))


def _coverage(key: str, expected: Literal["same", "higher", "lower"], *tasks: str, reference: str = "ns") -> _Pair:
    return _Pair("coverage", tasks, key, reference, BASELINES, expected)


# Claims that need a function of their own


def _ns_covers_most(evidence: Evidence) -> Answer:
    return _extreme(evidence, "coverage", "ns", BASELINES, highest=True)


def _moo_nr_covers_least(evidence: Evidence) -> Answer:
    return _extreme(evidence, "coverage", "moo-nr", ("ns", "map-elites", "moo-nr", "serene"), highest=False)


def _extreme(evidence: Evidence, measure: str, key: str, keys: Sequence[str], *, highest: bool) -> Answer:
    """Whether a method has the highest, or the lowest, median on every task."""
    words, holds = [], True
    for task in TASKS:
        medians = {other: _median(_sample(evidence.runs, measure, task, other)) for other in keys}
        holds &= medians[key] == (max if highest else min)(medians.values())
        words.append(f"{title(task)}: {_said(evidence.runs, measure, task, *keys)}")
    return Answer("; ".join(words), holds)


def _small_on_the_maze(evidence: Evidence) -> Answer:
    runs = evidence.runs
    lost = {task: _median(runs.coverage(task, "ns")) - _median(runs.coverage(task, "stax")) for task in (MAZE, ARM)}
    words = ", ".join(f"{title(task)} {points:.1f} points" for task, points in lost.items())
    return Answer(f"STAX covers less than NS by: {words}", lost[MAZE] < lost[ARM])


def _emitters_are_soon(evidence: Evidence) -> Answer:
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


def _me_is_best_without_emitters(evidence: Evidence) -> Answer:
    runs = evidence.runs
    words, holds = [], True
    for task in TASKS:
        words.append(f"{title(task)}: {_said(runs, 'reward', task, 'map-elites', 'moo-nr')}")
        holds &= _median(runs.mean_reward(task, "map-elites")) >= _median(runs.mean_reward(task, "moo-nr"))
    return Answer("; ".join(words), holds)


def _me_is_slower(evidence: Evidence) -> Answer:
    runs = evidence.runs
    words, holds = [], True
    for task in TASKS:
        words.append(f"{title(task)}: {_said(runs, 'reward over time', task, 'stax', 'map-elites')}")
        stax, elites = (_median(runs.mean_reward_over_time(task, key)) for key in ("stax", "map-elites"))
        holds &= stax > elites
    return Answer(f"reward averaged over the budget: {'; '.join(words)}", holds)


def _moo_nr_finds_one_area(evidence: Evidence) -> Answer:
    runs = evidence.runs
    found = {task: np.mean([max(rewards) > 0 for rewards in zip(*runs.rewards(task, "moo-nr"), strict=True)]) for task in TASKS}
    words = ", ".join(f"{title(task)} {100 * share:.0f} %" for task, share in found.items())
    return Answer(f"runs that found at least one area: {words}", all(share == 1 for share in found.values()))


def _moo_nr_leaves_the_hardest(evidence: Evidence) -> Answer:
    runs = evidence.runs
    words, holds = [], True
    for task in TASKS:
        medians = [_median(rewards) for rewards in runs.rewards(task, "moo-nr")]
        words.append(f"{title(task)}: best area {max(medians):.2f}, worst {min(medians):.2f}")
        holds &= max(medians) >= HIGH_REWARD > min(medians)
    return Answer(f"MOO-NR, {'; '.join(words)}", holds)


def _taxons_earns_least(evidence: Evidence) -> Answer:
    return _extreme(evidence, "reward over time", "taxons", BASELINES, highest=False)


def _rewarded_share(runs: PaperRuns, task: str, key: str) -> float:
    """Of the archived policies, the median over seeds."""
    shares = []
    for run in runs.group(task, key).group.runs:
        ends = archive_ends(run)
        shares.append(len(ends.rewarded) / max(len(ends.rewarded) + len(ends.exploring), 1))
    return _median(shares)


def _archives_by_share(evidence: Evidence, more: Sequence[str], fewer: Sequence[str]) -> Answer:
    words, holds = [], True
    for task in TASKS:
        shares = {key: _rewarded_share(evidence.runs, task, key) for key in (*more, *fewer)}
        words.append(f"{title(task)}: " + ", ".join(f"{name_of(key)} {100 * share:.0f} %" for key, share in shares.items()))
        holds &= min(shares[key] for key in more) > max(shares[key] for key in fewer)
    return Answer(f"archived policies in reward areas, {'; '.join(words)}", holds)


def _me_is_most_uniform(evidence: Evidence) -> Answer:
    """Policies per visited cell, their standard deviation over their mean: 0 if all cells hold equally many."""
    words, holds = [], True
    for task in TASKS:
        values = {key: _median([_unevenness(run) for run in evidence.runs.group(task, key).group.runs]) for key in BASELINES}
        words.append(f"{title(task)}: " + ", ".join(f"{name_of(key)} {value:.2f}" for key, value in values.items()))
        holds &= values["map-elites"] == min(values.values())
    return Answer(f"unevenness over the cells, {'; '.join(words)}", holds)


def _unevenness(run: object) -> float:
    from stax.analysis.recorded import RecordedRun

    assert isinstance(run, RecordedRun)
    ends = archive_ends(run)
    grid = coverage_grid(run.task, run.config.parameters.grid_cells)
    assert grid is not None
    counts = np.unique(grid.cell(np.concatenate([ends.exploring, ends.rewarded])), return_counts=True)[1]
    return float(counts.std() / counts.mean())


def _earlier_with_five(evidence: Evidence) -> Answer:
    words, holds = [], True
    for task in TASKS:
        medians = {key: _median(_sample(evidence.runs, "early coverage", task, key)) for key in ABLATIONS}
        words.append(f"{title(task)}: {_said(evidence.runs, 'early coverage', task, *ABLATIONS)}")
        holds &= min(medians["stax"], medians["stax-alt-multi"]) > max(medians["stax-single"], medians["stax-alt-single"])
    return Answer(f"after a fifth of the budget, {'; '.join(words)}", holds)


def _multi_earns_earliest(evidence: Evidence) -> Answer:
    return _extreme(evidence, "reward over time", "stax", ABLATIONS, highest=True)


def _same_rewards(evidence: Evidence) -> Answer:
    pairs = [_Pair("reward", tuple(TASKS), key, "stax", ABLATIONS, "same") for key in ABLATIONS if key != "stax"]
    return _Several(tuple(pairs))(evidence)


def _untrained_is_worst_on_curling(evidence: Evidence) -> Answer:
    runs = evidence.runs
    lost = {task: 1 - _median(runs.coverage(task, "stax-nt")) / _median(runs.coverage(task, "stax")) for task in TASKS}
    words = ", ".join(f"{title(task)} {100 * share:.0f} %" for task, share in lost.items())
    return Answer(f"coverage lost without training: {words}", lost[CURLING] == max(lost.values()))


def _untrained_earns_nothing_on_curling(evidence: Evidence) -> Answer:
    medians = [_median(rewards) for rewards in evidence.runs.rewards(CURLING, "stax-nt")]
    return Answer(f"STAX-NT on Curling: {', '.join(f'{reward:.2f}' for reward in medians)}", max(medians) == 0)


def _untrained_finds_easy_areas(evidence: Evidence) -> Answer:
    best = {task: max(_median(rewards) for rewards in evidence.runs.rewards(task, "stax-nt")) for task in (MAZE, ARM)}
    words = ", ".join(f"{title(task)} {reward:.2f}" for task, reward in best.items())
    return Answer(f"best area of STAX-NT: {words}", min(best.values()) >= HIGH_REWARD)


def _hardest_maze_area(evidence: Evidence) -> Answer:
    runs = evidence.runs
    medians = [_median(rewards) for rewards in runs.rewards(MAZE, "stax")]
    hardest = int(np.argmin(medians))
    return _Pair(f"reward {hardest}", (MAZE,), "stax", "stax-reset", REGIMES, "higher")(evidence)


def _reconstructs(evidence: Evidence) -> Answer:
    error, otherwise = evidence.reconstruction_error, evidence.mean_picture_error
    words = f"mean squared error {error:.4f}, {otherwise:.4f} for the mean picture"
    return Answer(words, 0 < error < 0.75 * otherwise)


def _similar_to_the_truth(evidence: Evidence) -> Answer:
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


def _areas_are_split(evidence: Evidence) -> Answer:
    if not evidence.splits:
        return Answer("no run found enough rewarding policies of one area", None)
    words = "; ".join(
        f"{title(split.task)} area {split.area + 1}: {split.parts_ground_truth} in the ground truth, {split.parts_learned} learned"
        for split in evidence.splits
    )
    return Answer(f"parts, {words}", any(split.parts_learned > split.parts_ground_truth == 1 for split in evidence.splits))


def _claims() -> Iterator[Claim]:
    one = "5.1 Exploration"
    yield Claim(one, "STAX covers as much as NS on Curling", "90.8 % and 91 %, p = .77", _coverage("stax", "same", CURLING))
    yield Claim(one, "STAX covers less than NS on HardMaze", "80.3 % and 82.2 %, p = .015", _coverage("stax", "lower", MAZE))
    yield Claim(
        one, "STAX covers less than NS on Redundant Arm", "78.2 % and 93.3 %, p = 7.3e-5", _coverage("stax", "lower", ARM)
    )
    yield Claim(
        one, "what STAX lacks to NS is small on HardMaze, more on Redundant Arm", "1.9 and 15.1 points", _small_on_the_maze
    )
    yield Claim(one, "NS, searching in the space of the measure, covers the most", "upper bound", _ns_covers_most)
    yield Claim(
        one,
        "shown the end effector only, STAX covers as much of Redundant Arm as SERENE",
        "86.6 % and 87 %, p = .47",
        _coverage("stax-ef", "same", ARM, reference="serene"),
    )
    yield Claim(
        one,
        "and more than STAX that is shown the whole arm",
        "86.6 % and 78.2 %",
        _coverage("stax-ef", "higher", ARM, reference="stax"),
    )
    yield Claim(
        one,
        "ME and SERENE cover as much as NS on Curling",
        "p = .77 and .77",
        _Several((_coverage("map-elites", "same", CURLING), _coverage("serene", "same", CURLING))),
    )
    yield Claim(
        one,
        "ME and SERENE cover slightly less than NS on Redundant Arm",
        "p = 1.7e-4 and 5.8e-4",
        _Several((_coverage("map-elites", "lower", ARM), _coverage("serene", "lower", ARM))),
    )
    yield Claim(
        one,
        "ME and SERENE cover slightly less than NS on HardMaze",
        "p = .017 and .026",
        _Several((_coverage("map-elites", "lower", MAZE), _coverage("serene", "lower", MAZE))),
    )
    yield Claim(
        one, "MOO-NR struggles: it covers the least of those that know the ground truth", "figure", _moo_nr_covers_least
    )
    yield Claim(
        one, "TAXONS covers less than STAX on Curling", "figure", _coverage("taxons", "lower", CURLING, reference="stax")
    )

    two = "5.2 Exploitation"
    yield Claim(two, "with emitters STAX has high rewards after few evaluations", "figure", _emitters_are_soon)
    yield Claim(
        two,
        "STAX earns as much as SERENE on Curling and HardMaze",
        "p = .53 and .71",
        _Pair("reward", (CURLING, MAZE), "stax", "serene", BASELINES, "same"),
    )
    yield Claim(
        two,
        "STAX earns more than SERENE on Redundant Arm",
        "p = .014",
        _Pair("reward", (ARM,), "stax", "serene", BASELINES, "higher"),
    )
    yield Claim(two, "without emitters ME improves rewards the best", "figure", _me_is_best_without_emitters)
    yield Claim(two, "but much more slowly than STAX", "figure", _me_is_slower)
    yield Claim(two, "MOO-NR always finds at least one reward area", "figure", _moo_nr_finds_one_area)
    yield Claim(two, "MOO-NR climbs the easiest area and seldom the hardest", "figure", _moo_nr_leaves_the_hardest)
    yield Claim(two, "NS reaches high rewards later than STAX", "figure", _ns_is_slower)
    yield Claim(two, "TAXONS is worse at rewards than any other", "p = 2.5e-4", _taxons_earns_least)
    yield Claim(
        two,
        "on Redundant Arm TAXONS covers more than STAX",
        "p = 6.9e-3",
        _coverage("taxons", "higher", ARM, reference="stax"),
    )
    yield Claim(two, "and yet earns less in every area there", "figure", _taxons_earns_less_on_the_arm)

    three = "5.3 Final archives"
    yield Claim(
        three,
        "archives of STAX and SERENE cover the reward areas densely, those of NS and TAXONS do not",
        "figure",
        lambda evidence: _archives_by_share(evidence, ("stax", "serene"), ("ns", "taxons")),
    )
    yield Claim(
        three,
        "MOO-NR focuses on the reward areas it has found",
        "figure",
        lambda evidence: _archives_by_share(evidence, ("moo-nr",), ("ns",)),
    )
    yield Claim(three, "ME covers the space the most uniformly", "figure", _me_is_most_uniform)

    four = "5.4 Ablations"
    yield Claim(
        four,
        "all variants end with similar coverage on HardMaze and Redundant Arm",
        "p > .05",
        _Several(tuple(_Pair("coverage", (MAZE, ARM), key, "stax", ABLATIONS, "same") for key in ABLATIONS if key != "stax")),
    )
    yield Claim(
        four,
        "on Curling the variants with five observations cover more than STAX_single",
        "p < .028",
        _Several(
            tuple(_Pair("coverage", (CURLING,), key, "stax-single", ABLATIONS, "higher") for key in ("stax", "stax-alt-multi"))
        ),
    )
    yield Claim(
        four,
        "and more than STAX-ALT_single",
        "p < 4.3e-5",
        _Several(
            tuple(
                _Pair("coverage", (CURLING,), key, "stax-alt-single", ABLATIONS, "higher") for key in ("stax", "stax-alt-multi")
            )
        ),
    )
    yield Claim(four, "with five observations, coverage is high earlier", "figure", _earlier_with_five)
    yield Claim(four, "all variants end with similar rewards", "figure", _same_rewards)
    yield Claim(four, "STAX_multi has high rewards the earliest", "figure", _multi_earns_earliest)

    five = "5.5 Training of the autoencoder"
    yield Claim(
        five,
        "without training STAX covers less on all tasks",
        "p < 3.5e-6",
        _Pair("coverage", tuple(TASKS), "stax-nt", "stax", REGIMES, "lower"),
    )
    yield Claim(five, "the most on Curling", "figure", _untrained_is_worst_on_curling)
    yield Claim(five, "without training STAX earns nothing on Curling", "figure", _untrained_earns_nothing_on_curling)
    yield Claim(five, "but climbs the easy areas of HardMaze and Redundant Arm", "figure", _untrained_finds_easy_areas)
    yield Claim(
        five,
        "trained from scratch every time, it covers as much of Redundant Arm",
        "p = .27",
        _Pair("coverage", (ARM,), "stax-reset", "stax", REGIMES, "same"),
    )
    yield Claim(
        five,
        "and slightly less of Curling and HardMaze",
        "p = .038 and 8.2e-6",
        _Pair("coverage", (CURLING, MAZE), "stax-reset", "stax", REGIMES, "lower"),
    )
    yield Claim(five, "only in HardMaze's hardest area does STAX earn more than STAX_reset", "p = 4.5e-5", _hardest_maze_area)

    six = "5.6 The learned space"
    yield Claim(six, "reconstructions of the arm are not perfect, but show where it is", "figure", _reconstructs)
    yield Claim(
        six,
        "learned descriptors are more similar to the ground truth than those of a random autoencoder",
        "p < 4.2e-5",
        _similar_to_the_truth,
    )
    yield Claim(six, "one reward area can be several zones in the learned space", "figure", _areas_are_split)


def _ns_is_slower(evidence: Evidence) -> Answer:
    runs = evidence.runs
    words, holds = [], True
    for task in TASKS:
        words.append(f"{title(task)}: {_said(runs, 'reward over time', task, 'stax', 'ns')}")
        holds &= _median(runs.mean_reward_over_time(task, "stax")) > _median(runs.mean_reward_over_time(task, "ns"))
    return Answer(f"reward averaged over the budget: {'; '.join(words)}", holds)


def _taxons_earns_less_on_the_arm(evidence: Evidence) -> Answer:
    runs = evidence.runs
    pairs = [
        (_median(runs.reward(ARM, "taxons", area)), _median(runs.reward(ARM, "stax", area)))
        for area in range(len(runs.areas(ARM)))
    ]
    words = ", ".join(f"area {number}: TAXONS {taxons:.2f}, STAX {stax:.2f}" for number, (taxons, stax) in enumerate(pairs, 1))
    return Answer(words, all(taxons < stax for taxons, stax in pairs))


CLAIMS = tuple(_claims())
