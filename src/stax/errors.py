"""What goes wrong, in one sentence each."""

from __future__ import annotations


class InvalidInputError(ValueError):
    """Something given by the user cannot be used; the message names it, the value given and what is allowed."""


def choice_error(what: str, given: object, allowed: tuple[str, ...] | list[str]) -> InvalidInputError:
    """The error for a value that is not one of a few allowed ones."""
    names = ", ".join(repr(name) for name in allowed)
    return InvalidInputError(f"{what} must be one of {names}, not {given!r}.")
