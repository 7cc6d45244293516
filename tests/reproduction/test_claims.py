"""Verdicts on the paper's claims, by runs that are made up: as the paper has them, the other way round, all alike, too few."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from stax.analysis.comparison import MeasuredGroup
from stax.analysis.grouping import RunGroup
from stax.analysis.measures import Curve, Measured
from stax.reproduction import evidence as evidence_module
from stax.reproduction.answered_claims import answered_claims
from stax.reproduction.answers import LargerGap, Ordering, Same
from stax.reproduction.claims import CLAIMS, REASONS
from stax.reproduction.claims_table import claims_csv, claims_table
from stax.reproduction.evidence import ARM, CURLING, MAZE, Evidence
from stax.reproduction.learned_figures import SimilarityValues, Split
from stax.reproduction.plan import BASELINES, MINIMUM_SEEDS, PAPER_BUDGET, TASKS, VARIANTS
from stax.reproduction.results import PaperRuns

BY_ID = {claim.id: claim for claim in CLAIMS}
AREAS = {CURLING: 2, MAZE: 2, ARM: 3}


@dataclass(frozen=True)
class Made:
    """What all runs of a method on a task have in common."""

    coverage: float = 0.5
    rewards: tuple[float, ...] = (0.5,)
    """Best reward of each area; the last one stands for all further areas."""
    found: int = 10_000
    """Evaluations until all rewards are found."""
    early: float | None = None
    """Coverage after a tenth of the budget; half of that at the end if None."""
    rewarded: float = 0.1
    """Share of the archived policies that lie in reward areas."""
    seeds: int = 15
    budget: int = PAPER_BUDGET
    archived: float = 1.0
    """Share of the best rewards that is in the final archives."""
    explored: float = 1.0
    """Share of the coverage that exploration alone has."""
    noise: list[float] = field(default_factory=lambda: [0.0])
    """Added to coverage and rewards, by seed."""


def made_group(task: str, key: str, made: Made) -> MeasuredGroup:
    measured, runs = [], []
    for seed in range(made.seeds):
        noise = made.noise[seed % len(made.noise)]
        early = made.coverage / 2 if made.early is None else made.early
        steps = np.array([0, made.budget // 10, made.budget // 2])
        coverage = Curve(steps, np.array([0.0, early + noise, made.coverage + noise]))
        best = [*made.rewards, *[made.rewards[-1]] * 3][: AREAS[task]]
        rewards = [np.array([0.0, reward + noise if reward else 0.0]) for reward in best]
        found = np.array([0, made.found])
        measured.append(
            Measured(
                made.budget,
                coverage,
                Curve(steps, made.explored * coverage.values),
                [Curve(found, values) for values in rewards],
                [Curve(found, made.archived * values) for values in rewards],
            )
        )
        inside = round(1000 * (made.rewarded + noise))
        archive = SimpleNamespace(ground_truth=np.zeros((1000, 2)), reward=np.arange(1000) < inside)
        runs.append(SimpleNamespace(config=SimpleNamespace(has_emitters=False), novelty_archive=archive, reward_archive=None))
    return MeasuredGroup(RunGroup(key, VARIANTS[key].algo, 0, True, runs), measured)


def noise_of(key: str, seeds: int) -> list[float]:
    """Differences between seeds of up to half a point, in another order for every method."""
    order = np.random.default_rng([list(VARIANTS).index(key), seeds]).permutation(seeds)
    return (0.005 / seeds * order).tolist()


def evidence_of(
    made: dict[tuple[str, str], Made], *, trained: float = 0.5, random: float = 0.5, error: float = 0.5, parts: int = 1
) -> Evidence:
    groups = {(task, key): made_group(task, key, one) for (task, key), one in made.items()}
    seeds = min(one.seeds for one in made.values())
    spread = [0.001 * seed for seed in range(seeds)]
    similarities = {
        task: SimilarityValues([trained + one for one in spread], [random + one for one in spread]) for task in TASKS
    }
    split = Split(CURLING, 0, np.zeros((30, 2)), np.zeros((30, 2)), 1, parts)
    return Evidence(
        PaperRuns(PAPER_BUDGET, seeds, "default", False, {}, groups),
        similarities,
        {task: [split] * seeds for task in TASKS},
        [error + one for one in spread],
    )


def everything(values: dict[str, dict[str, Made]], seeds: int = 15) -> dict[tuple[str, str], Made]:
    return {
        (task, key): replace(one, seeds=seeds, noise=noise_of(key, seeds))
        for task, by_key in values.items()
        for key, one in by_key.items()
    }


def alike(seeds: int, **values) -> dict[tuple[str, str], Made]:
    """The same for every method, seed by seed."""
    noise = [0.01 * ((seed * 7) % 11) for seed in range(seeds)]
    return {
        (task, key): Made(seeds=seeds, noise=noise, **values)
        for task in TASKS
        for key, variant in VARIANTS.items()
        if task in variant.tasks
    }


def paper_like(seeds: int = 15) -> Evidence:
    """Runs with the paper's coverage where it gives one, and otherwise with what its sentences say."""
    ablated = {"rewards": (0.95,), "found": 100_000}
    values = {
        CURLING: {
            "ns": Made(0.91, (0.7,), 200_000, rewarded=0.05),
            "map-elites": Made(0.91, (0.9,), 300_000),
            "moo-nr": Made(0.5, (0.9, 0.1), 100_000, rewarded=0.4),
            "serene": Made(0.905, (0.95,), rewarded=0.5),
            "taxons": Made(0.7, (0.3,), 400_000, rewarded=0.05),
            "stax": Made(0.908, (0.95,), early=0.6, rewarded=0.5),
            "stax-single": Made(0.85, **ablated, early=0.4),
            "stax-alt-multi": Made(0.9, **ablated, early=0.6),
            "stax-alt-single": Made(0.8, **ablated, early=0.4),
            "stax-nt": Made(0.2, (0.0,)),
            "stax-reset": Made(0.88, (0.95,)),
        },
        MAZE: {
            "ns": Made(0.822, (0.7,), 200_000, rewarded=0.05),
            "map-elites": Made(0.8, (0.9,), 300_000),
            "moo-nr": Made(0.5, (0.1, 0.9), 100_000, rewarded=0.4),
            "serene": Made(0.81, (0.95,), rewarded=0.5),
            "taxons": Made(0.8, (0.3,), 400_000, rewarded=0.05),
            "stax": Made(0.803, (0.95,), early=0.6, rewarded=0.5),
            "stax-single": Made(0.803, **ablated, early=0.4),
            "stax-alt-multi": Made(0.803, **ablated, early=0.6),
            "stax-alt-single": Made(0.803, **ablated, early=0.4),
            "stax-nt": Made(0.5, (0.0, 0.9)),
            "stax-reset": Made(0.78, (0.3, 0.95)),
        },
        ARM: {
            "ns": Made(0.933, (0.7,), 200_000, rewarded=0.05),
            "map-elites": Made(0.88, (0.9,), 300_000),
            "moo-nr": Made(0.5, (0.9, 0.1), 100_000, rewarded=0.4),
            "serene": Made(0.87, (0.9,), rewarded=0.5),
            "taxons": Made(0.83, (0.3,), 400_000, rewarded=0.05),
            "stax": Made(0.782, (0.95,), early=0.6, rewarded=0.5),
            "stax-ef": Made(0.866, (0.95,)),
            "stax-single": Made(0.782, **ablated, early=0.4),
            "stax-alt-multi": Made(0.782, **ablated, early=0.6),
            "stax-alt-single": Made(0.782, **ablated, early=0.4),
            "stax-nt": Made(0.5, (0.9, 0.0)),
            "stax-reset": Made(0.785, (0.95,)),
        },
    }
    return evidence_of(everything(values, seeds), trained=0.7, random=0.3, error=0.5, parts=2)


