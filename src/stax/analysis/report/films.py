"""The best policy of each reward area, as a film."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from stax.analysis.film_files import gif_bytes, png_bytes
from stax.analysis.replay import play
from stax.analysis.replay_pictures import Film
from stax.analysis.report.archives import data_uri
from stax.analysis.report.wording import Missing, attempt
from stax.runs.archived_policies import best_policy
from stax.runs.described_task import DescribedTask
from stax.runs.result import Result

MOST_FILMS = 6
"""Areas whose best policy is shown: those with the highest rewards."""
_SIZE = 280
_FRAMES = 60
"""Largest number of frames of a film, so that it stays small."""
_FPS = 12


@dataclass(frozen=True)
class BestPolicy:
    """The best that was kept of one area."""

    area: str
    id: int
    reward: float
    steps: int
    film: str
    """The film as a data URL."""
    still: str
    """The last frame, for print and for readers who prefer no motion."""
    differences: str
    """Differences between the replay and the recording; empty if there are none."""


@dataclass(frozen=True)
class Films:
    """The films of the best policies."""

    best: list[BestPolicy]
    missing: list[Missing]
    """Why there is none of some areas."""


def best_films(result: Result, why_described: str) -> Films:
    """Make a film for every area with a kept policy.

    Args:
        why_described: why the run's task draws nothing, if it is only described.
    """
    if not any(result.max_reward):
        return Films([], [Missing("No policy was rewarded.")])
    if isinstance(result.task, DescribedTask):
        return Films([], [Missing(why_described)])
    by_reward = np.argsort(-np.array(result.max_reward), kind="stable")
    found = [number for number in by_reward.tolist() if result.max_reward[number] > 0]
    best: list[BestPolicy] = []
    missing: list[Missing] = []
    for number in sorted(found[:MOST_FILMS]):
        film = attempt(partial(_film, result, number), "Replaying")
        if isinstance(film, BestPolicy):
            best.append(film)
        elif film not in missing:
            missing.append(film)
    names = [result.task.reward_areas[number].name for number in sorted(by_reward.tolist()) if not result.max_reward[number]]
    if names:
        missing.append(Missing(f"No reward was found in {', '.join(names)}."))
    if len(found) > MOST_FILMS:
        missing.append(Missing(f"Shown are the {MOST_FILMS} areas with the highest rewards, of {len(found)} with any."))
    return Films(best, missing)


def _film(result: Result, area: int) -> BestPolicy:
    policy = best_policy(result, area)
    (replay,) = play(result.task, policy)
    every = max(1, -(-replay.steps // _FRAMES))
    film = Film(result.task, [replay], size=_SIZE, fps=_FPS, every=every)
    return BestPolicy(
        area=result.task.reward_areas[area].name,
        id=replay.id,
        reward=float(policy.reward[0]),
        steps=replay.steps,
        film=data_uri(gif_bytes(film, film.fps), "image/gif"),
        still=data_uri(png_bytes(film[-1]), "image/png"),
        differences=", ".join(replay.differences),
    )
