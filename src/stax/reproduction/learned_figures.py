"""The paper's figures of the learned behaviour space, from our runs: these need the tasks and the autoencoders themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from stax.analysis.comparison_plots import draw_ends
from stax.analysis.measures import descriptor_similarity, final_policies, random_similarity
from stax.analysis.recorded import RecordedRun
from stax.analysis.style import INK, tidy
from stax.representation.learned import LearnedSpace
from stax.reproduction.figures import REWARDED, head
from stax.reproduction.plan import TASKS
from stax.reproduction.results import PaperRuns, title
from stax.runs.result import Result, load
from stax.search.policy_set import PolicySet

_SHOWN = 8
"""Pictures of the reconstruction figure."""
_MOST_COMPARED = 2000
"""Policies whose random descriptors, or whose distances to each other, are computed; the results hardly differ from those of all."""
_SPLIT_SHARE = 0.2
"""Of the largest distance between two policies of an area: groups that are so far apart are parts of their own."""
_LEAST_PART = 0.05
"""Of an area's policies that make a group worth counting."""
_LEAST_COUNTED = 20
"""Policies below which every gap between two of them would look like a split."""


@dataclass(frozen=True)
class SimilarityValues:
    """Of one task: similarity (1 - distance) to the ground truth, by seed."""

    trained: list[float]
    random: list[float]


def similarities(runs: PaperRuns) -> dict[str, SimilarityValues]:
    """Of learned and of random descriptors, on every task."""
    found = {}
    for task in (task for task in TASKS if runs.has(task, "stax")):
        trained, random = [], []
        for run in runs.group(task, "stax").group.runs:
            result = load(run.path)
            policies = final_policies(result, _MOST_COMPARED)
            trained.append(descriptor_similarity(policies).similarity)
            random.append(random_similarity(result, result.task, policies).similarity)
        found[task] = SimilarityValues(
            [value for value in trained if value is not None], [value for value in random if value is not None]
        )
    return found


def similarity_figures(runs: PaperRuns, found: dict[str, SimilarityValues]) -> dict[str, Figure]:
    """Similarity to the ground truth of the trained autoencoder's descriptors and of a random one's, for each task."""
    figure = Figure(figsize=(8.2, 3.9), layout="constrained")
    axes = figure.add_subplot()
    places, names = [], []
    for number, (task, values) in enumerate(found.items()):
        group = runs.group(task, "stax")
        for offset, kind, sample in ((0.0, "trained", values.trained), (1.1, "random", values.random)):
            place = 2.8 * number + offset
            if sample:
                draw_ends(axes, place, group, sample)
            places.append(place)
            names.append(f"{title(task)}\n{kind}")
    tidy(axes, evaluations=False)
    axes.set_xticks(places, names, size=8)
    axes.grid(visible=False, axis="x")
    axes.set(ylim=(-0.03, 1.03), ylabel="similarity (1 - correlation matrix distance)")
    head(figure, runs, "Similarity of STAX's descriptors and the ground truth")
    return {"fig-similarity": figure}


