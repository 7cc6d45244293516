"""Constraints on values that users give. Each one checks a value, and describes in words what it allows.

A frozen dataclass derived from `CheckedParameters` has a constraint for each of its fields, so every object of it is valid. Messages,
`stax algos` and the tables in the documentation take their words from the same constraints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from stax.errors import InvalidInputError, shown
from stax.input_limits import is_finite_number
from stax.own_code import names_code, names_object


class Constraint(ABC):
    """What a value may be. Its text, such as "a number above 0", completes the sentence "The value must be ..."."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def accept(self, value: Any) -> Any:
        """Return the value in the type that the program uses, or raise `ValueError` if it is not allowed."""

    def check(self, what: str, value: Any) -> Any:
        """Return the value in the type that the program uses, or raise `stax.InvalidInputError`, which begins with `what`."""
        try:
            return self.accept(value)
        except _NotAllowedError:
            raise InvalidInputError(f"{what} must be {self}, not {shown(value)}.") from None


class _NotAllowedError(ValueError):
    """The exception for a value that a constraint does not allow."""


def _require(is_allowed: object) -> None:
    if not is_allowed:
        raise _NotAllowedError


@dataclass(frozen=True)
class WholeNumber(Constraint):
    """An integer within bounds, which are allowed themselves."""

    least: int
    most: int | None = None

    def __str__(self) -> str:
        if self.most is None:
            return f"a whole number of at least {_digits(self.least)}"
        return f"a whole number from {_digits(self.least)} to {_digits(self.most)}"

    def accept(self, value: Any) -> int:
        _require(isinstance(value, Integral) and not isinstance(value, bool))
        _require(self.least <= value and (self.most is None or value <= self.most))
        return int(value)


@dataclass(frozen=True)
class Number(Constraint):
    """A number from `least`, or above it, to `most`."""

    least: float
    most: float
    above: bool = False
    """Whether `least` itself is not allowed."""

    def __str__(self) -> str:
        least, most = _digits(self.least), _digits(self.most)
        return f"a number above {least} and at most {most}" if self.above else f"a number from {least} to {most}"

    def accept(self, value: Any) -> float:
        _require(isinstance(value, Real) and not isinstance(value, bool))
        _require(self.least <= value <= self.most and not (self.above and value == self.least))
        return float(value)


@dataclass(frozen=True)
class Flag(Constraint):
    """True or false."""

    def __str__(self) -> str:
        return "true or false"

    def accept(self, value: Any) -> bool:
        _require(isinstance(value, (bool, np.bool_)))
        return bool(value)


@dataclass(frozen=True)
class Choice(Constraint):
    """One of several words. None stands for the word "none" if that is one of them, as on the command line and in TOML."""

    choices: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(choice) for choice in self.choices)

    def accept(self, value: Any) -> str:
        word = "none" if value is None else value
        _require(isinstance(word, str) and word in self.choices)
        return str(word)


@dataclass(frozen=True)
class CodeName(Choice):
    """One of several built-in names, or the name of a user's own code (see `stax.own_code`)."""

    def __str__(self) -> str:
        return f"{super().__str__()}, or your own as 'module:name' (in Python also an object)"

    def accept(self, value: Any) -> str:
        return value if isinstance(value, str) and (names_code(value) or names_object(value)) else super().accept(value)


@dataclass(frozen=True)
class Interval(Constraint):
    """A pair of numbers, the lower one first."""

    largest: float
    """Largest magnitude of both."""

    def __str__(self) -> str:
        return f"two numbers from {-self.largest:g} to {self.largest:g}, the lower one first"

    def accept(self, value: Any) -> tuple[float, float]:
        pair = value.tolist() if isinstance(value, np.ndarray) else value
        _require(isinstance(pair, (list, tuple)) and len(pair) == 2)
        _require(all(is_finite_number(bound, self.largest) for bound in pair) and pair[0] < pair[1])
        return float(pair[0]), float(pair[1])


@dataclass(frozen=True)
class Several(Constraint):
    """A list of values. A value alone is a list of one, and a text may hold several with commas between them."""

    item: Constraint
    most: int
    different: bool = False
    """Whether no value may be there twice."""

    def __str__(self) -> str:
        return f"1 to {self.most}{' different' if self.different else ''} values, each {self.item}"

    def accept(self, value: Any) -> tuple[Any, ...]:
        listed = [text.strip() for text in value.split(",")] if isinstance(value, str) else value
        items = listed if isinstance(listed, (list, tuple)) else [listed]
        _require(0 < len(items) <= self.most)
        accepted = tuple(self.item.accept(item) for item in items)
        _require(not self.different or len(set(accepted)) == len(accepted))
        return accepted


@dataclass(frozen=True)
class OrNone(Constraint):
    """None, or what another constraint allows."""

    constraint: Constraint
    meaning: str
    """What None stands for."""

    def __str__(self) -> str:
        return f"{self.constraint}, or none ({self.meaning})"

    def accept(self, value: Any) -> Any:
        return None if value is None else self.constraint.accept(value)


def check_choice(what: str, given: object, allowed: Sequence[str]) -> str:
    """Return the value given if it is one of the allowed words, or raise `stax.InvalidInputError`."""
    word: str = Choice(tuple(allowed)).check(what, given)
    return word


def check_whole(what: str, given: Any, least: int, most: int | None = None) -> int:
    """Return the value given if it is an integer within the bounds, or raise `stax.InvalidInputError`."""
    number: int = WholeNumber(least, most).check(what, given)
    return number


def _digits(number: float) -> str:
    """Return a limit as it reads best in a sentence."""
    return f"{int(number):,}" if number == int(number) and 10_000 <= number < 2**63 else f"{number:g}"


@dataclass(frozen=True)
class Description:
    """What a reader should know about a parameter."""

    about: str
    constraint: Constraint
    symbol: str = ""
    """Symbol used in the paper."""


def parameter(default: Any, about: str, constraint: Constraint, symbol: str = "") -> Any:
    """Return a field of a dataclass derived from `CheckedParameters`."""
    return field(default=default, metadata={"description": Description(about, constraint, symbol)})


class CheckedParameters:
    """Base of frozen dataclasses whose fields are made by `parameter`: all values are checked when an object is made."""

    def __post_init__(self) -> None:
        for name, description in self.described().items():
            # The dataclass is frozen; this is the way in which its own __init__ sets fields.
            object.__setattr__(self, name, description.constraint.check(f"Parameter {name}", getattr(self, name)))

    @classmethod
    def described(cls) -> dict[str, Description]:
        """Return the descriptions of all parameters by their names."""
        return {entry.name: entry.metadata["description"] for entry in fields(cls)}  # type: ignore[arg-type]
