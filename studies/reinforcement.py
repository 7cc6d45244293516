"""Compare searches with reinforcement learning: which reward areas are found within the same number of environment steps.

    python studies/reinforcement.py                  # every run that the table does not hold yet, two at a time
    python studies/reinforcement.py --show           # writes the tables of docs/why.md

Searches are `stax` and `random`; learners are PPO and SAC of Stable-Baselines3, each with its defaults and with a setting made for
exploration. All see the numbers that the policies of a search see, and are paid as rarely. One more task, Pendulum, pays at every step.
The table `studies/results/reinforcement.csv` has a row for each run. It can be stopped and called again.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from run import GYMNASIUM_TASKS

TABLE = Path(__file__).parent / "results" / "reinforcement.csv"
PAGE = Path(__file__).parents[1] / "docs" / "why.md"
NAMES = {
    "redundant-arm": "Redundant Arm",
    "mountain-car": "MountainCarContinuous",
    "point-maze": "PointMaze",
    "curling": "Curling",
    "hard-maze": "HardMaze",
}
COLUMNS = ("task", "learner", "seed", "steps", "episodes", "core_seconds", "improvements")
SEEDS = 3
STEPS = {"hard-maze": 4_000_000, "curling": 4_000_000}
"""Environment steps by task, where it is not STEPS_OF_OTHERS: the episodes of these are longer."""
STEPS_OF_OTHERS = 1_000_000
FEWER_STEPS = {"SAC": 30_000, "SAC, exploring": 30_000}
"""Learners that take an hour for as many steps as the others do in minutes."""
ENVIRONMENTS = {"PPO": 8, "SAC": 1}
"""Environments that an algorithm steps side by side."""
DENSE = "pendulum"
"""The task that pays at every step: Pendulum-v1."""
DENSE_STEPS = {"stax": 200_000, "random": 200_000, "PPO": 200_000, "SAC": 20_000}
DENSE_HORIZON = 200
DENSE_EPISODES = 5
"""Episodes of an evaluation of a search, whose mean return counts, since every episode of Pendulum begins elsewhere."""
FRESH_EPISODES = 20
BUILT_IN = ("redundant-arm", "hard-maze", "curling")
SEARCHES = ("stax", "random")
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "PPO": ("PPO", {}),
    "PPO, exploring": ("PPO", {"use_sde": True, "gamma": 0.999, "ent_coef": 0.01, "policy_kwargs": {"log_std_init": -0.5}}),
    "SAC": ("SAC", {}),
    "SAC, exploring": (
        "SAC",
        {"use_sde": True, "gamma": 0.9999, "tau": 0.01, "train_freq": 64, "gradient_steps": 32, "learning_starts": 5_000},
    ),
}
"""Algorithm and options. The exploring settings act with noise that stays the same for many steps, and look far ahead."""


@dataclass(frozen=True)
class Run:
    """One search or one training."""

    task: str
    learner: str
    seed: int
    steps: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.task, self.learner, str(self.seed)


def planned() -> Iterator[Run]:
    """Yield all runs of the study: the searches, which take seconds, then one seed of all learners after the other."""
    for learners in (SEARCHES, tuple(LEARNERS)):
        for seed in range(SEEDS):
            for task in NAMES:
                for learner in learners:
                    yield Run(task, learner, seed, FEWER_STEPS.get(learner, STEPS.get(task, STEPS_OF_OTHERS)))
            for learner in learners:
                if learner in DENSE_STEPS:
                    yield Run(DENSE, learner, seed, DENSE_STEPS[learner])


class Best:
    """Highest reward of each area so far, and the steps after which each improvement was seen."""

    def __init__(self) -> None:
        self.steps = self.episodes = 0
        self.reward: dict[int, float] = {}
        self.improvements: list[tuple[int, int, float]] = []

    def count(self, steps: int, reward: float, area: int) -> None:
        """Count an episode of so many steps, which ended with this reward in this area."""
        self.steps += steps
        self.episodes += 1
        if area >= 0 and reward > self.reward.get(area, 0.0):
            self.reward[area] = reward
            self.improvements.append((self.steps, area, round(reward, 4)))


def do(run: Run) -> dict[str, Any]:
    """Do a run, and return its row of the table."""
    began, best = time.process_time(), Best()
    if run.task == DENSE:
        best.steps = run.steps
        best.improvements.append((run.steps, 0, round(mean_return(balance(run)), 1)))
    elif run.learner in SEARCHES:
        search(run, best)
    else:
        train(run, best)
    spent = round(time.process_time() - began, 1)
    row = {"task": run.task, "learner": run.learner, "seed": run.seed, "steps": run.steps}
    return row | {"episodes": best.episodes, "core_seconds": spent, "improvements": json.dumps(best.improvements)}


def search(run: Run, best: Best) -> None:
    """Evaluate policies until the steps are spent; the last batch may exceed them and is then cut."""
    import stax

    name, _, options = GYMNASIUM_TASKS.get(run.task, (run.task, 0, {}))
    task = stax.make_task(name, **{key.removeprefix("task."): value for key, value in options.items()})
    evaluations = 10 * run.steps // task_horizon(task)
    going = stax.make_search(run.learner, task, budget=max(evaluations, 1_000), seed=run.seed, device="cpu")
    while not going.done and best.steps < run.steps:
        rollouts = task.evaluate(going.ask())
        for steps, reward, area in zip(rollouts.steps, rollouts.reward, rollouts.reward_area, strict=True):
            if best.steps < run.steps:
                best.count(int(steps), float(reward), int(area))
        going.tell(rollouts)


def task_horizon(task: Any) -> int:
    return int(getattr(task, "horizon", None) or 1_000)


def train(run: Run, best: Best) -> None:
    """Train a learner for as many steps."""
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    built_in = run.task in BUILT_IN

    class Count(BaseCallback):  # type: ignore[misc]
        """Counts every episode that ends."""

        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    reward = max(0.0, float(info["episode"]["r"]))
                    area = int(info["reward_area"]) if built_in else 0 if reward > 0 else -1
                    best.count(int(info["episode"]["l"]), reward, area)
            return True

    algorithm, _ = LEARNERS[run.learner]
    envs = make_vec_env(lambda: environment(run.task), n_envs=ENVIRONMENTS[algorithm], seed=run.seed)
    make_learner(run, envs).learn(run.steps, callback=Count())


def make_learner(run: Run, envs: Any) -> Any:
    """Make the learner of a run, on one core."""
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    algorithm, options = LEARNERS[run.learner]
    return getattr(stable_baselines3, algorithm)("MlpPolicy", envs, seed=run.seed, device="cpu", **options)


def balance(run: Run) -> Callable[[Any], Any]:
    """Search or train on Pendulum, and return the best policy of the search or the last one of the training."""
    if run.learner in SEARCHES:
        import stax

        settings: dict[str, Any] = {"task.reward_offset": 10.0 * DENSE_HORIZON, "task.episodes": DENSE_EPISODES}
        budget = run.steps // (DENSE_HORIZON * DENSE_EPISODES)
        result = stax.run(
            "gym:Pendulum-v1", algo=run.learner, budget=budget, seed=run.seed, workers=1, device="cpu", **settings
        )
        return result.policy(int(result.best(0).id[0]))
    learner = make_learner(run, "Pendulum-v1").learn(run.steps)
    return lambda seen: learner.predict(seen, deterministic=True)[0]


def mean_return(policy: Callable[[Any], Any]) -> float:
    """Return the mean return of a policy over episodes that it has not seen."""
    env, returns = gymnasium.make("Pendulum-v1"), []
    for episode in range(FRESH_EPISODES):
        seen, _ = env.reset(seed=10_000 + episode)
        over, total = False, 0.0
        while not over:
            seen, reward, terminated, truncated, _ = env.step(policy(seen))
            over, total = terminated or truncated, total + float(reward)
        returns.append(total)
    return float(np.mean(returns))


def environment(task: str) -> Any:
    """Make the environment of a task for learners."""
    import stax.envs

    if task in BUILT_IN:
        return stax.envs.make(task)
    name, _, options = GYMNASIUM_TASKS[task]
    module, _, environment_id = name.removeprefix("gym:").rpartition(":")
    if module:
        gymnasium.register_envs(__import__(module))
    limit = {"max_episode_steps": options["task.horizon"]} if "task.horizon" in options else {}
    env = gymnasium.make(environment_id, **limit, **options.get("task.make", {}))
    if "task.reset" in options:
        env = StartingAt(env, {key: np.array(cell) for key, cell in options["task.reset"].items()})
    if "task.observation_key" in options:
        key = options["task.observation_key"]
        spaces: Any = env.observation_space
        env = gymnasium.wrappers.TransformObservation(env, lambda seen: seen[key], spaces[key])
    return env


class StartingAt(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment in which every episode begins with the same options of `reset`."""

    def __init__(self, env: Any, options: dict[str, Any]) -> None:
        super().__init__(env)
        self._options = options

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=seed, options={**self._options, **(options or {})})


