"""Doing a campaign: what is missing is begun or resumed, so many runs at a time, until all have ended or a stop is requested.

A `Place` runs them: processes of this machine (`campaign_processes`) or tasks of a Ray cluster (`campaign_ray`). How far a run
has come is read from the summary in its folder, twice a second at most, whatever the place. The outcome of a run is what its
process reports. If the process died without reporting anything, the campaign writes the reason into the summary.

Several campaigns on one folder share the work by the locks of the run folders: the one that comes too late leaves the run
alone, and looks at it again at the end.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from stax.errors import InvalidInputError, in_one_line, shortened
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.config import RunConfig
from stax.runs.reader import RunReader
from stax.runs.run import begin, resume
from stax.runs.run_in_progress import RunInterrupted
from stax.runs.status import RunStatus

_TURN_SECONDS = 0.1
_READ_SECONDS = 0.5
"""Seconds between two readings of the summaries of running runs; runs write them every 2 seconds."""
_MOST_TRIES = 3
"""Times that a run is tried if another process works on it whenever it begins."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attempt to do a run."""

    status: RunStatus
    """Finished, interrupted, failed or elsewhere."""
    error: str = ""
    """Reason why it failed."""


class Place(Protocol):
    """A place where runs are done, each in its own process."""

    room: int
    """Runs at a time."""

    def begin(self, run: CampaignRun) -> None:
        """Start the process of a run, which begins it or goes on with it."""

    def ended(self) -> Sequence[tuple[CampaignRun, Outcome]]:
        """Return the runs whose process has ended since the last call, with their outcomes."""

    def ask_to_stop(self) -> None:
        """Have all runs stop at their next rest, with everything saved."""

    def end_at_once(self) -> None:
        """Kill all processes."""

    def close(self) -> None:
        """Kill all processes that are left, and release the place."""


Watch = Callable[[str, CampaignRun | None], None]
"""Called with "begin" and a run, "end" and a run, and every now and then with "turn" and nothing."""


class CampaignWork:
    """Does all runs of a campaign that are not finished, and updates the status of each.

    Args:
        campaign: the campaign, with the statuses of its runs up to date.
        place: where the runs are done.
        watch: called as runs begin, go on and end.
        skip_failed: whether runs that failed before are left out.
    """

    def __init__(self, campaign: Campaign, place: Place, watch: Watch, skip_failed: bool) -> None:
        self._campaign, self._place, self._watch = campaign, place, watch
        self._waiting = deque(campaign.to_do(skip_failed=skip_failed))
        self._running: list[CampaignRun] = []
        self._tries: Counter[CampaignRun] = Counter()
        self._last_reading = 0.0

    def do(self, asked: Callable[[], int]) -> None:
        """Do the runs.

        Args:
            asked: returns how many times a stop was requested. After one request the runs stop at their next rest, after two they
                are killed.
        """
        _make_folder(self._campaign.out)
        heard = 0
        try:
            while self._running or (self._waiting and not heard):
                while self._waiting and not heard and len(self._running) < self._place.room:
                    self._begin(self._waiting.popleft())
                time.sleep(_TURN_SECONDS)
                if asked() > heard:
                    heard = asked()
                    self._place.end_at_once() if heard > 1 else self._place.ask_to_stop()
                for run, outcome in self._place.ended():
                    self._end(run, outcome)
                self._read_running()
                if not self._waiting and not self._running and not heard:
                    self._waiting.extend(self._given_up_elsewhere())
        finally:
            self._place.close()
        self._campaign.write_table()

    def _begin(self, run: CampaignRun) -> None:
        if run.folder.path.is_dir() and run.folder.in_use:
            run.status = RunStatus.ELSEWHERE
            return
        self._tries[run] += 1
        run.status, run.error = RunStatus.RUNNING, ""
        self._running.append(run)
        self._watch("begin", run)
        try:
            self._place.begin(run)
        except OSError as error:
            self._end(run, Outcome(RunStatus.FAILED, f"Its process cannot be started: {error.strerror or error}."))

    def _end(self, run: CampaignRun, outcome: Outcome) -> None:
        self._running.remove(run)
        found = None
        with suppress(InvalidInputError, OSError):
            found = run.read().status
        run.status, run.error = outcome.status, shortened(" ".join(outcome.error.split()))
        if outcome.status is RunStatus.FINISHED and found is not RunStatus.FINISHED:
            run.status, run.error = (
                RunStatus.FAILED,
                f"It was done, but {run.folder.path} is not seen here: the machines must share it.",
            )
        elif outcome.status is RunStatus.FAILED:
            _write_failure(run)
        self._read_others()
        with suppress(OSError):  # the disk may be full, and have room again at the end
            self._campaign.write_table()
        self._watch("end", run)

    def _read_running(self) -> None:
        if time.monotonic() < self._last_reading + _READ_SECONDS:
            return
        self._last_reading = time.monotonic()
        for run in self._running:
            with suppress(InvalidInputError, OSError):
                run.read()
                run.error = ""  # it is that of an earlier attempt
        self._watch("turn", None)

    def _read_others(self) -> None:
        """Note which runs another campaign has finished meanwhile; they need not be done again."""
        for run in [*self._waiting, *(run for run in self._campaign.runs if run.status is RunStatus.ELSEWHERE)]:
            with suppress(InvalidInputError, OSError):
                if run.read().status is RunStatus.FINISHED:
                    run.status = RunStatus.FINISHED
        self._waiting = deque(run for run in self._waiting if run.status is not RunStatus.FINISHED)

    def _given_up_elsewhere(self) -> list[CampaignRun]:
        """Return the runs that another process worked on, and left unfinished."""
        self._read_others()
        left = [run for run in self._campaign.runs if run.status is RunStatus.ELSEWHERE and self._tries[run] < _MOST_TRIES]
        return [run for run in left if not run.folder.in_use]


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"The campaign's folder {str(out)!r} cannot be made: {error.strerror}.") from None


