"""Recorded policies played again: whether they still do what was recorded, and how they do it.

    result = stax.load("runs/first")
    replays = play(result.task, best_policy(result, "far end"))  # stax.runs.archived_policies
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

from stax.constraints import check_choice
from stax.errors import InvalidInputError, in_one_line
from stax.extras import require_extra
from stax.tasks.first_look import differing
from stax.tasks.task import Rollouts, States, Task

if TYPE_CHECKING:
    from stax.search.policy_set import PolicySet

MOST_POLICIES = 36
"""Policies that are shown at the same time at most."""
SUFFIXES = (".gif", ".mp4", ".png")


@dataclass(frozen=True, eq=False)
class Replay:
    """The rollout of one policy, played again."""

    id: int
    states: States
    """(steps + 1, state size)"""
    reward: float
    area: str | None
    """The name of the reward area it ended in, None for none."""
    differences: tuple[str, ...] = ()
    """Differences from the recording, in words."""
    genome: NDArray[np.float64] | None = None
    """Genome of the policy, for tasks that can be drawn only while they move."""
    repeatable: bool = True
    """Whether the policy did the same when it was evaluated twice; if not, nothing can be said about the recording."""

    @property
    def steps(self) -> int:
        return len(self.states) - 1

    def outcome(self) -> list[str]:
        """Return texts for the reward, each shorter than the one before."""
        if self.area is None:
            return ["no reward"]
        return [f"reward {self.reward:.3f}, {self.area}", f"{self.reward:.3f}, {self.area}", f"{self.reward:.3f}"]


# Playing


def play(task: Task, policies: PolicySet) -> list[Replay]:
    """Evaluate the policies again, step by step, and compare them with what was recorded."""
    check_count(len(policies))
    _check_can(task, "trajectory", "replay a rollout")
    if not films_itself(task):
        _check_can(task, "render", "be drawn")
    try:
        rollouts = task.evaluate(policies.genome)
        again = differing(rollouts, task.evaluate(policies.genome))
        trajectories = [np.asarray(task.trajectory(genome)) for genome in policies.genome]
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's own task may raise anything
        raise RuntimeError(f"Task {task.name!r} failed to replay: {in_one_line(error)}") from error
    changing = np.any(list(again.values()), axis=0) if again else np.zeros(len(trajectories), np.bool_)
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
                repeatable=not changing[row] and len(states) == rollouts.steps[row] + 1,
            )
        )
    return replays


def check_count(policies: int) -> None:
    """Refuse a number of policies that cannot be replayed at the same time."""
    if not 1 <= policies <= MOST_POLICIES:
        raise InvalidInputError(f"From 1 to {MOST_POLICIES} policies can be replayed at once, not {policies}.")


def films_itself(task: Task) -> bool:
    """Return whether the task can be drawn only while it moves."""
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
    rewards: list[tuple[str, Any, Any]] = [
        ("reward", float(played.reward[0]), float(recorded.reward[0])),
        (
            "reward area",
            _area_name(task, int(played.reward_area[0])) or "none",
            _area_name(task, int(recorded.reward_area[0])) or "none",
        ),
    ]
    # What was recorded of a reevaluated policy is the mean of several evaluations.
    is_mean = recorded.reward_spread is not None and bool(np.isfinite(recorded.reward_spread[0]))
    pairs = [
        *([] if is_mean else rewards),
        ("ground truth", tuple(truth[0].tolist()), tuple(recorded.ground_truth[0].tolist())),
        ("steps", int(played.steps[0]), int(recorded.steps[0])),
    ]
    found = [f"{name} {now} instead of {then}" for name, now, then in pairs if now != then]
    # The explorer keeps no snapshots, which may be most of the bytes of an archive.
    if recorded.snapshots.size and "snapshots" in differing(recorded.rollouts(), played):
        found.append("what was observed")
    return tuple(found)


# Files


def check_target(path: Path) -> None:
    """Refuse a path at which no replay can be written."""
    check_choice("The suffix of the file", path.suffix.lower(), SUFFIXES)
    require_extra("plots", "A replay")
    if path.suffix.lower() == ".mp4":
        require_extra("video", "An .mp4 film (unlike a .gif or .png)")
    check_file(path)


def check_file(path: Path) -> None:
    """Refuse a path at which no file can be written."""
    if path.is_dir():
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: it is a folder.")
    if any(parent.exists() and not parent.is_dir() for parent in path.parents):
        raise InvalidInputError(f"The file {str(path)!r} cannot be written: a part of its path is not a folder.")


def write_replay(
    task: Task,
    replays: Sequence[Replay],
    path: str | Path,
    *,
    size: int | None = None,
    fps: int | None = None,
    every: int | None = None,
) -> str:
    """Draw replays into a file, atomically, and return its size and kind in words.

    Args:
        task: the task, which must have a `render` or a `film`.
        replays: one policy, or several that play side by side.
        path: the file. A .gif or .mp4 is a film; a .png shows moments side by side.
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
