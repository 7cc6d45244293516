"""The wording of numbers, and of parts of the page that are missing."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, in_one_line

Content = TypeVar("Content")
_LONGEST_NAME = 40
"""Letters of a name in a plot."""


@dataclass(frozen=True)
class Missing:
    """Why a part of the page has nothing to show, as a sentence."""

    why: str
    surprising: bool = False
    """Whether the part is missing because a user's own code failed."""


def attempt(make: Callable[[], Content], what: str) -> Content | Missing:
    """Return the result of `make`, which calls the task's code; a user's own may raise anything."""
    try:
        return make()
    except InvalidInputError as error:
        return Missing(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Missing(f"{what} failed: {in_one_line(error)}.", surprising=True)


def value_words(value: Any) -> str:
    """Return the value of a parameter as one would write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(value_words(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def numbers(values: NDArray[Any] | Iterable[float], digits: int = 5) -> list[float | int | None]:
    """Return numbers for JSON, which knows neither nan nor infinity, with as many digits as one can see."""
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return [int(value) for value in array]
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in array.tolist()]


def plot_words(name: str) -> str:
    """Escape a text for Plotly, which would take tags for formatting and for links."""
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    return html.escape(short, quote=False)
