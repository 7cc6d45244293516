"""Tests a task against the contract of `stax.tasks.task`, and says in plain words what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stax.errors import InvalidInputError, in_one_line
from stax.input_limits import LARGEST_NUMBER
from stax.tasks import is_built_in
from stax.tasks.first_look import (
    BASE_OFFSET,
    differing,
    observation_note,
    reward_note,
    rollout_columns,
    seeds_to_try,
    stochastic_note,
)
from stax.tasks.rollout_checks import array_problem
from stax.tasks.task import Genomes, Rollouts, Task
from stax.tasks.task_checks import attribute_problem
from stax.tasks.variants import OFFSET, has_options, make_variant

_POLICIES = 24
_SEEDS = 2
"""Seeds that policies are tried with besides the task's own."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at: fine if `problem` is empty."""

    what: str
    problem: str = ""
    note: str = ""


class _Broken(Exception):
    """A problem found; its text says which."""


def check_task(task: Task, *, seed: int = 0) -> list[Finding]:
    """Check everything that the contract asks for, in turn. Leave out what builds on a broken part."""
    return list(checks(task, seed=seed))


def checks(task: Task, *, seed: int = 0) -> Iterator[Finding]:
    """Yield the findings of `check_task`, each as soon as it is there."""
    attributes = _look("attributes", lambda: _attributes(task))
    yield attributes
    if attributes.problem:
        return
    genomes = _policies(task, seed)
    outcome: list[Rollouts] = []
    yield _look("evaluate gives rollouts", lambda: outcome.append(_evaluated(task, genomes)))
    if not outcome:
        return
    rollouts = outcome[0]
    yield _look("rewards and reward areas", lambda: _rewards(task, rollouts))
    yield _look("steps", lambda: _steps(rollouts))
    yield _look("ground truth", lambda: _ground_truth(task, rollouts))
    yield _look("same answer again", lambda: _same(rollouts, _evaluated(task, genomes), "twice"))
    yield _look(
        "any order",
        lambda: _same(rollouts, _evaluated(task, genomes[::-1]).take(slice(None, None, -1)), "in reverse order"),
    )
    yield _look("any batch size", lambda: _same(rollouts, _one_by_one(task, genomes), "one at a time"))
    yield _look("genomes left alone", lambda: _untouched(task, genomes))
    yield _look("bad genomes refused", lambda: _refusals(task, genomes))
    yield _look("observations", lambda: _observations(task, rollouts))
    if _overrides(task, "trajectory"):
        yield _look("trajectory", lambda: _trajectory(task, genomes, rollouts))
    if _overrides(task, "render"):
        yield _look("render", lambda: _render(task, genomes))
    if _overrides(task, "film"):
        yield _film(task, genomes, rollouts)
    yield from _notes(task, genomes, rollouts)


