"""The runs that are explored, kept in memory and read again when their files change."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.analysis.finding import nearest
from stax.errors import InvalidInputError
from stax.explorer.content import aligned, kept_policies, principal_components, run_message, umap_places
from stax.explorer.data import RunData, read_progress, read_run, stamp
from stax.explorer.packing import pack, unpack
from stax.explorer.worker import Worker
from stax.runs.status import RunStatus
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import ORIGINS

MOST_RUNS = 6
"""Runs that can be explored at once."""
MOST_FILMS = 36
"""Films of a grid."""
MOST_ALIKE = 9
"""Policies that are shown for a picture."""
_KEPT_FILMS = 64
"""Films kept in memory."""


class _Run:
    """One run, read when it is asked for."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self.version = ""
        self._data: RunData | None = None
        self._kept: PolicySet | None = None
        self._message = b""
        self._lock = threading.Lock()

    def read(self) -> tuple[RunData, PolicySet]:
        """Return the run as its files are now, and the policies of its archives."""
        with self._lock:
            version = stamp(self.path)[0]
            if self._data is None or self._kept is None or version != self.version:
                self._data = read_run(self.path)
                self._kept = kept_policies(self._data)
                self._message = b""
                self.version = version
            return self._data, self._kept

    def message(self) -> bytes:
        data, _ = self.read()
        with self._lock:
            if not self._message:
                self._message = run_message(data, self.number)
            return self._message

    def policies(self, ids: Sequence[int]) -> PolicySet:
        """Return policies of the archives, in this order."""
        _, kept = self.read()
        rows = np.searchsorted(kept.id, ids)
        rows[rows == len(kept)] = 0
        if not len(kept) or (kept.id[rows] != np.asarray(ids)).any():
            raise InvalidInputError(
                "Only the genomes of policies in the two archives were kept, and one of these is in neither."
            )
        return kept.take(rows)


