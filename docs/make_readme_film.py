"""Make the film of the README, docs/images/search.gif: `python docs/make_readme_film.py`.

The run is that of `make demo` with seed 0. It is made in a temporary folder, in some minutes, unless its folder is given:

    python docs/make_readme_film.py --run FOLDER

Left: the places where evaluated policies end, coloured by when the search first reached them. Right: policies of the archives,
each of which begins to play when the search has found it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import overload

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import stax
from stax.analysis.film_files import Picture, gif_bytes
from stax.analysis.picture import REWARD_COLOR, draw_world
from stax.analysis.replay import check_file, play
from stax.analysis.replay_pictures import Film
from stax.errors import InvalidInputError
from stax.runs.archived_policies import best_policy, kept_policies
from stax.runs.files import write_for_user
from stax.runs.result import Result
from stax.search.policy_set import PolicySet

TARGET = Path(__file__).parent / "images" / "search.gif"
TASK, BUDGET, SEED = "hard-maze", 45_000, 0
POLICIES = 4
FPS, SEARCH_SECONDS, PLAY_SECONDS, HOLD_SECONDS = 12, 8, 4, 3
"""Frames a second; seconds that the search takes, that a policy plays, and that the last frame stays."""
_SCENE, _GAP, _CELL = 196, 6, 3
"""Pixels of a small scene, of the space between pictures, and of a place in the large one."""
_LINE, _POINTS = 20, 13
"""Pixels of a line and of its letters."""
_INK, _FAINT = (51, 54, 61), (110, 115, 125)
_COLOURS = matplotlib.colormaps["viridis_r"](np.linspace(0.12, 1.0, 64))[:, :3]
"""Colours of the places, from those that were reached first to those that were reached last."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="the folder of a finished run; without it, the run is made")
    parser.add_argument("--out", type=Path, default=TARGET, help="the film, a .gif (default: docs/images/search.gif)")
    given = parser.parse_args()
    try:
        make(given.run, given.out)
    except InvalidInputError as error:
        print(f"make_readme_film: {error}", file=sys.stderr)
        sys.exit(2)


def make(run: Path | None, out: Path) -> None:
    """Make the film of a run, which is done first if no folder is given."""
    if out.suffix != ".gif":
        raise InvalidInputError(f"The suffix of the film {str(out)!r} must be .gif, not {out.suffix!r}.")
    check_file(out)
    with tempfile.TemporaryDirectory() as temporary:
        if run is None:
            run = Path(temporary) / "run"
            stax.run(TASK, budget=BUDGET, seed=SEED, out=run, progress=True)
        result = stax.load(run)
    film = SearchFilm(result)
    content = gif_bytes(film, FPS, hold=HOLD_SECONDS)
    write_for_user(out, content)
    height, width = film[0].shape[:2]
    print(f"{out.name}: {len(film)} frames of {width} x {height}, {len(content) / 1000:,.0f} kB")
    print(f"{result.algo} on {result.task.name}, {result.evaluations:,} evaluations, seed {result.seed},", end=" ")
    print(f"coverage {100 * (result.coverage or 0):.1f} %, highest rewards {', '.join(f'{r:.3f}' for r in result.max_reward)}")
    for number, area in enumerate(result.task.reward_areas):
        first = np.flatnonzero((result.ledger["reward_area"] == number) & (result.ledger["reward"] > 0))
        print(f"{area.name}: first rewarded evaluation {first[0]:,}" if len(first) else f"{area.name}: not found")