def other_way_round(seeds: int = 15) -> Evidence:
    """Runs that contradict every claim on at least one task."""
    methods = {
        "ns": Made(0.5, (0.9,), rewarded=0.5),
        "map-elites": Made(0.6, (0.5,)),
        "moo-nr": Made(0.9, (0.9,), rewarded=0.01),
        "serene": Made(0.6, (0.9,), rewarded=0.05),
        "taxons": Made(0.3, (0.9,), rewarded=0.5),
        "stax": Made(0.7, (0.3,), 300_000, rewarded=0.05),
        "stax-single": Made(0.8, (0.9,)),
        "stax-alt-multi": Made(0.6, (0.6,)),
        "stax-alt-single": Made(0.9, (0.9,)),
        "stax-nt": Made(0.9, (0.1,)),
        "stax-reset": Made(0.9, (0.9,)),
    }
    values = {task: dict(methods) for task in TASKS}
    values[CURLING] |= {"taxons": Made(0.8, (0.9,)), "moo-nr": Made(0.9, (0.0,)), "stax-nt": Made(0.9, (0.9,))}
    values[ARM]["stax-ef"] = Made(0.65)
    return evidence_of(everything(values, seeds), trained=0.2, random=0.6, error=0.95, parts=1)


def verdict_of(name: str, evidence: Evidence, *, published: bool = False) -> str:
    return BY_ID[name].answer(evidence, published=published).verdict


