"""Schedulers: one a file. To add one, write its class in a file of its own and add it to the list below."""

from __future__ import annotations

from stax.search.schedulers.adaptive import AdaptiveScheduler
from stax.search.schedulers.alternating import AlternatingScheduler
from stax.search.schedulers.fixed_ratio import FixedRatioScheduler
from stax.search.schedulers.scheduler import Scheduler

__all__ = ["ABOUT_SCHEDULERS", "SCHEDULERS", "Scheduler"]

SCHEDULERS: dict[str, type[Scheduler]] = {
    scheduler.name: scheduler for scheduler in (AlternatingScheduler, FixedRatioScheduler, AdaptiveScheduler)
}
"""Built-in schedulers by their names: the choices of the parameter `scheduler`."""
ABOUT_SCHEDULERS = {name: scheduler.about for name, scheduler in SCHEDULERS.items()}
"""Descriptions of the built-in schedulers, for `stax algos` and the parameter."""