def read_table() -> list[dict[str, Any]]:
    """Return the rows of the table, with improvements as lists."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return [{**row, "improvements": json.loads(row["improvements"])} for row in csv.DictReader(file)]


def areas_of(task: str) -> tuple[str, ...]:
    """Return the names of a task's reward areas."""
    import stax

    return tuple(area.name for area in stax.make_task(task).reward_areas) if task in BUILT_IN else ("the goal",)


def result_table(rows: Sequence[dict[str, Any]], task: str) -> str:
    """Return what every learner found on a task: of each area the mean best reward, how many seeds found it, and after how many steps.

    Learners that took more steps than the one with the fewest have a second line, for what they had found after as few.
    """
    areas = areas_of(task)
    lines = [[NAMES[task], "steps", *areas, "core-seconds", "seeds"]]
    lines.append(["---"] * len(lines[0]))
    runs_of = {
        learner: [row for row in rows if (row["task"], row["learner"]) == (task, learner)] for learner in (*SEARCHES, *LEARNERS)
    }
    budgets = sorted({int(row["steps"]) for runs in runs_of.values() for row in runs})
    for budget in budgets:
        for learner, runs in runs_of.items():
            if not runs or int(runs[0]["steps"]) < budget:
                continue
            courses = [[improvement for improvement in row["improvements"] if improvement[0] <= budget] for row in runs]
            cells = [area_cell(courses, area) for area in range(len(areas))]
            is_all = int(runs[0]["steps"]) == budget
            spent = f"{np.mean([float(row['core_seconds']) for row in runs]):,.0f}" if is_all else ""
            lines.append([learner, f"{budget:,}", *cells, spent, str(len(runs))])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def area_cell(runs: Sequence[Sequence[tuple[int, int, float]]], area: int) -> str:
    """Return the mean best reward in an area, how many runs found it, and the median of their steps until then."""
    found = [[(steps, reward) for steps, at, reward in improvements if at == area] for improvements in runs]
    first = [improvements[0][0] for improvements in found if improvements]
    if not first:
        return "not found"
    best = np.mean([improvements[-1][1] if improvements else 0.0 for improvements in found])
    return f"{best:.2f}; {len(first)} of {len(runs)} seeds, after {np.median(first):,.0f}"