# All claims at once


@pytest.mark.parametrize("seeds", [5, 15])
def test_runs_like_the_papers_agree_with_every_claim(seeds):
    for one in answered_claims(paper_like(seeds)):
        expected = "by construction" if one.claim.id == "me-uniform" else "agrees"
        assert one.answer.verdict == expected, one
        assert one.published is None or one.published.verdict == "agrees", one
        assert one.why == ""


@pytest.mark.parametrize("seeds", [5, 15])
def test_every_claim_can_fail(seeds):
    for one in answered_claims(other_way_round(seeds)):
        if one.counted:
            assert one.answer.verdict == "differs", one
            assert one.published is None or one.published.verdict == "differs", one
            assert one.why == REASONS.get(one.claim.id, "open")


@pytest.mark.parametrize("seeds", [1, 5, 15])
@pytest.mark.parametrize(
    "values", [{"coverage": 0.9, "rewards": (0.9,)}, {"coverage": 0.0, "rewards": (0.0,), "rewarded": 0.0}]
)
def test_no_order_is_found_among_methods_that_are_all_alike(seeds, values):
    orders = 0
    for one in answered_claims(evidence_of(alike(seeds, **values))):
        if any(isinstance(judgement, (Ordering, LargerGap)) for judgement in one.claim.judgements):
            orders += 1
            assert one.answer.verdict != "agrees", one
            assert one.published is None or one.published.verdict != "agrees", one
    assert orders >= 25


def test_methods_that_are_all_alike_are_the_same_with_enough_seeds():
    same = [claim for claim in CLAIMS if any(isinstance(one, Same) for one in claim.judgements)]
    assert len(same) == 8
    for seeds, verdict in ((15, "agrees"), (4, "cannot be told")):
        evidence = evidence_of(alike(seeds, coverage=0.9, rewards=(0.9,)))
        assert {claim.answer(evidence).verdict for claim in same} == {verdict}


@pytest.mark.parametrize("seeds", [1, 2, 4])
@pytest.mark.parametrize("runs", [paper_like, other_way_round])
def test_fewer_than_five_seeds_decide_nothing(runs, seeds):
    for one in answered_claims(runs(seeds)):
        if one.counted:
            assert one.answer.verdict == "cannot be told", one
            if one.claim.id != "split-area":
                assert f"{seeds} seed{'s' * (seeds > 1)} of " in one.answer.parts[0].words
                assert "5 are needed" in one.answer.parts[0].words


