"""What the page is told about a run: facts as JSON, and columns of numbers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from stax.analysis.measures import Curve, coverage_grid, measure
from stax.errors import InvalidInputError, printable
from stax.explorer.data import RunData, kept_episodes
from stax.explorer.packing import finite, pack
from stax.search.methods import find_method
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import ORIGINS

MOST_ROWS = 2_000_000
"""Rows of the ledger that the page gets; of more, every second, third, ..."""
MOST_STEPS = 1500
"""Steps of a curve that are drawn."""
MOST_EMITTERS = 20_000
_SAMPLE = 2000
"""Policies that principal components are computed from."""
_LONGEST_WORDS = 300
"""Characters of a stranger's words that are shown."""


def kept_policies(run: RunData) -> PolicySet:
    """Return the policies of both archives, each once, by id; where both hold a policy, the row of the reward archive counts."""
    return PolicySet.union([run.reward_archive, run.novelty_archive])


def best_policies(kept: PolicySet) -> list[int]:
    """Return the ids of the best policy of each reward area, the best first; the first policy if none was rewarded."""
    found = []
    for area in np.unique(kept.reward_area[kept.reward > 0]).tolist():
        rows = np.flatnonzero((kept.reward_area == area) & (kept.reward > 0))
        found.append(int(rows[kept.reward[rows].argmax()]))
    found.sort(key=lambda row: -float(kept.reward[row]))
    return [int(number) for number in kept.id[found or slice(0, 1)]]


def run_message(run: RunData, number: int) -> bytes:
    """Return everything that the page draws of a run.

    Args:
        run: the run.
        number: its place among the runs that are explored.
    """
    kept = kept_policies(run)
    ledger, stride = _ledger_columns(run)
    about = {
        **run_facts(run),
        "number": number,
        "stride": stride,
        "emitters": _emitters(run),
        "metrics": _metrics(run),
        "curves": _curves(run),
        "episodes": _trainings(run),
    }
    return pack(finite(about), {**ledger, **_policy_columns(run, kept)})


def run_facts(run: RunData) -> dict[str, Any]:
    """Return what a run is and how it went, without its columns."""
    config, task, parameters = run.config, run.task, run.config.parameters
    method = find_method(config.algo)
    folder = shlex.quote(str(run.path))
    return {
        "name": run.path.resolve().name,
        "folder": str(run.path),
        "task": printable(config.task, _LONGEST_WORDS),
        "algo": config.algo,
        "about": method.about,
        "color": method.color,
        "preset": config.preset,
        "seed": config.seed,
        "budget": config.budget,
        "status": run.status,
        "error": printable(run.summary.get("error", ""), _LONGEST_WORDS),
        "source": run.source,
        "evaluations": run.evaluations,
        "coverage": run.summary.get("coverage") if run.source == "results" else _last(run, "coverage"),
        "max_reward": run.summary.get("max_reward", []),
        "seconds": run.summary.get("seconds", {}),
        "training_episodes": run.summary.get("training_episodes", 0),
        "novelty_size": len(run.novelty_archive),
        "reward_size": len(run.reward_archive),
        "bounds": task.ground_truth_bounds,
        "grid_cells": parameters.grid_cells,
        "areas": [
            {"name": printable(area.name, _LONGEST_WORDS), "center": area.center, "radius": area.radius}
            for area in task.reward_areas
        ],
        "origins": ORIGINS,
        "has_emitters": config.has_emitters,
        "emitter_population": parameters.emitter_population,
        "descriptor": parameters.descriptor,
        "learns": config.learns,
        "samples": parameters.descriptor_samples or task.observation_samples,
        "code_size": parameters.sequence_size or parameters.code_size,
        "observation_shape": task.observation_shape,
        "needs_trust": config.task_is_code or bool(config.code),
        "parameters": {name: _words(value) for name, value in asdict(parameters).items()},
        "replay": f"stax replay {folder}",
        "export": f"stax export {folder}" if task.policy_sizes is not None else "",
        "kept_episodes": kept_episodes(run.path),
    }


def _last(run: RunData, name: str) -> Any:
    return run.metrics[-1].get(name) if run.metrics else None


def _words(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, type(None))) else printable(value, _LONGEST_WORDS)


# Columns