def _write_failure(run: CampaignRun) -> None:
    """Write into the run's own summary that it failed, since its process may not have been able to."""
    if not run.begun:
        with suppress(OSError):  # there is something in it, or there is none
            run.folder.path.rmdir()
        return
    with suppress(InvalidInputError, OSError), run.folder.locked():
        summary = run.folder.summary() or _empty_summary(run)
        run.folder.write_summary({**summary, "status": RunStatus.FAILED, "error": run.error})


def _empty_summary(run: CampaignRun) -> dict[str, Any]:
    """Return the summary of a run without evaluations."""
    config, description = run.folder.read_config()
    activities = ("total", "evaluation", "training", "encoding", "selection", "storage")
    return {
        "task": description.get("name", config.task),
        "algo": config.algo,
        "preset": config.preset,
        "seed": config.seed,
        "budget": config.budget,
        "evaluations": 0,
        "coverage": None,
        "max_reward": [0.0] * len(description.get("reward_areas", ())),
        "novelty_archive_size": 0,
        "reward_archive_size": 0,
        "training_episodes": 0,
        "failed_evaluations": {},
        "seconds": dict.fromkeys(activities, 0.0),
        "workers": config.workers,
    }


def do_run(path: Path, config: RunConfig, stop: Callable[[], bool]) -> Outcome:
    """Begin a run of a campaign or go on with it, in the process that was started for it."""
    try:
        if (path / "config.toml").is_file():
            # Code that it names is trusted, since the campaign's file names the same.
            device = None if config.device == "auto" else config.device
            resume(
                path,
                trust=True,
                workers=config.workers,
                device=device,
                backend="local",
                settings=config.settings,
                stop=stop,
            )
        else:
            begin(config, out=path, stop=stop)
        return Outcome(RunStatus.FINISHED)
    except RunInterrupted:
        return Outcome(RunStatus.INTERRUPTED)
    except InvalidInputError as error:
        # It may have been begun by another campaign in the meantime, or even finished.
        with suppress(InvalidInputError, OSError):
            there = RunReader(path)
            if there.in_use:
                return Outcome(RunStatus.ELSEWHERE)
            if there.status is RunStatus.FINISHED:
                return Outcome(RunStatus.FINISHED)
        return Outcome(RunStatus.FAILED, str(error))
    except RuntimeError as error:
        traceback.print_exc()
        return Outcome(RunStatus.FAILED, str(error))
    except MemoryError as error:
        return Outcome(RunStatus.FAILED, f"There is not enough memory: {error or 'nothing is left'}.")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's task may raise anything
        traceback.print_exc()
        return Outcome(RunStatus.FAILED, in_one_line(error))
