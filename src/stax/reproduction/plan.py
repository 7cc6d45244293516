"""The runs that each figure of the paper needs, as a campaign that can be stopped and continued."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stax.errors import InvalidInputError, no_such
from stax.runs.campaign import Campaign, CampaignRun, fitted_runs
from stax.runs.config import make_config
from stax.runs.folder import RunFolder
from stax.search.methods import METHODS

PAPER_BUDGET, PAPER_SEEDS = 500_000, 15
QUICK_BUDGET, QUICK_SEEDS = 1_500, 2
PAPER_COVERAGE = {
    ("curling", "ns"): 91.0,
    ("curling", "stax"): 90.8,
    ("hard-maze", "ns"): 82.2,
    ("hard-maze", "stax"): 80.3,
    ("redundant-arm", "ns"): 93.3,
    ("redundant-arm", "stax"): 78.2,
    ("redundant-arm", "serene"): 87.0,
    ("redundant-arm", "stax-ef"): 86.6,
}
"""Coverage in percent by task and method, where the paper's text gives it."""
MINIMUM_SEEDS = 5
"""Seeds that every group of a claim needs; with fewer there is no verdict."""
TASKS = {"curling": "Curling", "hard-maze": "HardMaze", "redundant-arm": "Redundant Arm"}
"""Tasks in the paper's order, with the names that the paper gives them."""


@dataclass(frozen=True)
class Variant:
    """A method as the paper has it."""

    key: str
    """Name in the names of folders."""
    name: str
    """Name in the paper."""
    algo: str
    parameters: dict[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = tuple(TASKS)
    learned: bool = True


def _of_method(algo: str) -> Variant:
    method = METHODS[algo]
    return Variant(algo, method.paper_name, algo, learned=method.is_learned)


VARIANTS = {
    variant.key: variant
    for variant in (
        *map(_of_method, ("ns", "map-elites", "moo-nr", "serene", "taxons", "stax")),
        Variant("stax-ef", "STAX_ef", "stax", {"task.view": "end-effector"}, ("redundant-arm",)),
        *map(_of_method, ("stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset")),
    )
}
BASELINES = ("ns", "map-elites", "moo-nr", "serene", "taxons", "stax")
ABLATIONS = ("stax", "stax-single", "stax-alt-multi", "stax-alt-single")
REGIMES = ("stax", "stax-nt", "stax-reset")


@dataclass(frozen=True)
class Item:
    """Something of the paper that can be made again."""

    name: str
    about: str
    variants: tuple[str, ...]
    figures: tuple[str, ...]
    """Figures of the paper, as claims name them."""
    tasks: tuple[str, ...] = tuple(TASKS)


ITEMS = {
    item.name: item
    for item in (
        Item("fig-coverage", "final coverage of STAX and the baselines", (*BASELINES, "stax-ef"), ("Fig. 4",)),
        Item("fig-reward", "highest reward per area, over the budget and at its end", BASELINES, ("Fig. 5",)),
        Item("fig-archives", "where the policies of the final archives end", BASELINES, ("Fig. 6",)),
        Item("fig-ablation", "coverage and reward of the ablations of STAX", ABLATIONS, ("Fig. 7", "Fig. 8")),
        Item("fig-training", "coverage and reward by how the autoencoder is trained", REGIMES, ("Fig. 9", "Fig. 10")),
        Item("fig-reconstruction", "what the autoencoder sees and reconstructs", ("stax",), ("Fig. 11",), ("redundant-arm",)),
        Item("fig-similarity", "how alike learned and ground-truth descriptors are", ("stax",), ("Fig. 12",)),
        Item("fig-split", "a reward area in the ground-truth and in the learned space", ("stax",), ("Fig. 13",)),
        Item("claims", "every sentence of the paper's Section 5 that can be tested", tuple(VARIANTS), ()),
    )
}
ALL = "all"


def chosen_items(name: str) -> list[Item]:
    """Return the item of this name; all of them for `all`."""
    if name == ALL:
        return list(ITEMS.values())
    if name not in ITEMS:
        raise InvalidInputError(no_such("item", name, [*ITEMS, ALL]))
    return [ITEMS[name]]


def plan(
    items: Sequence[Item],
    *,
    out: Path,
    budget: int,
    seeds: int,
    preset: str = "default",
    changed: Mapping[str, Any] | None = None,
    processes: int | None = None,
    workers: int = 1,
) -> Campaign:
    """Return the runs that these items need, in folders that do not depend on which items were asked for.

    Args:
        items: what is to be made.
        out: the folder of the reproduction.
        budget, seeds: of each method on each task.
        preset: of all runs.
        changed: parameters that all runs have otherwise than the preset; those of a variant still count.
        processes: runs at a time; None for as many as there are cores.
        workers: cores of each run.
    """
    runs = []
    for seed in range(seeds):
        for task, variant in needed(items):
            given = {"task": task, "algo": variant.algo, "seed": seed, "budget": budget, "preset": preset, "workers": workers}
            folder = RunFolder(out / "runs" / run_name(task, variant.key, seed))
            config = make_config(given, {**(changed or {}), **variant.parameters})
            runs.append(CampaignRun(folder, config, "ef" if variant.key == "stax-ef" else ""))
    return Campaign(out=out / "runs", runs=fitted_runs(runs), processes=processes, workers=workers)


def needed(items: Sequence[Item]) -> Iterator[tuple[str, Variant]]:
    """Return every task and method that any of the items needs, once."""
    for task in TASKS:
        for variant in VARIANTS.values():
            if task in variant.tasks and any(task in item.tasks and variant.key in item.variants for item in items):
                yield task, variant


def run_name(task: str, key: str, seed: int) -> str:
    return f"{task}-{key}-{seed}"
