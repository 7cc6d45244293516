"""Pictures of replays: the frames of a film, several policies in a grid, or a strip of moments side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import overload

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from stax.analysis.film_files import FRAME_RATES, Picture
from stax.analysis.replay import Replay, films_itself
from stax.constraints import check_whole
from stax.errors import InvalidInputError, in_one_line
from stax.tasks.task import Task

SIZES = 64, 2048
"""The smallest and the largest scene, in pixels."""
MOST_MOMENTS = 24
"""Of a strip."""
_FILM_SIZE, _GRID_SIZE, _STRIP_SIZE = 480, 960, 256
"""The scene of a film, all scenes of a grid side by side, and the scene of a strip, in pixels."""
_MOMENTS = 5
_FPS, _LOWEST_FPS = 20, 5
_LONGEST, _SHORTEST = 6, 3
"""Seconds that a film moves for, unless told otherwise."""
_MOST_PICTURE, _MOST_FILM = 50_000_000, 600_000_000
"""Pixels that are drawn at most, which is some memory."""
_GAP = 4
_INK, _FAINT, _PALE, _WHITE = (51, 54, 61), (110, 115, 125), (228, 230, 234), (255, 255, 255)

Words = Sequence[str]
"""The same said in ever fewer letters: the first that fits is written."""


class Film(Sequence[Picture]):
    """The frames of a film of one or several policies, each drawn when it is asked for.

    All play at the same time; an episode that ends before the others stays as it ended. Below every scene stand the policy's id
    and the step, and at its end the reward.

    Args:
        task: the task, which must have a `render` or a `film`.
        replays: what is shown, one policy or several in a grid.
        size: width and height of a scene in pixels; 480, or fewer in a grid.
        fps: frames a second; 20, fewer if there is little to show.
        every: steps from one frame to the next; as many as make the film move for six seconds at most.
    """

    def __init__(
        self,
        task: Task,
        replays: Sequence[Replay],
        *,
        size: int | None = None,
        fps: int | None = None,
        every: int | None = None,
    ) -> None:
        _check_some(replays)
        self.task, self.replays = task, list(replays)
        self.columns = math.ceil(math.sqrt(len(replays)))
        self.size = check_whole("size", min(_FILM_SIZE, _GRID_SIZE // self.columns) if size is None else size, *SIZES)
        last = max(replay.steps for replay in replays)
        if fps is not None:
            check_whole("fps", fps, *FRAME_RATES)
        self.every = max(1, math.ceil(last / (_LONGEST * (fps or _FPS)))) if every is None else check_whole("every", every, 1)
        self.steps = [*range(0, last, self.every), last]
        """The step that each frame shows."""
        self.fps = fps or min(_FPS, max(_LOWEST_FPS, math.ceil(len(self.steps) / _SHORTEST)))
        self._lettering = _Lettering(self.size)
        self._cell_height = self.size + 1 + self._lettering.height(2)
        rows = math.ceil(len(replays) / self.columns)
        self._shape = rows * (self._cell_height + _GAP) - _GAP, self.columns * (self.size + _GAP) - _GAP
        self._ends: dict[int, Picture] = {}
        """Cells of episodes that have ended, by number."""
        self._check_pixels()
        self._scenes = [_Scenes(task, replay, self.steps, self.size) for replay in replays]

    def _check_pixels(self) -> None:
        pixels = math.prod(self._shape)
        if pixels > _MOST_PICTURE or pixels * len(self.steps) > _MOST_FILM:
            raise InvalidInputError(
                f"The film would have {len(self.steps):,} frames of {self._shape[1]:,} x {self._shape[0]:,} pixels, which is"
                " too much; give a smaller size, more steps a frame (every), or fewer policies."
            )

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, number: int) -> Picture: ...

    @overload
    def __getitem__(self, number: slice) -> list[Picture]: ...

    def __getitem__(self, number: int | slice) -> Picture | list[Picture]:
        steps = self.steps[number]
        return [self._frame(step) for step in steps] if isinstance(steps, list) else self._frame(steps)

    def frames(self) -> list[Picture]:
        """Draw and return all of them."""
        return list(self)

    def _frame(self, step: int) -> Picture:
        frame = _blank(*self._shape, _PALE)
        for number in range(len(self.replays)):
            row, column = divmod(number, self.columns)
            top, left = row * (self._cell_height + _GAP), column * (self.size + _GAP)
            frame[top : top + self._cell_height, left : left + self.size] = self._cell(number, step)
        return frame

    def _cell(self, number: int, step: int) -> Picture:
        """Draw one policy's scene at a step, with its lines of text below."""
        if number in self._ends and step >= self.replays[number].steps:
            return self._ends[number]
        replay = self.replays[number]
        now = min(step, replay.steps)
        ended = now == replay.steps
        policy = [f"policy {replay.id}", f"policy {replay.id}", f"{replay.id}"]
        moment = [f"step {now} of {replay.steps}", f"step {now}", f"step {now}", f"{now}"]
        below = self._lettering.lines([(policy, moment), (replay.outcome() if ended else [], [])], self.size)
        cell = np.concatenate([self._scenes[number][now], _blank(1, self.size, _PALE), below])
        if ended:
            self._ends[number] = cell
        return cell


