"""Recorded policies played again: which there are, whether they still do what was recorded, and how they did it.

    result = stax.load("runs/first")
    replays = play(result.task, best_policy(result, "far end"))
    film = Film(result.task, replays)                            # stax.analysis.replay_pictures
    Path("best.gif").write_bytes(gif_bytes(film, film.fps))      # stax.analysis.film_files

`write_replay` does the last two lines for any kind of file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, check_choice, check_whole, in_one_line
from stax.tasks.task import RewardArea, Rollouts, States, Task

if TYPE_CHECKING:
    from stax.runs.result import Result
    from stax.search.policy_set import PolicySet

MOST_POLICIES = 36
"""That are shown at once."""
SUFFIXES = (".gif", ".mp4", ".png")
_NAMED = 4
"""Policies that are named to somebody who asked for one that is not there."""


@dataclass(frozen=True, eq=False)
class Replay:
    """One policy's rollout, played again."""

    id: int
    states: States
    """(steps + 1, state size)"""
    reward: float
    area: str | None
    """The name of the reward area it ended in, None for none."""
    differences: tuple[str, ...] = ()
    """What is not as it was recorded, in words."""
    genome: NDArray[np.float64] | None = None
    """The policy, for tasks that can be drawn only while they move."""

    @property
    def steps(self) -> int:
        return len(self.states) - 1

    def outcome(self) -> list[str]:
        """What it was rewarded with, in ever fewer words."""
        if self.area is None:
            return ["no reward"]
        return [f"reward {self.reward:.3f}, {self.area}", f"{self.reward:.3f}, {self.area}", f"{self.reward:.3f}"]


# Which policies


def kept_policies(result: Result) -> PolicySet:
    """All policies whose genomes were kept, which are those of the two archives, by id."""
    from stax.search.policy_set import PolicySet

    return PolicySet.union(_archives(result))


def find_policies(result: Result, ids: Sequence[int]) -> PolicySet:
    """The policies with these ids, in this order; all must be in one of the archives."""
    kept = kept_policies(result)
    wanted = list(dict.fromkeys(ids))
    if not 1 <= len(wanted) <= MOST_POLICIES:
        raise InvalidInputError(f"From 1 to {MOST_POLICIES} policies can be replayed at once, not {len(wanted)}.")
    for number in wanted:
        if number not in kept.id:
            raise InvalidInputError(_not_kept(result, number, kept.id))
    return kept.take(np.searchsorted(kept.id, wanted))


def best_policy(result: Result, area: str | int) -> PolicySet:
    """The policy with the highest reward of a reward area, given by its name or number, in either archive."""
    from stax.search.policy_set import PolicySet

    areas = result.task.reward_areas
    number = _area_number(areas, area)
    # Both archives' rows: what counts is the highest reward that stands anywhere.
    kept = PolicySet.concat(_archives(result))
    rows = np.flatnonzero((kept.reward_area == number) & (kept.reward > 0))
    if not len(rows):
        others = [repr(areas[other].name) for other in np.unique(kept.reward_area).tolist() if 0 <= other < len(areas)]
        found = f" (the best that was found, of reward {best:.3f}, was not kept)" if (best := result.max_reward[number]) else ""
        raise InvalidInputError(
            f"No policy of the archives ended in reward area {areas[number].name!r}{found};"
            f" {'some did in ' + ' and '.join(others) if others else 'none of them was rewarded'}."
        )
    # The older one of two that are equally good.
    return kept.take([rows[np.lexsort((kept.id[rows], -kept.reward[rows]))[0]]])


def random_policies(result: Result, count: int, seed: int = 0) -> PolicySet:
    """So many different policies of the archives, drawn at random, by id."""
    kept = kept_policies(result)
    check_whole("The number of random policies", count, 1, MOST_POLICIES)
    if count > len(kept):
        raise InvalidInputError(f"The archives hold {len(kept)} policies, so {count} cannot be drawn from them.")
    return kept.take(np.sort(np.random.default_rng(seed).choice(len(kept), count, replace=False)))


def _archives(result: Result) -> list[PolicySet]:
    """The reward archive first: where both hold a policy, its row counts."""
    archives = [result.reward_archive, result.novelty_archive]
    for name, column in archives[0].columns().items():
        if column.shape[1:] != getattr(archives[1], name).shape[1:]:
            raise InvalidInputError(f"The archives do not belong together: {name} has not the same shape in both.")
    return archives


def _not_kept(result: Result, number: int, kept: NDArray[np.int64]) -> str:
    if not 0 <= number < result.evaluations:
        return f"There is no policy {number}: the run did {result.evaluations:,} evaluations, numbered from 0."
    if not len(kept):
        return f"Policy {number} was not kept: only policies of the two archives are, and both are empty."
    near = np.sort(kept[np.argsort(np.abs(kept - number), kind="stable")[:_NAMED]])
    return (
        f"Policy {number} was not kept: only the {len(kept):,} policies of the two archives are, such as"
        f" {', '.join(str(one) for one in near)}."
    )


