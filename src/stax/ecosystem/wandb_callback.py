"""A run for Weights & Biases: its configuration, its metrics as curves, and pictures of the autoencoder (extra `wandb`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from stax.ecosystem.logged_metrics import metric_tag, seen_and_reconstructed
from stax.errors import InvalidInputError, in_one_line
from stax.extras import import_extra
from stax.runs.callbacks import Callback
from stax.search.search import Search

if TYPE_CHECKING:
    from stax.runs.result import Result

_STEP = "evaluations"


class WandbCallback(Callback):
    """Logs a run to Weights & Biases: the metrics of every chunk, and pictures after every training, over evaluations.

    Nothing is sent anywhere with `mode="offline"`; `wandb sync` uploads such a run later. To go on with the same curves after
    `stax.resume`, give the run's own `id` and `resume="allow"`: chunks that were logged before are not logged again.

    Args:
        options: keywords of `wandb.init`, such as `project`, `name` and `mode`.
    """

    def __init__(self, **options: Any) -> None:
        self._wandb = import_extra("wandb", "wandb", "Logging to Weights & Biases")
        self._options = options
        self._run: Any = None
        self._known = 0
        """Evaluations up to which Weights & Biases has the metrics already."""
        self._seen = 0
        """Rows of metrics that are dealt with."""

    def at_start(self, search: Search) -> None:
        facts = {"algo": search.method.name, "task": search.task.name, "budget": search.budget, "seed": search.seed}
        try:
            self._run = self._wandb.init(**self._options)
        except (self._wandb.Error, TypeError, ValueError) as error:
            raise InvalidInputError(f"A run of Weights & Biases cannot be begun: {in_one_line(error)}.") from error
        self._run.config.update({**facts, **asdict(search.parameters)}, allow_val_change=True)
        self._run.define_metric("*", step_metric=_STEP)
        self._known, self._seen = int(self._run.summary.get(_STEP) or 0), 0
        self.after_chunk(search)

    def after_chunk(self, search: Search) -> None:
        for row in search.metrics[self._seen :]:
            self._log(search, row)
        self._seen = len(search.metrics)

    def after_training(self, search: Search) -> None:
        picture = seen_and_reconstructed(search)
        if picture is not None and search.evaluations > self._known:
            image = self._wandb.Image(picture, caption=f"seen and reconstructed after {search.evaluations:,} evaluations")
            self._run.log({"autoencoder/seen and reconstructed": image}, commit=False)

    def at_end(self, result: Result) -> None:
        self._run.summary["status"] = str(result.status)

    def close(self) -> None:
        if self._run is not None:
            self._run.finish()
            self._run = None

    def _log(self, search: Search, row: Mapping[str, Any]) -> None:
        if row[_STEP] <= self._known:
            return
        numbers = {metric_tag(name, search): value for name, value in row.items() if isinstance(value, int | float)}
        self._run.log({**numbers, _STEP: row[_STEP]})
