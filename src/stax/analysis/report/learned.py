"""The learned behaviour space: what the autoencoder makes of what it sees, how its errors fell, how near it is to the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from stax.analysis.film_files import png_bytes
from stax.analysis.measures import descriptor_similarity, final_policies, random_similarity
from stax.analysis.picture import NOVELTY_COLOR, REWARD_COLOR
from stax.analysis.report.archives import data_uri
from stax.analysis.report.figure import INK, Figure, axis, evaluations_axis, figure
from stax.analysis.report.wording import Missing, attempt, numbers
from stax.errors import InvalidInputError
from stax.runs.described_space import DescribedSpace
from stax.runs.described_task import DescribedTask
from stax.runs.result import Result
from stax.search.policy_set import PolicySet

if TYPE_CHECKING:
    from stax.representation.learned import LearnedSpace

PICTURES, VECTORS = 8, 3
"""Observations that are shown."""
MOST_COMPARED = 500
"""Policies of the archives whose descriptors are compared with the ground truth."""


@dataclass(frozen=True)
class Reconstruction:
    """The last observation of a policy and its reconstruction, as pictures."""

    id: int
    seen: str
    made: str


@dataclass(frozen=True)
class Nearness:
    """The similarity of descriptors to the ground truth, 0 to 1; None where all policies are alike."""

    trained: float | None
    random: float | None
    policies: int


@dataclass(frozen=True, eq=False)
class LearnedFacts:
    """The part of the page about the learned space."""

    errors: Figure | Missing
    pictures: list[Reconstruction] | Missing
    vectors: Figure | None
    """Instead of pictures, if the task's observations are vectors."""
    nearness: Nearness | Missing


def learned_facts(result: Result, why_described: str) -> LearnedFacts | Missing:
    """Return the facts about the learned space of a run.

    Args:
        why_described: why the run's task draws nothing, if it is only described.
    """
    if not result.space.learned:
        spaces = {
            "ground-truth": "behaviours by the task's ground truth",
            "states": "behaviours by the true states",
            "none": "nothing",
        }
        return Missing(f"{result.algo} compares {spaces[result.parameters.descriptor]} and has no autoencoder.")
    errors = _errors(result)
    policies = final_policies(result)
    if isinstance(result.task, DescribedTask):
        return LearnedFacts(errors, Missing(why_described), None, Missing(why_described))
    if isinstance(result.space, DescribedSpace):
        return LearnedFacts(errors, Missing(result.space.why), None, Missing(result.space.why))
    if not len(policies):
        return LearnedFacts(errors, Missing("The archives are empty."), None, Missing("The archives are empty."))
    shown = attempt(lambda: _shown(result, policies), "Drawing observations")
    nearness: Nearness | Missing = Missing("The task has no ground truth that the learned space could be compared with.")
    if result.task.ground_truth_bounds is not None:
        nearness = attempt(lambda: _nearness(result), "Describing policies anew")
    if isinstance(shown, dict):
        return LearnedFacts(errors, [], shown, nearness)
    return LearnedFacts(errors, shown, None, nearness)


# Reconstructions


def _shown(result: Result, policies: PolicySet) -> list[Reconstruction] | Figure:
    """Draw observations of policies that are evenly spread over the archives, and their reconstructions."""
    pictures = len(result.task.observation_shape) == 3
    count = min(PICTURES if pictures else VECTORS, len(policies))
    some = policies.take(np.unique(np.linspace(0, len(policies) - 1, count).round().astype(np.int64)))
    return _reconstructions(result, some) if pictures else _vectors(result, some, policies)


def _seen_and_made(result: Result, policies: PolicySet) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw the last observation of each policy, and its reconstruction."""
    rollouts = policies.rollouts()
    seen = np.asarray(result.task.observe(rollouts))[:, -1]
    return seen, cast("LearnedSpace", result.space).reconstruct(rollouts)[:, -1]


def _reconstructions(result: Result, policies: PolicySet) -> list[Reconstruction]:
    seen, made = _seen_and_made(result, policies)
    if seen.shape[-1] not in (1, 3):
        raise InvalidInputError(f"Observations of {seen.shape[-1]} channels are no pictures that could be shown.")
    return [
        Reconstruction(number, _picture(before), _picture(np.round(255 * np.clip(after, 0, 1)).astype(np.uint8)))
        for number, before, after in zip(policies.id.tolist(), seen, made, strict=True)
    ]


def _picture(pixels: NDArray[np.uint8]) -> str:
    return data_uri(png_bytes(np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))), "image/png")


def _vectors(result: Result, policies: PolicySet, among: PolicySet) -> Figure:
    """Draw observed vectors and their reconstructions, with a colour per policy.

    They come in any units, so each is drawn by how far it is from the mean of all policies, in standard deviations of theirs.
    """
    seen, made = _seen_and_made(result, policies)
    everywhere = np.asarray(result.task.observe(among.rollouts()), np.float64)[:, -1]
    deviation = everywhere.std(axis=0)
    middle, unit = everywhere.mean(axis=0), np.where(deviation > 1e-6 * np.abs(everywhere).max(axis=0), deviation, 1.0)
    traces = []
    colors = (NOVELTY_COLOR, REWARD_COLOR, "#28965a")
    for row, number in enumerate(policies.id.tolist()):
        for name, values, dash in (("observed", seen[row], "solid"), ("reconstructed", made[row], "dot")):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"policy {number}, {name}",
                    "x": list(range(len(values))),
                    "y": numbers((values - middle) / unit),
                    "text": [f"{value:.4g}" for value in values.tolist()],
                    "hovertemplate": "place %{x}: %{text}<extra>%{fullData.name}</extra>",
                    "line": {"color": colors[row % len(colors)], "dash": dash, "width": 1.5},
                    "marker": {"size": 5},
                }
            )
    place = axis("place in the observation", dtick=1 if seen.shape[1] <= 20 else None)
    return figure(traces, {"xaxis": place, "yaxis": axis("standard deviations")})


# Errors


def _errors(result: Result) -> Figure | Missing:
    """Draw a point per training episode, with the errors that the metrics hold at the end of its chunk."""
    rows = []
    trained = 0
    for row in result.metrics:
        episodes = row.get("training_episodes")
        if isinstance(episodes, int) and episodes > trained:
            trained = episodes
            rows.append(row)
    if not rows:
        return Missing("The autoencoder was never trained.")
    traces = []
    for name, color in (("validation_error", NOVELTY_COLOR), ("training_error", INK)):
        values = [row[name] if isinstance(row.get(name), (int, float)) else float("nan") for row in rows]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name.replace("_", " "),
                "x": [row["evaluations"] for row in rows],
                "y": numbers(np.array(values, np.float64), 4),
                "text": [f"training {row['training_episodes']}" for row in rows],
                "line": {"color": color, "width": 2, "dash": "solid" if name == "validation_error" else "dot"},
                "marker": {"size": 6},
                "hovertemplate": "%{text}, after %{x:,d} evaluations: %{y:.4g}<extra>%{fullData.name}</extra>",
            }
        )
    layout = {"xaxis": evaluations_axis(result.evaluations, room=0.02), "yaxis": axis("mean squared error", rangemode="tozero")}
    return figure(traces, layout)


# The ground truth


def _nearness(result: Result) -> Nearness:
    policies = final_policies(result, MOST_COMPARED)
    trained = descriptor_similarity(policies).similarity
    own = cast("LearnedSpace", result.space).own_autoencoder
    random = random_similarity(result, result.task, policies, autoencoder=own).similarity
    return Nearness(trained, random, len(policies))