def _ledger_columns(run: RunData) -> tuple[dict[str, NDArray[Any]], int]:
    """Return the columns of the ledger, and the distance between two rows that are sent."""
    ledger = run.ledger
    stride = max(1, -(-run.evaluations // MOST_ROWS))
    rows = slice(None, None, stride)
    columns: dict[str, NDArray[Any]] = {
        "parent": ledger["parent"][rows],
        "origin": ledger["origin"][rows].astype(np.int8),
        "emitter": ledger["emitter"][rows],
        "reward": ledger["reward"][rows].astype(np.float32),
        "area": ledger["reward_area"][rows].astype(np.int16),
        "truth": np.ascontiguousarray(ledger["ground_truth"][rows].T, np.float32),
    }
    grid = coverage_grid(run.task, run.config.parameters.grid_cells)
    if grid is not None and grid.size < 2**31:
        cell = np.full(run.evaluations, -1, np.int64)
        done = ~ledger["failed"]
        cell[done] = grid.cell(ledger["ground_truth"][done])
        columns["cell"] = cell[rows]
    return {f"ledger.{name}": column for name, column in columns.items()}, stride


def _policy_columns(run: RunData, kept: PolicySet) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {
        name: getattr(kept, name) for name in ("id", "parent", "born", "origin", "emitter", "steps", "reward")
    }
    columns |= {"area": kept.reward_area, "novelty": kept.novelty, "surprise": kept.surprise, "truth": kept.ground_truth.T}
    if kept.reward_spread is not None:
        columns["spread"] = kept.reward_spread
    in_novelty = np.isin(kept.id, run.novelty_archive.id)
    in_reward = np.isin(kept.id, run.reward_archive.id)
    columns["archive"] = (in_novelty + 2 * in_reward).astype(np.uint8)
    columns["descriptor"] = kept.descriptor.astype(np.float32)
    for name, values in (("descriptor", kept.descriptor), ("genome", kept.genome)):
        places, center, directions = principal_components(values)
        columns |= {f"{name}_pca": places.T, f"{name}_center": center, f"{name}_directions": directions}
    return {f"policy.{name}": np.ascontiguousarray(column) for name, column in columns.items()}


def principal_components(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return places (n, 2) along the two directions in which rows differ most, the centre (d,) and the directions (2, d).

    Rows that are not finite have places that are not either. The directions point to where their largest number is positive, so that the
    picture does not turn round from one computation to the next.
    """
    directions = np.zeros((2, values.shape[1]))
    known = values[np.isfinite(values).all(axis=1)]
    center = known.mean(axis=0) if len(known) else np.zeros(values.shape[1])
    if len(known) > _SAMPLE:
        known = known[np.random.default_rng(0).choice(len(known), _SAMPLE, replace=False)]
    if len(known) and values.shape[1]:
        found = _main_directions(known - center)
        signs = np.sign(np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1))
        directions[: len(found)] = found * np.where(signs == 0, 1, signs)
    return (values - center) @ directions.T, center, directions


def _main_directions(centred: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions, or the one if there is only one, in which rows around 0 differ most."""
    size = centred.shape[1]
    if size > _SAMPLE:
        return np.asarray(np.linalg.svd(centred, full_matrices=False)[2][:2])
    _, vectors = scipy.linalg.eigh(centred.T @ centred, subset_by_index=(max(size - 2, 0), size - 1))
    return np.asarray(vectors[:, ::-1].T)


def aligned(places: NDArray[np.float64], like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places (n, 2) turned and mirrored so that they lie as near as can be to others, which keeps a changing map readable."""
    known = np.isfinite(places).all(axis=1) & np.isfinite(like).all(axis=1)
    left, _, right = np.linalg.svd(places[known].T @ like[known])
    return np.asarray(places @ (left @ right))


def umap_places(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return places (n, 2) of descriptors by UMAP, which is an optional package."""
    try:
        import umap
    except ImportError:
        raise InvalidInputError("A map by UMAP needs the package 'umap-learn': pip install umap-learn.") from None
    places = np.full((len(values), 2), np.nan, np.float32)
    known = np.isfinite(values).all(axis=1)
    if known.sum() < 4:
        raise InvalidInputError(f"A map by UMAP needs at least 4 policies with descriptors, not {int(known.sum())}.")
    neighbours = int(min(15, known.sum() - 1))
    places[known] = umap.UMAP(n_neighbors=neighbours, random_state=0, n_jobs=1).fit_transform(values[known])
    return places


# The course


def _curves(run: RunData) -> dict[str, Any]:
    kept = np.union1d(run.novelty_archive.id, run.reward_archive.id)
    measured = measure(run.task, run.ledger, grid_cells=run.config.parameters.grid_cells, archived_ids=kept)
    return {
        "coverage": None if measured.coverage is None else _steps(measured.coverage),
        "exploration": None if measured.exploration_coverage is None else _steps(measured.exploration_coverage),
        "rewards": [_steps(curve) for curve in measured.max_reward],
    }


def _steps(curve: Curve) -> dict[str, list[float]]:
    """Return a curve with no more steps than can be seen, the last among them."""
    rows = np.arange(len(curve.values))
    if len(rows) > MOST_STEPS:
        rows = np.unique(np.linspace(0, len(rows) - 1, MOST_STEPS).round().astype(np.int64))
    return {"x": curve.evaluations[rows].tolist(), "y": curve.values[rows].tolist()}


def _metrics(run: RunData) -> dict[str, list[Any]]:
    """Return the columns of the metrics that are drawn."""
    rows = _thinned(run.metrics)
    wanted = ["evaluations", "phase", "novelty_archive_size", "reward_archive_size", "emitters"]
    wanted += [f"seconds_{activity}" for activity in ("evaluation", "training", "encoding", "selection", "storage")]
    numbers = {name: [_number(row.get(name)) for row in rows] for name in wanted if name != "phase"}
    return {**numbers, "phase": [str(row.get("phase", "")) for row in rows]}


def _thinned(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(rows) <= MOST_STEPS:
        return list(rows)
    chosen = np.unique(np.linspace(0, len(rows) - 1, MOST_STEPS).round().astype(np.int64))
    return [rows[row] for row in chosen]


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _trainings(run: RunData) -> list[dict[str, Any]]:
    """Return a row per training episode: when it was done, and its errors."""
    found, done = [], 0
    for row in run.metrics:
        episodes = row.get("training_episodes")
        if isinstance(episodes, int) and episodes > done:
            done = episodes
            names = ("evaluations", "training_error", "validation_error")
            found.append({"episode": episodes, **{name: _number(row.get(name)) for name in names}})
    return found


def _emitters(run: RunData) -> list[dict[str, Any]]:
    records = run.emitters
    if len(records) > MOST_EMITTERS:
        records = sorted(records, key=lambda record: (-int(record.evaluations), record.id))[:MOST_EMITTERS]
        records.sort(key=lambda record: record.id)
    rows = []
    for record in records:
        row = {name: _number(value) for name, value in asdict(record).items()}
        rows.append({**row, "ended_by": printable(record.ended_by, 100), "kind": printable(record.kind, 100)})
    return rows
