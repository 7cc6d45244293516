"""Pictures for people as files: PNG, GIF and MP4."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stax.constraints import check_whole
from stax.errors import InvalidInputError
from stax.extras import require_extra

Picture = NDArray[np.uint8]
"""(height, width, 3)"""

FRAME_RATES = 1, 50
"""Frames a second: browsers slow down a GIF that has more."""
HOLD_SECONDS = 1.5
"""Seconds that the last frame of a film stays before the film begins again."""
_SAMPLES = 8
"""Frames that a film's palette is made from."""
_EXACT = 96
"""The most frequent colours are kept as they are: the grounds of a scene, above all."""
_COLORS = 255
"""Colours of a palette; the last of a GIF's 256 means that a pixel does not change."""


def png_bytes(picture: Picture) -> bytes:
    """Return a picture as a PNG file."""
    file = BytesIO()
    Image.fromarray(picture).save(file, "PNG", optimize=True)
    return file.getvalue()


def gif_bytes(frames: Sequence[Picture], fps: int, *, hold: float = HOLD_SECONDS) -> bytes:
    """Return frames of one size as a GIF file that plays for ever.

    Args:
        frames: (height, width, 3) uint8 each; they may be drawn as they are asked for.
        fps: frames a second.
        hold: seconds that the last frame stays.
    """
    _check_film(frames, fps)
    palette = _Palette([frames[number] for number in _spread(len(frames), _SAMPLES)])
    # A GIF counts in hundredths of a second; rounding the ends of frames keeps the whole film in time.
    milliseconds = 10 * np.diff(np.round(100 / fps * np.arange(len(frames) + 1)).astype(int))
    milliseconds[-1] = max(milliseconds[-1], round(100 * hold) * 10)
    first, *others = (palette.image(frame) for frame in frames)
    file = BytesIO()
    first.save(
        file,
        "GIF",
        save_all=True,
        append_images=others,
        duration=milliseconds.tolist(),
        loop=0,
        disposal=1,
        palette=palette.colors.tobytes(),
        optimize=True,
    )
    return file.getvalue()


def mp4_bytes(frames: Sequence[Picture], fps: int, *, hold: float = HOLD_SECONDS) -> bytes:
    """Return frames of one size as an MP4 film (H.264), which every browser plays; a side of odd length grows by a pixel."""
    require_extra("video", "An .mp4 film")
    import av
    from av.video.stream import VideoStream

    _check_film(frames, fps)
    height, width = frames[0].shape[:2]
    file = BytesIO()
    with av.open(file, "w", format="mp4") as film:
        # The same frames give the same bytes only with one thread, and without the AVX-512 version of x264's rate control
        # (mb-tree), which depends on memory that it has not initialised.
        options = {"crf": "20", "preset": "medium", "threads": "1", "x264-params": "cpu-independent=1"}
        stream = film.add_stream("libx264", rate=fps, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = width + width % 2, height + height % 2
        stream.pix_fmt = "yuv420p"
        stream.time_base = Fraction(1, fps)
        for number in [*range(len(frames)), *[len(frames) - 1] * (round(hold * fps) - 1)]:
            picture = np.pad(frames[number], ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
            film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        film.mux(stream.encode(None))
    return file.getvalue()


def _check_film(frames: Sequence[Picture], fps: int) -> None:
    check_whole("fps", fps, *FRAME_RATES)
    if not len(frames):
        raise InvalidInputError("There are no frames to make a film of; give at least one.")


def _spread(count: int, most: int) -> list[int]:
    """Return numbers below `count`, evenly spread, including the first and the last."""
    return [int(number) for number in np.unique(np.round(np.linspace(0, count - 1, most)))]


class _Palette:
    """The colours that all frames of a GIF share, so that none has to bring its own and nothing flickers."""

    def __init__(self, samples: Sequence[Picture]) -> None:
        found, counts = np.unique(np.concatenate([_packed(sample).ravel() for sample in samples]), return_counts=True)
        found = found[np.argsort(-counts, kind="stable")]
        if len(found) > _COLORS:
            # Each of the others counts once: the few pixels of a thin line matter as much as an area.
            rare = Image.fromarray(_unpacked(found[_EXACT:])[None])
            made = rare.quantize(_COLORS - _EXACT, method=Image.Quantize.MEDIANCUT).getpalette()
            found = np.concatenate([found[:_EXACT], _packed(np.array(made, np.uint8).reshape(-1, 3))])
            found = found[np.sort(np.unique(found, return_index=True)[1])]
        self.colors = _unpacked(found)
        """(n, 3), no two alike."""
        self._number = np.full(2**24, _COLORS, np.uint8)
        """Number of the nearest colour, by packed colour; colours that have not been looked up are marked."""

    def image(self, picture: Picture) -> Image.Image:
        packed = _packed(picture)
        numbers = self._number[packed]
        new = np.unique(packed[numbers == _COLORS])
        if len(new):
            apart = _unpacked(new)[:, None].astype(np.int32) - self.colors
            self._number[new] = np.square(apart).sum(axis=2).argmin(axis=1)
            numbers = self._number[packed]
        image = Image.fromarray(numbers)
        image.putpalette(self.colors.tobytes())
        return image


def _packed(picture: Picture) -> NDArray[np.uint32]:
    """Return a colour as one number."""
    red, green, blue = (picture[..., channel].astype(np.uint32) for channel in range(3))
    return (red << 16 | green << 8 | blue).astype(np.uint32)


def _unpacked(numbers: NDArray[np.uint32]) -> Picture:
    return np.stack([numbers >> 16, numbers >> 8 & 255, numbers & 255], axis=-1).astype(np.uint8)