class Explored:
    """Runs, and the worker process that draws for them.

    Args:
        paths: the runs' folders.
        trust: whether code of a run's maker may be imported.
    """

    def __init__(self, paths: Sequence[Path], *, trust: bool = False) -> None:
        if not 1 <= len(paths) <= MOST_RUNS:
            raise InvalidInputError(f"From 1 to {MOST_RUNS} runs can be explored at once, not {len(paths)}.")
        self._runs = [_Run(path, number) for number, path in enumerate(paths)]
        self._worker = Worker(trust=trust)
        self._films: dict[tuple[int, int, str], bytes] = {}
        self._status: dict[int, tuple[str, dict[str, Any]]] = {}

    def close(self) -> None:
        """End the worker process."""
        self._worker.close()

    def warm_up(self) -> None:
        """Read the first run, then have the worker draw its task, already while the page is being opened."""

        def work() -> None:
            for prepare in (self.message, self.scene):
                # What cannot be done is said when the page asks for it.
                with suppress(InvalidInputError, OSError):
                    prepare(0)

        # Not a daemon: a thread that is still importing packages when the interpreter ends makes it abort.
        threading.Thread(target=work).start()

    def _run(self, number: int) -> _Run:
        if not 0 <= number < len(self._runs):
            raise InvalidInputError(f"There is no run {number}; there are {len(self._runs)}.")
        return self._runs[number]

    # What there is

    def overview(self) -> dict[str, Any]:
        """Return the names of the runs."""
        return {"runs": [{"number": run.number, "name": run.path.resolve().name} for run in self._runs]}

    def progress(self) -> list[dict[str, Any]]:
        """Return how far each run has come, by its files that are quickly read."""
        found = []
        for run in self._runs:
            entry: dict[str, Any] = {"number": run.number}
            try:
                version, summary_version = stamp(run.path)
                known = self._status.get(run.number)
                # A run that has ended is read once; of one that goes on, the lock tells whether it still does.
                if known is None or known[0] != summary_version or known[1].get("status") == RunStatus.RUNNING:
                    status, summary = read_progress(run.path)
                    wanted = ("evaluations", "coverage", "max_reward", "novelty_archive_size", "reward_archive_size")
                    known = summary_version, {"status": status, **{name: summary.get(name) for name in wanted}}
                    self._status[run.number] = known
                entry |= {"version": version, **known[1]}
            except (InvalidInputError, OSError) as error:
                entry |= {"version": "", "status": "unreadable", "error": str(error)}
            found.append(entry)
        return found

    def message(self, number: int) -> bytes:
        """Return everything that the page draws of a run."""
        return self._run(number).message()

    def read(self, number: int) -> tuple[RunData, PolicySet]:
        """Return a run as its files are now, and the policies of its archives."""
        return self._run(number).read()

    def umap(self, number: int) -> bytes:
        """Return places of the kept policies by UMAP."""
        _, kept = self._run(number).read()
        return pack({}, {"places": umap_places(kept.descriptor).T})

    # What the worker makes

    def scene(self, number: int) -> bytes:
        """Return the picture of the run's task."""
        return self._worker.ask("scene", self._run(number).path)

    def film(self, number: int, policy: int) -> bytes:
        """Return the film of a policy, which is kept for the next time."""
        run = self._run(number)
        chosen = run.policies([policy])
        key = number, policy, run.version
        if key not in self._films:
            film = self._worker.ask("film", run.path, policy=chosen)
            while len(self._films) >= _KEPT_FILMS:
                self._films.pop(next(iter(self._films)))
            self._films[key] = film
        return self._films[key]

    def observations(self, number: int, policy: int) -> bytes:
        """Return what the autoencoder sees of a policy, and what it makes of it."""
        run = self._run(number)
        return self._worker.ask("observations", run.path, policy=run.policies([policy]), version=run.version)

    def decode(self, number: int, codes: NDArray[np.float32]) -> bytes:
        """Return what the decoder makes of a place of the learned space."""
        run = self._run(number)
        data, kept = run.read()
        if not len(codes) or len(codes) != kept.descriptor.shape[1]:
            raise InvalidInputError(f"A place of the learned space has {kept.descriptor.shape[1]} numbers, not {len(codes)}.")
        if not data.config.learns:
            raise InvalidInputError("The method of this run learns no space, so there is nothing to decode.")
        return self._worker.ask("decode", run.path, arrays={"codes": codes}, version=run.version)

    def encode(self, number: int, picture: bytes) -> bytes:
        """Return how the autoencoder sees somebody's picture, and the rows of the policies that end most like it."""
        run = self._run(number)
        _, kept = run.read()
        content = np.frombuffer(picture, np.uint8)
        _, arrays = unpack(self._worker.ask("encode", run.path, arrays={"picture": content}, version=run.version))
        place = arrays.pop("place").astype(np.float64)
        if not len(kept):
            return pack({}, {**arrays, "near": np.empty(0, np.int32)})
        ends = kept.descriptor[:, None, -len(place) :]
        return pack({}, {**arrays, "near": nearest(ends, place, MOST_ALIKE).rows.astype(np.int32)})

    def embed(self, number: int, episode: int) -> bytes:
        """Return places of the kept policies by the autoencoder that was kept after a training episode."""
        run = self._run(number)
        _, kept = run.read()
        answer = self._worker.ask("embed", run.path, policy=kept, version=run.version, episode=episode)
        descriptor = unpack(answer)[1]["descriptor"]
        places = aligned(principal_components(descriptor.astype(np.float64))[0], principal_components(kept.descriptor)[0])
        return pack({"episode": episode}, {"descriptor": descriptor, "places": places.T})

    # To take away

    def films(self, number: int, ids: Sequence[int]) -> bytes:
        """Return a GIF with the films of several policies in a grid."""
        if not 1 <= len(ids) <= MOST_FILMS:
            raise InvalidInputError(f"From 1 to {MOST_FILMS} films fit into a grid, not {len(ids):,}; select fewer policies.")
        run = self._run(number)
        answer = self._worker.ask("films", run.path, policy=run.policies(ids))
        return bytes(unpack(answer)[1]["gif"])

    def parquet(self, number: int, ids: Sequence[int]) -> bytes:
        """Return policies as a Parquet file; columns of arrays become `genome_0`, `genome_1`, ..., and origins are words."""
        import pyarrow
        import pyarrow.parquet

        if not ids:
            raise InvalidInputError("No policy is selected.")
        columns: dict[str, NDArray[Any]] = {}
        for name, values in self._run(number).policies(ids).columns().items():
            if name == "origin":
                columns[name] = np.array(ORIGINS)[values]
            elif name != "snapshots":
                parts = (
                    {name: values} if values.ndim == 1 else {f"{name}_{part}": column for part, column in enumerate(values.T)}
                )
                columns |= parts
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        return bytes(sink.getvalue().to_pybytes())
