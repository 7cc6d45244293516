"""The record of a finished run, made from its folder."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stax.analysis.measures import (
    Measured,
    budget_by_origin,
    check_ends,
    descriptor_similarity,
    final_policies,
    measure,
    random_space,
    reconstruction_error,
    spaces_similarity,
)
from stax.analysis.records.compact import (
    MOST_SHOWN,
    PROFILE_NAMES,
    Bounds,
    pack_curves,
    pack_ends,
    pack_reconstructions,
    pack_steps,
    quantised,
)
from stax.analysis.records.record import FORMAT, SUFFIX, TEXT, VERSION
from stax.analysis.splits import Split, split_of
from stax.errors import InvalidInputError, printable, shortened
from stax.runs import limits
from stax.runs.array_files import Arrays, pack_arrays
from stax.runs.config import RunConfig
from stax.runs.described_space import DescribedSpace
from stax.runs.described_task import DescribedTask
from stax.runs.digests import result_digests
from stax.runs.files import BAD_VALUE_ERRORS, read_bytes, write_for_user
from stax.runs.options import as_text
from stax.runs.reader import RunReader
from stax.runs.result import Result, load
from stax.search.emitters.emitter import EmitterRecord
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.representation.learned import LearnedSpace

_MOST_COMPARED = 2000
"""Policies whose random descriptors are computed; the similarity of so many hardly differs from that of all."""
_MOST_PICTURED = 300
"""Policies whose observations the reconstruction error is measured on."""
_LARGEST_SHOWN = 2**14
"""Numbers of a picture that is kept: more than one of 64 x 64 pixels has."""
_MOST_REASONS = 20
"""Reasons, of failures or of the ends of emitters, that are kept; the most frequent ones."""
_SUMMARY = (
    *("task", "algo", "preset", "seed", "budget", "evaluations", "coverage", "max_reward", "novelty_archive_size"),
    *("reward_archive_size", "training_episodes", "status", "numerics", "results_version", "workers"),
)
"""Entries of a summary that are kept as they are."""
_QUANTILES = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
_EMITTER_NUMBERS = ("generations", "evaluations", "improvement", "first_reward", "best_reward")
_LONGEST_NAME = 60
"""Characters of a task's name that are part of the name of a file."""


def record_name(config: RunConfig) -> str:
    """Return the name of the file with the record of this run: the same for the same run, another for any other."""
    decisive = as_text(config.decisive())
    task = re.sub(r"[^A-Za-z0-9_.-]+", "-", config.task).strip("-.")[:_LONGEST_NAME] or "task"
    digest = hashlib.sha256(decisive.encode()).hexdigest()[:10]
    return f"{task}-{config.algo}-{config.seed}-{config.budget}-{digest}{SUFFIX}"


def write_record(run: str | Path, folder: str | Path, *, trust: bool = False) -> Path:
    """Write the record of a finished run into a folder, which is made if there is none, and return its path.

    Args:
        run: the run's folder.
        folder: where the record is written to, under a name of the run's own. If there is another record of the same run, it is
            refused; the same one is left as it is.
        trust: whether code that the run names (`module:Class`) may be imported. Otherwise the record of such a run lacks what only
            that code could tell: observations, reconstructions and the random autoencoder.
    """
    content, config = make_record(run, trust=trust)
    path = Path(folder) / record_name(config)
    if path.exists() or path.is_symlink():
        if read_bytes(path, "The record", limits.RECORD_BYTES) == content:
            return path
        raise InvalidInputError(
            f"There is another record of the run in {str(run)!r} already, {str(path)!r}; move it away, or choose another folder."
        )
    write_for_user(path, content)
    return path


