"""Policies as archives of pyribs, and back from any of its archives.

    archive = grid_archive(result.novelty_archive, result.task)      # cells as `stax` counts coverage
    ribs.visualize.grid_archive_heatmap(archive)
    policies = policies_from_ribs(archive, result.task)

A solution is a genome, its objective the reward, its measures the ground truth or the descriptor. What else is known of a policy, but for
its snapshots, goes along as fields of the same names. pyribs comes with the extra `ribs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.ecosystem.extras import import_extra
from stax.ecosystem.given_policies import given_policies
from stax.errors import InvalidInputError, check_choice, check_whole
from stax.search.policy_set import PolicySet
from stax.tasks.task import Task, check_genomes

if TYPE_CHECKING:
    from ribs.archives import ArchiveBase, CVTArchive, GridArchive, ProximityArchive

Bounds = Sequence[tuple[float, float]]
MEASURES = ("ground_truth", "descriptor")
_FIELDS = ("id", "parent", "born", "origin", "emitter", "reward_area", "steps", "novelty", "surprise", *MEASURES)
"""What goes along with a policy, but for what its measures are."""


def grid_archive(
    policies: PolicySet,
    task: Task,
    *,
    cells: int | Sequence[int] = 50,
    measures: str = "ground_truth",
    bounds: Bounds | None = None,
) -> GridArchive:
    """The best policy of every cell of a grid; of equally good ones the first.

    Args:
        policies: an archive, or both by `PolicySet.union`.
        task: the policies'.
        cells: of each side of the grid; 50, as for coverage.
        measures: `ground_truth` or `descriptor`.
        bounds: of the grid, a lowest and a highest value a measure; the task's for the ground truth, for the descriptor the lowest and
            highest among the policies. What lies outside counts for the nearest cell.
    """
    ribs = _ribs()
    values = _values(policies, measures)
    sides = [cells] * values.shape[1] if isinstance(cells, int) else list(cells)
    if len(sides) != values.shape[1]:
        raise InvalidInputError(f"cells must be one number, or {values.shape[1]} for as many measures, not {cells!r}.")
    dims = [check_whole("cells", side, 1) for side in sides]
    archive = ribs.GridArchive(
        dims=dims, ranges=_bounds(bounds, values, task, measures), **_description(policies, measures, values)
    )
    return _filled(archive, policies, measures, values)


def cvt_archive(
    policies: PolicySet,
    task: Task,
    *,
    cells: int = 1000,
    measures: str = "ground_truth",
    bounds: Bounds | None = None,
    seed: int = 0,
) -> CVTArchive:
    """The best policy of every cell of a centroidal Voronoi tessellation, which suits spaces of many dimensions.

    Args:
        policies: an archive, or both by `PolicySet.union`.
        task: the policies'.
        cells: how many, spread evenly over the bounds.
        measures: `ground_truth` or `descriptor`.
        bounds: as for `grid_archive`.
        seed: of the cells' places.
    """
    ribs = _ribs()
    values = _values(policies, measures)
    archive = ribs.CVTArchive(
        centroids=check_whole("cells", cells, 1),
        ranges=_bounds(bounds, values, task, measures),
        seed=check_whole("seed", seed, 0),
        k_means_kwargs={"random_state": seed},
        **_description(policies, measures, values),
    )
    return _filled(archive, policies, measures, values)


def proximity_archive(
    policies: PolicySet, *, measures: str = "descriptor", neighbors: int = 15, novelty_threshold: float = 0.0
) -> ProximityArchive:
    """All of the policies without any cells, as Novelty Search keeps them; pyribs calls it a proximity archive.

    Args:
        policies: an archive, or both by `PolicySet.union`.
        measures: `ground_truth` or `descriptor`.
        neighbors: among which novelty is measured when policies are added later.
        novelty_threshold: what novelty those must have; all of the policies given are kept.
    """
    ribs = _ribs()
    values = _values(policies, measures)
    archive = ribs.ProximityArchive(
        measure_dim=values.shape[1],
        k_neighbors=check_whole("neighbors", neighbors, 1),
        novelty_threshold=novelty_threshold,
        **_description(policies, measures, values),
    )
    return _filled(archive, policies, measures, values)


def policies_from_ribs(
    archive: ArchiveBase, task: Task, *, measures: str = "ground_truth", evaluate: bool = False
) -> PolicySet:
    """The policies of any archive of pyribs whose solutions are genomes of the task, checked.

    Fields of the archive with the names of `PolicySet` are taken over. What is missing is not known: see
    `stax.ecosystem.policies_from_frame`.

    Args:
        archive: with objectives that are rewards, so not negative.
        task: the policies'.
        measures: what the archive's measures are, `ground_truth` or `descriptor`.
        evaluate: let the task evaluate the policies, and take rewards, ground truth, steps and snapshots from there.
    """
    ribs = _ribs()
    check_choice("measures", measures, MEASURES)
    if not isinstance(archive, ribs.ArchiveBase):
        raise InvalidInputError(f"The archive must be one of pyribs, not {type(archive).__name__}.")
    if np.atleast_1d(archive.solution_dim).tolist() != [task.genome_size]:
        raise InvalidInputError(
            f"Solutions of the archive have the size {archive.solution_dim}; genomes of task {task.name!r} have {task.genome_size} numbers."
        )
    names = {"genome": "solution", "reward": "objective", **{name: name for name in _FIELDS}, measures: "measures"}
    data = archive.data()
    columns = {name: _as_numbers(field, np.asarray(data[field])) for name, field in names.items() if field in data}
    if evaluate and len(archive):
        rollouts = task.evaluate(check_genomes(columns["genome"], task.genome_size))
        columns |= {name: np.asarray(getattr(rollouts, name)) for name in ("reward", "reward_area", "steps", "snapshots")}
        columns |= {} if rollouts.ground_truth is None else {"ground_truth": rollouts.ground_truth}
    return given_policies(columns, task, "The archive")


def _ribs() -> Any:
    return import_extra("ribs.archives", "ribs", "An archive of pyribs")


def _as_numbers(field: str, values: NDArray[Any]) -> NDArray[Any]:
    """In the types that policies have."""
    if values.dtype.kind not in "iuf":
        raise InvalidInputError(f"{field} of the archive must be numbers, not of type {values.dtype}.")
    whole = values.dtype.kind in "iu" and field not in ("solution", "objective", "measures")
    return values.astype(np.int64 if whole else np.float64)


def _values(policies: PolicySet, measures: str) -> NDArray[np.float64]:
    check_choice("measures", measures, MEASURES)
    values: NDArray[np.float64] = getattr(policies, measures)
    if not values.shape[1]:
        raise InvalidInputError(
            f"These policies have no {measures.replace('_', ' ')} that could be the measures of an archive."
        )
    if not np.isfinite(values).all():
        raise InvalidInputError(f"The {measures.replace('_', ' ')} of some of these policies is not known.")
    return values


def _bounds(given: Bounds | None, values: NDArray[np.float64], task: Task, measures: str) -> list[tuple[float, float]]:
    if given is None and measures == "ground_truth" and task.ground_truth_bounds is not None:
        given = task.ground_truth_bounds
    if given is None:
        if not len(values):
            raise InvalidInputError("There are no policies whose descriptors would give the bounds of an archive; give bounds.")
        low, high = values.min(axis=0), values.max(axis=0)
        # All policies may be alike in one of the numbers, and a range must not be empty.
        return [(float(a), float(b) if b > a else float(a) + 1.0) for a, b in zip(low, high, strict=True)]
    bounds = np.asarray(given, np.float64)
    if bounds.shape != (values.shape[1], 2) or not (np.isfinite(bounds).all() and (bounds[:, 0] < bounds[:, 1]).all()):
        raise InvalidInputError(
            f"bounds must be a lowest and a higher highest value for each of the {values.shape[1]} measures, not {given!r}."
        )
    return [(float(low), float(high)) for low, high in bounds]


def _fields(policies: PolicySet, measures: str) -> dict[str, NDArray[Any]]:
    columns = {name: values for name, values in policies.columns().items() if name in _FIELDS and name != measures}
    # pyribs has no fields without numbers.
    return {name: values for name, values in columns.items() if values.ndim == 1 or values.shape[1]}


def _description(policies: PolicySet, measures: str, values: NDArray[np.float64]) -> dict[str, Any]:
    """What all archives are told of what they hold."""
    fields = {name: (values.shape[1:], values.dtype) for name, values in _fields(policies, measures).items()}
    return {"solution_dim": policies.genome.shape[1], "dtype": np.float64, "extra_fields": fields}


def _filled(archive: Any, policies: PolicySet, measures: str, values: NDArray[np.float64]) -> Any:
    if len(policies):
        # By id, since the first of equally good policies stays.
        order = np.argsort(policies.id, kind="stable")
        fields = {name: field[order] for name, field in _fields(policies, measures).items()}
        archive.add(policies.genome[order], policies.reward[order], values[order], **fields)
    return archive
