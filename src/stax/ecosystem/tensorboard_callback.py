"""Callback that writes metrics and pictures for TensorBoard.

Events are written with TensorBoard's own record writer, which PyTorch's writer uses too. Neither PyTorch nor TensorFlow is
needed (extra `tensorboard`), and there is no thread or queue: a chunk is a few hundred bytes, and what was flushed survives a
kill.

When a run is resumed, event files are cut after the last record before the checkpoint. A start event tells a TensorBoard that
is running to drop the same events.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from stax.ecosystem.logged_metrics import metric_tag, seen_and_reconstructed
from stax.errors import InvalidInputError
from stax.extras import import_extra
from stax.runs.callbacks import Callback
from stax.runs.files import open_regular
from stax.search.search import Search

_FILES = "events.out.tfevents."
_HEADER, _FOOTER = struct.Struct("<QI"), struct.Struct("<I")
"""Bytes before a record (its length and a checksum of the length) and after it (a checksum of the record)."""
_RECORD_BYTES = 2**26
"""Most bytes of a record; a picture is the largest."""


class TensorBoardCallback(Callback):
    """Callback that writes the metrics of every chunk, and pictures after every training, for TensorBoard.

    The step of an event is the number of evaluations. When a run is resumed, events after the checkpoint are removed, so that none
    occurs twice. Rows of metrics that are missing, because the process was killed or had no such callback, are added.

    Args:
        folder: a folder for this run alone, made if it does not exist. Show it, or one above it, in TensorBoard.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        what = "Writing for TensorBoard"
        self._events = import_extra("tensorboard.compat.proto.event_pb2", "tensorboard", what)
        self._summaries = import_extra("tensorboard.compat.proto.summary_pb2", "tensorboard", what)
        self._records = import_extra("tensorboard.summary.writer.record_writer", "tensorboard", what)
        self._file: IO[bytes] | None = None
        self._written = 0
        """Rows of metrics that are written."""

    def at_start(self, search: Search) -> None:
        if self.folder.is_dir() and self._files():
            raise self._not_ours()
        self._open(search)

    def at_resume(self, search: Search) -> None:
        last = 0
        if self.folder.is_dir():
            # Events of other programs must not be removed.
            if any(self._writer(path) != _name(search) for path in self._files()):
                raise self._not_ours()
            last = self._cut(search.evaluations)
        self._open(search)
        # Reports to a running TensorBoard that its events of later steps are no longer valid.
        start = self._events.SessionLog(status=self._events.SessionLog.START)
        self._write(self._event(search.evaluations + 1, session_log=start))
        self._write_metrics(search, [row for row in search.metrics if row["evaluations"] > last])

    def after_chunk(self, search: Search) -> None:
        self._write_metrics(search, search.metrics[self._written :])

    def after_training(self, search: Search) -> None:
        seen_and_made = seen_and_reconstructed(search)
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

    def _write_metrics(self, search: Search, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            values = [
                self._summaries.Summary.Value(tag=metric_tag(name, search), simple_value=float(value))
                for name, value in row.items()
                if isinstance(value, int | float) and name != "evaluations"
            ]
            self._write(self._event(row["evaluations"], summary=self._summaries.Summary(value=values)))
        self._written = len(search.metrics)
        self._flush()

    # Files

    def _files(self) -> list[Path]:
        """Return the event files, the oldest first."""
        return sorted(path for path in self.folder.iterdir() if "tfevents" in path.name)

    def _not_ours(self) -> InvalidInputError:
        return InvalidInputError(f"The folder {str(self.folder)!r} holds events of another run; give one without.")

    def _writer(self, path: Path) -> str:
        """Return the run that wrote a file, from the file's first event."""
        first = next(self._read(path), None)
        return "" if first is None else str(first[0].source_metadata.writer)

    def _open(self, search: Search) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            names = [path.name for path in self._files()]
            # TensorBoard reads files sorted by name. An empty file may have been removed.
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
        """Remove all events after this number of evaluations, and return the last step that has metrics."""
        last = 0
        cut = False
        for path in self._files():
            if cut:
                path.unlink()
                continue
            kept = 0
            for event, end in self._read(path):
                # The start of a session records the step at which it continues.
                if event.step > evaluations and event.WhichOneof("what") != "session_log":
                    break
                kept = end
                if any(value.HasField("simple_value") for value in event.summary.value):
                    last = max(last, event.step)
            cut = kept < path.stat().st_size
            if cut:
                # Truncate by descriptor, not by path: a link could lead to another file.
                descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0))
                try:
                    os.ftruncate(descriptor, kept)
                finally:
                    os.close(descriptor)
        return last

    def _read(self, path: Path) -> Iterator[tuple[Any, int]]:
        """Return the events of a file and where each ends, up to the first incomplete one."""
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
                except Exception:  # protobuf's own exception, which is in different modules in different versions
                    return
                file.read(_FOOTER.size)
                yield event, end


def _name(search: Search) -> str:
    return f"stax-qd: {search.method.name} on {search.task.name}, budget {search.budget}, seed {search.seed}"


def _png(picture: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    content = BytesIO()
    Image.fromarray(picture).save(content, "PNG")
    return content.getvalue()
