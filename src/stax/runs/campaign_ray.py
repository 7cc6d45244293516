"""Runs of a campaign as tasks of a Ray cluster, whose machines share the campaign's folder."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from stax.compiling import available_threads
from stax.errors import InvalidInputError
from stax.evaluation.ray_connection import RayConnection, import_ray
from stax.runs.campaign import CampaignRun
from stax.runs.campaign_work import Outcome, do_run
from stax.runs.config import RunConfig
from stax.runs.status import RunStatus

_MOST_DEATHS = 3
"""Workers of a run that may die before the run has failed."""
_ASKING_SECONDS = 0.5
"""Seconds between two times that a run asks whether it should stop."""


class RayTasks:
    """A place where each run is a Ray task of `workers` CPUs, in a worker process that does nothing else.

    Args:
        room: runs at a time; None for as many as the cluster has CPUs for.
        workers: CPUs of each run.
        address: address of the cluster; None starts one on this machine.
    """

    def __init__(self, *, room: int | None, workers: int, address: str | None) -> None:
        cpus = max(available_threads(), (room or 1) * workers)
        self._ray = import_ray()
        self._connection = RayConnection(self._ray, address, cpus=cpus)
        self._results: dict[CampaignRun, Any] = {}
        self._deaths: Counter[CampaignRun] = Counter()
        self._stopping = False
        largest = max((node["Resources"].get("CPU", 0) for node in self._ray.nodes() if node["Alive"]), default=0)
        if workers > largest:
            self._connection.close()
            raise InvalidInputError(
                f"workers must be at most {largest:g}, the CPUs of the largest machine of the cluster, not {workers}."
            )
        self.room = room or max(int(self._ray.cluster_resources().get("CPU", 1)) // workers, 1)
        self._do = self._ray.remote(num_cpus=workers, max_retries=0, max_calls=1)(_do)
        self._stop_flag = self._ray.remote(num_cpus=0)(StopFlag).remote()

    def begin(self, run: CampaignRun) -> None:
        # Workers have working folders of their own.
        path = str(run.folder.path.absolute())
        self._results[run] = self._do.remote(path, run.config, self._stop_flag, sys.path)

    def ended(self) -> list[tuple[CampaignRun, Outcome]]:
        if not self._results:
            return []
        runs = {result: run for run, result in self._results.items()}
        over, _ = self._ray.wait(list(runs), num_returns=len(runs), timeout=0)
        outcomes = []
        for result in over:
            run = runs[result]
            del self._results[run]
            outcome = self._outcome(run, result)
            if outcome is None:
                self.begin(run)
            else:
                outcomes.append((run, outcome))
        return outcomes

    def _outcome(self, run: CampaignRun, result: Any) -> Outcome | None:
        """Return the outcome of a run; None if another worker is to resume it."""
        try:
            return cast(Outcome, self._ray.get(result))
        except self._ray.exceptions.RayTaskError as error:
            # Not a failure of the run itself, which `do_run` returns: the worker may lack a package, say.
            lines = [line for line in str(error).strip().splitlines() if line.strip()]
            return Outcome(RunStatus.FAILED, f"It cannot be done on the cluster: {lines[-1].strip()}")
        except self._ray.exceptions.RayError as error:
            self._deaths[run] += 1
            if self._stopping:
                return Outcome(RunStatus.INTERRUPTED)
            if self._deaths[run] < _MOST_DEATHS:
                return None
            return Outcome(RunStatus.FAILED, f"Its Ray worker died {_MOST_DEATHS} times ({type(error).__name__}).")

    def ask_to_stop(self) -> None:
        self._stopping = True
        self._stop_flag.set.remote()

    def end_at_once(self) -> None:
        self._stopping = True
        for result in self._results.values():
            self._ray.cancel(result, force=True)

    def close(self) -> None:
        if self._ray.is_initialized():
            self.end_at_once()
            self._ray.kill(self._stop_flag)
        self._connection.close()


class StopFlag:
    """An actor that says whether the campaign is to stop."""

    def __init__(self) -> None:
        self._raised = False

    def set(self) -> None:
        self._raised = True

    def is_set(self) -> bool:
        return self._raised


def _do(path: str, config: RunConfig, stop_flag: Any, importable: list[str]) -> Outcome:
    """Do a run in a worker."""
    # A task's module may be beside the campaign's file on this machine, or at the same path on another.
    sys.path.extend(entry for entry in importable if entry not in sys.path)
    return do_run(Path(path), config, _stop_requested(stop_flag))


def _stop_requested(stop_flag: Any) -> Callable[[], bool]:
    """Return a function that says whether the flag is set, without asking the actor at every rest."""
    import ray

    known, asked = False, 0.0

    def is_set() -> bool:
        nonlocal known, asked
        if not known and time.monotonic() >= asked + _ASKING_SECONDS:
            asked = time.monotonic()
            known = bool(ray.get(stop_flag.is_set.remote()))
        return known

    return is_set