def test_one_group_with_few_seeds_is_enough_to_prevent_a_verdict():
    made = everything({CURLING: {"stax": Made(0.9), "ns": Made(0.9)}})
    assert verdict_of("stax-as-ns-curling", evidence_of(made)) == "agrees"
    made[CURLING, "ns"] = replace(made[CURLING, "ns"], seeds=4)
    answer = BY_ID["stax-as-ns-curling"].answer(evidence_of(made))
    assert answer.verdict == "cannot be told"
    assert "4 seeds of NS; 5 are needed" in answer.parts[0].words


def test_missing_runs_are_named():
    made = everything({CURLING: {"stax": Made(0.9)}, MAZE: {"ns": Made(0.8), "stax": Made(0.7)}})
    evidence = evidence_of(made)
    answer = BY_ID["stax-as-ns-curling"].answer(evidence)
    assert answer.verdict == "cannot be told"
    assert "no runs of NS on Curling" in answer.parts[0].words
    assert BY_ID["ef-as-serene"].answer(evidence).parts[0].words == "no runs of STAX_ef and SERENE on Redundant Arm"
    # The rest of the family has no runs: each of the five tests counts.
    assert verdict_of("stax-below-ns-maze", evidence) == "agrees"
    for one in answered_claims(replace(evidence, runs=replace(evidence.runs, groups={}), similarities={}, splits={})):
        assert not one.counted or one.claim.id == "arm-reconstructed" or one.answer.verdict == "cannot be told"


# Single rules


def coverage_on(task: str, **values: float) -> Evidence:
    keys = {name.replace("_", "-"): value for name, value in values.items()}
    return evidence_of(everything({task: {key: Made(value) for key, value in keys.items()}}))


@pytest.mark.parametrize(
    ("stax", "verdict"), [(0.9, "agrees"), (0.92, "agrees"), (0.93, "cannot be told"), (0.95, "differs"), (0.85, "differs")]
)
def test_sameness_is_judged_by_the_margin(stax, verdict):
    assert verdict_of("stax-as-ns-curling", coverage_on(CURLING, stax=stax, ns=0.9)) == verdict


def test_five_seeds_far_apart_are_not_called_the_same():
    made = {(CURLING, key): Made(0.8, seeds=5, noise=[0.0, 0.02, 0.04, 0.06, 0.08]) for key in ("stax", "ns")}
    answer = BY_ID["stax-as-ns-curling"].answer(evidence_of(made))
    assert answer.verdict == "cannot be told"
    # By hand: the 5th smallest and the 5th largest of the 25 differences -8 -6 -6 -4 -4 -4 -2 ... points.
    assert "difference STAX - NS +0.0 [-4.0, +4.0]" in answer.parts[0].words
    assert "STAX 84.0 % [80.0, 88.0]" in answer.parts[0].words
    assert "5 seeds" in answer.parts[0].words


def test_all_six_pairs_of_the_ablations_are_compared():
    same = dict.fromkeys(("stax", "stax-single", "stax-alt-multi", "stax-alt-single"), 0.8)
    for task in (MAZE, ARM):
        made = everything({other: {key: Made(value) for key, value in same.items()} for other in (MAZE, ARM)})
        assert verdict_of("ablations-same-coverage", evidence_of(made)) == "agrees"
        # Both lie within the margin of STAX, but not of each other.
        made[task, "stax-single"] = replace(made[task, "stax-single"], coverage=0.775)
        made[task, "stax-alt-multi"] = replace(made[task, "stax-alt-multi"], coverage=0.825)
        assert verdict_of("ablations-same-coverage", evidence_of(made)) == "differs"


STEPS = [0.0, 0.01, 0.02, 0.03, 0.04]
"""Of the 25 differences between two such samples, the 2nd smallest is -3 points and the 5th smallest -2."""


