"""Both archives as points to hover over: on a picture of the task, or in another plane in which policies can be distinguished."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.analysis.film_files import png_bytes
from stax.analysis.picture import NOVELTY_COLOR, REWARD_COLOR, area_ellipses, by_components, truth_names, with_margin
from stax.analysis.report.figure import Figure, axis, figure
from stax.analysis.report.wording import Missing, attempt, numbers, plot_words
from stax.errors import InvalidInputError
from stax.runs.described_task import DescribedTask
from stax.runs.result import Result
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import ORIGINS
from stax.tasks.task import Scene, Task

MOST_POINTS = 6000
"""Policies of an archive that are drawn; more would overlap, be slow, and make the page large."""
_SCENE_SIZE = 768
_DIGITS = 5
_FRAME_COLOR, _START_COLOR = "#c0c6cf", "#6b737f"


@dataclass(frozen=True, eq=False)
class ArchivePicture:
    """The picture of where the policies of both archives end."""

    figure: Figure
    policies: list[dict[str, Any]]
    """The numbers of the policies drawn, a column each; an entry per archive, in the order of the figure's traces."""
    about: str
    """Text on the axes, and on what is left out."""
    square: bool
    missing: Missing | None
    """Why there is no picture of the task below, if there is none."""


@dataclass(frozen=True, eq=False)
class _Places:
    """The positions of the policies of both archives."""

    points: list[NDArray[np.float64]]
    """(n, 2) each."""
    x: dict[str, Any]
    y: dict[str, Any]
    about: str
    square: bool = False
    scene: Scene | None = None
    more: dict[str, Any] | None = None
    """Further entries of the layout: shapes and annotations of reward areas."""
    start: NDArray[np.float64] | None = None


def archive_picture(result: Result, why_described: str) -> ArchivePicture:
    """Return both archives.

    Args:
        why_described: why the run's task draws nothing, if it is only described.
    """
    archives = [drawn(result.novelty_archive), drawn(result.reward_archive)]
    task = result.task
    missing: Missing | None = None
    places: _Places | None = None
    if task.ground_truth_bounds is None:
        places = _by_descriptor(archives)
    elif isinstance(task, DescribedTask):
        missing = Missing(why_described)
    else:
        found = attempt(lambda: _on_scene(task, archives), "Drawing the task")
        places, missing = (None, found) if isinstance(found, Missing) else (found, None)
    if places is None:
        places = _by_ground_truth(task, archives)
    names = (("novelty archive", NOVELTY_COLOR), ("reward archive", REWARD_COLOR))
    traces = [_trace(name, color, points) for (name, color), points in zip(names, places.points, strict=True)]
    if places.start is not None:
        traces.append(_start(places.start))
    layout = {"xaxis": places.x, "yaxis": places.y, "hovermode": "closest", "dragmode": "select", **(places.more or {})}
    if places.scene is not None:
        layout["images"] = [_image(places.scene)]
    left_out = [
        f"{len(shown):,} of the {name}'s {len(whole):,} policies are drawn, the best of each area among them"
        for (name, _), shown, whole in zip(names, archives, (result.novelty_archive, result.reward_archive), strict=True)
        if len(shown) < len(whole)
    ]
    return ArchivePicture(
        figure=figure(traces, layout, even_legend=True),
        policies=[_columns(task, archive, name) for archive, (name, _) in zip(archives, names, strict=True)],
        about=". ".join([places.about, *left_out]) + ".",
        square=places.square,
        missing=missing,
    )


def drawn(archive: PolicySet, most: int = MOST_POINTS) -> PolicySet:
    """Return the archive, or if it is too large a uniform sample of it, always the same, with the best policy of every area."""
    if len(archive) <= most:
        return archive
    chosen = np.random.default_rng(0).choice(len(archive), most, replace=False)
    best = [_best_row(archive, area) for area in np.unique(archive.reward_area).tolist() if area >= 0]
    kept = np.concatenate([np.array(best, np.int64), chosen])
    # The first of equal ones are kept, and those are the best.
    kept = kept[np.sort(np.unique(kept, return_index=True)[1])][:most]
    return archive.take(np.sort(kept))


def _best_row(archive: PolicySet, area: int) -> int:
    rows = np.flatnonzero(archive.reward_area == area)
    return int(rows[np.lexsort((archive.id[rows], -archive.reward[rows]))[0]])


# Where they are drawn


def _on_scene(task: Task, archives: list[PolicySet]) -> _Places:
    """Place the policies in the task's own picture."""
    dimensions = len(task.ground_truth_bounds or ())
    scene = task.scene(_SCENE_SIZE) if task.picture_place(np.zeros((1, dimensions))) is not None else None
    if scene is None:
        raise InvalidInputError(f"Task {task.name!r} has no picture to draw results over.")
    if scene.picture.shape != (_SCENE_SIZE, _SCENE_SIZE, 3) or scene.picture.dtype != np.uint8:
        raise InvalidInputError(
            f"scene of task {task.name!r} must give a picture of uint8 and shape {(_SCENE_SIZE, _SCENE_SIZE, 3)}, not"
            f" {scene.picture.dtype} and {scene.picture.shape}."
        )
    shapes, annotations = _areas(task, lambda truth: _placed(task, truth), downwards=True)
    frame = {"type": "rect", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "line": {"color": _FRAME_COLOR, "width": 1}}
    return _Places(
        points=[_placed(task, archive.ground_truth) for archive in archives],
        # A bit more than the picture, so that dots at its edge are whole.
        x={"visible": False, "range": [-0.012, 1.012], "constrain": "domain"},
        y={"visible": False, "range": [1.012, -0.012], "scaleanchor": "x", "constrain": "domain"},
        about="Where policies end, on the task as an episode finds it",
        square=True,
        scene=scene,
        more={"shapes": [frame, *shapes], "annotations": annotations},
        start=None if scene.start is None else _placed(task, np.array([scene.start]))[0],
    )


