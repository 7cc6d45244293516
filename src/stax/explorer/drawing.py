"""What the worker process makes for the page: films, observations and their reconstructions, pictures of tasks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from stax.analysis.film_files import gif_bytes, png_bytes
from stax.analysis.replay import play
from stax.analysis.replay_pictures import Film
from stax.analysis.wanted_observation import picture_observation
from stax.errors import InvalidInputError
from stax.explorer.data import make_task, make_trained_space
from stax.explorer.packing import finite, pack
from stax.representation.space import DescriptorSpace
from stax.runs.config import RunConfig
from stax.search.policy_set import PolicySet
from stax.tasks.task import Rollouts, Task

SCENE_SIZE = 768
FILM_SIZE = 320
MOST_FRAMES = 48
_SPRITE_COLUMNS = 8


class Studio:
    """The tasks and autoencoders of runs, made when they are needed; what each method returns is a message for the page.

    Args:
        trust: whether code of a run's maker may be imported.
    """

    def __init__(self, *, trust: bool) -> None:
        self._trust = trust
        self._tasks: dict[str, tuple[RunConfig, Task]] = {}
        self._spaces: dict[tuple[str, str, int | None], DescriptorSpace] = {}
        self._evaluated: tuple[tuple[str, str], Rollouts] | None = None
        """The rollouts of all kept policies of the run that was embedded last."""

    def _task(self, folder: str) -> Task:
        return self._made(folder)[1]

    def _made(self, folder: str) -> tuple[RunConfig, Task]:
        if folder not in self._tasks:
            self._tasks[folder] = make_task(Path(folder), trust=self._trust)
        return self._tasks[folder]

    def _space(self, folder: str, version: str, episode: int | None = None) -> Any:
        """Return the run's learned space.

        Args:
            folder: the run's folder.
            version: a text that changes when the autoencoder may have changed.
            episode: the training episode after which it is wanted; the last if None.
        """
        key = folder, version, episode
        if key not in self._spaces:
            if len(self._spaces) > 8:
                self._spaces.clear()
            space = make_trained_space(Path(folder), *self._made(folder), trust=self._trust, episode=episode)
            if not space.learned:
                raise InvalidInputError("The method of this run learns no space, so there is nothing to encode or decode.")
            self._spaces[key] = space
        return self._spaces[key]

    # The task

    def scene(self, folder: str) -> bytes:
        """Return the picture of a task, and where it lies in the ground-truth space."""
        task = self._task(folder)
        extent = None if len(task.ground_truth_bounds or ()) != 2 else _extent(task)
        scene = None if extent is None else task.scene(SCENE_SIZE)
        if scene is None:
            return pack({"extent": None})
        start = None if scene.start is None else [float(number) for number in scene.start]
        return pack({"extent": extent, "start": start}, {"png": _bytes(png_bytes(scene.picture))})

    def film(self, folder: str, *, policy: PolicySet) -> bytes:
        """Return the film of a policy as one picture with all frames in rows."""
        task = self._task(folder)
        replay = play(task, policy)[0]
        steps = np.unique(np.linspace(0, replay.steps, min(MOST_FRAMES, replay.steps + 1)).round().astype(int)).tolist()
        frames = [np.asarray(frame, np.uint8) for frame in task.film(policy.genome[0], steps, FILM_SIZE)]
        rows = -(-len(frames) // _SPRITE_COLUMNS)
        sprite = np.zeros((rows * FILM_SIZE, min(_SPRITE_COLUMNS, len(frames)) * FILM_SIZE, 3), np.uint8)
        for number, frame in enumerate(frames):
            row, column = divmod(number, _SPRITE_COLUMNS)
            sprite[row * FILM_SIZE : (row + 1) * FILM_SIZE, column * FILM_SIZE : (column + 1) * FILM_SIZE] = frame
        about = {
            "id": replay.id,
            "size": FILM_SIZE,
            "columns": _SPRITE_COLUMNS,
            "steps": steps,
            "differences": list(replay.differences),
        }
        return pack(about, {"png": _bytes(_small_png(sprite))})

    def films(self, folder: str, *, policy: PolicySet) -> bytes:
        """Return the films of several policies in a grid, as a GIF."""
        task = self._task(folder)
        film = Film(task, play(task, policy))
        return pack({}, {"gif": _bytes(gif_bytes(film, film.fps))})

    # The learned space

    def observations(self, folder: str, version: str, *, policy: PolicySet) -> bytes:
        """Return what the autoencoder sees of a policy and what it makes of it; only the first if the method learns nothing."""
        task = self._task(folder)
        rollouts = task.evaluate(policy.genome)
        seen = np.asarray(task.observe(rollouts))[0]
        try:
            space = self._space(folder, version)
        except InvalidInputError as error:
            return pack({"why": str(error), "used": []}, {"seen": _shown(seen)})
        used = [int(sample) for sample in space.used_moments(rollouts)[0]]
        return pack({"why": "", "used": used}, {"seen": _shown(seen), "made": _shown(space.reconstruct(rollouts)[0])})

    def decode(self, folder: str, version: str, *, codes: NDArray[np.float32]) -> bytes:
        """Return what the decoder makes of a place of the learned space, an observation for each code."""
        space = self._space(folder, version)
        return pack({}, {"made": _shown(space.imagine(codes[None])[0])})

    def encode(self, folder: str, version: str, *, picture: NDArray[np.uint8]) -> bytes:
        """Return the place of somebody's picture in the learned space, how the autoencoder sees it, and what the decoder makes of it."""
        task, space = self._task(folder), self._space(folder, version)
        seen = picture_observation(picture.tobytes(), task)
        place = space.place_of(seen)
        return pack({}, {"seen": _shown(seen[None]), "place": place, "made": _shown(space.pictured(seen[None]))})

    def embed(self, folder: str, version: str, *, episode: int, policy: PolicySet) -> bytes:
        """Return the descriptors of policies by the autoencoder that was kept after a training episode."""
        space = self._space(folder, version, episode)
        if self._evaluated is None or self._evaluated[0] != (folder, version):
            self._evaluated = (folder, version), self._task(folder).evaluate(policy.genome)
        rollouts = self._evaluated[1]
        return pack({"episode": episode}, {"descriptor": space.describe(rollouts).astype(np.float32)})


