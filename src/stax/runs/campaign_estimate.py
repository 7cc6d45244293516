"""Estimates of how long runs of a campaign take, from finished ones of the same kind or from a short trial."""

from __future__ import annotations

import heapq
import math
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from stax.errors import exits_as_failures
from stax.runs.campaign import CampaignRun
from stax.runs.config import RunConfig
from stax.runs.cores import sharing_cores
from stax.runs.status import RunStatus
from stax.search.making import make_search
from stax.search.search import Search
from stax.tasks import make_task

TRIAL_SECONDS = 2.0
_TRIAL_IMAGES = 400
"""Observations that a training episode of a trial sees at most."""
_USUAL_IMAGES = 2000
"""Observations that an episode without a limit is taken to see at least."""
_LEAST_SHARE = 0.05
"""Share of its budget that a run must have done for an estimate."""
Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Estimate:
    """The time that a run takes from its beginning to its end."""

    seconds: float
    at_least: bool = False
    """Whether there is something that could not be estimated."""


def seconds_by_kind(runs: Iterable[CampaignRun], statuses: Sequence[RunStatus] = (RunStatus.FINISHED,)) -> dict[Kind, float]:
    """Return the seconds that a run of each kind takes, judging by runs of these statuses that have done a part of their budget."""
    spent: dict[Kind, tuple[float, int]] = {}
    budgets: dict[Kind, int] = {}
    for run in runs:
        if run.status in statuses and run.evaluations >= _LEAST_SHARE * run.config.budget:
            seconds, evaluations = spent.get(run.kind, (0.0, 0))
            spent[run.kind] = seconds + run.seconds, evaluations + run.evaluations
            budgets[run.kind] = run.config.budget
    return {kind: budgets[kind] * seconds / evaluations for kind, (seconds, evaluations) in spent.items()}


def seconds_together(seconds: Iterable[float], room: int) -> float:
    """Return the seconds that runs take if `room` of them are done at a time, in this order."""
    free = [0.0] * room
    for taken in seconds:
        heapq.heapreplace(free, free[0] + taken)
    return max(free)


@cache
def start_seconds(*, learns: bool) -> float:
    """Measure the seconds that the process of a run takes to start, before its own clock runs.

    Args:
        learns: whether the time to load PyTorch counts, which the clock of a run that is done includes.
    """
    modules = ["stax.runs.campaign_processes", *(["stax.representation.learned"] if learns else [])]
    code = f"import sys; sys.path[:] = {sys.path!r}; import {', '.join(modules)}"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=False, stdin=subprocess.DEVNULL, capture_output=True)
    return time.perf_counter() - began


def try_out(config: RunConfig) -> Estimate:
    """Search for a couple of seconds, in this process and without any file, and estimate the time of the whole run from that."""
    task = make_task(config.task, **config.task_options)
    images = config.parameters.max_images_per_episode
    parameters = vars(config.parameters) | {"max_images_per_episode": min(images or _TRIAL_IMAGES, _TRIAL_IMAGES)}
    seen = episodes_seen = 0
    learns = config.parameters.descriptor == "learned"
    with exits_as_failures(f"Task {task.name!r}"), sharing_cores(task, workers=config.workers, learns=learns):
        search = make_search(
            config.algo,
            task,
            budget=config.budget,
            seed=config.seed,
            preset=config.preset,
            device=config.device,
            **parameters,
        )
        # The first batch may have something compiled or loaded.
        search.tell(task.evaluate(search.ask()))
        before, began = search.evaluations, time.perf_counter()
        while not search.done and (time.perf_counter() < began + TRIAL_SECONDS or (search.trains and not seen)):
            search.tell(task.evaluate(search.ask()))
            if search.training_episodes > episodes_seen:
                episodes_seen = search.training_episodes
                seen += search.space.last_episode.images_seen  # type: ignore[attr-defined]
        taken = time.perf_counter() - began
    training = search.record.stopwatch.seconds["training"]
    each = max(taken - training, 0.0) / max(search.evaluations - before, 1)
    an_image = training / seen if seen else 0.0
    episodes = _training_episodes(search, config.budget) * (images or _USUAL_IMAGES)
    return Estimate(config.budget * each + episodes * an_image, at_least=search.trains and images is None)


def _training_episodes(search: Search, budget: int) -> float:
    """Estimate the number of training episodes.

    Algorithm 1 waits a chunk of exploration longer after each; with emitters, about half of the chunks are exploration.
    """
    if not search.trains:
        return 0.0
    generation = search.parameters.population_size * search.parameters.offspring_per_parent
    chunk = generation * math.ceil(search.parameters.chunk_size / generation)
    chunks = budget / chunk / (2 if search.emitter_records() else 1)
    return math.sqrt(2 * chunks)
