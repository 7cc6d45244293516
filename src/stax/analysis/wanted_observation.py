"""A wanted observation, as the autoencoder of a run sees it: from a picture file, or from an array."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stax.errors import InvalidInputError, shown
from stax.extras import import_extra
from stax.runs.array_files import read_array
from stax.runs.files import read_bytes
from stax.tasks.task import Task

LARGEST_SIDE = 4096
"""Pixels of each side of a picture at most."""
_LARGEST_FILE = 2**26
"""Bytes of a picture file at most."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
"""Modes of Pillow whose pixels have 8 bits a channel, and can be converted without loss of contrast."""
_CHANNELS = {1: "L", 3: "RGB"}
"""Modes of pictures with so many channels."""


def picture_observation(picture: str | Path | bytes | ArrayLike, task: Task) -> NDArray[np.uint8]:
    """Return a picture as an observation of the task.

    A picture of another size is scaled if it has the same proportions, and colours are converted to the task's channels. Everything
    else that would change what is seen is refused: other proportions, transparent pixels, several frames, more than 8 bits a channel.

    Args:
        picture: path or content of a PNG, JPEG, GIF, WebP or BMP file; or an array of bytes with the shape of an observation.
        task: the task, of which only the shape of observations is used.
    """
    shape = task.observation_shape
    if len(shape) != 3 or task.observation_dtype != "uint8":
        raise InvalidInputError(
            f"The autoencoder of this run sees {_seen(task)}, not pictures, so a picture cannot be looked up; give an observation."
        )
    if isinstance(picture, (str, Path)):
        content = read_bytes(Path(picture), "The picture", _LARGEST_FILE)
    elif isinstance(picture, bytes):
        content = picture
    else:
        return array_observation(picture, task)
    if shape[2] not in _CHANNELS:
        raise InvalidInputError(
            f"Observations of task {task.name!r} have {shape[2]} channels, which no picture file has; give an array as the observation."
        )
    return _converted(content, shape)


def _converted(content: bytes, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    image_module = import_extra("PIL.Image", "plots", "A picture as a question")
    height, width, channels = shape
    try:
        with image_module.open(io.BytesIO(content), formats=_FORMATS) as image:
            _check_image(image, width, height)
            image.load()
            if _is_transparent(image):
                raise InvalidInputError("The picture has transparent pixels, whose colour is not known; save it without them.")
            # RGB first, because a palette can be averaged only after that.
            colours = image.convert("RGB")
            if colours.size != (width, height):
                colours = colours.resize((width, height), image_module.Resampling.BOX)
            return np.array(colours.convert(_CHANNELS[channels]), np.uint8).reshape(shape)
    except InvalidInputError:
        raise
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError):
        raise InvalidInputError("The file is no picture that can be read; give a PNG, JPEG, GIF, WebP or BMP file.") from None


def _check_image(image: Any, width: int, height: int) -> None:
    """Refuse a picture that cannot be converted without changing what is seen."""
    if max(image.size) > LARGEST_SIDE:
        raise InvalidInputError(f"A picture may have at most {LARGEST_SIDE} pixels a side, not {max(image.size):,}.")
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        raise InvalidInputError(f"The picture has {frames:,} frames; give a file with one.")
    if image.mode not in _MODES:
        raise InvalidInputError(
            f"The picture has pixels of mode {image.mode!r}; save it with 8 bits a channel, for instance as RGB."
        )
    given_width, given_height = image.size
    # Within half a pixel of the observation, proportions are the same.
    if abs(given_width * height - given_height * width) > max(given_width, given_height) / 2:
        raise InvalidInputError(
            f"The picture has {given_width} x {given_height} pixels; observations of this run have {width} x {height}, and a picture must"
            " have the same proportions. Crop it."
        )


def _is_transparent(image: Any) -> bool:
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        return bool(np.asarray(image.convert("RGBA"))[..., 3].min() < 255)
    return False


def array_observation(observation: str | Path | ArrayLike, task: Task) -> NDArray[Any]:
    """Return an array as an observation of the task, with its shape and dtype.

    Args:
        observation: the path of an `.npy` file, or an array.
        task: the task, of which only the shape and dtype of observations are used.
    """
    shape, dtype = tuple(task.observation_shape), np.dtype(task.observation_dtype)
    if isinstance(observation, (str, Path)):
        values = read_array(Path(observation), "The observation", shape)
    else:
        try:
            values = np.asarray(observation)
        except ValueError:
            raise InvalidInputError(f"The observation must be an array of shape {shape}, not {shown(observation)}.") from None
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"The observation must hold numbers, not values of type {values.dtype}.")
    if values.shape != shape:
        raise InvalidInputError(f"The observation must have the shape {shape} of the task's observations, not {values.shape}.")
    if not np.isfinite(values).all() or (dtype.kind == "f" and (np.abs(values) > np.finfo(np.float32).max).any()):
        raise InvalidInputError("The observation has a number that is not finite in 32 bits.")
    if dtype.kind in "iu" and not (values == np.clip(np.round(values), np.iinfo(dtype).min, np.iinfo(dtype).max)).all():
        raise InvalidInputError(f"The observation must hold whole numbers from {np.iinfo(dtype).min} to {np.iinfo(dtype).max}.")
    return values.astype(dtype)


def _seen(task: Task) -> str:
    return f"numbers of shape {tuple(task.observation_shape)}"