def dense_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the mean returns on the task that pays at every step."""
    lines = [["Pendulum", "steps", f"mean return of {FRESH_EPISODES} new episodes", "core-seconds", "seeds"], ["---"] * 5]
    for learner, steps in DENSE_STEPS.items():
        runs = [row for row in rows if (row["task"], row["learner"]) == (DENSE, learner)]
        if runs:
            returns = [row["improvements"][-1][2] for row in runs]
            spent = np.mean([float(row["core_seconds"]) for row in runs])
            value = f"{np.mean(returns):,.0f} ({min(returns):,.0f} to {max(returns):,.0f})"
            lines.append([learner, f"{steps:,}", value, f"{spent:,.0f}", str(len(runs))])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show() -> None:
    """Write the tables into docs/why.md."""
    rows = read_table()
    sparse = "\n\n".join(result_table(rows, task) for task in NAMES if any(row["task"] == task for row in rows))
    page = PAGE.read_text()
    for name, table in (("reinforcement", sparse), ("dense", dense_table(rows))):
        before, rest = page.split(f"<!-- {name} -->\n")
        page = f"{before}<!-- {name} -->\n{table}\n{rest[rest.index(f'<!-- end of {name} -->') :]}"
    PAGE.write_text(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="runs at a time (default 2)")
    parser.add_argument("--show", action="store_true", help="write the tables of docs/why.md, and do no run")
    options = parser.parse_args()
    if options.show:
        show()
        return
    done = {(row["task"], row["learner"], row["seed"]) for row in read_table()}
    if not TABLE.exists():
        with TABLE.open("w", newline="") as file:
            csv.DictWriter(file, COLUMNS).writeheader()
    missing = [run for run in planned() if run.key not in done]
    print(f"{len(missing)} runs to do, {len(done)} done before", file=sys.stderr)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, max_tasks_per_child=1, mp_context=context) as pool:
        running = {pool.submit(do, run): run for run in missing}
        for future in as_completed(running):
            row = future.result()
            with TABLE.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS).writerow(row)
            print(
                f"{row['task']:<14} {row['learner']:<10} seed {row['seed']}: {row['core_seconds']} core-seconds",
                file=sys.stderr,
            )


if __name__ == "__main__":
    main()
