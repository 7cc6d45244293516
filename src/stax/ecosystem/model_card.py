"""The card of a shared run: a README with the metadata, the numbers and the lines of code that a model hub shows.

The texts of a run folder may come from a stranger. In the metadata they are JSON strings, which are valid YAML; in code they are
Python literals; elsewhere every character that Markdown or HTML could interpret is written as an entity.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stax import __version__
from stax.errors import printable
from stax.runs.result import Result
from stax.runs.status import RunStatus
from stax.search.methods import find_method
from stax.wording import counted, duration, percent

_LONGEST_TEXT = 200
_PLAIN = " ,-"
"""Characters beside letters and digits that mean nothing to Markdown in the middle of a line."""
_FILES = {
    "archives/novelty.parquet": "the policies of the novelty archive, a row each",
    "archives/reward.parquet": "the policies of the reward archive",
    "autoencoder.safetensors": "the trained autoencoder",
    "config.toml": "everything needed to do the run again",
    "summary.json": "the numbers of the run and all its parameters",
    "metrics.csv": "the course of the search, a row per chunk of the budget",
    "archives.png": "where the policies of both archives end",
}


@dataclass(frozen=True)
class Film:
    """The film of the best policy of a reward area."""

    file: str
    """Path relative to the card."""
    area: str
    policy: int
    """Id of the policy."""
    reward: float


def model_card(result: Result, folder: Path, films: Sequence[Film], missing: Sequence[str]) -> str:
    """Return the text of the card.

    Args:
        result: the run's result.
        folder: the folder that the card is for, with its other files in place.
        films: the films in the folder.
        missing: sentences that say what could not be made.
    """
    parts = [
        _metadata(result),
        *_introduction(result, folder),
        *_numbers(result),
        *_films(films, missing),
        *_use(result, folder),
    ]
    return "\n".join([*parts, *_files(folder), ""])


def as_text(words: object) -> str:
    """Return a stranger's words as one line of Markdown that shows them as they are."""
    return "".join(
        letter if letter.isalnum() or letter in _PLAIN else f"&#{ord(letter)};" for letter in printable(words, _LONGEST_TEXT)
    )


def _metadata(result: Result) -> str:
    task = printable(result.task.name, _LONGEST_TEXT)
    metrics: list[dict[str, Any]] = []
    if result.coverage is not None:
        metrics.append({"type": "coverage", "name": "Coverage", "value": round(result.coverage, 6)})
    for area, reward in zip(result.task.reward_areas, result.max_reward, strict=True):
        name = f"Best reward, {printable(area.name, _LONGEST_TEXT)}"
        metrics.append({"type": "max_reward", "name": name, "value": round(reward, 6)})
    kind = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
    found = {"task": kind, "dataset": {"type": task, "name": task}, "metrics": metrics}
    entries = {
        "library_name": "stax",
        "pipeline_tag": "reinforcement-learning",
        "tags": ["quality-diversity", "novelty-search", "sparse-rewards", "reinforcement-learning", result.algo],
        "model-index": [{"name": f"{result.algo} on {task}, seed {result.seed}", "results": [found]}],
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in entries.items()]
    return "\n".join(["---", *lines, "---", ""])


def _introduction(result: Result, folder: Path) -> Iterator[str]:
    policies = len(np.union1d(result.novelty_archive.id, result.reward_archive.id))
    method = find_method(result.algo)
    kept = "the policies of diverse behaviour (novelty archive)"
    kept += " and those that emitters improved (reward archive)" if method.emitters else ""
    yield f"# {result.algo} on {as_text(result.task.name)}, seed {result.seed}"
    yield ""
    yield (
        f"{counted(policies, 'policy', 'policies')} that the quality-diversity method `{result.algo}` of STAX {__version__} found in"
        f" {result.evaluations:,} evaluations of the task {as_text(result.task.name)}: {kept}. The method: {method.about}."
    )
    yield ""
    if result.status != RunStatus.FINISHED:
        yield f"The run was {as_text(result.status)}: its budget of {result.budget:,} evaluations is not spent."
        yield ""
    if (folder / "archives.png").is_file():
        yield "![Where the policies of both archives end, and the course of the search](archives.png)"
        yield ""


def _numbers(result: Result) -> Iterator[str]:
    rows = [("evaluations", f"{result.evaluations:,} of {result.budget:,}")]
    if result.coverage is not None:
        rows.append(("coverage", percent(result.coverage)))
    for area, reward in zip(result.task.reward_areas, result.max_reward, strict=True):
        rows.append((f"best reward, {as_text(area.name)}", f"{reward:.3f}" if reward > 0 else "none found"))
    rows.append(("novelty archive", counted(len(result.novelty_archive), "policy", "policies")))
    rows.append(("reward archive", counted(len(result.reward_archive), "policy", "policies")))
    rows.append(("trainings of the autoencoder", f"{result.training_episodes:,}"))
    rows.append(("preset, seed", f"{as_text(result.preset)}, {result.seed}"))
    rows.append(("time", duration(result.seconds["total"])))
    yield "## Numbers"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {value} |" for name, value in rows)
    yield ""


def _films(films: Sequence[Film], missing: Sequence[str]) -> Iterator[str]:
    if not films and not missing:
        return
    yield "## Films"
    yield ""
    for film in films:
        yield f"![The best policy of {as_text(film.area)}]({film.file})"
        yield ""
        yield f"The best policy of {as_text(film.area)}: number {film.policy}, reward {film.reward:.3f}."
        yield ""
    for sentence in dict.fromkeys(missing):
        yield as_text(sentence)
        yield ""


def _use(result: Result, folder: Path) -> Iterator[str]:
    archive = "reward" if len(result.reward_archive) else "novelty"
    rewarded = (getattr(result, f"{archive}_archive").reward > 0).any()
    options = result.config.task_options
    task = ", ".join([repr(printable(result.config.task, _LONGEST_TEXT)), *([f"**{options!r}"] if options else [])])
    yield "## Use"
    yield ""
    yield "```"
    yield "pip install stax-qd pandas"
    yield "```"
    yield ""
    yield "```python"
    yield "import pandas"
    yield "import stax"
    yield ""
    if result.config.task_given:
        yield "task = ...  # the object that the run was given"
    else:
        yield f"task = stax.make_task({printable(task)})"
    yield f'archive = stax.PolicySet.from_pandas(pandas.read_parquet("archives/{archive}.parquet"), task)'
    yield f"policy = archive.{'best()' if rewarded else 'take([0])'}"
    yield "rollouts = task.evaluate(policy.genome)"
    yield "print(rollouts.reward, rollouts.ground_truth)"
    if (folder / "autoencoder.safetensors").is_file() and not {"autoencoder"} & {*result.config.code, *result.config.objects}:
        yield ""
        yield "from stax.ecosystem import shared_space"
        yield ""
        yield 'space = shared_space(".", task)'
        yield "print(space.describe(rollouts))"
    yield "```"
    yield ""
    if not result.config.objects:
        yield "The same run again:"
        yield ""
        yield "```"
        yield f"stax run --config config.toml{' --trust' if result.config.code else ''}"
        yield "```"
        yield ""


def _files(folder: Path) -> Iterator[str]:
    yield "## Files"
    yield ""
    yield "| file | holds |"
    yield "|---|---|"
    yield from (f"| `{name}` | {about} |" for name, about in _FILES.items() if (folder / name).is_file())
    if (folder / "films").is_dir():
        yield "| `films/` | the best policy of each reward area |"
