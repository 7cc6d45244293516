"""Schedulers: one a file. To add one, write its class in a file of its own and add it to the list below.

The parameter's choices, `stax algos` and the tables of the documentation are derived from that list. Schedulers are functions
of the course of the run and have no state, so there is none to save.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stax.own_code import make_part
from stax.search.schedulers.adaptive import AdaptiveScheduler
from stax.search.schedulers.alternating import AlternatingScheduler
from stax.search.schedulers.fixed_ratio import FixedRatioScheduler
from stax.search.schedulers.scheduler import Scheduler

if TYPE_CHECKING:
    from stax.search.parameters import Parameters

__all__ = ["ABOUT_SCHEDULERS", "SCHEDULERS", "Scheduler", "make_scheduler"]

SCHEDULERS: dict[str, type[Scheduler]] = {
    scheduler.name: scheduler for scheduler in (AlternatingScheduler, FixedRatioScheduler, AdaptiveScheduler)
}
"""Built-in schedulers by their names: the choices of the parameter `scheduler`."""
ABOUT_SCHEDULERS = {name: scheduler.about for name, scheduler in SCHEDULERS.items()}
"""Descriptions of the built-in schedulers, for `stax algos` and the parameter."""


def make_scheduler(parameters: Parameters, given: Any = None) -> Scheduler:
    """Return the scheduler that the parameters name, or the one given as an object."""
    name = parameters.scheduler
    if name in SCHEDULERS:
        return SCHEDULERS[name].of(parameters)
    return make_part(name if given is None else given, f"The scheduler {name!r}", Scheduler)  # type: ignore[type-abstract]
