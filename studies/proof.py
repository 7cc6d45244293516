"""The runs behind docs/reproduction, stage by stage. Of every run a record is kept, and its folder removed.

    python studies/proof.py --out FOLDER              # all stages in order, two runs at a time
    python studies/proof.py --out FOLDER --status     # how far every stage has come, as a table
    python studies/proof.py --out docs/reproduction --status

It takes many hours. Stop it at any time and call it again: runs go on from their checkpoints. Use one checkout for all runs of the
study, so that they have one results version; copy FOLDER/records to docs/reproduction/records.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import stax_command

if __name__ == "__main__":
    stax_command.prepare_process()

from stax.analysis.recorded import find_records
from stax.cli.watched_campaign import do_watched
from stax.reproduction.keeping import FOLDER, KeptRecords
from stax.reproduction.plan import TASKS, VARIANTS
from stax.runs.campaign import Campaign, CampaignRun, fitted_runs
from stax.runs.config import RunConfig, make_config
from stax.runs.folder import RunFolder
from stax.runs.options import as_text

PAPER_BUDGET, SHORT_BUDGET = 500_000, 100_000


@dataclass(frozen=True)
class Stage:
    """A part of the study that is worth something on its own."""

    about: str
    variants: tuple[str, ...]
    budget: int
    seeds: Mapping[str, int]
    """Seeds on each task."""
    preset: str = "default"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are neither the preset's nor the method's."""


FIVE_SEEDS = dict.fromkeys(TASKS, 5)
STAGES = (
    Stage(
        "methods that know the ground truth",
        ("ns", "map-elites", "moo-nr", "serene"),
        PAPER_BUDGET,
        {**FIVE_SEEDS, "redundant-arm": 10},
    ),
    Stage(
        "every method that learns",
        ("stax", "taxons", "stax-ef", "stax-single", "stax-alt-multi", "stax-alt-single", "stax-nt", "stax-reset"),
        SHORT_BUDGET,
        FIVE_SEEDS,
    ),
    Stage("STAX and TAXONS at the paper's budget", ("stax", "taxons", "stax-ef"), PAPER_BUDGET, FIVE_SEEDS),
    Stage(
        "the authors' published code",
        ("moo-nr", "map-elites", "ns", "stax-nt"),
        SHORT_BUDGET,
        FIVE_SEEDS,
        "published-code",
    ),
    Stage(
        # Training as in the published code would take days for each of these runs: its episodes see all that was observed.
        "the authors' published code, but trained as by `default`",
        ("stax", "stax-ef"),
        SHORT_BUDGET,
        FIVE_SEEDS,
        "published-code",
        {"max_images_per_episode": 2000, "center_observations": True, "scale_observations": True},
    ),
    Stage(
        "four times the training",
        ("stax", "stax-ef"),
        SHORT_BUDGET,
        {"redundant-arm": 5},
        parameters={"max_images_per_episode": 8000},
    ),
    *(
        Stage(
            "smaller mutations at the paper's budget",
            ("ns", "map-elites", "moo-nr", "serene"),
            PAPER_BUDGET,
            {"redundant-arm": 5},
            parameters={"mutation_sigma": sigma},
        )
        for sigma in (0.05, 0.2)
    ),
)


def runs_of(number: int, out: Path, methods: Sequence[str] | None = None, seeds: int | None = None) -> Iterator[CampaignRun]:
    """Yield the runs of a stage, one seed of everything after the other; only of these methods, and only the first seeds, if given."""
    stage = STAGES[number - 1]
    for seed in range(max(stage.seeds.values()) if seeds is None else seeds):
        for task in TASKS:
            for variant in (VARIANTS[key] for key in stage.variants):
                if task not in variant.tasks or seed >= stage.seeds.get(task, 0) or (methods and variant.key not in methods):
                    continue
                given = {"task": task, "algo": variant.algo, "seed": seed, "budget": stage.budget, "preset": stage.preset}
                config = make_config({**given, "workers": 1, "device": "cpu"}, {**variant.parameters, **stage.parameters})
                folder = RunFolder(out / "runs" / f"{number}-{task}-{variant.key}-{seed}")
                yield CampaignRun(folder, config, f"stage {number}{', ef' if variant.key == 'stax-ef' else ''}")


def kind(config: RunConfig) -> tuple[object, ...]:
    """Return what tells the runs of the study apart. Versions of the package may name and default their parameters differently."""
    changed = config.parameters.max_images_per_episode, config.parameters.mutation_sigma
    return config.task, config.algo, config.preset, config.seed, config.budget, config.task_options.get("view"), changed


def stages_table(recorded: Mapping[int, Sequence[bool]]) -> list[str]:
    """Return how many runs of each stage are recorded, as Markdown."""
    lines = ["| stage | methods | preset and parameters | evaluations | runs recorded |", "|---|---|---|---|---|"]
    for number, runs in recorded.items():
        stage = STAGES[number - 1]
        names = ", ".join(f"`{name}`" for name in stage.variants)
        count = f"all {len(runs)}" if all(runs) else f"{sum(runs)} of {len(runs)}"
        settings = ", ".join([f"`{stage.preset}`", *(f"`{name}={as_text(value)}`" for name, value in stage.parameters.items())])
        lines.append(f"| {number}. {stage.about} | {names} | {settings} | {stage.budget:,} | {count} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study, outside of the project")
    parser.add_argument(
        "--stage", type=int, choices=range(1, len(STAGES) + 1), action="append", help="only this stage (repeatable)"
    )
    parser.add_argument("--method", action="append", help="only this method of each stage, by its name there (repeatable)")
    parser.add_argument("--seeds", type=int, help="only the first so many seeds of each stage")
    parser.add_argument("--processes", type=int, default=2, help="runs at a time (default 2)")
    parser.add_argument("--status", action="store_true", help="say how far every stage has come, and do nothing")
    options = parser.parse_args()
    numbers = options.stage or range(1, len(STAGES) + 1)
    stages = {number: fitted_runs(list(runs_of(number, options.out, options.method, options.seeds))) for number in numbers}
    every = [run for runs in stages.values() for run in runs]
    campaign = Campaign(out=options.out / "runs", runs=every, processes=options.processes, workers=1)
    kept = KeptRecords(options.out, "records")
    kept.look(campaign)
    there = {kind(record.config) for record in find_records(options.out / FOLDER)} if (options.out / FOLDER).is_dir() else set()
    print("\n".join(stages_table({number: [kind(run.config) in there for run in runs] for number, runs in stages.items()})))
    todo = [run for run in every if run.status not in ("finished", "elsewhere")]
    if todo and not options.status:
        do_watched(campaign, todo, quiet=False, command="the same command", finished=kept.try_to_keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
