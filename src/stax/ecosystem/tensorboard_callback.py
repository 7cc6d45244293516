"""A run for TensorBoard: metrics as curves, what the autoencoder sees and makes as pictures.

Events are kept in the format that TensorBoard reads, by the parts of its package that PyTorch's writer is made of too; neither PyTorch nor
TensorFlow is needed (extra `tensorboard`).
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from stax.ecosystem.extras import import_extra
from stax.errors import InvalidInputError
from stax.runs.callbacks import Callback
from stax.runs.files import open_regular
from stax.search.search import Search

_FILES = "events.out.tfevents."
_PICTURES = 8
"""Observations that are shown beside their reconstructions."""
_HEADER, _FOOTER = struct.Struct("<QI"), struct.Struct("<I")
"""Around every record: its length and a checksum of that; a checksum of the record."""
_RECORD_BYTES = 2**26
"""Bytes of a record: a picture is the largest."""
_MAX_REWARD = re.compile(r"max_reward_(\d+)", re.ASCII)


class TensorBoardCallback(Callback):
    """Writes events for TensorBoard: the metrics of every chunk, and pictures after every training. The step is the number of evaluations.

    The events of a run that is resumed are cut where the run goes on, so none is there twice; rows of metrics that are missing, since the
    process was killed or the callback was not there before, are added.

    Args:
        folder: of this run alone; TensorBoard is given it or one above it. It is made if need be.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        what = "Writing for TensorBoard"
        self._events = import_extra("tensorboard.compat.proto.event_pb2", "tensorboard", what)
        self._summaries = import_extra("tensorboard.compat.proto.summary_pb2", "tensorboard", what)
        self._records = import_extra("tensorboard.summary.writer.record_writer", "tensorboard", what)
        self._file: IO[bytes] | None = None

    def at_start(self, search: Search) -> None:
        if self.folder.is_dir() and self._files():
            raise self._not_ours()
        self._open(search)

    def at_resume(self, search: Search) -> None:
        last = 0
        if self.folder.is_dir():
            # Events of others must not be cut.
            if any(self._writer(path) != _name(search) for path in self._files()):
                raise self._not_ours()
            last = self._cut(search.evaluations)
        self._open(search)
        # Told to a TensorBoard that is running: what it has of later steps does not count any more.
        start = self._events.SessionLog(status=self._events.SessionLog.START)
        self._write(self._event(search.evaluations + 1, session_log=start))
        for row in search.metrics:
            if row["evaluations"] > last:
                self._write_metrics(search, row)
        self._flush()

    def after_chunk(self, search: Search) -> None:
        self._write_metrics(search, search.metrics[-1])
        self._flush()

    def after_training(self, search: Search) -> None:
        seen_and_made = _seen_and_made(search)
        if seen_and_made is not None:
            height, width = seen_and_made.shape[:2]
            image = self._summaries.Summary.Image(
                height=height, width=width, colorspace=3, encoded_image_string=_png(seen_and_made)
            )
            value = self._summaries.Summary.Value(tag="autoencoder/seen and reconstructed", image=image)
            self._write(self._event(search.evaluations, summary=self._summaries.Summary(value=[value])))
            self._flush()

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _write_metrics(self, search: Search, row: Mapping[str, Any]) -> None:
        values = [
            self._summaries.Summary.Value(tag=_tag(name, search), simple_value=float(value))
            for name, value in row.items()
            if isinstance(value, int | float) and name != "evaluations"
        ]
        self._write(self._event(row["evaluations"], summary=self._summaries.Summary(value=values)))

    # Files

    def _files(self) -> list[Path]:
        """The oldest first."""
        return sorted(path for path in self.folder.iterdir() if "tfevents" in path.name)

    def _not_ours(self) -> InvalidInputError:
        return InvalidInputError(f"The folder {str(self.folder)!r} holds events of another run; give one without.")

    def _writer(self, path: Path) -> str:
        """Which run wrote a file, as its first event says."""
        first = next(self._read(path), None)
        return "" if first is None else str(first[0].source_metadata.writer)

    def _open(self, search: Search) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            names = [path.name for path in self._files()]
            # Sorted by name, which is how TensorBoard reads them; an empty one may have been taken away.
            last = max((int(found[1]) for name in names if (found := re.match(rf"{re.escape(_FILES)}(\d+)", name))), default=-1)
            self._file = (self.folder / f"{_FILES}{last + 1:010d}.stax").open("xb")
        except OSError as error:
            raise InvalidInputError(
                f"The folder {str(self.folder)!r} for TensorBoard cannot be written to: {error.strerror}."
            ) from None
        writer = self._events.SourceMetadata(writer=_name(search))
        self._write(self._event(0, file_version="brain.Event:2", source_metadata=writer))
        self._flush()

    def _event(self, step: int, **content: Any) -> Any:
        return self._events.Event(wall_time=time.time(), step=step, **content)

    def _write(self, event: Any) -> None:
        assert self._file
        self._records.RecordWriter(self._file).write(event.SerializeToString())

    def _flush(self) -> None:
        assert self._file
        self._file.flush()

    def _cut(self, evaluations: int) -> int:
        """Takes away all events after so many evaluations, and returns the last step that has metrics."""
        last = 0
        cut = False
        for path in self._files():
            if cut:
                path.unlink()
                continue
            kept = 0
            for event, end in self._read(path):
                # A session's start says at which step it will go on.
                if event.step > evaluations and event.WhichOneof("what") != "session_log":
                    break
                kept = end
                if any(value.HasField("simple_value") for value in event.summary.value):
                    last = max(last, event.step)
            cut = kept < path.stat().st_size
            if cut:
                # Not by its path: a link would lead to a file of somebody else's.
                descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
                try:
                    os.ftruncate(descriptor, kept)
                finally:
                    os.close(descriptor)
        return last

    def _read(self, path: Path) -> Iterator[tuple[Any, int]]:
        """The events of a file and where each ends, up to the first that is not complete."""
        with open_regular(path, "The file of events") as file:
            size = file.seek(0, 2)
            file.seek(0)
            end = 0
            while end + _HEADER.size <= size:
                length, _ = _HEADER.unpack(file.read(_HEADER.size))
                end += _HEADER.size + length + _FOOTER.size
                if end > size or length > _RECORD_BYTES:
                    return
                try:
                    event = self._events.Event.FromString(file.read(length))
                except Exception:  # protobuf's own, which has moved between its versions
                    return
                file.read(_FOOTER.size)
                yield event, end