@pytest.mark.parametrize(("ahead", "verdict"), [(0.0, "agrees"), (0.055, "cannot be told"), (0.065, "differs")])
def test_one_pair_of_six_differs_only_after_bonferroni(ahead, verdict):
    # 1 + 1 of 252 orders of 5 and 5 values have U of at most 1, 0.8 %, a sixth of 5 %: the 2nd smallest difference decides.
    keys = ("stax", "stax-single", "stax-alt-multi", "stax-alt-single")
    made = {(task, key): Made(0.8, seeds=5, noise=STEPS) for task in (MAZE, ARM) for key in keys}
    made[ARM, "stax-single"] = Made(0.8 + ahead, seeds=5, noise=STEPS)
    assert verdict_of("ablations-same-coverage", evidence_of(made)) == verdict


@pytest.mark.parametrize(
    ("ahead", "verdict"),
    [(-0.3, "agrees"), (0.0, "agrees"), (0.015, "cannot be told"), (0.055, "cannot be told"), (0.065, "differs")],
)
def test_an_upper_bound_is_not_exceeded_by_the_margin(ahead, verdict):
    made = {(CURLING, key): Made(0.8, seeds=5, noise=STEPS) for key in BASELINES}
    made[CURLING, "map-elites"] = Made(0.8 + ahead, seeds=5, noise=STEPS)
    part = BY_ID["ns-upper-bound"].answer(evidence_of(made)).parts[-1]
    assert part.words.startswith("Curling")
    assert part.verdict == verdict


def test_an_order_is_corrected_for_its_family():
    # Two samples of 5 with U = 2: p = 2 x 4 / 252 = 0.032, which five tests make 0.16.
    made = {(MAZE, "ns"): Made(0.8, seeds=5, noise=[0.0, 0.01, 0.02, 0.03, 0.04])}
    made[MAZE, "stax"] = Made(0.8, seeds=5, noise=[-0.05, -0.04, -0.03, -0.02, 0.015])
    (part,) = BY_ID["stax-below-ns-maze"].answer(evidence_of(made)).parts
    assert part.verdict == "cannot be told"
    assert "(p = 0.16, A = 0.08)" in part.words
    made[MAZE, "stax"] = Made(0.8, seeds=5, noise=[-0.05, -0.04, -0.03, -0.02, -0.01])
    (part,) = BY_ID["stax-below-ns-maze"].answer(evidence_of(made)).parts
    assert part.verdict == "agrees"
    assert "(p = 0.04, A = 0.00)" in part.words


@pytest.mark.parametrize(
    ("maze", "arm", "verdict"),
    [
        (0.80, 0.70, "agrees"),
        (0.85, 0.70, "differs"),  # STAX covers more than NS
        (0.70, 0.80, "differs"),
        (0.80, 0.80, "cannot be told"),
        (0.82, 0.70, "cannot be told"),  # no gap on the maze
    ],
)
def test_a_gap_that_is_small_is_a_gap(maze, arm, verdict):
    made = everything({task: {"ns": Made(0.82), "stax": Made(stax)} for task, stax in ((MAZE, maze), (ARM, arm))})
    assert verdict_of("larger-gap-on-the-arm", evidence_of(made)) == verdict


def test_ties_do_not_make_curling_the_extreme():
    made = everything({task: {"stax": Made(0.8), "stax-nt": Made(0.5)} for task in TASKS})
    assert verdict_of("nt-extreme-on-curling", evidence_of(made)) == "cannot be told"
    made[CURLING, "stax-nt"] = replace(made[CURLING, "stax-nt"], coverage=0.2)
    assert verdict_of("nt-extreme-on-curling", evidence_of(made)) == "agrees"


