"""Conversion of policies to archives of pyribs, and of its archives to policies.

    archive = grid_archive(result.novelty_archive, result.task)      # cells as `stax` counts coverage
    ribs.visualize.grid_archive_heatmap(archive)
    policies = policies_from_ribs(archive, result.task)

A solution is a genome, its objective is the reward, and its measures are the ground truth or the descriptor. The other columns of a
policy, except its snapshots, become fields of the same names. The extra `ribs` installs pyribs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.constraints import check_choice, check_whole
from stax.ecosystem.given_policies import given_policies
from stax.errors import InvalidInputError
from stax.extras import import_extra
from stax.search.policy_set import PolicySet
from stax.tasks.task import Task, check_genomes

if TYPE_CHECKING:
    from ribs.archives import ArchiveBase, CVTArchive, GridArchive, ProximityArchive

Bounds = Sequence[tuple[float, float]]
MEASURES = ("ground_truth", "descriptor")
_FIELDS = ("id", "parent", "born", "origin", "emitter", "reward_area", "steps", "novelty", "surprise", *MEASURES)
"""Columns of a policy that become fields of an archive, apart from the measures."""


def grid_archive(
    policies: PolicySet,
    task: Task,
    *,
    cells: int | Sequence[int] = 50,
    measures: str = "ground_truth",
    bounds: Bounds | None = None,
) -> GridArchive:
    """Return the best policy of every cell of a grid; the first one if several are equally good.

    Args:
        policies: an archive, or both archives joined by `PolicySet.union`.
        task: the task of the policies.
        cells: number of cells along each side of the grid; 50, as for coverage.
        measures: `ground_truth` or `descriptor`.
        bounds: lowest and highest value of each measure. By default these are the task's bounds for the ground truth, and the lowest
            and highest values of the policies for the descriptor. Values outside count for the nearest cell.
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
    """Return the best policy of every cell of a centroidal Voronoi tessellation, which suits many dimensions.

    Args:
        policies: an archive, or both archives joined by `PolicySet.union`.
        task: the task of the policies.
        cells: number of cells, spread evenly over the bounds.
        measures: `ground_truth` or `descriptor`.
        bounds: as for `grid_archive`.
        seed: seed of the positions of the cells.
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
    """Return all policies without cells, as Novelty Search keeps them; pyribs calls this a proximity archive.

    Args:
        policies: an archive, or both archives joined by `PolicySet.union`.
        measures: `ground_truth` or `descriptor`.
        neighbors: number of neighbours by which the novelty of policies added later is measured.
        novelty_threshold: novelty that policies added later must have; all of the given policies are kept.
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
    """Return checked policies from any archive of pyribs whose solutions are genomes of the task.

    Fields of the archive with names of columns of `PolicySet` are used. Missing columns are filled in as by
    `stax.ecosystem.policies_from_frame`.

    Args:
        archive: an archive whose objectives are rewards, and so not negative.
        task: the task of the policies.
        measures: meaning of the archive's measures, `ground_truth` or `descriptor`.
        evaluate: whether the task evaluates the policies again, for rewards, ground truth, steps and snapshots.
    """
    ribs = _ribs()
    check_choice("measures", measures, MEASURES)
    if not isinstance(archive, ribs.ArchiveBase):
        raise InvalidInputError(f"The archive must be one of pyribs, not {type(archive).__name__}.")
    _check_solutions(archive, task)
    names = {"genome": "solution", "reward": "objective", **{name: name for name in _FIELDS}, measures: "measures"}
    data = archive.data()
    columns = {name: _as_numbers(field, np.asarray(data[field])) for name, field in names.items() if field in data}
    if evaluate and len(archive):
        rollouts = task.evaluate(check_genomes(columns["genome"], task.genome_size))
        columns |= {name: np.asarray(getattr(rollouts, name)) for name in ("reward", "reward_area", "steps", "snapshots")}
        columns |= {} if rollouts.ground_truth is None else {"ground_truth": rollouts.ground_truth}
    return given_policies(columns, task, "The archive")


