"""Results, archives, tasks and searches as a Python session and a notebook show them: one line of text, or a small HTML table.

Names may come from a stranger's run folder, so they are cleaned for terminals and escaped for HTML.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import printable
from stax.wording import clock_time, counted, percent

if TYPE_CHECKING:
    from stax.runs.result import Result
    from stax.search.policy_set import PolicySet
    from stax.search.search import Search
    from stax.tasks.task import Task

_LONGEST_NAME = 60
_MOST_AREAS = 6
"""Reward areas that are listed."""
_MOST_ROWS = 5
"""Policies of an archive that are listed."""
_MOST_DOTS = 2000
_SIDE = 220
"""Width and height of a small picture in pixels."""

Rows = list[tuple[str, str]]


# Text


def result_text(result: Result) -> str:
    """Return what a run was and found, in one line."""
    found = [f"{result.evaluations:,} evaluations", *_coverage(result.coverage)]
    found.append(_rewards(result.task, result.max_reward))
    found.append(f"archives of {len(result.novelty_archive):,} and {len(result.reward_archive):,} policies")
    return f"<Result of {result.algo} on {_name(result.task)}, seed {result.seed}: {', '.join(found)}, {result.status}>"


def policies_text(policies: PolicySet) -> str:
    """Return how many policies there are and what they are worth, in one line."""
    return f"<PolicySet: {'; '.join(value for _, value in _policy_rows(policies))}>"


def task_text(task: Task) -> str:
    """Return what a task is, in one line; attributes that a task of your own lacks are left out."""
    return f"<{type(task).__name__} {_name(task)!r}: {'; '.join(f'{name} {value}' for name, value in _task_rows(task))}>"


def search_text(search: Search) -> str:
    """Return what a search is and how far it has come, in one line."""
    return f"<Search: {', '.join(value for _, value in _search_rows(search))}>"


# HTML


def result_html(result: Result) -> str:
    """Return the numbers of a run and the picture of its archives."""
    rows = [("evaluations", f"{result.evaluations:,} of {result.budget:,}, {result.status}")]
    rows += [("coverage", words.removeprefix("coverage ")) for words in _coverage(result.coverage)]
    rows += _reward_rows(result.task, result.max_reward)
    rows.append(("novelty archive", counted(len(result.novelty_archive), "policy", "policies")))
    rows.append(("reward archive", counted(len(result.reward_archive), "policy", "policies")))
    rows.append(("time", clock_time(result.seconds.get("total"))))
    title = f"{result.algo} on {_name(result.task)}, seed {result.seed}"
    return _page(title, rows, _tried(lambda: _figure(result)))


def policies_html(policies: PolicySet) -> str:
    """Return the size of an archive, its best policies and where its policies end."""
    best = policies.take(np.argsort(-policies.reward, kind="stable")[:_MOST_ROWS])
    best = best.take(best.reward > 0)
    rows = _policy_rows(policies)
    for row in range(len(best)):
        area = int(best.reward_area[row])
        words = f"reward {best.reward[row]:.3f}" + (f" in area {area}" if area >= 0 else "")
        rows.append((f"policy {best.id[row]}", f"{words}, {counted(int(best.steps[row]), 'step')}"))
    return _page("PolicySet", rows, _dots([policies]))


def task_html(task: Task) -> str:
    """Return what a task is, with a picture of its world if it has one."""
    return _page(f"{type(task).__name__} {_name(task)}", _task_rows(task), _tried(lambda: _scene(task)))


def search_html(search: Search) -> str:
    """Return how far a search has come, and where the policies of its novelty archive end."""
    archive = getattr(search, "novelty_archive", None)
    return _page("Search", _search_rows(search), "" if archive is None else _dots([archive.policies]))


# Parts


def _name(task: Task) -> str:
    return printable(getattr(task, "name", "without a name"), _LONGEST_NAME)


def _coverage(coverage: float | None) -> list[str]:
    return [] if coverage is None else [f"coverage {percent(coverage)}"]


def _rewards(task: Task, rewards: Sequence[float]) -> str:
    areas = _areas(task, rewards)
    return f"best reward {', '.join(value if len(areas) == 1 else f'{name} {value}' for name, value in areas)}"


def _reward_rows(task: Task, rewards: Sequence[float]) -> Rows:
    return [(f"best reward, {name}", value) for name, value in _areas(task, rewards)]


def _areas(task: Task, rewards: Sequence[float]) -> Rows:
    pairs = list(zip(task.reward_areas, rewards, strict=False))
    shown = [(printable(area.name, _LONGEST_NAME), f"{best:.3f}" if best > 0 else "none") for area, best in pairs[:_MOST_AREAS]]
    more = len(pairs) - len(shown)
    return [*shown, (f"{more} more areas", f"up to {max(best for _, best in pairs):.3f}")] if more else shown


def _policy_rows(policies: PolicySet) -> Rows:
    rows = [("policies", counted(len(policies), "policy", "policies"))]
    if len(policies):
        rewarded = int(np.count_nonzero(policies.reward > 0))
        rows.append(("rewarded", f"{rewarded:,} rewarded, best {policies.reward.max():.3f}" if rewarded else "none rewarded"))
    sizes = {"genome": policies.genome, "ground truth": policies.ground_truth, "descriptor": policies.descriptor}
    rows.append(
        ("numbers each", ", ".join(f"{name} of {values.shape[1]}" for name, values in sizes.items() if values.shape[1]))
    )
    return rows


def _task_rows(task: Task) -> Rows:
    rows: Rows = []
    if hasattr(task, "genome_size"):
        network = getattr(task, "policy_sizes", None)
        layers = f", a network of {' x '.join(map(str, network))}" if network else ""
        rows.append(("genome", f"of {task.genome_size} numbers{layers}"))
    if hasattr(task, "observation_shape"):
        shape = " x ".join(map(str, task.observation_shape))
        rows.append(("observations", f"{task.observation_samples} of {shape} {task.observation_dtype}"))
    bounds = getattr(task, "ground_truth_bounds", None)
    rows.append(("ground truth", "none" if bounds is None else " x ".join(f"{low:g}..{high:g}" for low, high in bounds)))
    areas = [printable(area.name, _LONGEST_NAME) for area in getattr(task, "reward_areas", ())]
    rows.append(("rewards", ", ".join([*areas[:_MOST_AREAS], *(["..."] if len(areas) > _MOST_AREAS else [])])))
    return rows


def _search_rows(search: Search) -> Rows:
    rows = [("search", f"{search.method.name} on {_name(search.task)}, seed {search.seed}")]
    state = "done" if search.done else str(search.phase)
    rows.append(("evaluations", f"{search.evaluations:,} of {search.budget:,}, {state}"))
    rows += [("coverage", words) for words in _coverage(search.coverage)]
    rows.append(("rewards", _rewards(search.task, search.max_reward)))
    sizes = [len(getattr(search, f"{name}_archive", ())) for name in ("novelty", "reward")]
    rows.append(("archives", f"archives of {sizes[0]:,} and {sizes[1]:,} policies"))
    return rows


def _page(title: str, rows: Iterable[tuple[str, str]], picture: str) -> str:
    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th><td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<div><strong>{html.escape(title)}</strong><table>{cells}</table>{picture}</div>"


def _tried(draw: Callable[[], str]) -> str:
    """Return a picture, or nothing if it cannot be drawn: showing a value must not fail."""
    try:
        return draw()
    except Exception:  # a user's own task may raise anything
        return ""


def _figure(result: Result) -> str:
    from stax.analysis.picture import result_figure
    from stax.analysis.style import without_math

    content = io.BytesIO()
    without_math(result_figure(result)).savefig(content, format="png", dpi=60)
    return _png(content.getvalue())


def _scene(task: Task) -> str:
    from stax.analysis.film_files import png_bytes

    scene = task.scene(_SIDE)
    return "" if scene is None else _png(png_bytes(scene.picture))


def _png(content: bytes) -> str:
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(content).decode()}">'


def _dots(archives: Sequence[PolicySet]) -> str:
    """Return a small picture of the first two ground-truth numbers of policies; nothing if they have fewer."""
    places: NDArray[Any] = np.concatenate([archive.ground_truth[:_MOST_DOTS, :2] for archive in archives])
    if places.shape[1] < 2 or not len(places):
        return ""
    low, high = places.min(axis=0), places.max(axis=0)
    shares = (places - low) / np.where(high > low, high - low, 1.0)
    shares[:, 1] = 1 - shares[:, 1]
    pixels = 6 + (_SIDE - 12) * shares
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in pixels)
    return (
        f'<svg width="{_SIDE}" height="{_SIDE}" style="background:#fff;border:1px solid #ccc" fill="#1f62bf" fill-opacity="0.6">'
        f"{dots}</svg>"
    )
