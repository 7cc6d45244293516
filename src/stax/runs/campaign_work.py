"""Doing a campaign: what is missing is begun or resumed, so many runs at a time, until all have ended or it is asked to stop.

Where runs are done is for a `Place` to know: processes of this machine (`campaign_processes`) or tasks of a Ray cluster
(`campaign_ray`). How far a run has come is read from its folder, whatever the place.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from stax.errors import InvalidInputError, in_one_line, shortened
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.config import RunConfig
from stax.runs.folder import RunFolder
from stax.runs.run import RunInterrupted, begin, resume

_BETWEEN_TURNS = 0.1
_BETWEEN_LOOKS = 0.5
"""Seconds between two looks at the summaries of those running; they are renewed every 2 seconds."""
_MOST_TRIES = 3
"""How often a run is tried that another process seems to be working on whenever it begins."""


@dataclass(frozen=True)
class Outcome:
    """What became of an attempt to do a run."""

    status: Literal["finished", "interrupted", "failed", "elsewhere"]
    error: str = ""
    """Why it failed."""


class Place(Protocol):
    """Where runs are done, each in a process of its own."""

    room: int
    """Runs at a time."""

    def begin(self, run: CampaignRun) -> None:
        """Starts the process of a run, which begins it or goes on with it."""

    def ended(self) -> Sequence[tuple[CampaignRun, Outcome]]:
        """The runs whose process has ended since this was asked last."""

    def ask_to_stop(self) -> None:
        """Has all runs stop at their next rest, with everything saved."""

    def end_at_once(self) -> None:
        """Ends all processes."""

    def close(self) -> None:
        """Ends all processes that are left, and leaves the place."""


Watch = Callable[[str, CampaignRun | None], None]
"""Called with "begin" and a run, "end" and a run, and every now and then with "turn" and nothing."""


def do_campaign(
    campaign: Campaign,
    place: Place,
    *,
    watch: Watch,
    asked: Callable[[], int] = lambda: 0,
    skip_failed: bool = False,
) -> None:
    """Does all runs that are not finished; each one's status then tells what became of it.

    Args:
        campaign: as it was found when it was last looked at.
        place: where the runs are done.
        watch: hears of everything.
        asked: how often it has been asked to stop: once, and the runs stop at their next rest; twice, and they are ended at once.
        skip_failed: whether runs that have failed before are left alone.
    """
    _Work(campaign, place, watch, skip_failed).do(asked)


class _Work:
    def __init__(self, campaign: Campaign, place: Place, watch: Watch, skip_failed: bool) -> None:
        self._campaign, self._place, self._watch = campaign, place, watch
        self._waiting = deque(campaign.to_do(skip_failed=skip_failed))
        self._running: list[CampaignRun] = []
        self._tries: Counter[CampaignRun] = Counter()
        self._last_look = 0.0

    def do(self, asked: Callable[[], int]) -> None:
        _make_folder(self._campaign.out)
        heard = 0
        try:
            while self._running or (self._waiting and not heard):
                while self._waiting and not heard and len(self._running) < self._place.room:
                    self._begin(self._waiting.popleft())
                time.sleep(_BETWEEN_TURNS)
                if asked() > heard:
                    heard = asked()
                    self._place.end_at_once() if heard > 1 else self._place.ask_to_stop()
                for run, outcome in self._place.ended():
                    self._end(run, outcome)
                self._look()
                if not self._waiting and not self._running and not heard:
                    self._waiting.extend(self._given_up_elsewhere())
        finally:
            self._place.close()
        self._campaign.write_table()

    def _begin(self, run: CampaignRun) -> None:
        if run.folder.path.is_dir() and run.folder.in_use:
            run.status = "elsewhere"
            return
        self._tries[run] += 1
        run.status, run.error = "running", ""
        self._running.append(run)
        self._watch("begin", run)
        try:
            self._place.begin(run)
        except OSError as error:
            self._end(run, Outcome("failed", f"Its process cannot be started: {error.strerror or error}."))

    def _end(self, run: CampaignRun, outcome: Outcome) -> None:
        self._running.remove(run)
        found = ""
        with suppress(InvalidInputError, OSError):
            found = run.read_summary()
        run.status, run.error = outcome.status, shortened(" ".join(outcome.error.split()))
        if outcome.status == "finished" and found != "finished":
            run.status, run.error = (
                "failed",
                f"It was done, but {run.folder.path} is not seen here: the machines must share it.",
            )
        elif outcome.status == "failed":
            _leave_word(run)
        self._read_others()
        with suppress(OSError):  # the disk may be full, and have room again at the end
            self._campaign.write_table()
        self._watch("end", run)

    def _look(self) -> None:
        if time.monotonic() < self._last_look + _BETWEEN_LOOKS:
            return
        self._last_look = time.monotonic()
        for run in self._running:
            with suppress(InvalidInputError, OSError):
                run.read_summary()
                run.error = ""  # of the time before
        self._watch("turn", None)

    def _read_others(self) -> None:
        """Another campaign may be at work on the same runs; what it has finished need not be done again."""
        for run in [*self._waiting, *(run for run in self._campaign.runs if run.status == "elsewhere")]:
            with suppress(InvalidInputError, OSError):
                if run.read_summary() == "finished":
                    run.status = "finished"
        self._waiting = deque(run for run in self._waiting if run.status != "finished")

    def _given_up_elsewhere(self) -> list[CampaignRun]:
        """Runs that another process worked on, and left unfinished."""
        self._read_others()
        left = [run for run in self._campaign.runs if run.status == "elsewhere" and self._tries[run] < _MOST_TRIES]
        return [run for run in left if not run.folder.in_use]


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"The campaign's folder {str(out)!r} cannot be made: {error.strerror}.") from None


def _leave_word(run: CampaignRun) -> None:
    """Says in the run's own summary that it failed: its process may not have been able to."""
    if not run.begun:
        with suppress(OSError):  # there is something in it, or there is none
            run.folder.path.rmdir()
        return
    with suppress(InvalidInputError, OSError), run.folder.locked():
        summary = run.folder.summary() or _nothing(run)
        run.folder.write_summary({**summary, "status": "failed", "error": run.error})


def _nothing(run: CampaignRun) -> dict[str, Any]:
    """The summary of a run without evaluations."""
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


def _is_finished(folder: RunFolder) -> bool:
    with suppress(InvalidInputError, OSError):
        return folder.summary().get("status") == "finished"
    return False


def do_run(path: Path, config: RunConfig, stop: Callable[[], bool]) -> Outcome:
    """Begins a run of a campaign or goes on with it, in the process that is there for it."""
    folder = RunFolder(path)
    try:
        if (path / "config.toml").is_file():
            # Its code, if it names any, is what the campaign's file names too.
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
        return Outcome("finished")
    except RunInterrupted:
        return Outcome("interrupted")
    except InvalidInputError as error:
        # It may have been begun by another campaign in the meantime, or even finished.
        if path.is_dir() and folder.in_use:
            return Outcome("elsewhere")
        return Outcome("finished") if _is_finished(folder) else Outcome("failed", str(error))
    except RuntimeError as error:
        traceback.print_exc()
        return Outcome("failed", str(error))
    except MemoryError as error:
        return Outcome("failed", f"There is not enough memory: {error or 'nothing is left'}.")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's task may raise anything
        traceback.print_exc()
        return Outcome("failed", in_one_line(error))
