"""The paper's figures of the learned behaviour space, from our runs: what is measured with tasks and autoencoders is in the records."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from stax.analysis.comparison_plots import draw_ends
from stax.analysis.splits import Split
from stax.analysis.style import INK, tidy
from stax.reproduction.figures import REWARDED, head
from stax.reproduction.results import PaperRuns, title


@dataclass(frozen=True)
class SimilarityValues:
    """Similarity (1 - distance) to the ground truth on one task, by seed."""

    trained: list[float]
    random: list[float]


def similarities(runs: PaperRuns) -> dict[str, SimilarityValues]:
    """Return the similarity of learned and of random descriptors to the ground truth, for each task."""
    found = {}
    for task in runs.tasks(("stax",)):
        measured = [record.learned for record in runs.records(task, "stax") if record.learned is not None]
        trained, random = [one.similarity for one in measured], [one.random_similarity for one in measured]
        found[task] = SimilarityValues(
            [value for value in trained if value is not None], [value for value in random if value is not None]
        )
    return found


def similarity_figures(runs: PaperRuns, found: dict[str, SimilarityValues]) -> dict[str, Figure]:
    """Draw the similarity to the ground truth of the trained autoencoder's descriptors and of a random one's, for each task."""
    if not found:
        return {}
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
    head(figure, runs, "Similarity of STAX's descriptors and the ground truth", ("stax",))
    return {"fig-similarity": figure}


def reconstruction_figures(runs: PaperRuns) -> dict[str, Figure]:
    """Draw observations of archived policies of the arm, and their reconstructions."""
    learned = runs.learned("redundant-arm", "stax") if runs.has("redundant-arm", "stax") else None
    if learned is None or learned.pictures is None or not len(learned.pictures[0]):
        return {}
    seen, made = learned.pictures
    figure = Figure(figsize=(1.25 * len(seen), 3.1), layout="constrained")
    grid = figure.add_gridspec(2, len(seen))
    for row, (name, pictures) in enumerate((("observed", seen), ("reconstructed", made))):
        for column, picture in enumerate(pictures):
            axes = figure.add_subplot(grid[row, column])
            axes.imshow(picture, vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color("#c8ccd2")
            axes.set_ylabel(name if column == 0 else "", color=INK, size=10)
    head(figure, runs, "Observations of archived policies and their reconstructions", ("stax",))
    return {"fig-reconstruction": figure}


def splits(runs: PaperRuns) -> list[Split]:
    """Return for each task the area with the most policies in the run that covered the most; leave out those with too few."""
    found = [learned.split for task in runs.tasks(("stax",)) if (learned := runs.learned(task, "stax"))]
    return [split for split in found if split is not None]


def every_split(runs: PaperRuns) -> dict[str, list[Split]]:
    """Return for each task the splits of all runs of STAX; leave out runs with too few policies."""
    found = {
        task: [record.learned.split for record in runs.records(task, "stax") if record.learned]
        for task in runs.tasks(("stax",))
    }
    return {task: [split for split in some if split is not None] for task, some in found.items()}


def split_figures(runs: PaperRuns, found: list[Split]) -> dict[str, Figure]:
    """Draw the policies of one reward area in the ground truth and in the first two principal components of the learned space."""
    if not runs.tasks(("stax",)):
        return {}
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
    head(figure, runs, "One reward area in both spaces", ("stax",))
    return {"fig-split": figure}