def ribs_genomes(archive: ArchiveBase, task: Task) -> NDArray[Any]:
    """Return the solutions of an archive of pyribs as genomes of the task, (n, genome_size)."""
    if not isinstance(archive, _ribs().ArchiveBase):
        raise InvalidInputError(f"The archive must be one of pyribs, not {type(archive).__name__}.")
    _check_solutions(archive, task)
    return _as_numbers("solution", np.asarray(archive.data("solution")))


def _check_solutions(archive: ArchiveBase, task: Task) -> None:
    if np.atleast_1d(archive.solution_dim).tolist() != [task.genome_size]:
        raise InvalidInputError(
            f"Solutions of the archive have the size {archive.solution_dim}; genomes of task {task.name!r} have {task.genome_size} numbers."
        )


def _ribs() -> Any:
    return import_extra("ribs.archives", "ribs", "An archive of pyribs")


def _as_numbers(field: str, values: NDArray[Any]) -> NDArray[Any]:
    """Convert values to the dtype that policies have."""
    if values.dtype.kind not in "iuf":
        raise InvalidInputError(f"{field} of the archive must be numbers, not of type {values.dtype}.")
    whole = values.dtype.kind in "iu" and field not in ("solution", "objective", "measures")
    return values.astype(np.int64 if whole else np.float64)


def _values(policies: PolicySet, measures: str) -> NDArray[np.float64]:
    check_choice("measures", measures, MEASURES)
    values: NDArray[np.float64] = getattr(policies, measures)
    if not values.shape[1]:
        raise InvalidInputError(
            f"The policies must have a {measures.replace('_', ' ')} to be the measures of an archive, but have none."
        )
    if not np.isfinite(values).all():
        raise InvalidInputError(f"The {measures.replace('_', ' ')} of some of these policies is not known.")
    return values


def _bounds(given: Bounds | None, values: NDArray[np.float64], task: Task, measures: str) -> list[tuple[float, float]]:
    if given is None and measures == "ground_truth" and task.ground_truth_bounds is not None:
        given = task.ground_truth_bounds
    if given is None:
        if not len(values):
            raise InvalidInputError("There are no policies to compute the bounds of an archive from; give bounds.")
        low, high = values.min(axis=0), values.max(axis=0)
        # All policies may have the same value of a measure, but a range must not be empty.
        return [(float(a), float(b) if b > a else float(a) + 1.0) for a, b in zip(low, high, strict=True)]
    bounds = np.asarray(given, np.float64)
    if bounds.shape != (values.shape[1], 2) or not (np.isfinite(bounds).all() and (bounds[:, 0] < bounds[:, 1]).all()):
        raise InvalidInputError(
            f"bounds must be a lowest and a higher highest value for each of the {values.shape[1]} measures, not {given!r}."
        )
    return [(float(low), float(high)) for low, high in bounds]


def _fields(policies: PolicySet, measures: str) -> dict[str, NDArray[Any]]:
    columns = {name: values for name, values in policies.columns().items() if name in _FIELDS and name != measures}
    # pyribs does not accept fields without numbers.
    return {name: values for name, values in columns.items() if values.ndim == 1 or values.shape[1]}


def _description(policies: PolicySet, measures: str, values: NDArray[np.float64]) -> dict[str, Any]:
    """Return the arguments that all archives have in common."""
    fields = {name: (values.shape[1:], values.dtype) for name, values in _fields(policies, measures).items()}
    return {"solution_dim": policies.genome.shape[1], "dtype": np.float64, "extra_fields": fields}


def _filled(archive: Any, policies: PolicySet, measures: str, values: NDArray[np.float64]) -> Any:
    if len(policies):
        # Ordered by id, because the first of equally good policies is kept.
        order = np.argsort(policies.id, kind="stable")
        fields = {name: field[order] for name, field in _fields(policies, measures).items()}
        archive.add(policies.genome[order], policies.reward[order], values[order], **fields)
    return archive