@pytest.mark.parametrize(
    ("trained", "untrained", "budget", "verdict"),
    [
        (0.9, 0.0, PAPER_BUDGET, "agrees"),
        (0.9, 0.0, 100_000, "cannot be told"),
        (0.0, 0.0, PAPER_BUDGET, "cannot be told"),
        (0.0, 0.0, 100_000, "cannot be told"),
        (0.9, 0.3, 100_000, "differs"),
    ],
)
def test_no_reward_on_curling_counts_only_beside_versions_that_earn_some(trained, untrained, budget, verdict):
    keys = {"stax": trained, "stax-reset": trained, "stax-nt": untrained}
    made = everything({CURLING: {key: Made(0.5, (reward,), budget=budget) for key, reward in keys.items()}})
    assert verdict_of("nt-earns-nothing-curling", evidence_of(made)) == verdict


@pytest.mark.parametrize(
    ("reward", "budget", "verdict"),
    [(0.9, PAPER_BUDGET, "agrees"), (0.9, 50_000, "agrees"), (0.5, PAPER_BUDGET, "differs"), (0.5, 50_000, "cannot be told")],
)
def test_what_is_not_reached_in_shorter_runs_may_still_be_reached(reward, budget, verdict):
    made = everything({task: {"map-elites": Made(0.5, (reward,), budget=budget)} for task in TASKS})
    assert verdict_of("me-high-everywhere", evidence_of(made)) == verdict


def test_thresholds_need_most_of_the_runs():
    for failing, verdict in ((0, "agrees"), (3, "agrees"), (4, "cannot be told"), (11, "cannot be told"), (12, "differs")):
        noise = [-0.5] * failing + [0.0] * (15 - failing)
        made = {(task, "map-elites"): Made(0.5, (0.9,), noise=noise) for task in TASKS}
        assert verdict_of("me-high-everywhere", evidence_of(made)) == verdict


def test_every_run_of_moo_nr_must_find_an_area():
    made = everything({task: {"moo-nr": Made(rewards=(0.9, 0.0))} for task in TASKS})
    assert verdict_of("moo-nr-finds-an-area", evidence_of(made)) == "agrees"
    made[MAZE, "moo-nr"] = Made(rewards=(0.9, 0.0), noise=[-0.9] + [0.0] * 14)
    assert verdict_of("moo-nr-finds-an-area", evidence_of(made)) == "differs"


def test_high_coverage_is_a_share_of_that_of_ns():
    for taxons, verdict in ((0.7, "agrees"), (0.64, "cannot be told"), (0.6, "differs")):
        made = everything({task: {"ns": Made(0.8), "taxons": Made(taxons)} for task in (MAZE, ARM)})
        assert verdict_of("taxons-high-coverage", evidence_of(made)) == verdict


def test_similarities_are_corrected_over_the_tasks():
    evidence = evidence_of(everything({task: {"stax": Made()} for task in TASKS}, seeds=5), trained=0.7, random=0.3)
    answer = BY_ID["more-similar-than-random"].answer(evidence)
    assert answer.verdict == "agrees"
    # Three tests of 2 / 252 each.
    assert all("(p = 0.024, A = 1.00)" in part.words for part in answer.parts)


def test_a_split_needs_five_runs_of_one_task():
    evidence = paper_like()
    split = evidence.splits[MAZE][0]
    single = replace(split, parts_learned=1)
    for splits, verdict in (
        ({MAZE: [split] * 4, ARM: [split] * 4}, "cannot be told"),
        ({MAZE: [single] * 4 + [split]}, "agrees"),
        ({MAZE: [single] * 5, ARM: [split] * 4}, "differs"),
        ({MAZE: [replace(split, parts_ground_truth=2, parts_learned=3)] * 5}, "differs"),
        ({MAZE: [replace(split, ground_truth=np.zeros((19, 2)))] * 5}, "cannot be told"),
    ):
        assert verdict_of("split-area", replace(evidence, splits=splits)) == verdict


# Measures and budgets


def test_groups_are_compared_at_the_budget_that_all_have():
    # NS covers 80 % from its 50,000th evaluation on, and 90 % only from its 250,000th.
    short, long = Made(0.8, budget=100_000), Made(0.9, early=0.8, budget=500_000)
    made = everything({CURLING: {"stax": short, "ns": long}})
    (part,) = BY_ID["stax-as-ns-curling"].answer(evidence_of(made)).parts
    assert part.words.startswith("Curling, coverage at 100,000: STAX 80.")
    assert "NS 80." in part.words
    assert part.verdict == "agrees"