def _placed(task: Task, ground_truth: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(ground_truth):
        return np.empty((0, 2))
    places = np.asarray(task.picture_place(ground_truth), np.float64)
    if places.shape != (len(ground_truth), 2):
        raise InvalidInputError(
            f"picture_place of task {task.name!r} must give an array of shape {(len(ground_truth), 2)}, not {places.shape}."
        )
    return places


def _by_ground_truth(task: Task, archives: list[PolicySet]) -> _Places:
    """Place the policies in the plane of the first two numbers, or of a single number and the reward."""
    bounds = task.ground_truth_bounds or ()
    if len(bounds) == 1:
        return _Places(
            points=[np.stack([archive.ground_truth[:, 0], archive.reward], axis=1) for archive in archives],
            x=axis(plot_words(truth_names(task)[0]), range=list(with_margin(bounds[0]))),
            y=axis("reward", rangemode="tozero"),
            about="Where policies end, and what they earned",
        )
    others = f"; of {len(bounds)} numbers, the first two" if len(bounds) > 2 else ""
    more = {}
    if len(bounds) == 2:
        shapes, annotations = _areas(task, lambda truth: truth, downwards=False)
        more = {"shapes": shapes, "annotations": annotations}
    return _Places(
        points=[archive.ground_truth[:, :2] for archive in archives],
        x=axis(plot_words(truth_names(task)[0]), range=list(with_margin(bounds[0]))),
        y=axis(plot_words(truth_names(task)[1]), range=list(with_margin(bounds[1]))),
        about=f"Where policies end, by the task's ground truth{others}",
        more=more,
    )


def _by_descriptor(archives: list[PolicySet]) -> _Places:
    """Place the policies, without a ground truth, by the two directions in which descriptors differ most, or genomes of random search."""
    points, which = by_components(archives)
    what = {
        "the descriptors": "the descriptors that the search compared them by",
        "the genomes": "their genomes, since nothing else was compared",
    }[which]
    return _Places(
        points=points,
        x=axis("first principal component"),
        y=axis("second principal component"),
        about=f"The task has no ground truth, so policies lie here by the two principal components of {what}",
    )


def _areas(task: Task, place: Any, *, downwards: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw reward areas as ellipses with their names below them, where they hide no policy."""
    shapes, annotations = [], []
    for name, color, middle, width, height in area_ellipses(task, place):
        low = float(middle[1]) + (height if downwards else -height)
        shapes.append(
            {
                "type": "circle",
                "x0": float(middle[0]) - width,
                "x1": float(middle[0]) + width,
                "y0": float(middle[1]) - height,
                "y1": float(middle[1]) + height,
                "line": {"color": color, "width": 1.6},
            }
        )
        annotations.append(
            {
                "x": float(middle[0]),
                "y": low,
                "text": plot_words(name),
                "showarrow": False,
                "yanchor": "top",
                "yshift": -3,
                "bgcolor": "rgba(255,255,255,0.8)",
                "borderpad": 1,
                "font": {"color": color, "size": 12},
            }
        )
    return shapes, annotations


# What is drawn


def _trace(name: str, color: str, points: NDArray[np.float64]) -> dict[str, Any]:
    # Smaller dots for more of them, so that dense regions do not become one blot.
    size = float(np.clip(150 / max(len(points), 1) ** 0.5, 4.5, 10))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{name}: {len(points):,}",
        "x": numbers(points[:, 0], _DIGITS),
        "y": numbers(points[:, 1], _DIGITS),
        "marker": {"color": color, "size": round(size, 1), "opacity": 0.75, "line": {"width": 0.5, "color": "white"}},
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 0.2}},
        "hovertemplate": "%{text}<extra></extra>",
    }


def _start(place: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "start",
        "x": numbers(place[:1]),
        "y": numbers(place[1:]),
        "marker": {"color": _START_COLOR, "size": 11, "symbol": "x-thin", "line": {"width": 2.5, "color": _START_COLOR}},
        "hoverinfo": "skip",
    }


def _image(scene: Scene) -> dict[str, Any]:
    return {
        "source": data_uri(png_bytes(scene.picture), "image/png"),
        "xref": "x",
        "yref": "y",
        "x": 0,
        "y": 0,
        "sizex": 1,
        "sizey": 1,
        "sizing": "stretch",
        "layer": "below",
    }


def data_uri(content: bytes, kind: str) -> str:
    """Return a file as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _columns(task: Task, archive: PolicySet, name: str) -> dict[str, Any]:
    """Return what the page shows of a policy."""
    return {
        "archive": name,
        "id": numbers(archive.id),
        "parent": numbers(archive.parent),
        "origin": [ORIGINS[origin] for origin in archive.origin.tolist()],
        "emitter": numbers(archive.emitter),
        "born": numbers(archive.born),
        "steps": numbers(archive.steps),
        "reward": numbers(archive.reward, 4),
        "area": [task.reward_areas[area].name if area >= 0 else "" for area in archive.reward_area.tolist()],
        "ground_truth": [numbers(column, 4) for column in archive.ground_truth.T],
        "novelty": numbers(archive.novelty, 4),
        "surprise": numbers(archive.surprise, 4),
    }