def _area_number(areas: Sequence[RewardArea], given: str | int) -> int:
    names = [area.name for area in areas]
    if given in names:
        return names.index(str(given))
    if str(given).isascii() and str(given).isdecimal() and int(given) < len(areas):
        return int(given)
    known = ", ".join(f"{number} {name!r}" for number, name in enumerate(names))
    raise InvalidInputError(f"There is no reward area {given!r}; there are {known}.")


# Playing


def play(task: Task, policies: PolicySet) -> list[Replay]:
    """Evaluates the policies again, step by step, and compares with what was recorded of them."""
    _check_can(task, "trajectory", "replay a rollout")
    if not films_itself(task):
        _check_can(task, "render", "be drawn")
    try:
        rollouts = task.evaluate(policies.genome)
        trajectories = [np.asarray(task.trajectory(genome)) for genome in policies.genome]
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's own task may raise anything
        raise RuntimeError(f"Task {task.name!r} failed to replay: {in_one_line(error)}") from error
    replays = []
    for row, states in enumerate(trajectories):
        if states.ndim != 2 or not len(states):
            raise InvalidInputError(
                f"trajectory of task {task.name!r} must give a 2-D array (steps + 1, state size), not one of shape"
                f" {states.shape}."
            )
        area = int(rollouts.reward_area[row])
        replays.append(
            Replay(
                id=int(policies.id[row]),
                states=states,
                reward=float(rollouts.reward[row]),
                area=_area_name(task, area),
                differences=_differences(task, policies.take([row]), rollouts.take([row])),
                genome=policies.genome[row],
            )
        )
    return replays


def films_itself(task: Task) -> bool:
    """Whether the task can be drawn only while it moves."""
    return type(task).film is not Task.film


def _check_can(task: Task, method: str, what: str) -> None:
    if getattr(type(task), method) is getattr(Task, method):
        raise InvalidInputError(f"Task {task.name!r} cannot {what}: it has no {method}.")


def _area_name(task: Task, number: int) -> str | None:
    if number < 0:
        return None
    return task.reward_areas[number].name if number < len(task.reward_areas) else f"area {number}"


def _differences(task: Task, recorded: PolicySet, played: Rollouts) -> tuple[str, ...]:
    truth = np.empty((1, 0)) if played.ground_truth is None else np.asarray(played.ground_truth)
    pairs: list[tuple[str, Any, Any]] = [
        ("reward", float(played.reward[0]), float(recorded.reward[0])),
        (
            "reward area",
            _area_name(task, int(played.reward_area[0])) or "none",
            _area_name(task, int(recorded.reward_area[0])) or "none",
        ),
        ("ground truth", tuple(truth[0].tolist()), tuple(recorded.ground_truth[0].tolist())),
        ("steps", int(played.steps[0]), int(recorded.steps[0])),
    ]
    return tuple(f"{name} {now} instead of {then}" for name, now, then in pairs if now != then)


# Files


def check_target(path: Path) -> None:
    """One sentence if no replay can be written there."""
    check_choice("The suffix of the file", path.suffix.lower(), SUFFIXES)
    if path.suffix.lower() == ".mp4":
        from stax.analysis.film_files import check_mp4

        check_mp4()
    check_file(path)


def check_file(path: Path) -> None:
    """One sentence if no file can be written there."""
    if path.is_dir():
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: it is a folder.")
    if any(parent.exists() and not parent.is_dir() for parent in path.parents):
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: a part of its path is no folder.")


def write_replay(
    task: Task,
    replays: Sequence[Replay],
    path: str | Path,
    *,
    size: int | None = None,
    fps: int | None = None,
    every: int | None = None,
) -> str:
    """Draws replays into a file, whole or not at all, and tells in words what it has become.

    Args:
        task: the task, which must have a `render` or a `film`.
        replays: one policy, or several that play side by side.
        path: the suffix says what is made: .gif and .mp4 films, or .png, moments side by side.
        size: width and height of a scene in pixels.
        fps: frames a second of a film.
        every: steps from one frame or moment to the next.
    """
    from stax.analysis.film_files import gif_bytes, mp4_bytes, png_bytes
    from stax.analysis.replay_pictures import Film, strip
    from stax.runs.files import write_for_user

    target = Path(path)
    check_target(target)
    if target.suffix.lower() == ".png":
        if fps is not None:
            raise InvalidInputError(f"fps is for films, .gif and .mp4; {target.name!r} is a picture.")
        picture = strip(task, replays, size=size, every=every)
        content, about = png_bytes(picture), f"{picture.shape[1]} x {picture.shape[0]}"
    else:
        film = Film(task, replays, size=size, fps=fps, every=every)
        content = (gif_bytes if target.suffix.lower() == ".gif" else mp4_bytes)(film, film.fps)
        height, width = film[-1].shape[:2]
        about = f"{len(film)} frames of {width} x {height}, {film.fps} a second"
    write_for_user(target, content)
    return f"{about}, {max(1, round(len(content) / 1000)):,} kB"