def reconstruction_figures(runs: PaperRuns) -> dict[str, Figure]:
    """Observations of archived policies of the arm, and what the autoencoder makes of them."""
    result = load(runs.best("redundant-arm", "stax").path)
    seen, made = reconstructions(result)
    figure = Figure(figsize=(1.25 * len(seen), 3.1), layout="constrained")
    grid = figure.add_gridspec(2, len(seen))
    for row, (name, pictures) in enumerate((("observed", seen), ("reconstructed", made))):
        for column, picture in enumerate(pictures):
            axes = figure.add_subplot(grid[row, column])
            axes.imshow(picture, vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color("#c8ccd2")
            axes.set_ylabel(name if column == 0 else "", color=INK, size=10)
    head(figure, runs, "Observations of archived policies and their reconstructions")
    return {"fig-reconstruction": figure}


def reconstructions(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The last observations of some archived policies, evenly spread over the archives, in [0, 1], and their reconstructions."""
    policies = final_policies(result)
    chosen = policies.take(np.unique(np.linspace(0, len(policies) - 1, _SHOWN).astype(int)))
    seen = result.task.observe(chosen.rollouts())[:, -1] / 255
    made = cast(LearnedSpace, result.space).reconstruct(chosen.rollouts())[:, -1]
    return np.asarray(seen, np.float64), np.asarray(made, np.float64)


@dataclass(frozen=True, eq=False)
class Split:
    """The policies of one reward area, in both spaces."""

    task: str
    area: int
    ground_truth: NDArray[np.float64]
    """(n, 2)"""
    components: NDArray[np.float64]
    """(n, 2) the first two principal components of the learned descriptors."""
    parts_ground_truth: int
    """Groups that are well apart from each other in the ground truth; of a few policies that says nothing, see `enough`."""
    parts_learned: int
    """The same by the learned descriptors."""

    @property
    def enough(self) -> bool:
        """Whether there are as many policies as counting their groups takes."""
        return len(self.ground_truth) >= _LEAST_COUNTED


def splits(runs: PaperRuns) -> list[Split]:
    """For each task, the split of the run of STAX that covered the most; tasks with too few policies are left out."""
    found = [split_of(task, runs.best(task, "stax")) for task in TASKS if runs.has(task, "stax")]
    return [split for split in found if split is not None]


def every_split(runs: PaperRuns) -> dict[str, list[Split]]:
    """For each task, the splits of all runs of STAX; runs with too few policies are left out."""
    found = {
        task: [split_of(task, run) for run in runs.group(task, "stax").group.runs] for task in TASKS if runs.has(task, "stax")
    }
    return {task: [split for split in some if split is not None] for task, some in found.items()}


def split_of(task: str, run: RecordedRun) -> Split | None:
    """The reward area of a run with the most policies, in both spaces; None if it has too few.

    Of many policies a uniform sample is taken, always the same.
    """
    policies = final_policies(run)
    areas = policies.reward_area[policies.reward > 0]
    if not len(areas):
        return None
    area = int(np.bincount(areas).argmax())
    inside = policies.take((policies.reward_area == area) & (policies.reward > 0))
    if len(inside) > _MOST_COMPARED:
        chosen = np.random.default_rng(0).choice(len(inside), _MOST_COMPARED, replace=False, shuffle=False)
        inside = inside.take(np.sort(chosen))
    return _split(task, area, inside) if len(inside) >= 3 else None


def _split(task: str, area: int, policies: PolicySet) -> Split:
    descriptors = policies.descriptor - policies.descriptor.mean(axis=0)
    left, sizes, _ = np.linalg.svd(descriptors, full_matrices=False)
    components = left[:, :2] * sizes[:2]
    if components.shape[1] < 2:
        components = np.column_stack([components, np.zeros(len(components))])
    return Split(task, area, policies.ground_truth, components, parts(policies.ground_truth), parts(policies.descriptor))


def parts(points: NDArray[np.float64]) -> int:
    """In how many groups the points lie if those closer than a fifth of the largest distance belong together.

    A few stray points are no group.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    distances = pdist(points)
    if not distances.size or distances.max() == 0:
        return 1
    group = fcluster(linkage(distances, "single"), _SPLIT_SHARE * distances.max(), "distance")
    return max(1, int(np.count_nonzero(np.bincount(group) >= max(2, _LEAST_PART * len(points)))))


def split_figures(runs: PaperRuns, found: list[Split]) -> dict[str, Figure]:
    """The policies of one reward area in the ground truth and in the first two principal components of the learned space."""
    rows = max(len(found), 1)
    figure = Figure(figsize=(7.0, 2.9 * rows + 0.6), layout="constrained")
    grid = figure.add_gridspec(rows, 2)
    if not found:
        figure.text(0.5, 0.4, "No run has found enough rewarding policies of one area.", ha="center", color=INK)
    for row, split in enumerate(found):
        where = f"{title(split.task)}, area {split.area + 1}"
        for column, (points, about) in enumerate(
            ((split.ground_truth, "ground truth"), (split.components, "learned: first two principal components"))
        ):
            axes = figure.add_subplot(grid[row, column])
            axes.scatter(points[:, 0], points[:, 1], s=9, color=REWARDED, linewidths=0)
            count = split.parts_ground_truth if column == 0 else split.parts_learned
            counted = f"{count} {'part' if count == 1 else 'parts'}" if split.enough else "too few to count parts"
            axes.set_title(f"{where}, {len(points)} policies, {counted}\n{about}")
            tidy(axes, evaluations=False)
            axes.title.set_fontsize(9.5)
    head(figure, runs, "One reward area in both spaces")
    return {"fig-split": figure}
