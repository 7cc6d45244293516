"""Callbacks: what of yours is told how a run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stax.errors import InvalidInputError, in_one_line

if TYPE_CHECKING:
    from stax.runs.result import Result
    from stax.search.search import Search


class Callback:
    """Is told how a run goes on. Override what you need, and give it to `stax.run` or `stax.resume` as `callbacks=[...]`.

    A callback looks and does not touch: the search it is given is the one that runs. If it raises, the run stops at its next rest with
    everything saved, and can be resumed.
    """

    def at_start(self, search: Search) -> None:
        """The run begins; nothing has been evaluated yet. What is raised here ends it before it leaves anything.

        Args:
            search: the run's.
        """

    def at_resume(self, search: Search) -> None:
        """The run goes on from its last checkpoint, where the search is now: what you have heard after that will come again.

        By default the same as `at_start`.

        Args:
            search: the run's.
        """
        self.at_start(search)

    def after_chunk(self, search: Search) -> None:
        """A chunk of the budget is done.

        Args:
            search: the run's; `search.metrics[-1]` is the row of this chunk.
        """

    def after_training(self, search: Search) -> None:
        """The autoencoder has been trained.

        Args:
            search: the run's; `search.space.last_episode` tells how the training went.
        """

    def at_end(self, result: Result) -> None:
        """The run is over, and its folder is written.

        Args:
            result: of the run; `result.status` is finished or interrupted.
        """

    def close(self) -> None:
        """The last call in any case, also after an error: let go of what you hold."""


class Callbacks:
    """All callbacks of a run. What one of them raises in the middle of it is kept for when the run is at rest."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        for callback in callbacks:
            if not isinstance(callback, Callback):
                raise InvalidInputError(f"callbacks must be objects of subclasses of stax.Callback, not {callback!r:.80}.")
        self._callbacks = list(callbacks)
        self.failure: RuntimeError | None = None
        """Why the run has to stop."""

    def start(self, search: Search, *, resumed: bool) -> None:
        for callback in self._callbacks:
            try:
                callback.at_resume(search) if resumed else callback.at_start(search)
            except (InvalidInputError, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise _failure(callback, "at_resume" if resumed else "at_start", error) from error

    def tell(self, search: Search, event: str) -> None:
        """Of a chunk or a training that is done."""
        if event == "chunk":
            self._all("after_chunk", lambda callback: callback.after_chunk(search))
        elif event == "training":
            self._all("after_training", lambda callback: callback.after_training(search))

    def end(self, result: Result) -> None:
        self._all("at_end", lambda callback: callback.at_end(result))
        if self.failure:
            raise self.failure

    def __enter__(self) -> Callbacks:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._all("close", lambda callback: callback.close())
        # What went wrong first is what is told.
        if kind is None and self.failure:
            raise self.failure

    def _all(self, method: str, call: Callable[[Callback], None]) -> None:
        for callback in self._callbacks:
            try:
                call(callback)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a user's own may raise anything
                if self.failure is None:
                    self.failure = _failure(callback, method, error)
                    self.failure.__cause__ = error


def _failure(callback: Callback, method: str, error: BaseException) -> RuntimeError:
    return RuntimeError(f"The callback {type(callback).__name__} failed in {method}: {in_one_line(error)}.")