class SearchFilm(Sequence[Picture]):
    """The frames of a film of a run, each drawn when it is asked for."""

    def __init__(self, result: Result) -> None:
        if len(result.task.ground_truth_bounds or ()) != 2:
            raise InvalidInputError(f"Task {result.task.name!r} cannot be filmed: its ground truth must have two numbers.")
        self._evaluations = result.evaluations
        policies = choose(result)
        every = -(-int(policies.steps.max()) // (FPS * PLAY_SECONDS))
        self._plays = [Film(result.task, [replay], size=_SCENE, every=every) for replay in play(result.task, policies)]
        self._begins = [int(FPS * SEARCH_SECONDS * number / self._evaluations) + 1 for number in policies.id]
        """The frame with which each policy begins to play."""
        self._length = max(begin + len(film) for begin, film in zip(self._begins, self._plays, strict=True))
        height = 2 * self._plays[0][0].shape[0] + _GAP
        self._map = _Map(result, height - 2 * _LINE - 4)

    def __len__(self) -> int:
        return max(self._length, FPS * SEARCH_SECONDS + 1)

    @overload
    def __getitem__(self, number: int) -> Picture: ...

    @overload
    def __getitem__(self, number: slice) -> list[Picture]: ...

    def __getitem__(self, number: int | slice) -> Picture | list[Picture]:
        numbers = range(len(self))[number]
        return self._frame(numbers) if isinstance(numbers, int) else [self._frame(one) for one in numbers]

    def _frame(self, number: int) -> Picture:
        done = min(self._evaluations, round(self._evaluations * number / (FPS * SEARCH_SECONDS)))
        cells = [self._cell(film, number - begin) for film, begin in zip(self._plays, self._begins, strict=True)]
        columns = [_stacked(cells[0::2], axis=0), _stacked(cells[1::2], axis=0)]
        return _stacked([self._map.picture(done), *columns], axis=1)

    @staticmethod
    def _cell(film: Film, number: int) -> Picture:
        """Return a frame of a policy's film, pale if the policy has not been found yet."""
        if number >= 0:
            return film[min(number, len(film) - 1)]
        cell = film[0].copy()
        cell[:_SCENE] = 255 - (255 - cell[:_SCENE]) // 4
        cell[_SCENE + 1 :] = 255
        paper = Image.fromarray(cell)
        ImageDraw.Draw(paper).text((5, _SCENE + 12), "not found yet", _FAINT, _font(11), anchor="lm")
        return np.asarray(paper)


def choose(result: Result) -> PolicySet:
    """Choose the best policy of each reward area, and others that end far from these and from the start, sorted by id."""
    chosen = PolicySet.concat([best_policy(result, number) for number in range(len(result.task.reward_areas))])
    kept, scene = kept_policies(result), result.task.scene(_SCENE)
    while len(chosen) < min(POLICIES, len(kept)):
        places = np.vstack([chosen.ground_truth, *([scene.start] if scene and scene.start else [])])
        apart = np.linalg.norm(kept.ground_truth[:, None] - places, axis=2).min(axis=1)
        chosen = PolicySet.concat([chosen, kept.take([int(apart.argmax())])])
    return chosen.take(np.argsort(chosen.id)[:POLICIES])


class _Map:
    """The world with the places where policies end, and two lines below it."""

    def __init__(self, result: Result, size: int) -> None:
        self._figure = Figure(figsize=(size / 100, size / 100), dpi=100)
        axes = self._figure.add_axes((0, 0, 1, 1))
        _, place = draw_world(axes, result.task, size)
        self._size, self._budget, self._metrics = size, result.evaluations, result.metrics
        cells = size // _CELL
        corners = axes.transData.inverted().transform([(0, 0), (cells * _CELL, cells * _CELL)])
        (left, bottom), (right, top) = corners.tolist()
        limits = axes.get_xlim(), axes.get_ylim()
        self._layer = axes.imshow(
            np.zeros((cells, cells, 4)), extent=(left, right, bottom, top), origin="lower", interpolation="nearest", zorder=2
        )
        axes.set(xlim=limits[0], ylim=limits[1])
        pixels = axes.transData.transform(place(np.asarray(result.ledger["ground_truth"], np.float64)))
        columns, rows = np.clip(pixels // _CELL, 0, cells - 1).astype(int).T
        self._first = _first(rows, columns, np.arange(len(rows)), cells)
        rewarded = np.flatnonzero(result.ledger["reward"] > 0)
        self._rewarded = _first(rows[rewarded], columns[rewarded], rewarded, cells)

    def picture(self, done: int) -> Picture:
        """Draw the places that the first `done` evaluations reached."""
        colours = _COLOURS[np.minimum(self._first * len(_COLOURS) // self._budget, len(_COLOURS) - 1)]
        colours[self._rewarded < done] = to_rgb(REWARD_COLOR)
        self._layer.set_data(np.dstack([colours, self._first < done]))
        file = BytesIO()
        self._figure.savefig(file, format="rgba")
        world = np.frombuffer(file.getvalue(), np.uint8).reshape(self._size, self._size, 4)[..., :3]
        return np.concatenate([world, self._lines(done)])

    def _lines(self, done: int) -> Picture:
        """Write the evaluations and the coverage, and what the colours mean."""
        paper = Image.new("RGB", (self._size, 2 * _LINE + 4), "white")
        pen = ImageDraw.Draw(paper)
        font = _font(_POINTS)
        first, second = 2 + _LINE / 2, 2 + 1.5 * _LINE
        coverage = max((row["coverage"] or 0 for row in self._metrics if row["evaluations"] <= done), default=0)
        pen.text((6, first), f"{done:,} of {self._budget:,} evaluations", _INK, font, anchor="lm")
        pen.text((self._size - 6, first), f"coverage {100 * coverage:.0f} %", _INK, font, anchor="rm")
        pen.text((6, second), "first reached early", _INK, font, anchor="lm")
        start = 12 + font.getlength("first reached early")
        for number, colour in enumerate(_COLOURS):
            box = (start + number, second - 5, start + number, second + 5)
            pen.rectangle(box, tuple(int(255 * part) for part in colour))
        pen.text((start + len(_COLOURS) + 6, second), "late", _INK, font, anchor="lm")
        pen.text((self._size - 6, second), "rewarded", _INK, font, anchor="rm")
        end = self._size - 12 - font.getlength("rewarded")
        pen.rectangle((end - 10, second - 5, end, second + 5), REWARD_COLOR)
        return np.asarray(paper)


def _first(rows: NDArray[np.int_], columns: NDArray[np.int_], ids: NDArray[np.int_], cells: int) -> NDArray[np.int_]:
    """Return the lowest id of each cell; a very large number for cells without any."""
    lowest = np.full((cells, cells), np.iinfo(np.int32).max, np.int_)
    np.minimum.at(lowest, (rows, columns), ids)
    return lowest


def _font(points: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), points)


def _stacked(pictures: Sequence[Picture], axis: int) -> Picture:
    """Return pictures side by side or one below the other, with a gap between them."""
    shape = list(pictures[0].shape)
    shape[axis] = _GAP
    gap = np.full(shape, 255, np.uint8)
    parts = [part for picture in pictures for part in (gap, picture)][1:]
    return np.concatenate(parts, axis=axis)


if __name__ == "__main__":
    main()