def make_record(run: str | Path, *, trust: bool = False) -> tuple[bytes, RunConfig]:
    """Return the content of the record of a finished run, and the run's configuration; see `write_record`."""
    reader = RunReader(run)
    reader.require_finished()
    result = load(run, trust=trust)
    try:
        text, arrays = _parts(result, reader)
        words = json.dumps(text, allow_nan=False, separators=(",", ":"))
    except InvalidInputError:
        raise
    except BAD_VALUE_ERRORS as error:
        raise InvalidInputError(
            f"The run in {str(run)!r} is damaged ({type(error).__name__}: {printable(error, 200)}): it cannot be recorded."
        ) from None
    file = io.BytesIO()
    pack_arrays(file, arrays, {TEXT: words}, level=9)
    content = file.getvalue()
    if len(content) > limits.RECORD_BYTES:
        sizes = {name: array.nbytes for name, array in arrays.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        raise InvalidInputError(
            f"The record of the run in {str(run)!r} would have {len(content):,} bytes, and at most {limits.RECORD_BYTES:,} are allowed;"
            f" the most of it is its {largest}."
        )
    return content, result.config


def _parts(result: Result, run: RunReader) -> tuple[dict[str, Any], Arrays]:
    """Return the text of a record, and its arrays."""
    config, task = result.config, result.task
    bounds: Bounds = task.ground_truth_bounds or ()
    cells = config.parameters.grid_cells
    measured = _course(result, run.path)
    highest = max(float(archive.reward.max(initial=0.0)) for archive in (result.novelty_archive, result.reward_archive))
    arrays = _curves(measured)
    for name, policies in _archives(result).items():
        arrays |= pack_ends(name, policies, bounds, cells, highest)
    learned, pictures = _learned(result, bounds, cells) if config.learns else (None, {})
    text = {
        "format": FORMAT,
        "version": VERSION,
        "config": run.config_text,
        "summary": _summary(run.summary, result),
        "digests": result_digests(result),
        "highest_reward": highest,
        "budget": [
            {"origin": spent.origin, "evaluations": spent.evaluations, "failed": spent.failed}
            for spent in budget_by_origin(result.ledger["origin"], result.ledger["failed"])
        ],
        "emitters": _emitters(result.emitters),
        "learned": learned,
    }
    return text, {**arrays, **pictures}


def _course(result: Result, path: Path) -> Measured:
    archived = np.union1d(result.novelty_archive.id, result.reward_archive.id)
    cells = result.config.parameters.grid_cells
    measured = measure(result.task, result.ledger, grid_cells=cells, archived_ids=archived)
    check_ends(measured, result.coverage, result.max_reward, path)
    return measured


def _curves(measured: Measured) -> Arrays:
    shares = {"coverage": measured.coverage, "exploration_coverage": measured.exploration_coverage}
    shares |= dict(zip(PROFILE_NAMES, measured.profile, strict=False))
    return {
        **{f"{name}.gaps": pack_steps(curve.evaluations) for name, curve in shares.items() if curve is not None},
        **(pack_curves("qd_score", [measured.qd_score]) if measured.qd_score is not None else {}),
        **pack_curves("max_reward", measured.max_reward),
        **pack_curves("archived_reward", measured.archived_reward),
    }


def _archives(result: Result) -> dict[str, PolicySet]:
    """Return both archives; of large ones a sample, always the same, of the same share of both."""
    novelty, reward = result.novelty_archive, result.reward_archive
    total = len(novelty) + len(reward)
    if total > limits.RECORD_POLICIES:
        chosen = np.sort(np.random.default_rng(0).choice(total, limits.RECORD_POLICIES, replace=False, shuffle=False))
        novelty, reward = (
            novelty.take(chosen[chosen < len(novelty)]),
            reward.take(chosen[chosen >= len(novelty)] - len(novelty)),
        )
    return {"novelty_archive": novelty, "reward_archive": reward}


def _summary(summary: Mapping[str, Any], result: Result) -> dict[str, Any]:
    """Return the summary without its parameters, which the configuration has too, and with a few reasons of failures."""
    failures = Counter(result.failures).most_common(_MOST_REASONS)
    return {
        **{name: summary[name] for name in _SUMMARY if name in summary},
        "failed_evaluations": {shortened(reason): count for reason, count in failures},
        "seconds": result.seconds,
        "core_seconds": result.core_seconds,
    }


def _emitters(records: Sequence[EmitterRecord]) -> list[dict[str, Any]]:
    """Return what became of the emitters, in numbers, for each kind."""
    by_kind: dict[str, list[EmitterRecord]] = {}
    for record in records:
        by_kind.setdefault(record.kind, []).append(record)
    return [
        {
            "kind": kind,
            "count": len(some),
            "ended_by": dict(Counter(record.ended_by or "still running" for record in some).most_common(_MOST_REASONS)),
            "quantiles": {name: _quantiles([getattr(record, name) for record in some]) for name in _EMITTER_NUMBERS},
        }
        for kind, some in sorted(by_kind.items())
    ]


def _quantiles(values: Sequence[float]) -> list[float]:
    finite = [value for value in values if value is not None and np.isfinite(value)]
    return [float(value) for value in np.quantile(finite, _QUANTILES)] if finite else []


# The learned space


def _learned(result: Result, bounds: Bounds, cells: int) -> tuple[dict[str, Any], Arrays]:
    """Return what is measured of a learned space, and the arrays that belong to it."""
    compared = final_policies(result, _MOST_COMPARED)
    measures: dict[str, Any] = {}
    if bounds:
        measures["similarity"] = descriptor_similarity(compared).similarity
    arrays: Arrays = {}
    if not isinstance(result.task, DescribedTask) and not isinstance(result.space, DescribedSpace):
        arrays = _observed(result)
        measures |= _reconstruction(result, compared)
    split = split_of(result.task.name, final_policies(result)) if bounds else None
    # An autoencoder may have diverged; then there is no number to compare it by.
    measures = {name: value if value is not None and np.isfinite(value) else None for name, value in measures.items()}
    if split is not None:
        measures["split"], split_arrays = _packed_split(split, bounds, cells)
        arrays |= split_arrays
    return measures, arrays


def _reconstruction(result: Result, compared: PolicySet) -> dict[str, float | None]:
    """Return errors of reconstructions, by the autoencoder, by a random one, and by the mean observation."""
    space, task = cast("LearnedSpace", result.space), result.task
    pictured = final_policies(result, _MOST_PICTURED)
    measures = {
        "reconstruction_error": reconstruction_error(space, task, pictured),
        "mean_observation_error": _mean_observation_error(result, pictured),
    }
    if "autoencoder" in {**result.config.code, **result.config.objects}:
        return measures
    random = cast("LearnedSpace", random_space(result, task))
    measures["random_reconstruction_error"] = reconstruction_error(random, task, pictured)
    if task.ground_truth_bounds is not None:
        measures["random_similarity"] = spaces_similarity(random, compared).similarity
    return measures


def _mean_observation_error(result: Result, policies: PolicySet) -> float | None:
    task = result.task
    if not len(policies):
        return None
    rollouts = policies.rollouts()
    used = cast("LearnedSpace", result.space).used_moments(rollouts)
    seen = task.observe(rollouts)[np.arange(len(rollouts))[:, None], used].astype(np.float64)
    seen = seen.reshape(-1, *task.observation_shape) / (255 if task.observation_dtype == "uint8" else 1)
    return float(np.square(seen - seen.mean(axis=0)).mean())


def _observed(result: Result) -> Arrays:
    """Return the last observations of some archived policies, evenly spread over the archives, and their reconstructions."""
    task, policies = result.task, final_policies(result)
    size = int(np.prod(task.observation_shape))
    if task.observation_dtype != "uint8" or len(task.observation_shape) != 3 or size > _LARGEST_SHOWN or not len(policies):
        return {}
    chosen = policies.take(np.unique(np.linspace(0, len(policies) - 1, MOST_SHOWN).astype(int))).rollouts()
    reconstructed = cast("LearnedSpace", result.space).reconstruct(chosen)[:, -1]
    return {"observed": task.observe(chosen)[:, -1], "reconstructed": pack_reconstructions(reconstructed)}


def _packed_split(split: Split, bounds: Bounds, cells: int) -> tuple[dict[str, Any], Arrays]:
    lows, highs = split.components.min(axis=0), split.components.max(axis=0)
    highs = np.where(highs > lows, highs, lows + 1.0)
    within = tuple(zip(lows.tolist(), highs.tolist(), strict=True))
    text = {
        "area": split.area,
        "parts_ground_truth": split.parts_ground_truth,
        "parts_learned": split.parts_learned,
        "lowest": lows.tolist(),
        "highest": highs.tolist(),
    }
    arrays: Arrays = {
        "split.ends": quantised(split.ground_truth, bounds, cells),
        "split.components": quantised(split.components, within),
    }
    return text, arrays