def test_gaps_are_compared_after_as_many_evaluations_on_all_tasks():
    # At 100,000 evaluations NS is ahead on the maze by 2 points, at 500,000 by 40; on the arm there are 100,000, and 10 points.
    maze = {"ns": Made(0.9, early=0.62), "stax": Made(0.5, early=0.6)}
    arm = {"ns": Made(0.8, budget=100_000), "stax": Made(0.7, budget=100_000)}
    (part,) = BY_ID["larger-gap-on-the-arm"].answer(evidence_of(everything({MAZE: maze, ARM: arm}))).parts
    assert part.verdict == "agrees"
    assert "HardMaze, coverage at 100,000: STAX 60." in part.words


def test_a_member_of_the_family_with_a_smaller_budget_counts_as_a_test_without_a_difference():
    made = {(MAZE, key): Made(0.8, seeds=5, noise=STEPS) for key in ("ns", "stax")}
    made[MAZE, "stax"] = Made(0.8, seeds=5, noise=[-0.05, -0.04, -0.03, -0.02, 0.015])
    for budget, p in ((PAPER_BUDGET, 0.13), (1000, 0.16)):
        # SERENE has p = 2 / 252, the smallest of five tests; then STAX has the next, four times 8 / 252. Otherwise five times.
        made[MAZE, "serene"] = Made(0.3, seeds=5, noise=STEPS, budget=budget)
        (part,) = BY_ID["stax-below-ns-maze"].answer(evidence_of(made)).parts
        assert f"(p = {p}, A = 0.08)" in part.words


def test_archives_after_different_budgets_are_not_compared():
    evidence = paper_like(5)
    groups = dict(evidence.runs.groups)
    groups[CURLING, "ns"] = made_group(CURLING, "ns", Made(rewarded=0.05, seeds=5, budget=100_000))
    answer = BY_ID["moo-nr-focuses"].answer(replace(evidence, runs=replace(evidence.runs, groups=groups)))
    assert [part.verdict for part in answer.parts] == ["cannot be told", "agrees", "agrees"]
    assert "after 100,000 and 500,000 evaluations" in answer.parts[0].words


def test_both_measures_of_reward_are_shown():
    made = everything({task: {"map-elites": Made(rewards=(0.9,), archived=0.5)} for task in TASKS})
    evidence = evidence_of(made)
    one = next(one for one in answered_claims(evidence) if one.claim.id == "me-high-everywhere")
    assert (one.answer.verdict, one.published.verdict, one.why) == ("agrees", "differs", "open")
    table = "\n".join(claims_table([one]))
    assert "**agrees**<br>by archived policies: differs" in table
    assert "Curling, best reward in area 1 at 500,000: ME 0.90 [0.90, 0.90]" in table
    assert "ME 0.45 [0.45, 0.45]" in table
    assert "1 claims: 1 agree, 0 differ, 0 cannot be told." in table


def test_both_measures_of_coverage_are_shown():
    made = everything({CURLING: {"ns": Made(0.9), "stax": Made(0.9, explored=0.9)}})
    one = next(one for one in answered_claims(evidence_of(made)) if one.claim.id == "stax-as-ns-curling")
    assert (one.answer.verdict, one.published.verdict) == ("agrees", "differs")
    assert "**agrees**<br>by exploration alone: differs" in "\n".join(claims_table([one]))


