"""Settings of a run: how it is done, and the defaults of what is not a parameter of the search.

This module is small, so that the command line can show the defaults in its help without importing the search.
"""

from __future__ import annotations

from dataclasses import dataclass

from stax.constraints import CheckedParameters, Choice, Flag, Number, OrNone, WholeNumber, parameter
from stax.input_limits import LONGEST_TIME_LIMIT

DEFAULT_BUDGET = 20_000
"""Evaluations of a run whose budget is not given."""
BACKENDS = ("local", "ray")
DEVICES = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True, kw_only=True)
class RunSettings(CheckedParameters):
    """How a run is done. None of these settings changes what it finds, unless evaluations fail."""

    checkpoint_seconds: float = parameter(60.0, "seconds between two checkpoints at least", Number(0, 10**9))
    keep_autoencoders: bool = parameter(
        False,
        "whether the autoencoder is kept after each training episode, so that `stax explore` can show how the learned space changed",
        Flag(),
    )
    on_failure: str = parameter(
        "abort",
        "what a failed evaluation means: the end of the run (abort), or a policy that is noted in the ledger and otherwise ignored"
        " (discard)",
        Choice(("abort", "discard")),
    )
    max_failed_share: float = parameter(
        0.1, "share of all evaluations that may fail before the run stops, with on_failure=discard", Number(0, 1)
    )
    time_limit: float | None = parameter(
        None,
        "seconds that a worker process may take for its part of a batch; what takes longer has failed",
        OrNone(Number(0, LONGEST_TIME_LIMIT, above=True), "no limit"),
    )
    isolation: str = parameter(
        "auto",
        "whether evaluations run in worker processes, which may crash and hang without harm: process, none, or auto: for Gymnasium"
        " environments and tasks of your own that are given by name",
        Choice(("auto", "process", "none")),
    )
    validation_episodes: int = parameter(
        20,
        "episodes with fresh seeds in which the best policies of each area are evaluated at the end, beside the budget, if their"
        " rollouts depend on the seed; 0 for none",
        WholeNumber(0, 1000),
    )