def _name(search: Search) -> str:
    return f"stax-qd: {search.method.name} on {search.task.name}, budget {search.budget}, seed {search.seed}"


def _tag(name: str, search: Search) -> str:
    """What a column of the metrics is called in TensorBoard, which groups by what stands before a slash."""
    area = _MAX_REWARD.fullmatch(name)
    if area:
        return f"max_reward/{search.task.reward_areas[int(area[1])].name}"
    for words, group in (("seconds_", "seconds"), ("training_", "autoencoder"), ("validation_", "autoencoder")):
        if name.startswith(words):
            return f"{group}/{name.removeprefix('seconds_')}"
    return name


def _seen_and_made(search: Search) -> NDArray[np.uint8] | None:
    """The last observations of some policies of the population above what the autoencoder makes of them; None if there are no pictures."""
    shape = search.task.observation_shape
    reconstruct = getattr(search.space, "reconstruct", None)
    if len(shape) != 3 or shape[-1] not in (1, 3) or reconstruct is None:
        return None
    count = min(_PICTURES, len(search.population))
    rows = np.linspace(0, len(search.population) - 1, count).round().astype(np.int64)
    rollouts = search.population.take(rows).rollouts()
    seen = np.asarray(search.task.observe(rollouts))[:, -1]
    made = np.round(255 * np.clip(reconstruct(rollouts)[:, -1], 0, 1)).astype(np.uint8)
    pictures = np.stack([seen, made])
    # (2, n, height, width, channels) to rows of pictures side by side
    side_by_side = pictures.transpose(0, 2, 1, 3, 4).reshape(2 * shape[0], count * shape[1], shape[2])
    return np.ascontiguousarray(np.broadcast_to(side_by_side, (*side_by_side.shape[:2], 3)))


def _png(picture: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    content = BytesIO()
    Image.fromarray(picture).save(content, "PNG")
    return content.getvalue()
