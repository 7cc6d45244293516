"""Tasks as users write them, for the tests of `stax report`."""

from __future__ import annotations

import numpy as np
from drawn_tasks import SlidingTask

from stax import RewardArea, Rollouts
from stax.tasks.task import Scene

EVIL = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>"
LINK = "<b>bold</b> <a href='https://elsewhere.example/'>{{ 7 * 7 }} %{x}</a>"


class EvilTask(SlidingTask):
    """Names that would be code in a page that trusted them."""

    name = EVIL
    reward_areas = (RewardArea(LINK), RewardArea("</script><script>window.harmed = 3</script>"))

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        rollouts.reward_area[(rollouts.reward_area == 0) & (genomes[:, 1] > 0)] = 1
        return rollouts


class PlaneTask(SlidingTask):
    """Ends in a plane, and has a picture of it."""

    name = "plane"
    ground_truth_bounds = ((-1.0, 1.0), (-1.0, 1.0))
    reward_areas = (RewardArea("right", (0.5, 0.0), 0.5),)

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        ends = np.tanh(np.asarray(genomes)[:, :2])
        return Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, rollouts.snapshots, ends)

    def scene(self, size=512):
        return Scene(np.full((size, size, 3), 230, np.uint8))

    def picture_place(self, ground_truth):
        return (np.asarray(ground_truth) + 1) / 2


class LostPlaneTask(PlaneTask):
    """Does not know where things are."""

    def picture_place(self, ground_truth):
        raise KeyError("the map is lost")


class LineTask(PlaneTask):
    """Ends on a line."""

    name = "line"
    ground_truth_bounds = ((-1.0, 1.0),)
    reward_areas = (RewardArea("right", (0.5,), 0.5),)

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        return Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, rollouts.snapshots, rollouts.ground_truth[:, :1])

    def picture_place(self, ground_truth):
        return None
