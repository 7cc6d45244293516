"""Runs of a campaign as tasks of a Ray cluster, whose machines share the campaign's folder."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stax.compiling import available_threads
from stax.errors import InvalidInputError
from stax.evaluation.ray_connection import RayConnection, import_ray
from stax.runs.campaign import CampaignRun
from stax.runs.campaign_work import Outcome, do_run
from stax.runs.config import RunConfig

_TRIES = 3
"""How often the worker of a run may die before the run has failed."""
_BETWEEN_QUESTIONS = 0.5
"""Seconds between two times that a run asks whether it should stop."""


class RayTasks:
    """The place where each run is a task of `workers` CPUs, in a worker process that is used for nothing else.

    Args:
        room: runs at a time; None for as many as the cluster has CPUs for.
        workers: CPUs of each.
        address: of the cluster; None starts one on this machine.
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
        self._bell = self._ray.remote(num_cpus=0)(Bell).remote()

    def begin(self, run: CampaignRun) -> None:
        # Workers have folders of their own to be in.
        path = str(run.folder.path.absolute())
        self._results[run] = self._do.remote(path, run.config, self._bell, sys.path)

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
        """None if the run is to be resumed by another worker."""
        try:
            return Outcome(**self._ray.get(result))
        except self._ray.exceptions.RayTaskError as error:
            # Not the run's own failure, which would have been put in words: what it needs is not there, say.
            lines = [line for line in str(error).strip().splitlines() if line.strip()]
            return Outcome("failed", f"It cannot be done on the cluster: {lines[-1].strip()}")
        except self._ray.exceptions.RayError as error:
            self._deaths[run] += 1
            if self._stopping:
                return Outcome("interrupted")
            if self._deaths[run] < _TRIES:
                return None
            return Outcome("failed", f"Its Ray worker died {_TRIES} times ({type(error).__name__}).")

    def ask_to_stop(self) -> None:
        self._stopping = True
        self._bell.ring.remote()

    def end_at_once(self) -> None:
        self._stopping = True
        for result in self._results.values():
            self._ray.cancel(result, force=True)

    def close(self) -> None:
        if self._ray.is_initialized():
            self.end_at_once()
            self._ray.kill(self._bell)
        self._connection.close()


class Bell:
    """Rung when the campaign is to stop."""

    def __init__(self) -> None:
        self._rung = False

    def ring(self) -> None:
        self._rung = True

    def rung(self) -> bool:
        return self._rung


def _do(path: str, config: RunConfig, bell: Any, importable: list[str]) -> dict[str, Any]:
    """A run in a worker."""
    # For a task's module that lies beside the campaign's file on the same machine, or at the same place on another.
    sys.path.extend(entry for entry in importable if entry not in sys.path)
    return asdict(do_run(Path(path), config, _listening(bell)))


def _listening(bell: Any) -> Callable[[], bool]:
    """Whether the bell has been rung, without asking at every rest."""
    import ray

    heard, asked = False, 0.0

    def rung() -> bool:
        nonlocal heard, asked
        if not heard and time.monotonic() >= asked + _BETWEEN_QUESTIONS:
            asked = time.monotonic()
            heard = bool(ray.get(bell.rung.remote()))
        return heard

    return rung
