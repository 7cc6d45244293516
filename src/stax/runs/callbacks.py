"""Callbacks: functions called as a run progresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stax.errors import InvalidInputError, in_one_line

if TYPE_CHECKING:
    from stax.runs.result import Result
    from stax.search.search import Search


class Callback:
    """The base class of callbacks. Override what you need, and give an object to `stax.run` or `stax.resume` as `callbacks=[...]`.

    A callback is called while the search is at rest, except for `after_rollouts`, and must not change it. If it raises, the run stops there with everything saved,
    and can be resumed.
    """

    def at_start(self, search: Search) -> None:
        """Called when the run begins, before the first evaluation. What is raised here ends the run before it leaves any files.

        Args:
            search: the search of the run.
        """

    def at_resume(self, search: Search) -> None:
        """Called instead of `at_start` when the run continues from its last checkpoint, where the search is now.

        Chunks after that checkpoint are reported again. By default the same as `at_start`.

        Args:
            search: the search of the run.
        """
        self.at_start(search)

    def after_rollouts(self, search: Search, finished: int) -> None:
        """Called when a part of a batch has been evaluated, in the middle of a chunk, for displays of progress.

        Args:
            search: the search of the run, which has not been told the rollouts yet.
            finished: number of policies of the batch that have been evaluated.
        """

    def after_training(self, search: Search) -> None:
        """Called after a chunk in which the autoencoder was trained, before `after_chunk`.

        Args:
            search: the search of the run; `search.space.last_episode` describes the training.
        """

    def after_chunk(self, search: Search) -> None:
        """Called after a chunk of the budget, and with it after any chunk before it that needed no evaluations.

        Args:
            search: the search of the run; `search.metrics[-1]` is the row of this chunk.
        """

    def at_end(self, result: Result) -> None:
        """Called when the run is over and its folder is written.

        Args:
            result: the result of the run; `result.status` is finished or interrupted.
        """

    def close(self) -> None:
        """Called last in any case, also after an error, to release resources."""


class Callbacks:
    """All callbacks of a run. An error in one of them is kept until the run can stop with everything saved."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        for callback in callbacks:
            if not isinstance(callback, Callback):
                raise InvalidInputError(f"callbacks must be objects of subclasses of stax.Callback, not {callback!r:.80}.")
        self._callbacks = list(callbacks)
        self._episodes = 0
        """Training episodes that have been reported."""
        self.failure: RuntimeError | None = None
        """First error of a callback, for which the run has to stop."""

    def start(self, search: Search, *, resumed: bool) -> None:
        """Report that the run begins or continues."""
        self._episodes = search.training_episodes
        for callback in self._callbacks:
            try:
                callback.at_resume(search) if resumed else callback.at_start(search)
            except (InvalidInputError, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise _failure(callback, "at_resume" if resumed else "at_start", error) from error

    def count(self, search: Search, finished: int) -> None:
        """Report that so many policies of the batch under way have been evaluated."""
        self._all("after_rollouts", lambda callback: callback.after_rollouts(search, finished))

    def rest(self, search: Search) -> None:
        """Report what has been done since the last rest: a chunk, and perhaps a training."""
        if search.training_episodes > self._episodes:
            self._episodes = search.training_episodes
            self._all("after_training", lambda callback: callback.after_training(search))
        self._all("after_chunk", lambda callback: callback.after_chunk(search))

    def end(self, result: Result) -> None:
        """Report the result of the run."""
        self._all("at_end", lambda callback: callback.at_end(result))
        if self.failure:
            raise self.failure

    def __enter__(self) -> Callbacks:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        self._all("close", lambda callback: callback.close())
        # The first error is the one to report.
        if error_type is None and self.failure:
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
