"""Task whose policies are evaluated outside of STAX."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from stax.constraints import check_choice
from stax.errors import InvalidInputError, shown
from stax.tasks.function_task import checked_bounds, checked_names, checked_pairs
from stax.tasks.task import RewardArea, Rollouts, Task
from stax.tasks.task_checks import check_attributes


class ExternalTask(Task):
    """Task whose policies you evaluate yourself, on a robot, a cluster or in another language, by `ask` and `tell`.

    Args:
        name: name of the task.
        genome_size: number of values in a genome.
        observation_shape: shape of one observation: (d,) for a vector, (height, width, 3) for a picture.
        observation_samples: number of observations of a rollout that you pass to `tell`.
        observation_dtype: float32 for vectors, uint8 for pictures; chosen by the shape if None.
        genome_bounds: lowest and highest value of the numbers of a genome.
        ground_truth_bounds: lowest and highest value of each number of the ground-truth descriptor, if there is one.
        ground_truth_names: names of these numbers, for the axes of plots.
        reward_areas: the sources of reward, by name or as `stax.RewardArea`.
    """

    def __init__(
        self,
        name: str,
        *,
        genome_size: int,
        observation_shape: Sequence[int],
        observation_samples: int = 5,
        observation_dtype: str | None = None,
        genome_bounds: Sequence[float] = (-5.0, 5.0),
        ground_truth_bounds: Sequence[Sequence[float]] | None = None,
        ground_truth_names: Sequence[str] | None = None,
        reward_areas: Sequence[str | RewardArea] = ("reward",),
    ) -> None:
        self.name = name
        self.genome_size = genome_size
        if not isinstance(observation_shape, (list, tuple)) or len(observation_shape) not in (1, 3):
            raise InvalidInputError(
                f"observation_shape must be (d,) for vectors or (height, width, 3) for pictures, not {shown(observation_shape)}."
            )
        self.observation_shape = tuple(observation_shape)
        self.observation_samples = observation_samples
        usual = "float32" if len(self.observation_shape) == 1 else "uint8"
        self.observation_dtype = check_choice(
            "observation_dtype", usual if observation_dtype is None else observation_dtype, ("float32", "uint8")
        )
        self.genome_bounds = checked_bounds("genome_bounds", genome_bounds)
        if ground_truth_bounds is not None:
            self.ground_truth_bounds = checked_pairs(ground_truth_bounds)
        if ground_truth_names is not None:
            self.ground_truth_names = checked_names(ground_truth_names)
        if not isinstance(reward_areas, (list, tuple)) or not reward_areas:
            raise InvalidInputError(
                f"reward_areas must be a list of at least one name or RewardArea, not {shown(reward_areas)}."
            )
        self.reward_areas = tuple(RewardArea(area) if isinstance(area, str) else area for area in reward_areas)
        check_attributes(self)

    def evaluate(self, genomes: ArrayLike) -> Rollouts:
        raise InvalidInputError(
            f"Policies of task {self.name!r} are evaluated elsewhere: take them from Search.ask, and pass their rollouts to Search.tell."
        )
