"""Measure how fast policies step through Gymnasium environments, against Gymnasium's vector environments with random actions.

Ours are complete rollouts in worker processes, with the policy network. Gymnasium's are the best of three ways to use as many
workers: `AsyncVectorEnv` with one and with four environments for each worker, and a `SyncVectorEnv` of eight in each of our own
processes.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np

from stax.compiling import available_threads
from stax.evaluation import TaskSource, make_evaluator
from stax.tasks import make_task

_MAZE_KEYWORDS = {"continuing_task": True, "reset_target": False}
ENVIRONMENTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "CartPole-v1": ("gym:CartPole-v1", {}, {}),
    "MountainCarContinuous-v0": ("gym:MountainCarContinuous-v0", {}, {}),
    "PointMaze_UMaze-v3": (
        "gym:gymnasium_robotics:PointMaze_UMaze-v3",
        {"observation_key": "observation", "make": _MAZE_KEYWORDS},
        _MAZE_KEYWORDS,
    ),
}
"""For each environment, the task, its options, and the keywords for Gymnasium's environment."""
_POLICIES = {"CartPole-v1": 3000, "MountainCarContinuous-v0": 200, "PointMaze_UMaze-v3": 120}
_STEPS = 3000
"""Steps of each of Gymnasium's environments."""
_ROUNDS = 3
_SIDE_BY_SIDE = 8


def measure_environments(share: float = 1.0) -> dict[str, float]:
    """Measure steps a second on all cores: the best of several rounds, by turns so that all ways see the same load."""
    workers = available_threads()
    results: dict[str, float] = {"workers": float(workers)}
    for name, (task, options, keywords) in ENVIRONMENTS.items():
        if ":" in task.removeprefix("gym:") and find_spec(task.split(":")[1]) is None:
            continue
        results |= {f"{name}_{key}": value for key, value in _measure(name, task, options, keywords, workers, share).items()}
    return results


def _measure(
    name: str, task_name: str, options: dict[str, Any], keywords: dict[str, Any], workers: int, share: float
) -> dict[str, float]:
    task = make_task(task_name, **options)
    environment = task_name.removeprefix("gym:")
    genomes = np.random.default_rng(0).normal(size=(max(4 * workers, round(_POLICIES[name] * share)), task.genome_size))
    steps = max(100, round(_STEPS * share))
    evaluator = make_evaluator(TaskSource(task, task_name, options), workers=workers)
    spawning = multiprocessing.get_context("spawn")
    with evaluator, ProcessPoolExecutor(workers, mp_context=spawning) as pool:

        def ours() -> float:
            began = time.perf_counter()
            done = int(evaluator.evaluate(genomes).steps.sum())
            return done / (time.perf_counter() - began)

        def sync() -> float:
            return sum(pool.map(_sync_rate, [environment] * workers, [keywords] * workers, [steps] * workers))

        ways: dict[str, Callable[[], float]] = {
            "ours": ours,
            "async": lambda: _async_rate(environment, keywords, workers, steps),
            "async_4_a_worker": lambda: _async_rate(environment, keywords, 4 * workers, steps // 4),
            "sync_in_each_worker": sync,
        }
        # Start workers and load compiled code before measuring.
        for start in (ours, sync):
            start()
        best = dict.fromkeys(ways, 0.0)
        for _ in range(_ROUNDS):
            for way, rate in ways.items():
                best[way] = max(best[way], rate())
    asynchronous = max(best["async"], best["async_4_a_worker"])
    theirs = max(asynchronous, best["sync_in_each_worker"])
    rates = {f"steps_per_second_{way}": rate for way, rate in best.items()}
    return {**rates, "ratio_to_async": best["ours"] / asynchronous, "ratio_to_best_of_gymnasium": best["ours"] / theirs}


def _sync_rate(environment: str, keywords: dict[str, Any], steps: int) -> float:
    return _random_steps(environment, keywords, "sync", _SIDE_BY_SIDE, steps)


def _async_rate(environment: str, keywords: dict[str, Any], count: int, steps: int) -> float:
    return _random_steps(environment, keywords, "async", count, steps)


def _random_steps(environment: str, keywords: dict[str, Any], mode: Any, count: int, steps: int) -> float:
    """Return the steps a second of `count` environments with random actions."""
    import gymnasium

    environments = gymnasium.make_vec(environment, count, vectorization_mode=mode, **keywords)
    try:
        environments.reset(seed=0)
        environments.step(environments.action_space.sample())
        began = time.perf_counter()
        for _ in range(steps):
            environments.step(environments.action_space.sample())
        return count * steps / (time.perf_counter() - began)
    finally:
        environments.close()
