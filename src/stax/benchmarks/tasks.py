"""Benchmarks of the simulators and of drawing; the modules beside measure search, autoencoder and environments.

Everything is measured in one run, because the speed of a machine changes from one minute to the next. Only the ratios can be
compared between runs.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.benchmarks.environments import measure_environments
from stax.compiling import available_threads
from stax.errors import InvalidInputError
from stax.policies import act
from stax.tasks import BUILT_IN, make_task
from stax.tasks.compiled import CompiledTask
from stax.tasks.gymnasium_registration import ENVIRONMENTS
from stax.tasks.task import Task

_ROLLOUTS = {"curling": 512, "hard-maze": 1500, "redundant-arm": 12_000}
_STEPPED = {"curling": 40, "hard-maze": 30, "redundant-arm": 600}
_PICTURES = 30_000
_SEARCH_EVALUATIONS = 3_000


def run_benchmarks(*, as_json: bool, quick: bool) -> int:
    """Measure everything and print a table, or JSON; progress goes to stderr."""
    share = 0.1 if quick else 1.0
    results: dict[str, Any] = {"machine": _machine(), "tasks": {}}
    for name in BUILT_IN:
        _say(f"rollouts and pictures of {name}, with random policies and with those of a short search")
        results["tasks"][name] = _measure_task(name, share)
    if not quick:
        _say("a fresh process with and without compiled code in the cache; this compiles all simulators anew, about a minute")
        for name in BUILT_IN:
            results["tasks"][name] |= _measure_start(name)
    _say("policies in Gymnasium environments, beside Gymnasium's own vector environments")
    results["gymnasium"] = measure_environments(share)
    results |= _measure_search(share, quick=quick)
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        _print_table(results)
    return 0


def _measure_search(share: float, *, quick: bool) -> dict[str, Any]:
    # Imported here, because these modules import torch.
    from stax.benchmarks.autoencoder import measure_autoencoder
    from stax.benchmarks.search import measure_memory, measure_overhead

    _say("generations of a search, without rollouts")
    results: dict[str, Any] = {"search": measure_overhead(share)}
    _say("training and encoding of the autoencoder")
    results["autoencoder"] = measure_autoencoder(share)
    if not quick:
        _say("memory of a stax run; this takes a minute or two")
        results["memory"] = measure_memory()
    return results


def _say(what: str) -> None:
    print(f"stax bench: {what} ...", file=sys.stderr, flush=True)


def _machine() -> dict[str, Any]:
    return {
        "threads": available_threads(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _best_rate(work: Callable[[], object], amount: int, repeats: int = 3) -> float:
    """Return the highest rate of several repeats, which is the least disturbed one."""
    rates = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        rates.append(amount / (time.perf_counter() - start))
    return max(rates)


def _rates_by_threads(task: CompiledTask, work: Callable[[], object], amount: int) -> dict[int, float]:
    """Return the best rates on one and on two threads, measured by turns so that both see the same load."""
    best: dict[int, float] = {}
    for _ in range(4):
        for threads in sorted({1, min(2, available_threads())}):
            task.threads = threads
            best[threads] = max(best.get(threads, 0.0), _best_rate(work, amount, 1))
    return best


def _rate_per_core_second(task: CompiledTask, work: Callable[[], object], amount: int, repeats: int = 4) -> float:
    """Return the best rate on one thread by processor time, which other work on the machine affects the least."""
    task.threads = 1
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return amount / min(seconds)


def search_genomes(task: Task, count: int, evaluations: int = _SEARCH_EVALUATIONS) -> NDArray[np.float64]:
    """Return the last genomes that a novelty search with seed 0 evaluates, which behave less trivially than random ones."""
    from stax.search import make_search

    search = make_search("ns", task, budget=max(evaluations, count), seed=0)
    asked = []
    while not search.done:
        asked.append(np.array(search.ask()))
        search.tell(task.evaluate(asked[-1]))
    return np.concatenate(asked)[-count:]


def _measure_task(name: str, share: float) -> dict[str, float]:
    task = make_task(name)
    assert isinstance(task, CompiledTask)
    rng = np.random.default_rng(0)
    count = max(64, int(_ROLLOUTS[name] * share))
    genomes = rng.normal(size=(count, task.genome_size))
    rollouts = task.evaluate(genomes)
    result: dict[str, float] = {}
    for threads, rate in _rates_by_threads(task, lambda: task.evaluate(genomes), count).items():
        result[f"rollouts_per_second_{threads}_threads"] = rate
    if available_threads() > 1:
        result["second_thread_is_worth"] = result["rollouts_per_second_2_threads"] / result["rollouts_per_second_1_threads"]
    # A search keeps policies that reach walls, corners and limits, where a step costs more than elsewhere.
    found = np.resize(search_genomes(task, min(count, 1000), int(_SEARCH_EVALUATIONS * share)), genomes.shape)
    for threads, rate in _rates_by_threads(task, lambda: task.evaluate(found), count).items():
        result[f"rollouts_per_second_of_a_search_{threads}_threads"] = rate
    result["rollouts_per_core_second"] = _rate_per_core_second(task, lambda: task.evaluate(genomes), count)
    result["rollouts_per_core_second_of_a_search"] = _rate_per_core_second(task, lambda: task.evaluate(found), count)

    few = genomes[: max(2, int(_STEPPED[name] * share))]
    single = result["rollouts_per_second_1_threads"]
    _step_through_gymnasium(name, task.policy_sizes, few[:1])
    gym_rate = _best_rate(lambda: _step_through_gymnasium(name, task.policy_sizes, few), len(few))
    result["gymnasium_rollouts_per_second"] = gym_rate
    result["times_as_fast_as_gymnasium_1_thread"] = single / gym_rate
    if name == "curling":
        try:
            _step_through_box2d(task.policy_sizes, few[:1])
            box2d_rate = _best_rate(lambda: _step_through_box2d(task.policy_sizes, few), len(few))
            result["box2d_rollouts_per_second"] = box2d_rate
            result["times_as_fast_as_box2d_1_thread"] = single / box2d_rate
        except InvalidInputError as error:
            _say(f"no comparison with Box2D: {error}")

    pictures = max(500, int(_PICTURES * share))
    some = rollouts.take(rng.integers(len(rollouts), size=pictures // task.observation_samples))
    for threads, rate in _rates_by_threads(task, lambda: task.observe(some), len(some) * task.observation_samples).items():
        result[f"pictures_per_second_{threads}_threads"] = rate
    result["snapshot_bytes_per_rollout"] = rollouts.snapshots[0].nbytes
    return result


def _step_through_gymnasium(name: str, sizes: tuple[int, ...], genomes: NDArray[np.float64]) -> None:
    import gymnasium

    env = gymnasium.make(ENVIRONMENTS[name]).unwrapped
    for genome in genomes:
        observation, _ = env.reset()
        ended = False
        while not ended:
            observation, _, ended, _, _ = env.step(act(genome, sizes, observation.astype(np.float64)))


def _step_through_box2d(sizes: tuple[int, ...], genomes: NDArray[np.float64]) -> None:
    from stax.benchmarks.box2d_table import Box2DTable

    for genome in genomes:
        table = Box2DTable()
        for _ in range(500):
            table.step(act(genome, sizes, table.state))


_FIRST_ROLLOUT = """
import time
start = time.perf_counter()
import numpy as np
import stax
task = stax.make_task({name!r})
task.evaluate(np.zeros((1, task.genome_size)))
print(time.perf_counter() - start)
"""


def _measure_start(name: str) -> dict[str, float]:
    """Measure import plus first rollout in a new process: when compiling, and with the compiled code in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder))}
        seconds = []
        for _ in range(2):
            command = [sys.executable, "-P", "-c", _FIRST_ROLLOUT.format(name=name)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            seconds.append(float(done.stdout))
    return {"compiling_start_seconds": seconds[0], "warm_start_seconds": seconds[1]}


def _print_table(results: dict[str, Any]) -> None:
    names = list(results["tasks"])
    keys = list(dict.fromkeys(key for task in results["tasks"].values() for key in task))
    machine = results["machine"]
    print(f"{machine['threads']} threads, {machine['processor']}, {machine['system']}, Python {machine['python']}")
    print(f"{'':<48}" + "".join(f"{name:>16}" for name in names))
    for key in keys:
        cells = [results["tasks"][name].get(key) for name in names]
        texts = ["" if cell is None else (f"{cell:,.0f}" if cell >= 100 else f"{cell:.2f}") for cell in cells]
        print(f"{key.replace('_', ' '):<48}" + "".join(f"{text:>16}" for text in texts))
    for part in ("gymnasium", "search", "autoencoder", "memory"):
        for key, value in results.get(part, {}).items():
            print(f"{part + ': ' + key.replace('_', ' '):<76}{value:>16,.2f}")
