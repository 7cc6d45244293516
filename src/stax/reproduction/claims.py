"""What the paper says in its Section 5, sentence by sentence as far as it can be tested, and what our runs say to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from stax.reproduction import answers
from stax.reproduction.answers import (
    ARM,
    CURLING,
    MAZE,
    Answer,
    BelowAll,
    Evidence,
    Expected,
    Extreme,
    MoreRewarded,
    Ordered,
    Pair,
    Several,
)
from stax.reproduction.plan import ABLATIONS, BASELINES, REGIMES, TASKS
from stax.reproduction.results import MissingRuns


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
    """Answer the claims about runs that there are; the others are left out."""
    answered = []
    for claim in CLAIMS:
        with suppress(MissingRuns):
            answered.append(AnsweredClaim(claim, claim.test(evidence)))
    return answered


def _coverage(key: str, expected: Expected, *tasks: str, reference: str = "ns") -> Pair:
    return Pair("coverage", tasks, key, reference, BASELINES, expected)


def _claims() -> Iterator[Claim]:
    one = "5.1 Exploration"
    yield Claim(one, "STAX covers as much as NS on Curling", "90.8 % and 91 %, p = .77", _coverage("stax", "same", CURLING))
    yield Claim(one, "STAX covers less than NS on HardMaze", "80.3 % and 82.2 %, p = .015", _coverage("stax", "lower", MAZE))
    yield Claim(
        one, "STAX covers less than NS on Redundant Arm", "78.2 % and 93.3 %, p = 7.3e-5", _coverage("stax", "lower", ARM)
    )
    yield Claim(
        one,
        "what STAX lacks to NS is small on HardMaze, more on Redundant Arm",
        "1.9 and 15.1 points",
        answers.small_on_the_maze,
    )
    yield Claim(
        one, "NS, searching in the space of the measure, covers the most", "upper bound", Extreme("coverage", "ns", BASELINES)
    )
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
        Several((_coverage("map-elites", "same", CURLING), _coverage("serene", "same", CURLING))),
    )
    yield Claim(
        one,
        "ME and SERENE cover slightly less than NS on Redundant Arm",
        "p = 1.7e-4 and 5.8e-4",
        Several((_coverage("map-elites", "lower", ARM), _coverage("serene", "lower", ARM))),
    )
    yield Claim(
        one,
        "ME and SERENE cover slightly less than NS on HardMaze",
        "p = .017 and .026",
        Several((_coverage("map-elites", "lower", MAZE), _coverage("serene", "lower", MAZE))),
    )
    yield Claim(
        one,
        "MOO-NR struggles: it covers the least of those that know the ground truth",
        "figure",
        Extreme("coverage", "moo-nr", ("ns", "map-elites", "moo-nr", "serene"), highest=False),
    )
    yield Claim(
        one, "TAXONS covers less than STAX on Curling", "figure", _coverage("taxons", "lower", CURLING, reference="stax")
    )

    two = "5.2 Exploitation"
    yield Claim(two, "with emitters STAX has high rewards after few evaluations", "figure", answers.emitters_are_soon)
    yield Claim(
        two,
        "STAX earns as much as SERENE on Curling and HardMaze",
        "p = .53 and .71",
        Pair("reward", (CURLING, MAZE), "stax", "serene", BASELINES, "same"),
    )
    yield Claim(
        two,
        "STAX earns more than SERENE on Redundant Arm",
        "p = .014",
        Pair("reward", (ARM,), "stax", "serene", BASELINES, "higher"),
    )
    yield Claim(two, "without emitters ME improves rewards the best", "figure", Ordered("reward", "map-elites", "moo-nr"))
    yield Claim(two, "but much more slowly than STAX", "figure", Ordered("reward over time", "stax", "map-elites"))
    yield Claim(two, "MOO-NR always finds at least one reward area", "figure", answers.moo_nr_finds_one_area)
    yield Claim(two, "MOO-NR climbs the easiest area and seldom the hardest", "figure", answers.moo_nr_leaves_the_hardest)
    yield Claim(two, "NS reaches high rewards later than STAX", "figure", Ordered("reward over time", "stax", "ns"))
    yield Claim(
        two,
        "TAXONS is worse at rewards than any other",
        "p = 2.5e-4",
        BelowAll("reward over time", "taxons", BASELINES),
    )
    yield Claim(
        two,
        "on Redundant Arm TAXONS covers more than STAX",
        "p = 6.9e-3",
        _coverage("taxons", "higher", ARM, reference="stax"),
    )
    yield Claim(two, "and yet earns less in every area there", "figure", answers.taxons_earns_less_on_the_arm)

    three = "5.3 Final archives"
    yield Claim(
        three,
        "archives of STAX and SERENE cover the reward areas densely, those of NS and TAXONS do not",
        "figure",
        MoreRewarded(("stax", "serene"), ("ns", "taxons")),
    )
    yield Claim(
        three,
        "MOO-NR focuses on the reward areas it has found",
        "figure",
        MoreRewarded(("moo-nr",), ("ns",)),
    )
    yield Claim(three, "ME covers the space the most uniformly", "figure", answers.me_is_most_uniform)

    four = "5.4 Ablations"
    yield Claim(
        four,
        "all variants end with similar coverage on HardMaze and Redundant Arm",
        "p > .05",
        Several(tuple(Pair("coverage", (MAZE, ARM), key, "stax", ABLATIONS, "same") for key in ABLATIONS if key != "stax")),
    )
    yield Claim(
        four,
        "on Curling the variants with five observations cover more than STAX_single",
        "p < .028",
        Several(
            tuple(Pair("coverage", (CURLING,), key, "stax-single", ABLATIONS, "higher") for key in ("stax", "stax-alt-multi"))
        ),
    )
    yield Claim(
        four,
        "and more than STAX-ALT_single",
        "p < 4.3e-5",
        Several(
            tuple(
                Pair("coverage", (CURLING,), key, "stax-alt-single", ABLATIONS, "higher") for key in ("stax", "stax-alt-multi")
            )
        ),
    )
    yield Claim(four, "with five observations, coverage is high earlier", "figure", answers.earlier_with_five)
    yield Claim(
        four,
        "all variants end with similar rewards",
        "figure",
        Several(tuple(Pair("reward", tuple(TASKS), key, "stax", ABLATIONS, "same") for key in ABLATIONS[1:])),
    )
    yield Claim(four, "STAX_multi has high rewards the earliest", "figure", Extreme("reward over time", "stax", ABLATIONS))

    five = "5.5 Training of the autoencoder"
    yield Claim(
        five,
        "without training STAX covers less on all tasks",
        "p < 3.5e-6",
        Pair("coverage", tuple(TASKS), "stax-nt", "stax", REGIMES, "lower"),
    )
    yield Claim(five, "the most on Curling", "figure", answers.untrained_is_worst_on_curling)
    yield Claim(five, "without training STAX earns nothing on Curling", "figure", answers.untrained_earns_nothing_on_curling)
    yield Claim(five, "but climbs the easy areas of HardMaze and Redundant Arm", "figure", answers.untrained_finds_easy_areas)
    yield Claim(
        five,
        "trained from scratch every time, it covers as much of Redundant Arm",
        "p = .27",
        Pair("coverage", (ARM,), "stax-reset", "stax", REGIMES, "same"),
    )
    yield Claim(
        five,
        "and slightly less of Curling and HardMaze",
        "p = .038 and 8.2e-6",
        Pair("coverage", (CURLING, MAZE), "stax-reset", "stax", REGIMES, "lower"),
    )
    yield Claim(
        five, "only in HardMaze's hardest area does STAX earn more than STAX_reset", "p = 4.5e-5", answers.hardest_maze_area
    )

    six = "5.6 The learned space"
    yield Claim(six, "reconstructions of the arm are not perfect, but show where it is", "figure", answers.reconstructs)
    yield Claim(
        six,
        "learned descriptors are more similar to the ground truth than those of a random autoencoder",
        "p < 4.2e-5",
        answers.similar_to_the_truth,
    )
    yield Claim(six, "one reward area can be several zones in the learned space", "figure", answers.areas_are_split)


CLAIMS = tuple(_claims())
