"""All checks of a task: the contract, and what a search asks for before it begins and of its first population."""

from __future__ import annotations

from collections.abc import Iterator

from stax.errors import InvalidInputError, in_one_line
from stax.search.making import make_search
from stax.tasks.contract import Finding, checks
from stax.tasks.task import Task

_POLICIES = 12


def check_for_search(task: Task, *, algo: str, seed: int) -> Iterator[Finding]:
    """Yield the findings about a task, each as soon as it is there; the last one is what a search of one population says.

    Args:
        task: the task.
        algo: the method to try.
        seed: of the policies tried.
    """
    is_well = True
    for finding in checks(task, seed=seed):
        is_well &= not finding.problem
        yield finding
    if is_well:
        yield _searched(task, algo, seed)


def _searched(task: Task, algo: str, seed: int) -> Finding:
    """Do with the task what a run does with it, for one population."""
    what = f"a search by {algo}"
    try:
        search = make_search(algo, task, budget=_POLICIES, seed=seed, device="cpu", population_size=_POLICIES, max_epochs=1)
        search.tell(task.evaluate(search.ask()))
    except KeyboardInterrupt:
        raise
    except InvalidInputError as error:
        return Finding(what, str(error))
    except BaseException as error:  # a user's task may raise anything
        return Finding(what, f"it raised {in_one_line(error)}")
    return Finding(what)