def _shown(observations: NDArray[Any]) -> NDArray[Any]:
    """Return observations as the page shows them: pictures as uint8 with three channels, vectors as float32."""
    if observations.ndim != 4:
        return observations.reshape(len(observations), -1).astype(np.float32)
    if observations.dtype != np.uint8:
        observations = np.round(255 * np.clip(observations, 0, 1)).astype(np.uint8)
    if observations.shape[-1] not in (1, 3):
        observations = observations[..., -1:]
    return np.ascontiguousarray(np.broadcast_to(observations, (*observations.shape[:3], 3)))


def _extent(task: Task) -> list[float] | None:
    """Return the ground truths of the left, right, top and bottom edge of the task's picture; None if there are none.

    Places in the picture must be a linear function of each number of the ground truth.
    """
    low, high = np.array(task.ground_truth_bounds, np.float64).T
    shares = np.array([[0, 0], [1, 1], [0.25, 0.7], [0.6, 0.1]])
    found = task.picture_place(low + shares * (high - low))
    if found is None:
        return None
    places = np.asarray(found, np.float64)
    span = places[1] - places[0]
    if not np.isfinite(places).all() or not (np.abs(span) > 1e-9).all():
        return None
    if not np.allclose(places, places[0] + shares * span, atol=1e-6):
        return None
    start, end = low - places[0] / span * (high - low), low + (1 - places[0]) / span * (high - low)
    return cast(list[float], finite([start[0], end[0], start[1], end[1]]))


def _bytes(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8)


def _small_png(picture: NDArray[np.uint8]) -> bytes:
    """Return a picture as PNG; quickly, since it is looked at once."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=2)
    return file.getvalue()
