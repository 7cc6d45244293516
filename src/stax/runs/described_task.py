"""A task as a run folder describes it, without running any code of the run's maker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from stax.constraints import check_whole
from stax.errors import InvalidInputError, printable
from stax.input_limits import LONGEST_NAME, MOST_GENES, MOST_REWARD_AREAS, MOST_SAMPLES
from stax.tasks.task import RewardArea, Rollouts, Task


def describe_task(task: Task) -> dict[str, Any]:
    """Return the description of a task for `config.toml`; attributes that the task does not have are left out."""
    areas = [
        {
            "name": area.name,
            **({} if area.center is None else {"center": [float(number) for number in area.center]}),
            **({} if area.radius is None else {"radius": float(area.radius)}),
        }
        for area in task.reward_areas
    ]
    description: dict[str, Any] = {
        "name": task.name,
        "genome_size": int(task.genome_size),
        "genome_bounds": [float(bound) for bound in task.genome_bounds],
        "observation_samples": int(task.observation_samples),
        "observation_shape": [int(side) for side in task.observation_shape],
        "observation_dtype": str(task.observation_dtype),
        "reward_areas": areas,
    }
    if task.ground_truth_bounds is not None:
        description["ground_truth_bounds"] = [[float(low), float(high)] for low, high in task.ground_truth_bounds]
    if task.ground_truth_names is not None:
        description["ground_truth_names"] = list(task.ground_truth_names)
    if task.policy_sizes is not None:
        description["policy_sizes"] = [int(size) for size in task.policy_sizes]
    return description


class DescribedTask(Task):
    """A task that has the attributes of the description, and evaluates and draws nothing."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        try:
            self.name = printable(description["name"], LONGEST_NAME)
            self.genome_size = check_whole("genome_size", int(description["genome_size"]), 1, MOST_GENES)
            low, high = description["genome_bounds"]
            self.genome_bounds = (float(low), float(high))
            samples = int(description["observation_samples"])
            self.observation_samples = check_whole("observation_samples", samples, 1, MOST_SAMPLES)
            self.observation_shape = tuple(int(side) for side in description["observation_shape"])
            self.observation_dtype = printable(description["observation_dtype"], LONGEST_NAME)
            bounds = description.get("ground_truth_bounds")
            self.ground_truth_bounds = None if bounds is None else tuple((float(low), float(high)) for low, high in bounds)
            names = description.get("ground_truth_names")
            if names is not None:
                check_whole("The number of ground_truth_names", len(names), len(bounds or ()), len(bounds or ()))
                self.ground_truth_names = tuple(printable(name, LONGEST_NAME) for name in names)
            sizes = description.get("policy_sizes")
            self.policy_sizes = None if sizes is None else tuple(int(size) for size in sizes)
            check_whole("The number of reward_areas", len(description["reward_areas"]), 1, MOST_REWARD_AREAS)
            self.reward_areas = tuple(
                RewardArea(
                    printable(area["name"], LONGEST_NAME),
                    tuple(float(number) for number in area["center"]) if "center" in area else None,
                    float(area["radius"]) if "radius" in area else None,
                )
                for area in description["reward_areas"]
            )
        except InvalidInputError as error:
            raise InvalidInputError(f"The task's description in config.toml is damaged: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            words = printable(error, LONGEST_NAME)
            raise InvalidInputError(
                f"The task's description in config.toml is damaged ({type(error).__name__}: {words})."
            ) from None

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        self._refuse()

    def observe(self, rollouts: Rollouts) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidInputError(
            f"Task {self.name!r} is code of a run folder's maker, which is only run when you say so:"
            " load or resume the run with trust=True (--trust on the command line)."
        )