def strip(task: Task, replays: Sequence[Replay], *, size: int | None = None, every: int | None = None) -> Picture:
    """Draw moments of a rollout side by side, the start first and the end last; a row per policy.

    Args:
        task: the task, which must have a `render` or a `film`.
        replays: what is shown, a row each.
        size: width and height of a scene in pixels, 256 by default.
        every: steps from one moment to the next; by default five moments are shown.
    """
    _check_some(replays)
    size = check_whole("size", _STRIP_SIZE if size is None else size, *SIZES)
    moments = [_moments(replay.steps, every) for replay in replays]
    most = max(map(len, moments))
    if most > MOST_MOMENTS:
        raise InvalidInputError(
            f"every must give at most {MOST_MOMENTS} moments, not {most}, as {every} does for"
            f" {max(replay.steps for replay in replays)} steps."
        )
    lettering = _Lettering(size)
    width, height = most * (size + _GAP) - _GAP, 1 + size + 1 + 2 * lettering.height(1) + _GAP
    if len(replays) * width * height > _MOST_PICTURE:
        raise InvalidInputError(
            f"The picture would have {width:,} x {len(replays) * height:,} pixels, which is too much; give a smaller size or"
            " fewer policies."
        )
    rows: list[Picture] = []
    for replay, steps in zip(replays, moments, strict=True):
        rows += [_blank(_GAP, width, _PALE)] if rows else []
        said = [f"{words}policy {replay.id}: {replay.outcome()[0]}" for words in (f"{task.name}, ", "")]
        rows += [lettering.lines([(said, [])], width), _blank(1, width, _PALE)]
        rows += [_panels(task, replay, steps, size, width, lettering)]
    return np.concatenate(rows)


def _panels(task: Task, replay: Replay, steps: Sequence[int], size: int, width: int, lettering: _Lettering) -> Picture:
    """Draw one scene for each moment, with its step below, on white paper of that width."""
    row = _blank(size + 1 + lettering.height(1), width, _WHITE)
    scenes = _Scenes(task, replay, steps, size)
    for number, step in enumerate(steps):
        label = lettering.lines([([f"step {step}", f"{step}"], [])], size)
        left = number * (size + _GAP)
        row[:, left : left + size] = np.concatenate([scenes[step], _blank(1, size, _PALE), label])
        row[:, max(left - _GAP, 0) : left] = _PALE
    return row


def _moments(steps: int, every: int | None) -> list[int]:
    if every is None:
        return [int(step) for step in np.unique(np.round(np.linspace(0, steps, _MOMENTS)))]
    return [*range(0, steps, check_whole("every", every, 1)), steps]


