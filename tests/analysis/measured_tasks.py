"""A task whose failed evaluations claim more than the others reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from toy_tasks import SquareTask


class FallibleTask(SquareTask):
    """One evaluation in a few fails, and reports a reward and a place that no other reaches."""

    name = "fallible"

    def evaluate(self, genomes):
        rollouts = super().evaluate(genomes)
        failed = np.asarray(genomes)[:, 3] > 0.9
        truth = np.where(failed[:, None], 0.999, rollouts.ground_truth)
        reward, area = np.where(failed, 50.0, rollouts.reward), np.where(failed, 0, rollouts.reward_area)
        return replace(rollouts, reward=reward, reward_area=area, ground_truth=truth, failed=failed)