def test_the_farthest_area_of_the_maze_is_a_claim_of_its_own():
    made = everything({task: {"stax": Made(rewards=(0.9,)), "stax-reset": Made(rewards=(0.9,))} for task in TASKS})
    made[MAZE, "stax-reset"] = replace(made[MAZE, "stax-reset"], rewards=(0.2, 0.9))
    evidence = evidence_of(made)
    assert verdict_of("reset-same-rewards", evidence) == "agrees"
    assert verdict_of("reset-misses-the-far-end", evidence) == "agrees"
    assert len(BY_ID["reset-same-rewards"].answer(evidence).parts) == 6
    made[ARM, "stax-reset"] = replace(made[ARM, "stax-reset"], rewards=(0.9, 0.9, 0.2))
    assert verdict_of("reset-same-rewards", evidence_of(made)) == "differs"


# The table


def test_claims_carry_what_a_reader_needs():
    assert len(BY_ID) == len(CLAIMS) == 47
    sections = [claim.section for claim in CLAIMS]
    assert sections == sorted(sections)
    for claim in CLAIMS:
        assert claim.quote
        assert claim.words
        assert ", Fig. " in claim.place
    assert set(REASONS) <= set(BY_ID)


def test_the_documentation_has_the_numbers_of_the_code():
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text()
    for words in (
        f"has {len(CLAIMS) - 1} sentences",
        f"fewer than {MINIMUM_SEEDS} seeds",
        f"{evidence_module.COVERAGE_MARGIN:g} points of coverage, {evidence_module.REWARD_MARGIN:g} of reward",
        f"| high reward | at least {evidence_module.HIGH_REWARD:g} |",
        f"| few evaluations | {evidence_module.FEW_EVALUATIONS:,},",
        f"more than {100 * evidence_module.HIGH_COVERAGE:.0f} % of what NS covers",
        f"| high similarity | at least {evidence_module.HIGH_SIMILARITY:g},",
        f"less than {100 * evidence_module.CLEAR_RECONSTRUCTION:.0f} % of the error of the mean picture",
    ):
        assert words in page


def test_a_reason_is_shown_where_we_differ(monkeypatch):
    monkeypatch.setitem(REASONS, "moo-nr-struggles", "the mutation is larger")
    rows = list(csv.DictReader(io.StringIO(claims_csv(answered_claims(other_way_round())))))
    reasons = {row["id"]: row["why"] for row in rows}
    assert reasons.pop("moo-nr-struggles") == "the mutation is larger"
    assert reasons.pop("me-uniform") == ""
    assert set(reasons.values()) - set(REASONS.values()) == {"open"}
    # They are about runs with the default parameters.
    evidence = other_way_round()
    others = answered_claims(replace(evidence, runs=replace(evidence.runs, preset="paper")))
    assert {one.why for one in others} == {"", "open"}


def test_other_parameters_that_agree_are_named_as_a_reason():
    differing = {one.claim.id: replace(one, agrees_with=("published-code",)) for one in answered_claims(other_way_round())}
    one = differing["moo-nr-struggles"]
    assert one.why == "With published-code it agrees."
    assert replace(one, reason="The mutation is larger.").why == "The mutation is larger. With published-code it agrees."
    agreeing = [replace(one, agrees_with=("published-code",)) for one in answered_claims(paper_like())]
    assert {one.why for one in agreeing} == {""}


def test_the_table_counts_verdicts_and_states_the_margins():
    answered = answered_claims(paper_like())
    page = "\n".join(claims_table(answered))
    assert "46 claims: 46 agree, 0 differ, 0 cannot be told." in page
    assert "1 more holds in any run by construction and is not counted." in page
    assert "3 points of coverage or 0.05 of reward" in page
    assert "fewer than 5 seeds" in page
    rows = list(csv.DictReader(io.StringIO(claims_csv(answered))))
    assert [row["id"] for row in rows] == [claim.id for claim in CLAIMS]
    assert {row["verdict"] for row in rows} == {"agrees", "by construction"}
    assert all(row["ours"] for row in rows)
    first = next(row for row in rows if row["id"] == "stax-rewards-soon")
    assert first["counted_instead"] == "archived policies"
    assert first["verdict_counted_instead"] == "agrees"
    assert "Curling, best reward, mean of the areas at 100,000" in first["ours_counted_instead"]