def _notes(task: Task, genomes: Genomes, rollouts: Rollouts) -> Iterator[Finding]:
    """Yield what a search can do with but its user should know: seeds, rewards and observations."""
    seeds = [] if is_built_in(task) else seeds_to_try(task, _SEEDS)
    # Genomes at the bounds are not what a search begins with.
    drawn = slice(0, _POLICIES // 2)
    if seeds:
        yield _noted("seeds", lambda: _seed_note(task, genomes[drawn], rollouts.take(drawn), seeds))
    yield _noted("rarity of rewards", lambda: _rarity(task, genomes[drawn], rollouts.take(drawn)) or _untested(rollouts))
    if not is_built_in(task):
        yield _noted("differences observed", lambda: observation_note(task, task.observe(rollouts.take(drawn))))


def _noted(what: str, note: Callable[[], str]) -> Finding:
    try:
        return Finding(what, note=note())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's task may raise anything
        return Finding(what, f"it raised {in_one_line(error)}")


def _seed_note(task: Task, genomes: Genomes, rollouts: Rollouts, seeds: Sequence[int]) -> str:
    return stochastic_note(task, rollouts, [_variant(task, genomes, seed=seed) for seed in seeds])


def _variant(task: Task, genomes: Genomes, **changes: Any) -> Rollouts:
    return make_variant(task, changes).evaluate(genomes.copy())


def _rarity(task: Task, genomes: Genomes, rollouts: Rollouts) -> str:
    rewards, returns = np.asarray(rollouts.reward, np.float64), None
    if is_built_in(task):
        return ""
    if not (rewards > 0).any() and has_options(task, OFFSET):
        # Before what is below 0 is cut off.
        returns = np.asarray(_variant(task, genomes, **{OFFSET: BASE_OFFSET}).reward, np.float64) - BASE_OFFSET
    return reward_note(task, rewards, returns)


def _untested(rollouts: Rollouts) -> str:
    rewarded = (np.asarray(rollouts.reward) > 0).any()
    return "" if rewarded else "none of the policies tried was rewarded; try another --seed to see rewards tested"


def _policies(task: Task, seed: int) -> Genomes:
    """Return genomes as a search makes them: normal, uniform over the bounds, and at the bounds."""
    rng = np.random.default_rng(seed)
    low, high = task.genome_bounds
    half = _POLICIES // 2
    normal = np.clip(rng.normal(size=(half, task.genome_size)), low, high)
    uniform = rng.uniform(low, high, size=(_POLICIES - half - 2, task.genome_size))
    return np.concatenate([normal, uniform, np.full((1, task.genome_size), low), np.full((1, task.genome_size), high)])


def _look(what: str, test: Callable[[], Any]) -> Finding:
    try:
        test()
    except _Broken as broken:
        return Finding(what, str(broken))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's task may raise anything
        return Finding(what, f"it raised {in_one_line(error)}")
    return Finding(what)


def _overrides(task: Task, method: str) -> bool:
    return getattr(type(task), method) is not getattr(Task, method)


def _attributes(task: Task) -> None:
    problem = attribute_problem(task)
    if problem:
        raise _Broken(problem)


def _evaluated(task: Task, genomes: Genomes) -> Rollouts:
    rollouts = task.evaluate(genomes.copy())
    if not isinstance(rollouts, Rollouts):
        raise _Broken(f"evaluate must return stax.Rollouts, not {type(rollouts).__name__}")
    if len(rollouts) != len(genomes):
        raise _Broken(f"evaluate was given {len(genomes)} policies and returned {len(rollouts)} rollouts")
    for name in ("reward", "reward_area", "steps", "snapshots", "ground_truth", "failed"):
        problem = array_problem(name, getattr(rollouts, name))
        if problem:
            raise _Broken(problem)
    return rollouts


def _rewards(task: Task, rollouts: Rollouts) -> None:
    reward, area = np.asarray(rollouts.reward), np.asarray(rollouts.reward_area)
    if reward.ndim != 1 or reward.dtype.kind != "f":
        raise _Broken(f"reward must be a 1-D array of floating-point numbers, not {reward.ndim}-D of {reward.dtype}")
    if not np.isfinite(reward).all():
        raise _Broken(
            f"reward must be finite, but policy {np.argmax(~np.isfinite(reward))} got {reward[~np.isfinite(reward)][0]}"
        )
    if (reward > LARGEST_NUMBER).any():
        raise _Broken(f"reward must be at most {LARGEST_NUMBER:g}, but policy {np.argmax(reward)} got {reward.max()}")
    if (reward < 0).any():
        raise _Broken(f"reward must not be negative, but policy {np.argmax(reward < 0)} got {reward[reward < 0][0]}")
    if area.ndim != 1 or area.dtype.kind not in "iu":
        raise _Broken(f"reward_area must be a 1-D array of whole numbers, not {area.ndim}-D of {area.dtype}")
    if ((area < -1) | (area >= len(task.reward_areas))).any():
        raise _Broken(
            f"reward_area must be -1 to {len(task.reward_areas) - 1}, but there is {area[(area < -1) | (area >= len(task.reward_areas))][0]}"
        )
    if ((reward > 0) & (area < 0)).any():
        raise _Broken(f"policy {np.argmax((reward > 0) & (area < 0))} is rewarded, but its reward_area says none (-1)")
    if ((reward == 0) & (area >= 0)).any():
        raise _Broken(f"policy {np.argmax((reward == 0) & (area >= 0))} is not rewarded, but its reward_area is not -1")


def _steps(rollouts: Rollouts) -> None:
    steps = np.asarray(rollouts.steps)
    if steps.ndim != 1 or steps.dtype.kind not in "iu":
        raise _Broken(f"steps must be a 1-D array of whole numbers, not {steps.ndim}-D of {steps.dtype}")
    if (steps < 1).any():
        raise _Broken(f"steps must be at least 1, but policy {np.argmax(steps < 1)} did {steps[steps < 1][0]}")


def _ground_truth(task: Task, rollouts: Rollouts) -> None:
    truth, bounds = rollouts.ground_truth, task.ground_truth_bounds
    if bounds is None:
        if truth is not None:
            raise _Broken("rollouts have a ground_truth, but the task has no ground_truth_bounds to go with it")
        return
    if truth is None:
        raise _Broken("the task has ground_truth_bounds, but rollouts have no ground_truth")
    if truth.shape != (len(rollouts), len(bounds)) or truth.dtype.kind != "f":
        raise _Broken(
            f"ground_truth must be floating-point numbers of shape {(len(rollouts), len(bounds))}, not {truth.dtype} of shape {truth.shape}"
        )
    if not np.isfinite(truth).all():
        raise _Broken(
            f"ground_truth must be finite, but policy {np.argmax(~np.isfinite(truth).all(axis=1))} has {truth[~np.isfinite(truth)][0]}"
        )
    low, high = np.asarray(bounds, dtype=float).T
    outside = ((truth < low - 1e-6) | (truth > high + 1e-6)).any(axis=1)
    if outside.any():
        raise _Broken(
            f"ground_truth of policy {np.argmax(outside)} is {truth[np.argmax(outside)]}, outside ground_truth_bounds {bounds}"
        )


def _same(expected: Rollouts, got: Rollouts, how: str) -> None:
    others = dict(rollout_columns(got))
    for name, column in rollout_columns(expected):
        if name not in others or others[name].shape != column.shape:
            raise _Broken(f"{name} has another shape when the same policies are evaluated {how}")
    for name, rows in differing(expected, got).items():
        raise _Broken(
            f"{name} of policy {np.argmax(rows)} differs when the same policies are evaluated {how}: a rollout must depend on its"
            " genome alone"
        )


def _one_by_one(task: Task, genomes: Genomes) -> Rollouts:
    return Rollouts.concat([_evaluated(task, genomes[i : i + 1]) for i in range(len(genomes))])


def _untouched(task: Task, genomes: Genomes) -> None:
    given = genomes.copy()
    task.evaluate(given)
    if not np.array_equal(given, genomes):
        raise _Broken("evaluate changes the array of genomes it is given")


def _refusals(task: Task, genomes: Genomes) -> None:
    broken = genomes.copy()
    broken[0, 0] = np.nan
    cases = [("a genome with nan in it", broken), ("genomes one number too wide", np.hstack([genomes, genomes[:, :1]]))]
    for what, array in cases:
        try:
            task.evaluate(array)
        except ValueError:
            continue
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _Broken(f"given {what}, evaluate raised {type(error).__name__} instead of a ValueError: {error}") from None
        raise _Broken(f"given {what}, evaluate did not raise a ValueError (stax.tasks.task.check_genomes does this for you)")


def _observations(task: Task, rollouts: Rollouts) -> None:
    if np.asarray(rollouts.snapshots).shape[:2] != (len(rollouts), task.observation_samples):
        shape = np.asarray(rollouts.snapshots).shape
        raise _Broken(f"snapshots must begin with {(len(rollouts), task.observation_samples)} (policies, samples), not {shape}")
    expected = (len(rollouts), task.observation_samples, *task.observation_shape)
    if rollouts.snapshots.dtype.kind == "f" and not np.isfinite(rollouts.snapshots).all():
        raise _Broken("snapshots must be finite")
    kept = {name: column.copy() for name, column in rollout_columns(rollouts)}
    seen = np.array(task.observe(rollouts))
    for name, column in rollout_columns(rollouts):
        if not np.array_equal(column, kept[name]):
            raise _Broken(f"observe changes the {name} of the rollouts it is given")
    if seen.shape != expected:
        raise _Broken(f"observe must return the shape {expected} (policies, samples, *observation_shape), not {seen.shape}")
    if seen.dtype != np.dtype(task.observation_dtype):
        raise _Broken(f"observe must return {task.observation_dtype}, as observation_dtype says, not {seen.dtype}")
    if seen.dtype.kind == "f" and not np.isfinite(seen).all():
        raise _Broken("observations must be finite")
    if not np.array_equal(seen, np.asarray(task.observe(rollouts))):
        raise _Broken("observe gives another answer when asked again")
    some = np.arange(len(rollouts))[::-3]
    if not np.array_equal(seen[some], np.asarray(task.observe(rollouts.take(some)))):
        raise _Broken("observe gives another answer for some of the rollouts than for all of them")
    none = np.asarray(task.observe(rollouts.take(slice(0, 0))))
    if none.shape != (0, *expected[1:]):
        raise _Broken(f"observe of no rollouts must return the shape {(0, *expected[1:])}, not {none.shape}")


def _trajectory(task: Task, genomes: Genomes, rollouts: Rollouts) -> None:
    states = np.asarray(task.trajectory(genomes[0]))
    if states.ndim != 2:
        raise _Broken(f"trajectory must be a 2-D array (steps + 1, state size), not {states.ndim}-D")
    if len(states) != rollouts.steps[0] + 1:
        raise _Broken(f"trajectory has {len(states)} states, but the rollout did {rollouts.steps[0]} steps and has a start")
    if not np.isfinite(states).all():
        raise _Broken("trajectory has states that are not finite")
    if not np.array_equal(states, np.asarray(task.trajectory(genomes[0]))):
        raise _Broken("trajectory gives another answer when asked again")


def _render(task: Task, genomes: Genomes) -> None:
    try:
        state = task.trajectory(genomes[0])[-1]
    except InvalidInputError:
        raise _Broken("render is there, but there is no trajectory to take a state from") from None
    picture = np.asarray(task.render(state, 96))
    if picture.shape != (96, 96, 3) or picture.dtype != np.uint8:
        raise _Broken(f"render(state, 96) must be uint8 of shape (96, 96, 3), not {picture.dtype} of shape {picture.shape}")


def _film(task: Task, genomes: Genomes, rollouts: Rollouts) -> Finding:
    """Check the film of a policy. A task that can film in general, but not here and now, makes no mistake."""
    steps = [0, int(rollouts.steps[0])]
    try:
        pictures = [np.asarray(picture) for picture in task.film(genomes[0], steps, 96)]
    except InvalidInputError as error:
        return Finding("film", note=str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's task may raise anything
        return Finding("film", f"it raised {in_one_line(error)}")
    if len(pictures) != len(steps):
        return Finding("film", f"film was asked for the pictures after {steps} steps, and gave {len(pictures)}")
    for picture in pictures:
        if picture.shape != (96, 96, 3) or picture.dtype != np.uint8:
            return Finding("film", f"film must give uint8 of shape (96, 96, 3), not {picture.dtype} of shape {picture.shape}")
    return Finding("film")