def _check_some(replays: Sequence[Replay]) -> None:
    if not replays:
        raise InvalidInputError("There is no policy to show; give at least one.")


class _Scenes:
    """The scenes of a replay at some of its steps, by step: drawn when they are asked for, or, if the task can be drawn only
    while it moves, all when the first one is."""

    def __init__(self, task: Task, replay: Replay, steps: Sequence[int], size: int) -> None:
        self._task, self._replay, self._size = task, replay, size
        # Episodes that end before others stay as they ended.
        self._steps = sorted({min(step, replay.steps) for step in steps})
        self._filmed: dict[int, Picture] = {}

    def __getitem__(self, step: int) -> Picture:
        try:
            if not films_itself(self._task):
                states = self._replay.states
                return self._checked(self._task.render(states[step], self._size, trail=states[: step + 1]), "render")
            if not self._filmed:
                assert self._replay.genome is not None
                pictures = self._task.film(self._replay.genome, self._steps, self._size)
                self._filmed = {now: self._checked(picture, "film") for now, picture in zip(self._steps, pictures, strict=True)}
        except (InvalidInputError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a user's own task may raise anything
            raise RuntimeError(
                f"Task {self._task.name!r} failed to draw policy {self._replay.id}: {in_one_line(error)}"
            ) from error
        return self._filmed[step]

    def _checked(self, picture: Picture, method: str) -> Picture:
        array, shape = np.asarray(picture), (self._size, self._size, 3)
        if array.shape != shape or array.dtype != np.uint8:
            raise InvalidInputError(
                f"{method} of task {self._task.name!r} must give uint8 of shape {shape}, not {array.dtype} of shape {array.shape}."
            )
        return array


def _blank(height: int, width: int, color: tuple[int, int, int]) -> Picture:
    return np.full((height, width, 3), color, np.uint8)


class _Lettering:
    """Writes beside scenes of some size, never over them."""

    def __init__(self, size: int) -> None:
        points = min(24, max(11, size // 26))
        self._font = _font(points)
        self._line = math.ceil(1.45 * points)
        self._margin = math.ceil(0.45 * points)

    def height(self, lines: int) -> int:
        return lines * self._line + self._margin

    def lines(self, lines: Sequence[tuple[Words, Words]], width: int) -> Picture:
        """Draw lines of text on a white picture, each with words at its left and at its right end."""
        paper = Image.new("RGB", (width, self.height(len(lines))), _WHITE)
        pen = ImageDraw.Draw(paper)
        for number, (left, right) in enumerate(lines):
            middle = self._margin / 2 + (number + 0.5) * self._line
            first, second = self._fitting(left, right, width - 2 * self._margin)
            pen.text((self._margin, middle), first, _INK, self._font, anchor="lm")
            pen.text((width - self._margin, middle), second, _FAINT, self._font, anchor="rm")
        return np.asarray(paper)

    def _fitting(self, left: Words, right: Words, width: int) -> tuple[str, str]:
        """Return the longest words that fit into the width; if not even the shortest do, the left ones alone, cut."""
        for shorter in range(max(len(left), len(right))):
            first, second = _said(left, shorter), _said(right, shorter)
            if self._font.getlength(f"{first}   {second}" if second else first) <= width:
                return first, second
        kept = words = _said(left, len(left))
        while kept and self._font.getlength(kept if kept == words else f"{kept}…") > width:
            kept = kept[:-1]
        return (kept if kept == words else f"{kept}…"), ""


def _said(words: Words, shorter: int) -> str:
    return words[min(shorter, len(words) - 1)] if words else ""


@cache
def _font(points: int) -> ImageFont.FreeTypeFont:
    # Matplotlib's, so that all pictures are written in the same letters, and names in most scripts can be read.
    return ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), points)
